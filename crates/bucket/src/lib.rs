//! The bucket: a bounded queue in Redis in front of one upstream. Each verb is a file, its Lua beside it under the same
//! name.
//!
//! What differs between a stream and a list stands in `stream_kind` and `list_kind`.
//!
//! A job's way: `admit` appends it, `take` hands it to a replica at the bucket's pace, `settle` ends the attempt
//! (complete, park, bury). `replica` is a processor's membership, `recover` brings back what a dead one held.
//!
//! **Architecture invariant:** a job leaves the stream in the script that records its outcome, and nowhere else.

mod admission;
mod admit;
mod asked;
mod await_outcome;
mod batches;
mod bucket;
mod buckets;
mod cancel;
mod census;
mod change;
mod changes;
mod core;
mod dead;
mod doorbell;
mod error;
mod examine;
mod find;
mod in_force;
mod keys;
mod limits;
mod list;
mod list_kind;
mod outcomes;
mod pace;
mod pace_tiers;
mod page;
mod permission;
#[cfg(feature = "planted-bugs")]
mod planted;
mod purge;
mod recover;
mod replica;
mod reply;
mod scripts;
mod settings;
mod settle;
mod strays;
mod take;

pub use admission::{Admission, Admitted, Holding, Judgement, MAX_SHARE, Reason, Refused};
pub use asked::Origin;
pub use bucket::Bucket;
pub use buckets::Buckets;
pub use cancel::Cancel;
pub use census::{Census, Pace, ReplicaCensus};
pub use changes::{Changes, LeakChanges};
pub use dead::{DeadFilter, DeadLetter, Replayed, ReplayedMany};
pub use error::BucketError;
pub use examine::{Finding, FindingKind};
pub use find::JobView;
pub use limits::BucketLimits;
pub use outcomes::{EndedJob, Latency, Report};
pub use pace::Target;
pub use pace_tiers::PaceTiers;
pub use page::{BadCursor, Cursor, Page};
pub use recover::Recovery;
pub use replica::{Consumer, Life, Replica};
pub use settings::{BucketSettings, Keep, Kind, Leak};
pub use settle::{Feedback, Settled, Settlement};
pub use take::{Claim, Idle, Permit, Take, Taken};
