//! The rules in Lua, for scripts that decide in one go with what else they do.
//!
//! A script joins [`NOW`] (or its own text that sets `now_us`), [`RULES`] and itself, and calls the functions that
//! `rules/check.lua` reports; each request's [`crate::Plan`] is one of its `ARGV`.

/// Sets `now_us`, the Redis clock.
pub const NOW: &str = include_str!("now.lua");

/// `limit_check`, `limit_charge`, `limit_report`, `limit_flush`, and what they stand on.
pub const RULES: &str = concat!(
    include_str!("rules/arithmetic.lua"),
    include_str!("rules/kinds.lua"),
    include_str!("rules/kinds/bucket.lua"),
    include_str!("rules/kinds/fixed.lua"),
    include_str!("rules/kinds/fixed_first.lua"),
    include_str!("rules/kinds/sliding.lua"),
    include_str!("rules/kinds/log.lua"),
    include_str!("rules/kinds/concurrent.lua"),
    include_str!("rules/kinds/backlog.lua"),
    "end\n",
    include_str!("rules/migrate.lua"),
    include_str!("rules/scope.lua"),
    include_str!("rules/plan.lua"),
    include_str!("rules/check.lua"),
);

/// `limit_refund`; after [`RULES`].
pub const REFUND: &str = include_str!("rules/refund.lua");

/// `limit_room` and `limit_spend`, for a pace; after [`RULES`].
pub const ROOM: &str = include_str!("rules/pace.lua");

/// `limit_look` and `limit_passing`: when what waits for a pace will have passed; after [`RULES`].
pub const PASSING: &str = include_str!("rules/eta.lua");
