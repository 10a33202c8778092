//! A job as Redis holds it: an entry of a stream or an element of a list.

pub mod element;
pub mod entry;
