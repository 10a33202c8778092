//! Constants of the pace shared by Rust and Lua, under the same names.

macro_rules! in_rust_and_lua {
    ($fragment:ident: $($(#[$meta:meta])* $name:ident: $type:ty = $value:literal;)*) => {
        $($(#[$meta])* pub(crate) const $name: $type = $value;)*

        /// These constants in Lua.
        pub(crate) const $fragment: &str =
            concat!($("local ", stringify!($name), " = ", stringify!($value), "\n"),*);
    };
}

in_rust_and_lua! { PACE_CONSTANTS:
    /// The speed of a rate that isn't reduced.
    PACE_WHOLE: f64 = 1000.0;
    /// The maximum µs from a grant to its call.
    PACE_LATEST: u64 = 10000000;
    /// For how many µs a waiting caller keeps the tokens that it earns, in case the take for them is late.
    TOKENS_KEPT: u64 = 5000;
    /// The reaction of the upstream to a call that it refused, and to one that timed out.
    REFUSED_CALL: &str = "refused";
    LATE_CALL: &str = "late";
    /// The reason of a rate that was reduced because of timeouts.
    CUT_FOR_TIMEOUTS: &str = "timeouts";
}
