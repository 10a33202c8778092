use super::checked::{MOST_CONCURRENT, MOST_LOG};
use super::*;

const DAY: Duration = Duration::from_hours(24);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn each_broken_rule_is_named() {
    assert_eq!(Tier::bucket(0, SECOND, 1), Err(BadTier::ZeroLimit));
    assert_eq!(Tier::bucket(1, Duration::ZERO, 1), Err(BadTier::ZeroPeriod));
    assert_eq!(Tier::bucket(1, Duration::from_nanos(999), 1), Err(BadTier::ZeroPeriod));
    assert_eq!(Tier::bucket(1, SECOND, 0), Err(BadTier::ZeroBurst));
    assert_eq!(Tier::gate(367 * DAY), Err(BadTier::LongPeriod(367 * DAY)));
    assert_eq!(Tier::gate(Duration::MAX), Err(BadTier::LongPeriod(Duration::MAX)));
    assert_eq!(Tier::log(MOST_LOG + 1, SECOND, Duration::ZERO, false), Err(BadTier::LargeLog(MOST_LOG + 1)));
    assert_eq!(Tier::log(1, SECOND, DAY, false), Err(BadTier::LongGap { gap: DAY, period: SECOND }));
    assert_eq!(Tier::concurrent(MOST_CONCURRENT + 1, SECOND), Err(BadTier::ManyLeases(MOST_CONCURRENT + 1)));
    assert_eq!(Tier::fixed(u64::MAX, DAY, Align::First), Err(BadTier::LargeLimit(u64::MAX)));
}

#[test]
fn products_that_doubles_do_not_hold_are_refused() {
    assert!(matches!(Tier::sliding(1_000_000, DAY), Err(BadTier::Inexact { .. })));
    assert!(matches!(Tier::bucket(7, DAY, 100_000), Err(BadTier::Inexact { .. })));
    // In lowest terms these are small.
    assert!(Tier::bucket(1_000_000, DAY, 1_000_000).is_ok());
    assert!(Tier::bucket(30_000, SECOND, 30_000).is_ok());
    assert!(Tier::sliding(10_000, DAY).is_ok());
}

#[test]
fn a_share_is_rounded_down_and_none_is_none() {
    let share = |tier: Result<Tier, BadTier>, replicas| {
        tier.ok().and_then(|tier| tier.share(replicas)).map(|tier| (tier.limit(), tier.most()))
    };
    assert_eq!(share(Tier::bucket(10, SECOND, 5), 3), Some((3, 1)));
    assert_eq!(share(Tier::fixed(10, SECOND, Align::First), 3), Some((3, 3)));
    assert_eq!(share(Tier::gate(SECOND), 1), Some((1, 1)));
    assert_eq!(share(Tier::gate(SECOND), 2), None);
}
