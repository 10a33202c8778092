//! The rules in Lua, for scripts that check limits together with other work.
//!
//! A script lists the fragments that it calls in a line `-- needs: rules/check`, and has the [`crate::Plan`] of each
//! request as one of its `ARGV`.

use dripfeed_store::{Fragment, Fragments};

use crate::kinds::RULES;

/// The fragments by name, and the functions that scripts call:
///
/// - `now` sets `now_us`, the Redis clock. Another table of fragments before this one may override it.
/// - `rules/check`: `limit_check`, `limit_charge`, `limit_report`, `limit_states`; and `limit_flush`, which scripts
///   that change a state must call last.
/// - `rules/plan`: `limit_load_policies`, if plans refer to policies by number ([`crate::KeyIndex::with_policies`]).
/// - `rules/pass`: `limit_pass` and `limit_charge_passed`, a fast path for most allowed requests.
/// - `rules/refund`: `limit_refund`, `limit_release`.
/// - `rules/pace`: `limit_room` and `limit_spend`; `limit_state` and `limit_present`, for a state that Redis has lost.
/// - `rules/refund_pace`: `limit_refund_pace`, for calls of a pace that weren't made.
/// - `rules/eta`: `limit_pace_state` and `limit_pace_wait`: how long until waiting calls have passed a pace.
pub const FRAGMENTS: &Fragments = &[
    Fragment::new("now", include_str!("now.lua")),
    Fragment::new("rules/arithmetic", include_str!("rules/arithmetic.lua")),
    Fragment::new("rules/kinds", RULES),
    Fragment::new("rules/migrate", include_str!("rules/migrate.lua")),
    Fragment::new("rules/scope", include_str!("rules/scope.lua")),
    Fragment::new("rules/plan", include_str!("rules/plan.lua")),
    Fragment::new("rules/check", include_str!("rules/check.lua")),
    Fragment::new("rules/pass", include_str!("rules/pass.lua")),
    Fragment::new("rules/refund", include_str!("rules/refund.lua")),
    Fragment::new("rules/pace", include_str!("rules/pace.lua")),
    Fragment::new("rules/refund_pace", include_str!("rules/refund_pace.lua")),
    Fragment::new("rules/eta", include_str!("rules/eta.lua")),
];

/// Empty functions of the same names for scripts whose plans are all empty, which need much less Lua. Must come before
/// [`FRAGMENTS`].
pub const NO_RULES: &Fragments = &[
    Fragment::new("rules/none", include_str!("rules/none.lua")),
    Fragment::new("rules/check", "-- needs: rules/none\n"),
    Fragment::new("rules/pass", "-- needs: rules/none\n"),
    Fragment::new("rules/pace", "-- needs: rules/none\n"),
    Fragment::new("rules/eta", "-- needs: rules/none\n"),
];
