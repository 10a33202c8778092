//! What Rust and Lua both know: each value stands here alone, as a literal, so that both have it from one place.

macro_rules! script_bytes {
    () => {
        4194304
    };
}

macro_rules! parked_owner {
    () => {
        "@parked"
    };
}

/// The most bytes of jobs or letters that one script reads or returns, and that the arguments of one call have: a
/// script keeps Redis from everybody else as long as it runs. The size of an entry is known only once it is read: the
/// last one may exceed this, so no body may be larger.
pub const SCRIPT_BYTES: usize = script_bytes!();

/// The consumer that owns parked jobs.
pub(crate) const PARKED_OWNER: &str = parked_owner!();

/// The same in Lua, and the name of the group that takes the jobs of a stream.
pub(crate) const CONSTANTS: &str =
    concat!("local SCRIPT_BYTES, PARKED_OWNER, GROUP = ", script_bytes!(), ", '", parked_owner!(), "', 'processors'");
