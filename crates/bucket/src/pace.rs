//! The pace: tiers that a call must pass before its job is claimed, checked by the rules of the limit crate.

pub(crate) mod bounds;
pub(crate) mod calendar_clock;

use std::time::Duration;

use dripfeed_job::{Rate, duration};
use dripfeed_limit::{Plan, Tier, TierKind};

use crate::deliver::permit::PROMPT;
use crate::settings::Leak;

/// The configured pace of a bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct PaceTarget {
    /// Such as `10/s`, or with several tiers `10/s, fixed 10000/24h`.
    pub text: String,
    /// Calls per second of the rate, or without a rate, of the tier with the shortest period.
    pub per_second: f64,
}

impl PaceTarget {
    /// Returns `None` without a pace: then only concurrency limits the calls.
    pub(crate) fn of(leak: &Leak) -> Option<Self> {
        let shortest = || leak.tiers.tiers().iter().min_by_key(|tier| tier.period()).map(per_second);
        let per_second = leak.rate.map(Rate::per_second).or_else(shortest)?;
        let others = leak.tiers.tiers().iter().map(|tier| format!("{} {}", tier.kind().as_str(), rate_of(tier)));
        let all: Vec<String> = leak.rate.iter().map(Rate::to_string).chain(others).collect();
        Some(Self { text: all.join(", "), per_second })
    }
}

/// The plan of the pace, or `None` without one. `key`: of its state.
pub(crate) fn plan(leak: &Leak, key: String) -> Option<Plan> {
    let tiers: Vec<Tier> = tiers(leak).iter().map(with_room_for_late).collect();
    if tiers.is_empty() {
        return None;
    }
    let plan = Plan::pace(tiers, key);
    Some(if leak.adaptive { plan.at_a_speed() } else { plan })
}

/// Whether calls are granted ahead of their time: if a token bucket fills up before a take that is somewhat late,
/// tokens would be lost otherwise. With larger bursts, takes wait for several tokens, which is less work for Redis.
pub(crate) fn is_granted_ahead(leak: &Leak) -> bool {
    const LATE: Duration = Duration::from_millis(10);
    let fills_up = |tier: &Tier| {
        let burst = match *with_room_for_late(tier).kind() {
            TierKind::Bucket { burst } => burst,
            TierKind::Gate => 1,
            _ => return false,
        };
        let gathers = u128::from(burst - 1) * tier.period().as_micros() / u128::from(tier.limit());
        gathers < LATE.as_micros()
    };
    tiers(leak).iter().any(fills_up)
}

/// Whether calls that aren't made are refunded (charge.rs): those of a window, or of a token bucket that fills up
/// slowly.
pub(crate) fn is_refundable(leak: &Leak) -> bool {
    const SLOWLY: Duration = Duration::from_mins(1);
    let fills_up_in = |tier: &Tier| u128::from(tier.most()) * tier.period().as_micros() / u128::from(tier.limit());
    let is_slow = |tier: &Tier| fills_up_in(tier) >= SLOWLY.as_micros();
    tiers(leak).iter().any(|tier| matches!(tier.kind(), TierKind::Fixed(_)) || is_slow(tier))
}

fn tiers(leak: &Leak) -> Vec<Tier> {
    let rate = leak.rate.map(|rate| Tier::of_rate(rate, leak.burst));
    rate.into_iter().chain(leak.tiers.tiers().iter().cloned()).collect()
}

/// Reduces the burst of a tier, to keep room for calls that begin somewhat after their grant: a late call and a prompt
/// one after it are closer together than their tokens (permit.rs). A burst of 1 has no room to keep, and for rare
/// tokens the lateness doesn't matter. Windows need no room, as they count calls when they are made.
fn with_room_for_late(tier: &Tier) -> Tier {
    let TierKind::Bucket { burst } = *tier.kind() else { return tier.clone() };
    let (late, period) = (u128::from(tier.limit()) * PROMPT.as_micros(), tier.period().as_micros());
    let late = if late * 100 < period { 0 } else { late.div_ceil(period) };
    let kept = burst.saturating_sub(u64::try_from(late).unwrap_or(u64::MAX)).max(1);
    // Never an error, as the burst is smaller than a valid one.
    Tier::bucket(tier.limit(), tier.period(), kept).unwrap_or_else(|_| tier.clone())
}

