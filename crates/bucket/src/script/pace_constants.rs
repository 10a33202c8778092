//! Constants of the pace shared by Rust and Lua, under the same names.

macro_rules! in_rust_and_lua {
    ($fragment:ident: $($(#[$meta:meta])* $name:ident: $type:ty = $value:literal;)*) => {
        $($(#[$meta])* pub(crate) const $name: $type = $value;)*

        /// The same in Lua.
        pub(crate) const $fragment: &str =
            concat!($("local ", stringify!($name), " = ", stringify!($value), "\n"),*);
    };
}

in_rust_and_lua! { PACE_CONSTANTS:
    /// The speed of a rate that isn't cut.
    PACE_WHOLE: f64 = 1000.0;
    /// The most µs that may pass from a grant to its call.
    PACE_LATEST: u64 = 10000000;
    /// For how many µs tokens are kept of a caller that waits for them, should the take for them be late.
    TOKENS_KEPT: u64 = 5000;
    /// How the upstream took a call that it refused, and one that it didn't answer in time.
    REFUSED_CALL: &str = "refused";
    LATE_CALL: &str = "late";
    /// Why a rate was cut, when it wasn't for refusals.
    CUT_FOR_TIMEOUTS: &str = "timeouts";
}
