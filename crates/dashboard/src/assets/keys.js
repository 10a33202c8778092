// Keyboard shortcuts; `?` lists them.

// In an address: the search of that page gets the focus.
const SEARCH = "#search";

export function keys() {
  const dialog = document.getElementById("keys");
  const button = document.querySelector("[data-keys]");
  button.parentElement.hidden = false;
  button.addEventListener("click", () => dialog.showModal());

  const actions = {
    "?": () => dialog.showModal(),
    "/": search,
    g: () => location.assign("/"),
    p: () => document.querySelector('[data-key="p"]')?.click(),
  };
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("input:not([type=range]), select, textarea");
    if (event.key === "Escape" && field) field.blur();
    if (field || dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  if (location.hash === SEARCH) searchField()?.focus();
}

function searchField() {
  return document.querySelector("[data-filter], [data-search-field]");
}

// A page without a search leads to one that has it: the jobs of its bucket, or all buckets.
function search() {
  const field = searchField();
  if (field) return field.focus();
  const jobs = document.querySelector('.tabs a[href$="/jobs"]');
  location.assign((jobs?.getAttribute("href") ?? "/") + SEARCH);
}
