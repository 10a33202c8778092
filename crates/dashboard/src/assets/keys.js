// Keyboard shortcuts; `?` lists them.

export function keys() {
  const dialog = document.getElementById("keys");
  const button = document.querySelector("[data-keys]");
  button.parentElement.hidden = false;
  button.addEventListener("click", () => dialog.showModal());

  const actions = {
    "?": () => dialog.showModal(),
    "/": () => document.querySelector("[data-filter], [data-search-field]")?.focus(),
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
}
