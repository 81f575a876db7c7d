"use strict";
const LAST = 50;
const where = document.getElementById("where"), say = document.getElementById("say");
const state = document.getElementById("state"), list = document.getElementById("messages");
let path = "", highest = 0, round = 0;

async function ask(method, address, body) {
  const headers = { accept: "application/json" };
  if (where.access.value) headers.authorization = "Bearer " + where.access.value;
  if (body) headers["content-type"] = "application/json";
  const answer = await fetch(address, { method, headers, body: body && JSON.stringify(body) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.detail + (value.hint ? ": " + value.hint : ""));
  return value;
}

function show(message) {
  let line = document.getElementById("m" + message.number);
  if (!line) {
    line = document.createElement("li");
    line.id = "m" + message.number;
    line.append(document.createElement("span"), document.createElement("span"));
    // Our own may be shown before somebody else's of a lower number has come.
    const later = [...list.children].find((other) => Number(other.firstChild.textContent) > message.number);
    list.insertBefore(line, later || null);
  }
  line.firstChild.textContent = message.number;
  line.lastChild.textContent = message.body;
}

// The last of what is shown is asked for again, so that edits are seen too.
async function follow(mine) {
  while (mine === round) {
    try {
      const found = await ask("GET", path + "?after=" + Math.max(0, highest - LAST));
      if (mine !== round) return;
      found.forEach(show);
      if (found.length) highest = Math.max(highest, found[found.length - 1].number);
      state.textContent = found.length ? "" : "Nothing has been said yet.";
      say.hidden = false;
    } catch (error) {
      state.textContent = error.message;
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
}

where.addEventListener("submit", (event) => {
  event.preventDefault();
  const application = encodeURIComponent(where.application.value.trim());
  const chat = encodeURIComponent(where.chat.value.trim());
  path = "/api/v1/applications/" + application + "/chats/" + chat + "/messages";
  location.hash = application + "/" + chat;
  list.replaceChildren();
  say.hidden = true;
  highest = 0;
  follow(++round);
});

say.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = say.body.value;
  try {
    show({ number: (await ask("POST", path, { body })).number, body: body.trim() });
    say.reset();
  } catch (error) {
    state.textContent = error.message;
  }
});

const [application, chat] = location.hash.slice(1).split("/");
if (application && chat) {
  where.application.value = decodeURIComponent(application);
  where.chat.value = decodeURIComponent(chat);
  where.requestSubmit();
}
