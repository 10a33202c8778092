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

/// The largest body that a job may have: a script keeps Redis from everybody else as long as it runs, and has at least
/// one job.
pub const LARGEST_BODY: usize = largest_body!();

/// Beyond this number of bytes of jobs or letters a script reads, returns or is given no second one. Redis hashes and
/// copies each text that it makes for Lua, about 1 ms per MiB; the size of an entry is known only once it is read, so
/// the last one comes on top.
pub const BATCH_BYTES: usize = batch_bytes!();

/// For a script that compares versions: it changes any.
pub(crate) const ANY_VERSION: &str = "*";

/// Jobs that together have no more bytes aren't large: with all else that a call sends for them they are less than what
/// is a large request for a connection.
pub(crate) const SMALL_BYTES: usize = 64 * 1024;

/// The most jobs that one script admits, hands out, settles, ends or moves: each costs 5 to 20 µs. Twice as many would
/// save little: what a script costs without any job is as much as about ten jobs.
pub const BATCH_JOBS: usize = batch_jobs!();

/// About the most tiers of limits that one script judges, each for a job: 1,600 cost 10 to 20 ms, and all others wait.
pub(crate) const BATCH_TIERS: usize = 1600;

/// The consumer that owns parked jobs.
pub(crate) const PARKED_OWNER: &str = parked_owner!();

/// The same in Lua, and the name of the group that takes the jobs of a stream.
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
