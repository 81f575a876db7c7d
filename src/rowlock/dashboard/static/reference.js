// Sends the request of an operation as the signed-in person, and shows the answer.
const MAX_SHOWN = 20000;

async function send(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const options = { method: form.dataset.method, headers: { accept: "application/json" } };
  for (const field of form.elements) {
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    if (field.dataset.in === "query" && field.value) query.set(field.name, field.value);
    if (field.dataset.in === "body" && field.value) {
      options.body = field.value;
      options.headers["content-type"] = "application/json";
    }
  }
  const answer = form.querySelector("pre");
  answer.hidden = false;
  answer.textContent = "…";
  try {
    const reply = await fetch(form.dataset.root + path + (query.size ? `?${query}` : ""), options);
    const text = await reply.text();
    answer.textContent = `${reply.status} ${reply.statusText}\n${text.slice(0, MAX_SHOWN)}`;
  } catch (error) {
    answer.textContent = String(error);
  }
}

for (const form of document.querySelectorAll("[data-try]")) {
  const button = form.querySelector("[data-send]");
  if (button) button.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (button) send(form);
  });
}
