//! Encodes a job as a stream entry, readable with `XRANGE`, and parses it.
//!
//! Every job has the fields of `FIELDS`, in this order. Optional fields follow, only if they have a value: each field
//! costs Redis time, on the way in and out. Redis stores the names once per node as long as all entries have the same
//! ones. The admit script writes `due` and `expires`, by the Redis clock. Entries of a plain `XADD` are jobs too:
//! `body` is enough, or `request_details`, as the published recipe calls it.

mod decode;
mod encode;

pub use decode::{Job, Unreadable, counted_bytes, decode};
pub use encode::{NewEntry, bytes_of, encode};

/// The fields that each has, in their order, and what stands in them: raw bytes · MIME type, which may be empty ·
/// checksum · layout version.
pub const FIELDS: [&str; 4] = ["body", "content_type", "sum", "v"];

/// The layout's version, also the mark by which our own entries are known from foreign ones.
pub(crate) const LAYOUT: &str = "1";

#[cfg(test)]
pub(super) mod tests;
