// Filters the cards of the page.

export function filter() {
  const field = document.querySelector("[data-filter]");
  if (!field) return;
  field.closest(".filter").hidden = false;
  // The page reloads when a bucket is added, even while somebody types.
  const kept = history.state?.filter;
  if (kept?.text) field.value = kept.text;
  if (kept?.focused) field.focus();
  const again = () => show(field.value.trim().toLowerCase());
  const keep = () => {
    const filter = { text: field.value, focused: document.activeElement === field };
    history.replaceState({ ...history.state, filter }, "");
  };
  field.addEventListener("input", again);
  for (const event of ["input", "focus", "blur"]) field.addEventListener(event, keep);
  // A frame replaces cards by unfiltered ones.
  document.addEventListener("frame", again);
  again();
}

function show(text) {
  for (const card of document.querySelectorAll(".cards > .card")) {
    card.classList.toggle("filtered", !card.querySelector("h2").textContent.toLowerCase().includes(text));
  }
}
