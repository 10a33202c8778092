// Keeps the page as the intake draws it: once a second, and not while nobody looks.
import { morph } from "./morph.js";

const STALE_AFTER_MS = 5000;
const WORDS = {
  connecting: "connecting",
  live: "live",
  stale: "no update for 5 s",
  gone: "intake unreachable, retrying",
  hidden: "paused while hidden",
};

export function live() {
  const path = document.body.dataset.live;
  const status = document.getElementById("live");
  if (!path || !status) return;
  let source;
  let stale;

  const say = (state) => {
    if (status.dataset.state === state) return;
    status.dataset.state = state;
    const old = state === "stale" || state === "gone";
    status.querySelector(".word").textContent = WORDS[state] + (old && status.title ? `: ${status.title}` : "");
    document.body.dataset.state = state;
  };
  const wait = () => {
    clearTimeout(stale);
    stale = setTimeout(() => say("stale"), STALE_AFTER_MS);
  };
  const open = () => {
    source = new EventSource(path);
    wait();
    source.addEventListener("frame", (event) => {
      const { at, parts } = JSON.parse(event.data);
      say("live");
      wait();
      status.title = `numbers of ${new Date(at).toLocaleTimeString()}`;
      for (const [id, markup] of parts) replace(id, markup);
      titled();
      document.dispatchEvent(new CustomEvent("frame"));
    });
    source.addEventListener("reload", () => location.reload());
    source.addEventListener("error", () => {
      clearTimeout(stale);
      say("gone");
      // A refusal isn't tried again by the browser.
      if (source.readyState === EventSource.CLOSED) stale = setTimeout(open, STALE_AFTER_MS);
    });
  };
  const close = () => {
    clearTimeout(stale);
    source.close();
  };
  say("connecting");
  open();
  document.addEventListener("visibilitychange", () => {
    close();
    if (document.hidden) say("hidden");
    else open();
  });
  addEventListener("pagehide", close);
}

// A tab in the background shows that something is wrong, too.
function titled() {
  const problems = Number(document.getElementById("attention")?.dataset.problems);
  const title = (problems ? `(${problems}) ` : "") + document.title.replace(/^\(\d+\) /, "");
  if (document.title !== title) document.title = title;
}

function replace(id, markup) {
  const element = document.getElementById(id);
  if (!element) return;
  const template = document.createElement("template");
  // A row stands in a table only.
  template.innerHTML = markup;
  morph(element, template.content.firstElementChild);
}
