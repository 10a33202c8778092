use super::rules::Rules;

/// The rules that a change replaces.
#[derive(Clone, Copy)]
pub(super) enum Replaced<'r> {
    Any,
    /// Only these rules; `None`: only if the service isn't registered.
    Known(Option<&'r Rules>),
}

impl<'r> Replaced<'r> {
    /// The arguments for scripts.
    pub(super) fn words(self) -> [&'r str; 2] {
        match self {
            Self::Any => ["any", ""],
            Self::Known(known) => ["known", known.map_or("", |known| known.text.as_str())],
        }
    }
}
