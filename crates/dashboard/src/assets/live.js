// Live updates: once a second, while the tab is visible.
import { inUse, morph } from "./morph.js";
import { signIn, onSignedOut } from "./session.js";
import { clock, syncClock } from "./times.js";

const STALE_AFTER_MS = 5000;
const WORDS = {
  connecting: "connecting",
  live: "live",
  unread: "Redis can't be read, retrying",
  stale: "no update for 5 s",
  gone: "intake unreachable, retrying",
  refused: "no live updates, retrying",
  "signed-out": "signed out: ",
  hidden: "paused while hidden",
};

export function live() {
  const path = document.body.dataset.live;
  const status = document.getElementById("live");
  if (!path || !status) return;
  let source;
  let stale;
  // Updates of parts that are in use now, by id.
  const later = new Map();

  const say = (state, why) => {
    if (status.dataset.state === state) return;
    status.dataset.state = state;
    const old = ["unread", "stale", "gone"].includes(state);
    const more = why ?? (old ? status.title : "");
    status.querySelector(".word").replaceChildren(WORDS[state] + (more ? `: ${more}` : ""));
    if (state === "signed-out") status.querySelector(".word").append(signInLink());
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
      const { at, unread, parts } = JSON.parse(event.data);
      say(unread ? "unread" : "live");
      wait();
      syncClock(at);
      if (!unread) status.title = `numbers of ${clock(new Date(at))}`;
      for (const [id, markup] of parts) later.set(id, markup);
      for (const [id, markup] of later) if (replace(id, markup)) later.delete(id);
      if (later.size && !unread) status.title += "; a list waits until nothing in it is in use";
      updateTitle();
      document.dispatchEvent(new CustomEvent("frame"));
    });
    source.addEventListener("reload", () => location.reload());
    source.addEventListener("signed-out", () => {
      close();
      say("signed-out");
    });
    source.addEventListener("refused", (event) => {
      close();
      say("refused", JSON.parse(event.data));
      stale = setTimeout(open, STALE_AFTER_MS);
    });
    source.addEventListener("error", () => {
      clearTimeout(stale);
      say("gone");
      // The browser doesn't retry a refused stream.
      if (source.readyState === EventSource.CLOSED) stale = setTimeout(open, STALE_AFTER_MS);
    });
  };
  const close = () => {
    clearTimeout(stale);
    source?.close();
  };
  // A tab that is opened in the background needs no stream until it is visible.
  const begin = () => {
    say("connecting");
    open();
  };
  if (document.hidden) say("hidden");
  else begin();
  // The open stream would continue; a new one is refused.
  onSignedOut(() => {
    if (document.hidden) return;
    close();
    open();
  });
  document.addEventListener("visibilitychange", () => {
    close();
    if (document.hidden) say("hidden");
    else begin();
  });
  addEventListener("pagehide", close);
}

function signInLink() {
  const link = document.createElement("a");
  link.href = signIn();
  link.textContent = "sign in";
  return link;
}

// Shows the number of problems in the title, which background tabs also show.
function updateTitle() {
  const problems = Number(document.getElementById("attention")?.dataset.problems);
  const title = (problems ? `(${problems}) ` : "") + document.title.replace(/^\(\d+\) /, "");
  if (document.title !== title) document.title = title;
}

function replace(id, markup) {
  const element = document.getElementById(id);
  if (!element) return true;
  if ("calm" in element.dataset && inUse(element)) return false;
  const template = document.createElement("template");
  // A template, because a row can't be parsed outside of a table otherwise.
  template.innerHTML = markup;
  morph(element, template.content.firstElementChild);
  return true;
}
