//! Pages over what a bucket holds.

/// Where a page ended. Opaque to callers; `Display` and `FromStr` carry it through a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub(crate) String);

#[derive(Clone, Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// None: that was the last page.
    pub next: Option<Cursor>,
}
