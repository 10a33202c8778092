// The charts of a bucket: a shared cursor, and reloading.
import { morph } from "./morph.js";
import { clock, all as times } from "./times.js";

const [WIDTH, HEIGHT] = [600, 64];
const LONGEST_MS = 60000;
// The index of the slot at the cursor; null: no cursor.
let place = null;

export function strips() {
  const section = document.getElementById("history");
  if (!section) return;
  ready(section);
  section.addEventListener("pointermove", (event) => {
    const svg = event.target.closest(".strip svg");
    if (svg) point(section, Math.floor(((event.clientX - svg.getBoundingClientRect().left) / svg.clientWidth) * slots(section)));
  });
  section.addEventListener("pointerleave", () => point(section, null));
  section.addEventListener("focusin", (event) => {
    if (event.target.matches(".moment")) point(section, Number(event.target.value));
  });
  section.addEventListener("input", (event) => point(section, Number(event.target.value)));
  let due = Date.now() + interval(section);
  document.addEventListener("frame", async () => {
    if (Date.now() < due) return;
    due = Date.now() + interval(section);
    const answer = await fetch(section.dataset.source).catch(() => null);
    if (answer?.status === 401) document.dispatchEvent(new CustomEvent("signed-out"));
    if (!answer?.ok || answer.redirected) return;
    const template = document.createElement("template");
    template.innerHTML = await answer.text();
    const moment = section.querySelector(".moment").value;
    morph(section, template.content.firstElementChild);
    ready(section);
    times();
    section.querySelector(".moment").value = moment;
    point(section, place);
  });
}

function ready(section) {
  section.querySelector(".moment").hidden = false;
}

function interval(section) {
  return Math.min(Number(section.dataset.slotMs), LONGEST_MS);
}

function slots(section) {
  return Number(section.querySelector(".moment").max) + 1;
}

function point(section, at) {
  place = at === null ? null : Math.max(0, Math.min(at, slots(section) - 1));
  const row = section.querySelector(`tr[data-slot="${place}"]`);
  const headings = section.querySelectorAll("thead th");
  const x = (((place ?? 0) + 0.5) * WIDTH) / slots(section);
  for (const strip of section.querySelectorAll(".strip")) {
    strip.querySelector(".cursor").setAttribute("d", place === null ? "" : `M${x} 0V${HEIGHT}`);
    strip.querySelector(".readout").textContent = place === null ? "" : readout(strip, row, headings);
  }
  if (place !== null) section.querySelector(".moment").ariaValueText = spoken(section, row);
}

// The value of the slider for screen readers; the number of a slot would say nothing.
function spoken(section, row) {
  if (row) return [...section.querySelectorAll(".readout")].map((part) => part.textContent).join("; ");
  const from = new Date(section.querySelector(".axis time").dateTime).getTime();
  return `${clock(new Date(from + place * Number(section.dataset.slotMs)))}: no activity`;
}

// The length of a slot; the last one is incomplete.
function secondsOf(section, row) {
  const [at, to] = [row.querySelector("time"), section.querySelector(".axis time:last-of-type")];
  const ms = new Date(to.dateTime) - new Date(at.dateTime);
  return Math.min(Math.max(ms, 1000), Number(section.dataset.slotMs)) / 1000;
}

// Formats a count as a rate if the chart shows rates.
function value(text, seconds) {
  const count = Number(text.replaceAll(",", ""));
  if (!seconds || !count) return text;
  const rate = count / seconds;
  return `${rate >= 9.95 ? Math.round(rate).toLocaleString("en") : Number(rate.toFixed(rate < 0.1 ? 4 : 1))}/s (${text})`;
}

// The values at the cursor in one line. The first chart also shows the time.
function readout(strip, row, headings) {
  if (!row) return "no activity";
  const [first, last] = strip.dataset.columns.split(" ").map(Number);
  const cells = [...row.cells].slice(first, last + 1);
  const names = cells.map((cell, at) => headings[first + at].textContent.replace(/^.* (?=p\d)/, ""));
  const seconds = "perSecond" in strip.dataset ? secondsOf(strip.closest("section"), row) : null;
  const values = cells.map((cell, at) => `${names[at]} ${value(cell.textContent, seconds)}`);
  const shown = values.length > 4 ? values.filter((value) => !value.endsWith(" 0")) : values;
  return (strip.matches(":first-child") ? `${row.cells[0].textContent}: ` : "") + shown.join(", ");
}
