use std::sync::Arc;
use std::time::Duration;

use crate::decide::wait::Wait;
use crate::local::LocalScope;
use crate::{Align, Calendar, Plan, Policy, Tier, TierKind, Unit};

use super::bench::{Bench, NOON, Step, plan, policy};
use super::definition::{self, Definition};

const STEPS: usize = 10_000;
/// Rules with random settings each.
const RULES: usize = 20;
const MOST_COST: u64 = 12;
/// How many times as many pass as are refused, or the other way round, before that is evened out.
const ONE_SIDED: usize = 5;

/// What the Rust rules say of a step, as a report of the Lua ones.
fn report(scope: &mut LocalScope, now: u64, n: u64, ahead: u64, lease: u64) -> Vec<i64> {
    let verdict = scope.take(n, lease);
    let in_us = |wait| match wait {
        Wait::Ready => 0,
        Wait::After(wait) => i64::try_from(wait.as_micros()).unwrap() + int(ahead),
        Wait::Never => -1,
    };
    let worst = verdict.tiers.iter().map(|(wait, _)| *wait).max().unwrap();
    let mut report = vec![int(now), i64::from(verdict.passed), in_us(worst), int(verdict.taken)];
    for (wait, left) in verdict.tiers {
        report.extend([in_us(wait), int(left.calls), int(left.resets) + int(ahead)]);
    }
    report
}

fn int(number: u64) -> i64 {
    number.try_into().unwrap()
}

enum Done {
    Decided(Vec<i64>),
    Other,
}

/// One scope under random operations, reported in Rust.
struct Walk {
    policy: Arc<Policy>,
    scope: LocalScope,
    now: u64,
    /// When the state was written last: only there can the clock be put back without confusing times.
    written: bool,
    /// The last plan that was charged.
    charged: Option<Plan>,
    /// The last wait that was reported.
    wait: u64,
    /// How many passed and were refused so far.
    passed: usize,
    refused: usize,
    /// None: a log that counts the denied and was returned to, which forgets what its definition would bring up again.
    definition: Option<Definition>,
}

impl Walk {
    fn new(tier: Tier, random: &mut fastrand::Rng) -> Self {
        let policy = policy(vec![tier]);
        let scope = plan(&policy, 1).scopes()[0].clone();
        let now = NOON + random.u64(0..86_400_000_000);
        let definition = scope.phases(now).next().map(|(tier, phase)| Definition::new(tier.clone(), phase));
        let scope = LocalScope::new(scope.phases(now));
        Self { policy, scope, now, written: false, charged: None, wait: 0, passed: 0, refused: 0, definition }
    }

    /// A part of what may pass at once: what a call costs, and the time that goes by, are counted in it.
    fn grain(&self) -> u64 {
        (self.policy.tiers()[0].most() / 20).max(1)
    }

    fn cost(&self, random: &mut fastrand::Rng) -> u64 {
        let grain = self.grain();
        if random.u8(0..3) == 0 { random.u64(0..MOST_COST) * grain + random.u64(0..grain) } else { grain }
    }

    /// How much of the period passes: nothing, a little, what was to be waited for, or too little of that by 1 µs.
    /// Where few were refused so far it is mostly nothing, and where few passed what was to be waited for: else some
    /// seeds would test one answer alone. Reports by how much the clock is put back for this step.
    fn pass(&mut self, random: &mut fastrand::Rng) -> u64 {
        let period = self.policy.tiers()[0].period_us();
        let limit = self.policy.tiers()[0].limit();
        let grain_us = u64::try_from(u128::from(period) * u128::from(self.grain()) / u128::from(limit)).unwrap();
        let back = random.u64(0..=(period / limit).min(50));
        if self.written && random.u8(0..20) == 0 {
            return back;
        }
        let few = self.passed.min(self.refused) * ONE_SIDED < self.passed.max(self.refused);
        self.now += match random.u8(0..10) {
            0..8 if few && self.refused < self.passed => 0,
            0..8 if few => self.wait,
            0..3 => random.u64(0..=grain_us / 2),
            3..5 => random.u64(0..=grain_us * 3),
            5 => random.u64(0..=period * 3),
            6 | 7 => self.wait,
            8 => self.wait.saturating_sub(1),
            _ => 0,
        };
        0
    }

    fn step(&mut self, random: &mut fastrand::Rng) -> ((u64, bool, Plan), Done) {
        let ahead = self.pass(random);
        let at = self.now - ahead;
        let plan_now = plan(&self.policy, self.cost(random));
        let scope = plan_now.scopes()[0].clone();
        self.scope.advance(self.now, scope.phases(self.now));
        self.written = false;
        if random.u8(0..12) == 0
            && let Some(charged) = self.charged.take()
        {
            let (n, id) = (charged.scopes()[0].cost, charged.id());
            self.scope.refund(n, id);
            self.definition = self.definition.take().filter(|_| !counts_denied(&self.policy.tiers()[0]));
            self.define(definition::Done::Refunded { at: self.now, n, id });
            return ((at, false, charged), Done::Other);
        }
        let report = report(&mut self.scope, at, scope.cost, ahead, plan_now.id());
        self.wait = u64::try_from(report[2]).unwrap_or(0);
        *(if report[1] == 1 { &mut self.passed } else { &mut self.refused }) += 1;
        self.hold_against_definition(scope.cost, plan_now.id(), &report, ahead);
        if report[1] == 1 && scope.cost > 0 {
            self.charged = Some(plan_now.clone());
            self.written = true;
        }
        ((at, true, plan_now), Done::Decided(report))
    }

    fn define(&mut self, done: definition::Done) {
        if let Some(definition) = &mut self.definition {
            definition.add(done);
        }
    }

