// Filters what is on the page.

export function filter() {
  const field = document.querySelector("[data-filter]");
  if (!field) return;
  field.closest(".filter").hidden = false;
  field.addEventListener("input", () => show(field.value.trim().toLowerCase()));
}

function show(text) {
  for (const card of document.querySelectorAll(".cards > .card")) {
    card.classList.toggle("filtered", !card.querySelector("h2").textContent.toLowerCase().includes(text));
  }
}
