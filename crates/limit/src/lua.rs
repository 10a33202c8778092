//! The rules in Lua, for scripts that check limits together with other work.
//!
//! A script names what it calls in a line `-- needs: rules/check`; the [`crate::Plan`] of each request is one of its
//! `ARGV`.

use dripfeed_store::{Fragment, Fragments};

use crate::kinds::RULES;

/// By their names, and the functions that scripts call:
///
/// - `now` sets `now_us`, the Redis clock. A script whose own tables come first may have another fragment of this name.
/// - `rules/check`: `limit_check`, `limit_charge`, `limit_report`, `limit_states`; and `limit_flush`, which all need
///   that change something.
/// - `rules/plan`: `limit_know`, where plans name policies by their numbers ([`crate::KeyIndex::with_policies`]).
/// - `rules/pass`: `limit_pass` and `limit_charge_passed`, for most of the requests that pass.
/// - `rules/refund`: `limit_refund`, `limit_release`.
/// - `rules/pace`: `limit_room` and `limit_spend`; `limit_state` and `limit_present`, for a state that was rolled back.
/// - `rules/eta`: `limit_look` and `limit_passing`: when what waits for a pace will have passed.
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
    Fragment::new("rules/eta", include_str!("rules/eta.lua")),
];

/// The same functions for a script whose plans are all empty: a fraction of the Lua. To come before [`FRAGMENTS`].
pub const NO_RULES: &Fragments = &[
    Fragment::new("rules/none", include_str!("rules/none.lua")),
    Fragment::new("rules/check", "-- needs: rules/none\n"),
    Fragment::new("rules/pass", "-- needs: rules/none\n"),
    Fragment::new("rules/pace", "-- needs: rules/none\n"),
    Fragment::new("rules/eta", "-- needs: rules/none\n"),
];
