//! The property test of the bucket: a model in plain Rust, and the real scripts on a real Redis, agree after every step
//! of random histories.
//!
//! No step is decided by real time: what is due is due at once or in an hour, a replica dies by being declared dead,
//! and a rate lets a call through once a year. Each step has a millisecond of the Redis clock to itself, so the order
//! in which jobs were parked is the order of their due times. `PROPTEST_CASES` sets the number of histories.

mod generate;
mod model;
mod picture;
mod real;
mod step;

use dripfeed_tests::redis_server::TestRedis;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use self::generate::Histories;
use self::real::{Real, SERVER, Server};

#[test]
fn the_model_and_the_scripts_agree() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let redis = runtime.block_on(TestRedis::start());
    let store = runtime.block_on(redis.store());
    assert!(SERVER.set(Server { runtime, store }).is_ok(), "one server for all histories");

    let config = ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("it/bucket/model_check/regressions.txt"))),
        ..ProptestConfig::default()
    };
    proptest!(config.clone(), |((model, steps, seen) in Histories::sequential_strategy(20..60))| {
        Real::test_sequential(config.clone(), model, steps, seen);
    });
}
