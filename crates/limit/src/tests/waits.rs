use std::sync::Arc;
use std::time::Duration;

use crate::{Align, Calendar, KeyPart, Policy, Tier, Unit, Wait};

use super::bench::{Bench, NOON, plan, plan_of, settings};

const RULES: usize = 150;
const CALLS: usize = 60;

fn random_us(random: &mut fastrand::Rng) -> Duration {
    let most = 10_u64.pow(random.u32(2..8));
    Duration::from_micros(random.u64(10..=most))
}

/// Any kind, with any settings.
fn any(random: &mut fastrand::Rng) -> Tier {
    let (limit, period) = (random.u64(1..20), random_us(random));
    let tier = match random.u8(0..9) {
        0 => Tier::bucket(limit, period, random.u64(1..20)),
        1 => Tier::gate(period),
        2 => Tier::fixed(limit, period, Align::Epoch { spread: None }),
        3 => Tier::fixed(limit, period, Align::Epoch { spread: Some(KeyPart::Caller) }),
        4 => Tier::fixed(limit, period, Align::First),
        5 => Tier::calendar(limit, Calendar::new(Unit::Day, "America/New_York").unwrap()),
        6 => Tier::sliding(limit, period),
        7 => {
            let gap = period / random.u32(2..60);
            Tier::log(limit, period, if random.bool() { gap } else { Duration::ZERO }, random.bool())
        }
        _ => Tier::concurrent(limit, period),
    };
    tier.unwrap()
}

#[tokio::test]
async fn who_waits_exactly_as_told_and_is_alone_gets_in() {
    let bench = Bench::new().await;
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut waited = 0;
    for rule in 0..RULES {
        let tiers: Vec<Tier> = (0..random.usize(1..4)).map(|_| any(&mut random)).collect();
        let most = tiers.iter().map(Tier::most).min().unwrap();
        let policies = tiers.chunks(2).enumerate().map(|(at, tiers)| {
            // Several scopes as well as several tiers of one.
            Policy::new(settings(&format!("rule-{rule}-{at}"), tiers.to_vec())).unwrap()
        });
        let policies: Vec<Policy> = policies.collect();
        let mut now = NOON + random.u64(0..86_400_000_000);
        for _ in 0..CALLS {
            let cost = random.u64(1..=most);
            match bench.decide(now, &plan_of(&policies, cost)).await.wait {
                Wait::Ready => now += random.u64(0..10_000),
                Wait::After(wait) => {
                    now += u64::try_from(wait.as_micros()).unwrap();
                    waited += 1;
                    let again = bench.decide(now, &plan_of(&policies, cost)).await;
                    assert!(again.allowed, "{cost} of {tiers:?} after {wait:?}, seed {seed}: {again:?}");
                }
                Wait::Never => panic!("{cost} of {tiers:?} passes some time, seed {seed}"),
            }
        }
    }
    assert!(waited > RULES * CALLS / 10, "{waited} waits prove little");
}

#[tokio::test]
async fn a_denied_call_that_counts_is_in_the_wait_that_is_told() {
    let bench = Bench::new().await;
    let policy = Tier::log(1, Duration::from_secs(1), Duration::ZERO, true).unwrap();
    let policy = Arc::new(Policy::new(settings("denied", vec![policy])).unwrap());
    assert!(bench.passes(NOON, &policy).await);
    let denied = bench.decide(NOON + 400_000, &plan(&policy, 1)).await;
    assert_eq!(denied.wait, Wait::After(Duration::from_secs(1)));
    assert!(bench.passes(NOON + 1_400_000, &policy).await);
}
