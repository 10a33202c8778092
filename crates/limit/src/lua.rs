//! The rules in Lua, for scripts that decide in one go with what else they do.
//!
//! A script names what it calls in a line `-- needs: rules/check`; each request's [`crate::Plan`] is one of its `ARGV`.

use dripfeed_store::Fragments;

use crate::kinds::RULES;

/// By their names, and the functions that scripts call:
///
/// - `now` sets `now_us`, the Redis clock. A script whose own tables come first may have another fragment of this name.
/// - `rules/check`: `limit_check`, `limit_charge`, `limit_report`; and `limit_flush`, which all need that change
///   something.
/// - `rules/refund`: `limit_refund`, `limit_release`.
/// - `rules/pace`: `limit_room` and `limit_spend`.
/// - `rules/eta`: `limit_look` and `limit_passing`: when what waits for a pace will have passed.
pub const FRAGMENTS: &Fragments = &[
    ("now", include_str!("now.lua")),
    ("rules/arithmetic", include_str!("rules/arithmetic.lua")),
    ("rules/kinds", RULES),
    ("rules/migrate", include_str!("rules/migrate.lua")),
    ("rules/scope", include_str!("rules/scope.lua")),
    ("rules/plan", include_str!("rules/plan.lua")),
    ("rules/check", include_str!("rules/check.lua")),
    ("rules/refund", include_str!("rules/refund.lua")),
    ("rules/pace", include_str!("rules/pace.lua")),
    ("rules/eta", include_str!("rules/eta.lua")),
];

/// The same functions for a script whose plans are all empty: a fraction of the Lua. To come before [`FRAGMENTS`].
pub const NO_RULES: &Fragments = &[
    ("rules/none", include_str!("rules/none.lua")),
    ("rules/check", "-- needs: rules/none\n"),
    ("rules/pace", "-- needs: rules/none\n"),
    ("rules/eta", "-- needs: rules/none\n"),
];
