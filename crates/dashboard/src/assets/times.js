// Keeps times going: how long ago, and the exact time on hover, local or UTC.
import { remember, remembered } from "./session.js";

const STEPS = [[86400000, "d", 2], [3600000, "h", 2], [60000, "min", 2], [1000, "s", 1]];
let utc = remembered("zone") === "utc";

export function times() {
  const button = document.querySelector("[data-zone]");
  button.hidden = false;
  const show = () => {
    button.textContent = utc ? "show local times" : "show times in UTC";
    all();
  };
  button.addEventListener("click", () => {
    utc = !utc;
    remember("zone", utc ? "utc" : "local");
    show();
  });
  show();
  setInterval(all, 1000);
  document.addEventListener("frame", all);
}

export function all() {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const text = "clock" in element.dataset ? clock(at) : relative(at);
    if (element.textContent !== text) element.textContent = text;
    const title = `${exact(at, { dateStyle: "medium", timeStyle: "medium" })} ${zone()}`;
    if (element.title !== title) element.title = title;
  }
}

// The time of day. Its zone is said where it isn't the one of the clock beside the page.
export function clock(at) {
  const date = Math.abs(at.getTime() - Date.now()) < STEPS[0][0] ? {} : { dateStyle: "medium" };
  return exact(at, { ...date, timeStyle: "medium" }) + (utc ? " UTC" : "");
}

function exact(at, style) {
  return at.toLocaleString(undefined, { ...style, timeZone: zone() });
}

function zone() {
  return utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function relative(at) {
  const past = Date.now() - at.getTime();
  const [ms, unit] = STEPS.find(([ms, , from]) => Math.abs(past) >= ms * from) ?? [];
  if (!ms) return "now";
  const text = `${Math.floor(Math.abs(past) / ms)} ${unit}`;
  return past < 0 ? `in ${text}` : `${text} ago`;
}
