// Updates relative times, and shows exact ones on hover, local or UTC.
import { remember, remembered } from "./session.js";

// A smaller difference is network latency.
const SAME_CLOCK_MS = 2000;
let utc = remembered("zone") === "utc";
// How far the intake's clock is ahead of the browser's, which may be wrong.
let ahead = 0;

export function times() {
  const button = document.querySelector("[data-zone]");
  button.parentElement.hidden = false;
  const show = () => {
    button.textContent = utc ? "show local times" : "show times in UTC";
    all();
  };
  button.addEventListener("click", () => {
    utc = !utc;
    remember("zone", utc ? "utc" : "local");
    show();
  });
  syncClock(document.body.dataset.now);
  show();
  setInterval(all, 1000);
  document.addEventListener("frame", all);
}

export function syncClock(time) {
  const difference = new Date(time).getTime() - Date.now();
  ahead = Math.abs(difference) < SAME_CLOCK_MS ? 0 : difference;
}

function now() {
  return Date.now() + ahead;
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

// The time of day, and of another day than today its date. Its zone is said where it isn't the one of the clock beside
// the page.
export function clock(at) {
  const day = (time) => exact(time, { dateStyle: "short" });
  const date = day(at) === day(new Date(now())) ? {} : { dateStyle: "medium" };
  return exact(at, { ...date, timeStyle: "medium" }) + (utc ? " UTC" : "");
}

function exact(at, style) {
  return at.toLocaleString(undefined, { ...style, timeZone: zone() });
}

function zone() {
  return utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function relative(at) {
  const past = now() - at.getTime();
  if (past < 0) return `in ${duration(Math.ceil(-past / 1000))}`;
  return past < 1000 ? "now" : `${duration(Math.floor(past / 1000))} ago`;
}

// Formats seconds exactly as the intake (numbers.rs), so that the script doesn't change the text.
function duration(seconds) {
  const nearest = (unit) => Math.round(seconds / unit);
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6000) return `${nearest(60)} min`;
  if (seconds < 172800) return two(nearest(60), 60, "h", "min");
  if (seconds < 864000) return two(nearest(3600), 24, "d", "h");
  return `${nearest(86400)} d`;
}

function two(number, of, large, small) {
  const rest = number % of;
  return `${Math.floor(number / of)} ${large}` + (rest ? ` ${rest} ${small}` : "");
}
