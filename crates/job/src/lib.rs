//! The types of dripfeed and its pure decisions: jobs and their options, their encoding as a stream entry or a list
//! element, what an upstream's answer means for its job, and the backoff between attempts.
//!
//! **Architecture invariant:** nothing here does I/O, reads a clock or draws a random number. Code that needs `now` or
//! a random number receives it.

pub mod chain;
pub mod fingerprint;
pub mod forward;
pub mod group;
pub mod idempotency;
pub mod members;
pub mod names;
pub mod options;
pub mod outcome;
pub mod path;
pub mod port;
pub mod preferences;
pub mod priority;
pub mod redaction;
pub mod schedule;
pub mod submission;
pub mod unique_members;
mod units;
mod wire;

pub use chain::{Chain, OutcomeTargets};
pub use group::Group;
pub use names::{BadBucketName, BucketName, JobId};
pub use outcome::answer::{UpstreamAnswer, Verdict};
pub use outcome::last_status::LastStatus;
pub use outcome::retry::Retry;
pub use outcome::state::JobState;
pub use outcome::{Ending, Outcome, rate_limit, retry_after};
pub use priority::Priority;
pub use submission::{StartTime, Submission};
pub use units::pluralize::pluralize;
pub use units::rate::Rate;
pub use units::share::Share;
pub use units::{audit_text, duration, expected, rate, share, size, time};
pub use wire::entry::{Job, Unreadable};
pub use wire::{element, entry};
