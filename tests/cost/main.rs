//! What the hot path costs, counted and never timed: the commands that Redis carries out for a batch, those in scripts
//! included, and the allocations that our side makes for it. A figure that differs by more than a twentieth from the
//! one in `figures/` fails here, also when it is better: then the new one is to be committed.
//!
//! `UPDATE_COSTS=1 cargo test --workspace --test cost` writes them.

mod bench;
mod figures;
mod front;

use std::time::Duration;

use axum::body::Body;
use dripfeed_bucket::{BucketSettings, Kind, Settlement};
use dripfeed_job::Submission;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_tests::buckets::{self, DELIVERED, job};
use dripfeed_trace::Tracer;
use http::{Request, StatusCode};

use bench::Bench;
use figures::Figures;

/// A batch as an intake under load forms it, and as many as it admits without limits.
const BATCH: usize = 32;
/// The first ones also open connections and load scripts.
const ROUNDS: usize = 6;

fn settings() -> BucketSettings {
    buckets::settings("b")
}

/// As large as the jobs of `make bench`.
fn plain(_: usize) -> Submission {
    Submission { content_type: Some("application/json".to_owned()), ..job("x".repeat(256)) }
}

/// Of one caller each, with a key.
fn named(number: usize) -> Submission {
    let key = IdempotencyKey::parse(&format!("order-{}-{number}", fastrand::u64(..))).expect("a key");
    Submission { caller: Some(format!("caller-{number}")), idempotency_key: Some(key), ..plain(number) }
}

/// From the admission to the outcome, as `settlements` say, one for each attempt.
fn journey(bench: &Bench, figures: &mut Figures, submission: fn(usize) -> Submission, settlements: &[Settlement]) {
    let jobs = (0..bench.jobs).map(submission).collect();
    let (cost, ()) = bench.cost_of(bench.admit(jobs));
    figures.add("admit", cost);
    for (attempt, settlement) in settlements.iter().enumerate() {
        let again = if attempt == 0 { "" } else { " again" };
        let (cost, taken) = bench.cost_of(bench.take());
        figures.add(&format!("take{again}"), cost);
        let (cost, ()) = bench.cost_of(bench.settle(taken, settlement));
        figures.add(&format!("settle{again}"), cost);
    }
}

fn middle(bench: &Bench, submission: fn(usize) -> Submission, settlements: &[Settlement]) -> Figures {
    let round = |_| {
        let mut figures = Figures::default();
        journey(bench, &mut figures, submission, settlements);
        figures
    };
    Figures::middle(&(0..ROUNDS).map(round).collect::<Vec<_>>())
}

#[test]
fn a_batch_of_jobs_costs_what_it_did() {
    let bench = Bench::of(settings(), BATCH);
    middle(&bench, plain, &[DELIVERED]).check("batch");
}

// Its admission has 78 allocations, or 84 where the replica hears of the job meanwhile: the figure is between them.
#[test]
fn a_lone_job_costs_what_it_did() {
    let bench = Bench::of(settings(), 1);
    middle(&bench, plain, &[DELIVERED]).check("lone");
}

#[test]
fn a_batch_with_keys_and_limits_costs_what_it_did() {
    let bench = Bench::of(settings(), BATCH);
    bench.limit_callers();
    middle(&bench, named, &[DELIVERED]).check("limits");
}

#[test]
fn a_batch_that_fails_first_costs_what_it_did() {
    let bench = Bench::of(settings(), BATCH);
    let failed = Settlement::Retry { after: Duration::ZERO };
    middle(&bench, plain, &[failed, DELIVERED]).check("failed");
}

#[test]
fn a_batch_in_a_list_costs_what_it_did() {
    let bench = Bench::of(BucketSettings { kind: Kind::List, ..settings() }, BATCH);
    middle(&bench, plain, &[DELIVERED]).check("list");
}

/// POSTs that come together, and so are one batch.
fn posts(bench: &Bench, expected: StatusCode, tracer: Option<Tracer>) -> Figures {
    let front = bench.front(tracer);
    let request = |_| {
        let request = Request::post("/v1/buckets/b/jobs").header("content-type", "application/json");
        request.body(Body::from("x".repeat(256))).expect("a request")
    };
    let round = |_| {
        let requests = (0..bench.jobs).map(request).collect();
        let (cost, answers) = bench.cost_of(bench.post(&front, requests));
        assert!(answers.iter().all(|status| *status == expected), "{answers:?}");
        Figures::of("post", cost)
    };
    Figures::middle(&(0..ROUNDS).map(round).collect::<Vec<_>>())
}

#[test]
fn posts_cost_what_they_did() {
    let bench = Bench::of(BucketSettings { capacity: 1000, ..settings() }, BATCH);
    posts(&bench, StatusCode::ACCEPTED, None).check("posts");
}

// So a build with the exporter costs as much as one without, for what is not sampled. A twentieth would be one more
// allocation for each job.
#[test]
fn posts_that_are_not_sampled_cost_what_they_do_without_traces() {
    let bench = Bench::of(BucketSettings { capacity: 1000, ..settings() }, BATCH);
    let tracer = Tracer::new(0.0, |span| unreachable!("{span:?}"));
    let [off, unsampled] = [None, Some(tracer)].map(|tracer| posts(&bench, StatusCode::ACCEPTED, tracer));
    unsampled.check("posts");
    let [off, unsampled] = [off, unsampled].map(|figures| figures.count("post allocations"));
    assert!(
        off.abs_diff(unsampled) < BATCH as u64 / 2,
        "{unsampled} allocations for {BATCH} jobs, {off} without traces"
    );
}

#[test]
fn refused_posts_cost_what_they_did() {
    let bench = Bench::of(BucketSettings { capacity: 1, ..settings() }, BATCH);
    bench.fill();
    posts(&bench, StatusCode::TOO_MANY_REQUESTS, None).check("refused");
}