    /// What was decided here is what the definition of the kind says of the history.
    fn hold_against_definition(&mut self, n: u64, id: u64, report: &[i64], ahead: u64) {
        let (at, allowed) = (self.now, report[1] == 1);
        let Some(definition) = &mut self.definition else { return };
        // More than the limit may be in a log that counts the denied: then peeking, too, reports that nothing is left.
        if n > 0 {
            assert_eq!(definition.passes(at, n), allowed, "{n} at {at} of {}", self.policy.tiers()[0]);
        }
        match allowed {
            _ if n == 0 => return,
            true => definition.add(definition::Done::Charged { at, n, id }),
            false => definition.add(definition::Done::Denied { at, n }),
        }
        let tier: Vec<i64> = report[4..].to_vec();
        let by_its_clock = |wait: i64| if wait > 0 { wait - int(ahead) } else { wait };
        definition.check(at, n, &[by_its_clock(tier[0]), tier[1], tier[2] - int(ahead)]);
    }
}

fn counts_denied(tier: &Tier) -> bool {
    matches!(tier.kind(), TierKind::Log { count_denied: true, .. })
}

async fn walk(kind: impl Fn(&mut fastrand::Rng) -> Tier) {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let bench = Bench::new().await;
    let (mut passed, mut refused) = (0, 0);
    for rule in 0..RULES {
        let mut walk = Walk::new(kind(&mut random), &mut random);
        let (steps, done): (Vec<_>, Vec<_>) = (0..STEPS / RULES).map(|_| walk.step(&mut random)).unzip();
        let steps: Vec<(u64, Step<'_>)> = steps
            .iter()
            .map(|(now, decides, plan)| (*now, if *decides { Step::Decide(plan) } else { Step::Refund(plan) }))
            .collect();
        bench.store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        let reports = bench.run(&steps).await;
        for (at, (report, done)) in reports.iter().zip(&done).enumerate() {
            let Done::Decided(expected) = done else { continue };
            let tier = &walk.policy.tiers()[0];
            assert_eq!(report, expected, "{tier}, {tier:?}, step {at} of rule {rule} with seed {seed}");
        }
        (passed, refused) = (passed + walk.passed, refused + walk.refused);
    }
    let both = format!("{passed} passed and {refused} were refused");
    assert!(passed > STEPS / 10 && refused > STEPS / 10, "{both}: too one-sided, with seed {seed}");
}

fn period(random: &mut fastrand::Rng) -> Duration {
    let most = 10_u64.pow(random.u32(2..11));
    Duration::from_micros(random.u64(50..=most))
}

#[tokio::test]
async fn bucket() {
    walk(|random| Tier::bucket(random.u64(1..40), period(random), random.u64(1..40)).unwrap()).await;
}

/// As large as the constructor lets pass.
fn large(random: &mut fastrand::Rng, tier: impl Fn(u64, Duration, u64) -> Result<Tier, crate::BadTier>) -> Tier {
    let mut number = |digits: std::ops::Range<u32>| {
        let most = 10_u64.pow(random.u32(digits));
        random.u64(most / 10..=most)
    };
    let tiers = std::iter::repeat_with(|| {
        let (limit, period) = (number(4..12), Duration::from_micros(number(4..13)));
        tier(limit, period, number(4..12))
    });
    tiers.flatten().next().unwrap()
}

#[tokio::test]
async fn bucket_of_large_numbers() {
    walk(|random| large(random, Tier::bucket)).await;
}

#[tokio::test]
async fn sliding_of_large_numbers() {
    walk(|random| large(random, |limit, period, _| Tier::sliding(limit, period))).await;
}

#[tokio::test]
async fn fixed_of_large_numbers() {
    walk(|random| large(random, |limit, period, _| Tier::fixed(limit, period, Align::First))).await;
}

#[tokio::test]
async fn gate() {
    walk(|random| Tier::gate(period(random)).unwrap()).await;
}

#[tokio::test]
async fn fixed_by_epoch() {
    walk(|random| Tier::fixed(random.u64(1..40), period(random), Align::Epoch { spread: None }).unwrap()).await;
}

#[tokio::test]
async fn fixed_by_spread_epoch() {
    let align = || Align::Epoch { spread: Some(crate::KeyPart::Caller) };
    walk(|random| Tier::fixed(random.u64(1..40), period(random), align()).unwrap()).await;
}

#[tokio::test]
async fn fixed_from_the_first() {
    walk(|random| Tier::fixed(random.u64(1..40), period(random), Align::First).unwrap()).await;
}

#[tokio::test]
async fn fixed_by_calendar() {
    let units = [Unit::Day, Unit::Week, Unit::Month];
    walk(|random| {
        let unit = units[random.usize(0..units.len())];
        Tier::calendar(random.u64(1..40), Calendar::new(unit, "Europe/Berlin").unwrap()).unwrap()
    })
    .await;
}

#[tokio::test]
async fn sliding() {
    walk(|random| Tier::sliding(random.u64(1..40), period(random)).unwrap()).await;
}

#[tokio::test]
async fn log() {
    walk(|random| {
        let period = period(random);
        let gap = if random.bool() { period / random.u32(2..60) } else { Duration::ZERO };
        Tier::log(random.u64(1..40), period, gap, false).unwrap()
    })
    .await;
}

#[tokio::test]
async fn log_that_counts_the_denied() {
    walk(|random| Tier::log(random.u64(1..40), period(random), Duration::ZERO, true).unwrap()).await;
}

#[tokio::test]
async fn concurrent() {
    walk(|random| Tier::concurrent(random.u64(1..40), period(random)).unwrap()).await;
}
