//! The property test of turns and of callers' own paces: random histories with a real Redis, and a model in plain Rust
//! that checks which jobs are taken.
//!
//! The model doesn't predict whose job comes next. It knows whose jobs wait and are in flight, and which settings hold
//! since when. `PROPTEST_CASES` sets the number of histories.

mod history;
mod ledger;
mod order;
/// Bugs in the scripts, each of which the model must find: `make model-selftest`.
#[cfg(feature = "planted-bugs")]
mod planted;
mod rules;
mod step;
mod takes;
mod windows;

use dripfeed_store::ServerOptions;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use self::history::History;

const REGRESSIONS: &str = "it/bucket/turns_model/regressions.txt";

#[test]
fn no_history_breaks_turns_or_an_own_pace_or_loses_a_job() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = runtime.block_on(TestRedis::with(options));

    // A failure caused by a planted bug isn't stored as a regression.
    let file = if std::env::var_os("DRIPFEED_PLANT").is_some() { None } else { Some(REGRESSIONS) };
    let config = ProptestConfig {
        failure_persistence: file.map(|file| Box::new(FileFailurePersistence::Direct(file)) as Box<_>),
        ..ProptestConfig::default()
    };
    proptest!(config, |(steps in vec(step::step(), 20..90))| {
        runtime.block_on(async {
            let mut history = History::new(&redis, &clock).await;
            for step in &steps {
                history.step(step).await;
            }
            history.finish().await;
        });
    });
}
