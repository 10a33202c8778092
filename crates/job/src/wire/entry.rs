//! Encodes a job as a stream entry, readable with `XRANGE`, and parses it.
//!
//! Every job has the fields of `FIELDS`, in this order. Optional fields follow only if they have a value, as each field
//! costs Redis time when it is written and read. Redis stores the names once per node as long as all entries have the
//! same ones. The admit script writes `due` and `expires`, by the Redis clock. Entries of a plain `XADD` are jobs, too:
//! they need only `body`, or `request_details`, its name in the published recipe.

mod decode;
mod encode;

pub use decode::{Job, Unreadable, counted_bytes, decode};
pub use encode::{NewEntry, bytes_of, encode};

/// The fields of every job, in order: raw bytes, MIME type or empty, checksum, layout version.
pub const FIELDS: [&str; 4] = ["body", "content_type", "sum", "v"];

/// The version of the layout. It also distinguishes dripfeed's entries from those of a plain `XADD`.
pub(crate) const LAYOUT: &str = "1";

#[cfg(test)]
pub(super) mod tests;
