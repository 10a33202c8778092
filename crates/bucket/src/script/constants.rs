//! Constants shared by Rust and Lua, each defined once as a literal.

macro_rules! largest_body {
    () => {
        4194304
    };
}

macro_rules! batch_bytes {
    () => {
        262144
    };
}

macro_rules! batch_jobs {
    () => {
        100
    };
}

macro_rules! parked_owner {
    () => {
        "@parked"
    };
}

/// The maximum size of a job's body. A script handles at least one job, and blocks Redis while it runs.
pub const LARGEST_BODY: usize = largest_body!();

/// After this many bytes of jobs or letters a script reads, returns or is given no further one. Redis hashes and copies
/// each string that it creates for Lua, about 1 ms per MiB. The size of an entry is known only after it was read, so
/// the last one may exceed the maximum.
pub const BATCH_BYTES: usize = batch_bytes!();

/// The version with which a caller changes whatever version there is.
pub(crate) const ANY_VERSION: &str = "*";

/// The maximum bytes of small jobs. With everything else that a call sends for them they are still less than a large
/// request of a connection.
pub(crate) const SMALL_BYTES: usize = 64 * 1024;

/// The maximum number of jobs that one script admits, hands out, settles, ends or moves. Each takes 5 to 20 µs. A
/// higher number would save little, as a script without jobs takes only as long as about ten jobs.
pub const BATCH_JOBS: usize = batch_jobs!();

/// The approximate maximum of limit tiers that one script checks, counted per job: 1,600 take 10 to 20 ms.
pub(crate) const BATCH_TIERS: usize = 1600;

/// The consumer that owns parked jobs.
pub(crate) const PARKED_OWNER: &str = parked_owner!();

/// These constants in Lua, and the name of a stream's consumer group.
pub(crate) const CONSTANTS: &str = concat!(
    "local LARGEST_BODY, BATCH_BYTES, BATCH_JOBS = ",
    largest_body!(),
    ", ",
    batch_bytes!(),
    ", ",
    batch_jobs!(),
    "\nlocal PARKED_OWNER, GROUP = '",
    parked_owner!(),
    "', 'processors'"
);
