use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, join_all};

use super::machine::Machine;
use super::neighbours::is_answered;
use super::street::Street;
use super::{
    a_batch_may_be_as_large_as_a_body, dead_letters_leave_room_for_others, deep_json_is_refused_for_little,
    idempotency_keys_are_bounded, lookups_of_a_large_job_are_bounded,
    many_forwarded_headers_cost_no_more_than_their_bytes, many_options_cost_no_more_than_their_bytes,
    pages_over_large_jobs_are_bounded, rules_registered_again_and_again_grow_nothing, scopes_of_a_limit_are_bounded,
    scrapes_ask_redis_no_more, waits_of_one_caller_hold_up_nobody,
};

/// One thing that a hostile caller does.
pub struct Attack {
    pub name: &'static str,
    /// Sections of the configuration, as for a street.
    pub settings: &'static str,
    /// What is done once, before it.
    pub prepare: fn(&Street) -> BoxFuture<'_, ()>,
    /// One blow. What holds on to something does so until it is dropped.
    pub strike: fn(&Street) -> BoxFuture<'_, ()>,
}

const ATTACKS: &[Attack] = &[
    a_batch_may_be_as_large_as_a_body::ATTACK,
    dead_letters_leave_room_for_others::ATTACK,
    deep_json_is_refused_for_little::ATTACK,
    idempotency_keys_are_bounded::ATTACK,
    lookups_of_a_large_job_are_bounded::ATTACK,
    many_forwarded_headers_cost_no_more_than_their_bytes::ATTACK,
    many_options_cost_no_more_than_their_bytes::ATTACK,
    pages_over_large_jobs_are_bounded::ATTACK,
    rules_registered_again_and_again_grow_nothing::ATTACK,
    scopes_of_a_limit_are_bounded::ATTACK,
    scrapes_ask_redis_no_more::ATTACK,
    waits_of_one_caller_hold_up_nobody::ATTACK,
];

/// Whether time is measured too.
pub fn is_long() -> bool {
    measured().is_some()
}

/// Of the attacks, those whose name has this in it.
fn measured() -> Option<String> {
    std::env::var("NEIGHBOURS").ok()
}

/// What needs no preparation.
pub fn nothing(_: &Street) -> BoxFuture<'_, ()> {
    Box::pin(async {})
}

/// Blows at once.
const AT_ONCE: usize = 4;
/// Phases of each sort in the long run, in turns, and what a neighbour asks for in each. What counts is the median of
/// the phases, so that whatever else the machine does in one of them counts for nothing.
const PHASES: usize = 5;
const ASKED: usize = 300;
/// Asked at the beginning of each phase and not measured: until an attack is at its full strength, as with all of its
/// connections open, and what it left behind is done.
const UNMEASURED: usize = 100;
/// Between two things that a neighbour asks for.
const PAUSE: Duration = Duration::from_millis(5);
/// For about as long one job of the largest size keeps Redis from others, each time that a script passes it on.
const ONE_LARGE_JOB: Duration = Duration::from_millis(4);
/// What an attack may cost by the cores alone, on a machine with two of them.
pub const NOISE: Duration = Duration::from_millis(20);

/// In the long run also beside an attack on another installation of the same machine, which costs as much and shares
/// nothing but the cores: beside one on their own, others wait less than twice as long, and as
/// one large job takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_callers_are_answered_during_every_attack() {
    let Some(measured) = measured() else {
        for attack in ATTACKS {
            let street = begin(attack).await;
            let _ = under(&street, attack, ask(&street, 1)).await;
        }
        return;
    };
    println!(
        "{:<52} {:>8} {:>10} {:>13} {:>10} {:>6}",
        "attack", "blows/s", "p99 quiet", "p99 elsewhere", "p99 beside", "ratio"
    );
    let mut slowed = Vec::new();
    for attack in ATTACKS.iter().filter(|attack| attack.name.contains(&measured)) {
        let (street, elsewhere) = (begin(attack).await, begin(attack).await);
        let (mut quiet, mut aside, mut beside, mut blows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..PHASES {
            quiet.push(p99(measure(&street).await));
            aside.push(p99(under(&elsewhere, attack, measure(&street)).await.0));
            let (asked, in_phase) = under(&street, attack, measure(&street)).await;
            beside.push(p99(asked));
            blows.push(in_phase);
        }
        let [quiet, aside, beside] = [quiet, aside, beside].map(median);
        let blows = median(blows);
        let ratio = beside.as_secs_f64() / aside.as_secs_f64();
        println!("{:<52} {blows:>8.1} {quiet:>10.1?} {aside:>13.1?} {beside:>10.1?} {ratio:>6.2}", attack.name);
        if beside >= aside * 2 + ONE_LARGE_JOB || beside >= quiet * 2 + NOISE {
            slowed.push((attack.name, quiet, aside, beside));
        }
    }
    assert!(slowed.is_empty(), "others wait longer: {slowed:?}");
}

async fn begin(attack: &Attack) -> Arc<Street> {
    let street = Street::open(attack.settings).await;
    (attack.prepare)(&street).await;
    Arc::new(street)
}

/// What neighbours do while the attack goes on, and how many blows a second there were. A hostile caller has another
/// machine: what it makes and reads itself takes no core from those that are measured. Whatever is left of the cores,
/// it still uses.
async fn under<T>(street: &Arc<Street>, attack: &'static Attack, neighbours: impl Future<Output = T>) -> (T, f64) {
    let (attacked, blows) = (Arc::clone(street), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&blows);
    let begun = Instant::now();
    let attacker = Machine::start(async move {
        join_all((0..AT_ONCE).map(|_| strike_on(&attacked, attack, &counted))).await;
    });
    let done = neighbours.await;
    attacker.stop();
    let blows = u32::try_from(blows.load(Ordering::Relaxed)).expect("a number of blows");
    (done, f64::from(blows) / begun.elapsed().as_secs_f64())
}

async fn strike_on(street: &Street, attack: &Attack, blows: &AtomicU64) {
    loop {
        (attack.strike)(street).await;
        blows.fetch_add(1, Ordering::Relaxed);
    }
}

async fn measure(street: &Street) -> Vec<Duration> {
    ask(street, UNMEASURED).await;
    ask(street, ASKED).await
}

async fn ask(street: &Street, many: usize) -> Vec<Duration> {
    let mut took = Vec::with_capacity(many);
    for _ in 0..many {
        tokio::time::sleep(PAUSE).await;
        took.push(is_answered(street).await);
    }
    took
}

fn median<T: Copy + PartialOrd>(mut of: Vec<T>) -> T {
    of.sort_unstable_by(|one, other| one.partial_cmp(other).expect("numbers"));
    of[of.len() / 2]
}

pub fn p99(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() * 99 / 100]
}
