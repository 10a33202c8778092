//! The vocabulary of dripfeed and its pure decisions: what a job is, how it is written into a stream entry or an element
//! of a list, what an upstream's answer means, when to try again.
//!
//! **Architecture invariant:** nothing here does I/O, reads a clock or draws a random number. Code that needs `now` or
//! a random draw receives it.

pub mod answer;
pub mod bucket_name;
mod checksum;
pub mod duration;
pub mod element;
pub mod entry;
pub mod fingerprint;
pub mod forward;
pub mod id;
pub mod idempotency;
pub mod options;
pub mod outcome;
pub mod path;
pub mod rate;
pub mod rate_limit;
pub mod retry;
pub mod retry_after;
pub mod share;
pub mod size;
pub mod state;
pub mod submission;

pub use answer::{Answer, Verdict};
pub use bucket_name::BucketName;
pub use entry::{Job, Unreadable};
pub use id::JobId;
pub use outcome::{Ending, Outcome};
pub use rate::Rate;
pub use retry::Retry;
pub use share::Share;
pub use state::State;
pub use submission::{Start, Submission};
