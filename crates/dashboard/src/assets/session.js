// Where a visitor signs in again, to come back to this page.

export function signIn() {
  return `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
}