#[expect(clippy::cast_precision_loss, reason = "limits and periods are far below 2^53")]
fn per_second(tier: &Tier) -> f64 {
    tier.limit() as f64 / tier.period().as_secs_f64()
}

fn rate_of(tier: &Tier) -> String {
    let shown = |_| format!("{}/{}", tier.limit(), duration::show(tier.period()));
    Rate::new(tier.limit(), tier.period()).map_or_else(shown, |rate| rate.to_string())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::settings::pace_tiers::PaceTiers;

    fn leak(rate: Option<&str>, burst: u64, tiers: Json) -> Leak {
        let Json::Array(tiers) = tiers else { unreachable!("a list") };
        Leak {
            rate: rate.map(|rate| rate.parse().unwrap()),
            burst,
            tiers: PaceTiers::read("tiers", tiers).unwrap(),
            adaptive: false,
            concurrency: 1,
            max_in_flight: None,
            max_hold: Duration::ZERO,
            default_hold: Duration::ZERO,
        }
    }

    #[test]
    fn a_target_tells_all_tiers() {
        let target = |rate, tiers| PaceTarget::of(&leak(rate, 1, tiers)).map(|target| (target.text, target.per_second));
        assert_eq!(target(None, json!([])), None);
        assert_eq!(target(Some("200/500ms"), json!([])), Some(("200/500ms".to_owned(), 400.0)));
        let day = json!([{ "kind": "fixed", "limit": 10000, "period": "1d" }, { "kind": "gate", "period": "250ms" }]);
        assert_eq!(target(Some("10/s"), day), Some(("10/s, fixed 10000/24h, gate 1/250ms".to_owned(), 10.0)));
        let windows = json!([{ "kind": "fixed", "rate": "10000/day" }, { "kind": "fixed", "rate": "5/s" }]);
        assert_eq!(target(None, windows), Some(("fixed 10000/24h, fixed 5/s".to_owned(), 5.0)));
    }

    #[test]
    fn calls_are_granted_ahead_where_a_burst_is_small() {
        let is_ahead = |rate, burst, tiers| is_granted_ahead(&leak(rate, burst, tiers));
        // Bursts keep the room of 25 ms, and at least 1.
        for (rate, burst, ahead) in [
            ("100/s", 1, true),
            ("1/h", 1, true),
            ("1/h", 2, false),
            ("100/s", 4, true),
            ("100/s", 5, false),
            ("1000/s", 35, true),
            ("1000/s", 36, false),
            ("2000/s", 100, false),
        ] {
            assert_eq!(is_ahead(Some(rate), burst, json!([])), ahead, "{rate} {burst}");
        }
        assert!(!is_ahead(None, 1, json!([])));
        assert!(!is_ahead(None, 1, json!([{ "kind": "fixed", "limit": 5, "period": "1s" }])), "no bucket");
        assert!(is_ahead(Some("100/s"), 50, json!([{ "kind": "gate", "period": "20ms" }])));
    }

    #[test]
    fn a_burst_keeps_room_for_late_calls() {
        let kept = |limit, period, burst| {
            let tier = Tier::bucket(limit, Duration::from_millis(period), burst).unwrap();
            with_room_for_late(&tier).most()
        };
        assert_eq!(kept(200, 500, 200), 190);
        assert_eq!(kept(10, 1000, 20), 19);
        assert_eq!(kept(1, 3_600_000, 20), 20);
        assert_eq!(kept(100, 1000, 2), 1);
        assert_eq!(kept(100, 1000, 1), 1);
    }
}
