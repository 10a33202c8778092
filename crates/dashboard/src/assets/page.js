// Optional scripts: live updates, keyboard shortcuts, and copying. The page works without them.
import { live } from "./live.js";
import { submits } from "./morph.js";
import { times } from "./times.js";
import { keys } from "./keys.js";
import { filter } from "./filter.js";
import { strips } from "./history.js";
import { session, signIn } from "./session.js";

const UNCLEAR = "Check on this page whether it was done, and try again.";
const UNANSWERED = `The intake didn't answer. ${UNCLEAR}`;
const STOPPED = `The answer wasn't awaited. ${UNCLEAR}`;

session();
times();
filter();
keys();
strips();
live();

// Removes the result of an action from the address, so that a reload doesn't show it again.
const address = new URL(location);
if (address.searchParams.has("done")) {
  for (const name of ["done", "count"]) address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
}

// Replaces the address of a form's answer by a link to the same page, so that it can be reloaded.
const link = document.querySelector("a[data-address]");
if (link) history.replaceState(history.state, "", link.href);

for (const button of document.querySelectorAll("[data-back]")) {
  button.hidden = history.length < 2;
  button.addEventListener("click", () => history.back());
}

function copies() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
}
copies();
document.addEventListener("frame", copies);
document.addEventListener("click", async ({ target }) => {
  if (!("copy" in target.dataset)) return;
  await navigator.clipboard.writeText(target.dataset.copy);
  target.textContent = "Copied";
});

// Forms whose effect the next frame shows: submitted without leaving the page.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!("stay" in form.dataset) || !document.body.dataset.live) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  submits(form);
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => null);
  forget();
  if (!answer) return note(UNANSWERED);
  if (answer.status === 401) return location.assign(signIn());
  if (answer.type !== "opaqueredirect") return note(await reason(answer));
  if ("choice" in form.dataset) {
    for (const button of form.querySelectorAll("button")) button.ariaPressed = String(button === event.submitter);
  }
});

// Forms that lead to another page: a refusal is shown in the form, which keeps the typed values.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!("here" in form.dataset)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (form.dataset.sent) return;
  form.dataset.sent = "yes";
  const answer = await fetch(form.action, { method: "POST", body: encoded(form, event.submitter) }).catch(() => null);
  delete form.dataset.sent;
  if (answer?.status === 401) return location.assign(signIn());
  if (answer?.redirected) return location.assign(answer.url);
  say(form, answer ? await reason(answer) : UNANSWERED);
});

// Encodes line breaks as browsers do.
function encoded(form, submitter) {
  const fields = [...new FormData(form, submitter)];
  return new URLSearchParams(fields.map(([name, value]) => [name, value.replace(/\r\n|\r|\n/g, "\r\n")]));
}

// The text of an error page. If it isn't from the intake but from a proxy, the result of the action is unknown.
async function reason(answer) {
  const text = await answer.text().catch(() => "");
  const main = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const parts = [...(main?.querySelectorAll("h1, p") ?? [])].slice(0, 2).map((part) => part.textContent);
  return parts.join(". ") || `Status ${answer.status}, without a reason. ${UNCLEAR}`;
}

// Shows a refusal in its form, which may be folded, or removed by a frame.
function say(form, text) {
  forget();
  if (!form.isConnected) return note(text);
  const folded = form.closest("details");
  if (folded) folded.open = true;
  form.querySelector(".refusal")?.remove();
  form.append(refusal(text));
}

function note(text) {
  document.querySelector("main h1").after(refusal(text));
}

function forget() {
  document.querySelector("main > .refusal")?.remove();
}

function refusal(text) {
  const note = document.createElement("p");
  note.className = "note refusal";
  note.dataset.mood = "bad";
  note.role = "alert";
  note.textContent = text;
  return note;
}

// An action runs once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  // Not `target.method`, because a field may have this name.
  if (event.target.getAttribute("method") !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
// Escape stops loading the next page, so the result of the action is unknown.
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const form of document.forms) {
    if (!form.dataset.sent || "here" in form.dataset) continue;
    delete form.dataset.sent;
    say(form, STOPPED);
  }
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
