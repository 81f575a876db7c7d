"use strict";

const stocked = ["series", "issue", "publisher", "superhero", "author", "artist", "year", "mint"];
const short = ["series", "issue", "publisher", "year"];
const numbers = new Set(["issue", "year", "copies"]);
const at = (id) => document.getElementById(id);

async function ask(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = { accept: "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
  if (options.body) headers["content-type"] = "application/json";
  const reply = await fetch(path, { ...options, headers });
  at("access").hidden = reply.status !== 401 && reply.status !== 403;
  const answer = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Error([answer.detail || answer.title || reply.statusText, answer.hint].filter(Boolean).join(": "));
  return answer;
}

function cell(name, value) {
  const made = document.createElement("td");
  made.textContent = name === "mint" ? (value ? "mint" : "used") : value;
  if (numbers.has(name)) made.className = "number";
  return made;
}

// Anybody may look at this page: enough of an address to know one's own.
const masked = (address) => address.replace(/^(.)[^@]*/u, "$1***");

function fill(id, rows) {
  at(id).replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map(([name, value]) => cell(name, value)));
    return row;
  }));
  at(`no-${id}`).hidden = rows.length > 0;
}

async function refresh() {
  const [stock, told] = await Promise.all([ask("/comics?count=200"), ask("/notifications")]);
  stock.sort((one, other) => one.comic.series.localeCompare(other.comic.series) || one.comic.issue - other.comic.issue);
  fill("stock", stock.map((each) => [...stocked.map((name) => [name, each.comic[name]]), ["copies", each.copies]]));
  fill("told", told.map((each) => [["who", masked(each.email)], ...short.map((name) => [name, each.comic[name]])]));
}

function wish(form) {
  const given = {};
  for (const [name, value] of new FormData(form)) {
    if (value === "") continue;
    given[name] = name === "mint" ? value === "true" : numbers.has(name) ? Number(value) : value;
  }
  return given;
}

const say = (words, wrong) => { at("said").textContent = words; at("said").className = wrong ? "wrong" : ""; };

at("wish").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const stored = await ask("/subscriptions", { method: "POST", body: JSON.stringify(wish(event.target)) });
    say(`You are told of ${stored.querypattern ? `comics by ${stored.querypattern.replaceAll(",", ", ")}` : "every comic"}.`, false);
    event.target.reset();
  } catch (error) {
    say(error.message, true);
  }
});

at("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", new FormData(event.target).get("token"));
  refresh().catch((error) => say(error.message, true));
});

const again = () => refresh().catch((error) => say(error.message, true));
again();
setInterval(() => { if (!document.hidden) again(); }, 5000);
