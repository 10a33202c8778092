// Sorts and filters what is on the page. Without it, the order is that of names.

export function tables() {
  const field = document.querySelector("[data-filter]");
  if (field) {
    field.closest(".filter").hidden = false;
    field.addEventListener("input", () => filter(field.value.trim().toLowerCase()));
  }
  for (const heading of document.querySelectorAll(".sortable thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener("click", () => sort(heading));
  }
}

function filter(text) {
  for (const element of document.querySelectorAll("tr[data-search], .cards > .card")) {
    const name = element.dataset.search ?? element.querySelector("h2").textContent;
    element.classList.toggle("filtered", !name.toLowerCase().includes(text));
  }
}

function sort(heading) {
  const down = heading.getAttribute("aria-sort") === "descending";
  for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "ascending" : "descending");
  const [body] = heading.closest("table").tBodies;
  const sign = down ? 1 : -1;
  const value = (row) => row.cells[heading.cellIndex].textContent;
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  const rows = [...body.rows].sort((a, b) => sign * compare(value(a).replaceAll(",", ""), value(b).replaceAll(",", "")));
  body.append(...rows);
}
