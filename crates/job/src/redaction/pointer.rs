//! JSON pointers (RFC 6901).

/// Returns the name for which a token of a pointer stands.
pub(super) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
