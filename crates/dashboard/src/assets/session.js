// The session of this browser: all of its tabs have the same one.

const ENDED = "signed-out";

// A browser may refuse to store anything: then each page forgets.
export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {}
}

// Where a visitor signs in again, to come back to this page.
export function signIn() {
  return `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
}

// The page to sign in is there only where no session is: the other tabs of the browser hear of it.
export function session() {
  if (document.querySelector('form[action="/sign-in"]')) remember(ENDED, Date.now());
}

// In another tab, or in an answer to this one.
export function whenSignedOut(then) {
  addEventListener("storage", ({ key }) => key === ENDED && then());
  document.addEventListener(ENDED, then);
}
