// The session, which all tabs of a browser share.

const ENDED = "signed-out";

// Browsers may refuse to store anything; then nothing is remembered.
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

// The page to sign in, which leads back to this page.
export function signIn() {
  return `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
}

// The sign-in page is only shown without a session, so it notifies the other tabs.
export function session() {
  if (document.querySelector('form[action="/sign-in"]')) remember(ENDED, Date.now());
}

// Calls `then` after the session has ended, in this tab or another.
export function onSignedOut(then) {
  addEventListener("storage", ({ key }) => key === ENDED && then());
  document.addEventListener(ENDED, then);
}
