// Filters what is on the page.

export function filter() {
  const field = document.querySelector("[data-filter]");
  if (!field) return;
  field.closest(".filter").hidden = false;
  const again = () => show(field.value.trim().toLowerCase());
  field.addEventListener("input", again);
  // A card that a frame has is drawn again, as one that is seen.
  document.addEventListener("frame", again);
}

function show(text) {
  for (const card of document.querySelectorAll(".cards > .card")) {
    card.classList.toggle("filtered", !card.querySelector("h2").textContent.toLowerCase().includes(text));
  }
}
