//! The rules at given times: 40 calls in a minute, and more calls after a quarter of the next one.

use dripfeed_limit::lua::FRAGMENTS;
use dripfeed_limit::{Decision, KeyIndex, Plan, Policies, ScopeKeys, load};
use dripfeed_store::{Fragment, Fragments, Script};

use super::LIMIT;
use crate::error::LabError;
use crate::load::call;
use crate::testbed::Testbed;

const CLOCK: &Fragments = &[Fragment::new("now", "local now_us = tonumber(ARGV[2])")];
static DECIDE_AT: Script = Script::new("decide at", &[CLOCK, FRAGMENTS], include_str!("decide_at.lua"));

const POLICIES: &str = "policies: [{ id: example, tiers: [{ kind: sliding, limit: 40, period: 1m }] }]";

/// 2026-01-01, at noon.
const NOON_US: u64 = 1_767_268_800_000_000;
const QUARTER_INTO_THE_NEXT_US: u64 = NOON_US + 75_000_000;

pub(super) struct Example {
    /// The estimated calls in the sliding window.
    pub(super) estimate: u64,
    /// The calls that were then allowed until one was refused.
    pub(super) more: u64,
}

pub(super) async fn example(testbed: &Testbed) -> Result<Example, LabError> {
    let policies = load::yaml(POLICIES)?;
    for _ in 0..LIMIT {
        decide(testbed, &policies, NOON_US).await?;
    }
    let mut left = 0;
    for _ in 0..5 {
        let decision = decide(testbed, &policies, QUARTER_INTO_THE_NEXT_US).await?;
        left = decision.policies.iter().flat_map(|policy| &policy.tiers).map(|tier| tier.remaining).min().unwrap_or(0);
    }
    let mut more = 0;
    while decide(testbed, &policies, QUARTER_INTO_THE_NEXT_US).await?.allowed {
        more += 1;
    }
    Ok(Example { estimate: LIMIT - left, more })
}

async fn decide(testbed: &Testbed, policies: &Policies, now_us: u64) -> Result<Decision, LabError> {
    let store = testbed.store();
    let scopes = ScopeKeys::new(store.prefix(), "example", store.salt().clone());
    let plan = Plan::new(policies, &scopes, &call("tiger"));
    let mut keys = KeyIndex::default();
    let packed = plan.pack(&mut keys, now_us);
    let mut call = DECIDE_AT.on(keys.keys());
    let report: Vec<i64> = testbed.store().run(call.arg(&packed[..]).arg(now_us)).await?;
    Decision::read(&plan, &report).ok_or_else(|| LabError::Settings("the report is of another plan".to_owned()))
}
