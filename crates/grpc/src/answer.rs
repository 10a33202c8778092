//! A decision as the response to `ShouldForwardRequest`.

use dripfeed_job::duration::ms_up;
use dripfeed_limit::{Decision, Mode, PolicyVerdict, TierVerdict};

use crate::proto;

pub(crate) fn of(decision: &Decision) -> proto::ShouldForwardRequestResponse {
    proto::ShouldForwardRequestResponse {
        should_forward: decision.allowed,
        message: decision.message().unwrap_or_default(),
        retry_after_ms: decision.retry_after().map(ms_up),
        policies: decision.policies.iter().map(policy).collect(),
    }
}

fn policy(verdict: &PolicyVerdict) -> proto::PolicyVerdict {
    let mode = match verdict.policy.settings().mode {
        Mode::Enforce => "enforce",
        Mode::Shadow => "shadow",
        Mode::Off => "off",
    };
    proto::PolicyVerdict {
        id: verdict.policy.id().to_string(),
        mode: mode.to_owned(),
        allowed: verdict.allowed,
        tiers: verdict.tiers.iter().map(tier).collect(),
    }
}

fn tier(verdict: &TierVerdict) -> proto::TierVerdict {
    let TierVerdict { kind, limit, reset, .. } = *verdict;
    let remaining = verdict.shown_remaining();
    proto::TierVerdict { kind: kind.to_owned(), limit, remaining, reset_ms: ms_up(reset) }
}
