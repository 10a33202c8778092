//! How much of bodies one script may read: a script keeps Redis from everybody else as long as it runs.

/// A literal, so that Rust and Lua have it from one place.
macro_rules! script_bytes {
    () => {
        4194304
    };
}

/// The most bytes of jobs or letters that one script reads or returns, and that the arguments of one call have. The
/// size of an entry is known only once it is read: the last one may exceed this, so no body may be larger.
pub const SCRIPT_BYTES: usize = script_bytes!();

/// The same in Lua, and what counts by it.
pub(crate) const BUDGET: &str = concat!("local SCRIPT_BYTES = ", script_bytes!(), "\n", include_str!("budget.lua"));
