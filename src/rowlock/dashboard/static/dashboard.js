// Makes pages live and quick to use. Without it everything works by links and forms.
const refresh = document.getElementById("refresh");
const banner = document.getElementById("away");
const liveSwitch = document.getElementById("live-switch");
const POLL_MILLISECONDS = 10000;
const PAUSED = "rowlock-paused";
let source = null;
let polling = null;

function read(name) {
  try { return sessionStorage.getItem(name); } catch { return null; }
}

function write(name, value) {
  try { sessionStorage.setItem(name, value); } catch { /* storage is blocked */ }
}

function isPaused() {
  return read(PAUSED) === "yes";
}

function showAway(away) {
  if (banner) banner.hidden = !away;
  document.body.classList.toggle("stale", away);
}

function reload() {
  if (refresh && !document.hidden && !isPaused()) htmx.trigger(refresh, "refresh");
}

// The page is read again by its own address, filters included; only the parts named in hx-select-oob are replaced.
function prepare() {
  refresh.setAttribute("hx-get", location.pathname + location.search);
  if (!refresh.getAttribute("hx-select-oob")) refresh.removeAttribute("hx-get");
  htmx.process(refresh);
  document.body.addEventListener("htmx:oobBeforeSwap", (event) => {
    const region = event.detail.target;
    const busy = region.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
    if (busy || region.querySelector("input:checked, details[open]")) event.preventDefault();
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt === refresh) showAway(!event.detail.successful);
  });
  document.body.addEventListener("htmx:oobAfterSwap", enhance);
}

function open() {
  close();
  if (!refresh || document.hidden || isPaused()) return;
  if (refresh.dataset.every) {
    polling = setInterval(reload, 1000 * Number(refresh.dataset.every));
    return;
  }
  source = new EventSource(refresh.dataset.live);
  source.addEventListener("open", () => showAway(false));
  source.addEventListener("changed", reload);
  source.addEventListener("away", () => showAway(true));
  source.addEventListener("error", () => {
    // A closed source does not come back by itself: too many watch, or a proxy refuses streams.
    if (source && source.readyState === EventSource.CLOSED && !polling) polling = setInterval(reload, POLL_MILLISECONDS);
    else reload();
  });
}

function close() {
  if (source) source.close();
  if (polling) clearInterval(polling);
  source = null;
  polling = null;
}

function showLive() {
  const paused = isPaused();
  liveSwitch.setAttribute("aria-pressed", String(paused));
  document.getElementById("live-text").textContent = paused ? "Paused" : "Live";
}

function toggleLive() {
  write(PAUSED, isPaused() ? "no" : "yes");
  showLive();
  open();
  reload();
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("rowlock-theme", root.dataset.theme); } catch { /* storage is blocked */ }
}

async function copy(button) {
  const text = button.parentElement.querySelector("pre").textContent;
  await navigator.clipboard.writeText(text);
  const label = button.firstChild;
  label.textContent = "Copied";
  setTimeout(() => { label.textContent = "Copy"; }, 1500);
}

function enhance() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) {
    button.hidden = !navigator.clipboard;
  }
}

function moveRow(step) {
  const links = [...document.querySelectorAll("table.rows tbody th a, table.rows tbody td.key a")];
  if (!links.length) return;
  const now = links.indexOf(document.activeElement);
  links[Math.min(Math.max(now + step, 0), links.length - 1)].focus();
}

let leader = "";
const root = document.querySelector(".brand")?.getAttribute("href") ?? "/";
const KEYS = {
  "/": () => document.getElementById("search")?.focus(),
  "?": () => document.getElementById("keys").showModal(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  p: toggleLive,
  "g o": () => { location.href = root; },
  "g h": () => { location.href = `${root}help`; },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  const key = leader ? `${leader} ${event.key}` : event.key;
  leader = event.key === "g" && !leader ? "g" : "";
  if (KEYS[key]) {
    event.preventDefault();
    KEYS[key]();
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-select-all]")) return;
  for (const box of document.querySelectorAll("input[name=key]")) box.checked = event.target.checked;
});

document.addEventListener("visibilitychange", () => {
  open();
  reload();
});

enhance();
document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
const themeSwitch = document.getElementById("theme-switch");
if (themeSwitch) {
  themeSwitch.hidden = false;
  themeSwitch.addEventListener("click", toggleTheme);
}
if (refresh) {
  liveSwitch.hidden = false;
  liveSwitch.addEventListener("click", toggleLive);
  prepare();
  showLive();
  open();
}
