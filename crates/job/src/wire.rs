//! The encoding of a job in Redis: a stream entry, or a list element.

pub mod element;
pub mod entry;
