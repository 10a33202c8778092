// Makes an element like another one, and touches only what differs: focus, open details and running motion stay.

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
  const said = refused(from, to);
  const [now, then] = [[...from.childNodes].filter((node) => node !== said), [...to.childNodes]];
  then.forEach((node, at) => (now[at] ? morph(now[at], node) : from.append(node)));
  now.slice(then.length).forEach((node) => node.remove());
}

// Why a form was refused stays in it, and goes where the form is of something else now.
function refused(from, to) {
  const said = from.localName === "form" && from.querySelector(":scope > .refusal");
  const of = (form) => [form, ...form.querySelectorAll("[type=hidden]")].map(({ attributes }) => attributes);
  const values = (form) => JSON.stringify(of(form).map(({ action, value }) => (action ?? value)?.value));
  if (said && values(from) !== values(to)) said.remove();
  return said;
}

function attributes(from, to) {
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !(from.localName === "details" && name === "open")) from.removeAttribute(name);
  }
}

// Forms that the visitor has submitted: what their button does next is what they wait for.
const submitted = new WeakSet();

export function submits(form) {
  submitted.add(form);
}

// Somebody else's action doesn't turn a button into its opposite under the pointer.
function isKept(from, to) {
  if (from.localName !== "form" || from.getAttribute("action") === to.getAttribute("action")) return false;
  if (submitted.delete(from)) return false;
  return from.querySelector("button:hover, button:focus-visible") !== null;
}

// Nothing else comes under the pointer, into a selection, or into a form that somebody fills in.
export function inUse(element) {
  const selection = getSelection();
  if (!selection.isCollapsed && selection.containsNode(element, true)) return true;
  const touched = ":is(a, form button, summary):hover, :is(a, button, summary):focus-visible";
  if (element.querySelector(`${touched}, :is(input, textarea):focus, details.confirm[open]`)) return true;
  const fields = [...element.querySelectorAll("input:not([type=hidden]), textarea")];
  return fields.some((field) => field.value !== field.defaultValue);
}
