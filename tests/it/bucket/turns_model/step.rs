//! The steps of a history. Each is possible after any others, so that a failing history can be shortened.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::rules::{Bounds, CALLERS};

#[derive(Clone, Debug)]
pub enum Step {
    Admit(Vec<Offer>),
    /// A plain XADD by somebody else.
    AddByHand(Vec<Offer>),
    /// An XDEL by somebody else, of the first jobs that no replica has claimed.
    DeleteByHand(u8),
    Take {
        replica: usize,
        most: usize,
    },
    /// Settles the first jobs that are in flight.
    Settle(Vec<End>),
    EndReplica(usize, Leaving),
    SetBy(&'static str),
    SetWeights(Vec<(usize, u16)>),
    SetEach(Bounds),
    SetNamed(Option<(usize, Bounds, bool)>),
    CancelAllOf(usize),
    Purge,
    /// Somebody deletes these keys.
    Lose(Vec<&'static str>),
    LookAtFlows,
    /// The clock of Redis is set: this many seconds ahead.
    SetClock(i64),
    TimePasses(u64),
}

#[derive(Clone, Debug)]
pub struct Offer {
    pub caller: usize,
    pub group: Option<&'static str>,
    pub priority: Option<&'static str>,
    pub bytes: usize,
    /// The job isn't called for some ms.
    pub delayed: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum End {
    Deliver,
    Requeue,
    RetryAtOnce,
    RetryLater,
}

/// How a replica ends. Another one joins in its place.
#[derive(Clone, Copy, Debug)]
pub enum Leaving {
    InOrder,
    Dead,
    /// The replica stays, but forgets its claimed jobs.
    Forgetful,
}

const INDEX: [&[&str]; 7] = [
    &["flows"],
    &["ranges"],
    &["throttled"],
    &["flow-state"],
    &["flows", "ranges"],
    &["flows", "throttled"],
    &["flows", "ranges", "throttled", "flow-state"],
];

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        26 => vec(offer(), 1..50).prop_map(Step::Admit),
        4 => vec(offer(), 1..20).prop_map(Step::AddByHand),
        2 => (1..4_u8).prop_map(Step::DeleteByHand),
        36 => (0..3_usize, prop_oneof![1..4_usize, 1..60_usize])
            .prop_map(|(replica, most)| Step::Take { replica, most }),
        18 => vec(end(), 1..40).prop_map(Step::Settle),
        4 => (0..3_usize, select(vec![Leaving::InOrder, Leaving::Dead, Leaving::Forgetful]))
            .prop_map(|(replica, how)| Step::EndReplica(replica, how)),
        2 => select(vec!["caller", "caller", "group", "off"]).prop_map(Step::SetBy),
        3 => vec((0..CALLERS.len(), 1..6_u16), 0..3).prop_map(Step::SetWeights),
        4 => bounds().prop_map(Step::SetEach),
        4 => option::of((0..CALLERS.len(), bounds(), prop::bool::weighted(0.3))).prop_map(Step::SetNamed),
        2 => (0..CALLERS.len()).prop_map(Step::CancelAllOf),
        1 => Just(Step::Purge),
        3 => select(INDEX.to_vec()).prop_map(|keys| Step::Lose(keys.to_vec())),
        1 => Just(Step::LookAtFlows),
        2 => select(vec![0, 2, 3600, 86_400, -3600]).prop_map(Step::SetClock),
        4 => (1..40_u64).prop_map(Step::TimePasses),
    ]
}

fn offer() -> impl Strategy<Value = Offer> {
    let group = select(vec![None, None, None, None, Some("a"), Some("x")]);
    let priority = select(vec![None, None, None, None, None, Some("high"), Some("low")]);
    // One take must be able to sort all jobs that become due at once, or the model doesn't know which flows wait.
    let bytes = prop_oneof![30 => 1..300_usize, 1 => Just(3000_usize)];
    (0..CALLERS.len(), group, priority, bytes, prop::bool::weighted(0.05))
        .prop_map(|(caller, group, priority, bytes, delayed)| Offer { caller, group, priority, bytes, delayed })
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        12 => Just(End::Deliver),
        1 => Just(End::Requeue),
        1 => Just(End::RetryAtOnce),
        1 => Just(End::RetryLater),
    ]
}

/// A rate that refills nothing within a history, and rates that do.
fn bounds() -> impl Strategy<Value = Bounds> {
    let rate =
        select(vec![None, None, None, Some(("1/h", 1.0 / 3600.0)), Some(("40/s", 40.0)), Some(("400/s", 400.0))]);
    const HOURLY: (&str, f64, u64) = ("1/h", 1.0 / 3600.0, 12);
    const QUICK: (&str, f64, u64) = ("100/s", 100.0, 4);
    let tiers = select(vec![&[][..], &[], &[], &[HOURLY], &[QUICK], &[QUICK, HOURLY]]);
    (rate, 1..20_u64, tiers, option::weighted(0.4, 1..6_usize)).prop_map(|(rate, burst, tiers, most)| Bounds {
        rate,
        burst,
        tiers,
        most,
    })
}
