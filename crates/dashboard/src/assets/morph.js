// Updates an element to equal another one. Changes only differences, so that focus, open details and animations stay.

export function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) {
    from.replaceWith(to);
    return;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  if (isKept(from, to)) return;
  attributes(from, to);
  if (from.localName.includes("-")) return;
  const refusal = refused(from, to);
  const [now, then] = [[...from.childNodes].filter((node) => node !== refusal), [...to.childNodes]];
  then.forEach((node, at) => (now[at] ? morph(now[at], node) : from.append(node)));
  now.slice(then.length).forEach((node) => node.remove());
}

// Keeps the refusal shown in a form, unless the form is for something else now.
function refused(from, to) {
  const refusal = from.localName === "form" && from.querySelector(":scope > .refusal");
  const of = (form) => [form, ...form.querySelectorAll("[type=hidden]")].map(({ attributes }) => attributes);
  const values = (form) => JSON.stringify(of(form).map(({ action, value }) => (action ?? value)?.value));
  if (refusal && values(from) !== values(to)) refusal.remove();
  return refusal;
}

function attributes(from, to) {
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !(from.localName === "details" && name === "open")) from.removeAttribute(name);
  }
}

// Forms that the visitor has submitted, whose button may change under the pointer.
const submitted = new WeakSet();

export function submits(form) {
  submitted.add(form);
}

// Keeps a button that is in use if somebody else's action would turn it into its opposite.
function isKept(from, to) {
  if (from.localName !== "form" || from.getAttribute("action") === to.getAttribute("action")) return false;
  if (submitted.delete(from)) return false;
  return from.querySelector("button:hover, button:focus-visible") !== null;
}

// Whether the pointer, the focus, a selection or typed text is in the element, so that it must not change.
export function inUse(element) {
  const selection = getSelection();
  if (!selection.isCollapsed && selection.containsNode(element, true)) return true;
  const touched = ":is(a, form button, summary):hover, :is(a, button, summary):focus-visible";
  if (element.querySelector(`${touched}, :is(input, textarea):focus, details.confirm[open]`)) return true;
  const fields = [...element.querySelectorAll("input:not([type=hidden]), textarea")];
  return fields.some((field) => field.value !== field.defaultValue);
}
