//! JSON pointers (RFC 6901).

/// The name that a token of a pointer stands for.
pub(super) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
