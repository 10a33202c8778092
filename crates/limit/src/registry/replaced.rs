use super::rules::Rules;

/// The rules that a change replaces.
#[derive(Clone, Copy)]
pub(super) enum Replaced<'r> {
    Any,
    /// Only these; None: only if there are none.
    Known(Option<&'r Rules>),
}

impl<'r> Replaced<'r> {
    /// As scripts take it.
    pub(super) fn words(self) -> [&'r str; 2] {
        match self {
            Self::Any => ["any", ""],
            Self::Known(known) => ["known", known.map_or("", |known| known.text.as_str())],
        }
    }
}
