//! A job as Redis holds it: an entry of a stream or an element of a list.

mod checksum;
pub mod element;
pub mod entry;
