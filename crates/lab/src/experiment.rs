//! The experiments, in the order in which they are run.

use futures::future::LocalBoxFuture;

use crate::error::LabError;
use crate::experiments::{
    counter_with_resetter, gates_and_windows, redis_time, rolling_log, service_levels, sliding_counter,
};
use crate::results::Results;
use crate::testbed::Testbed;

/// A published experiment, and the function that repeats it.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line, and that of its chart.
    pub name: &'static str,
    pub title: &'static str,
    /// Its approximate duration in seconds.
    pub seconds: u64,
    run: Run,
}

type Run = fn(&Testbed) -> LocalBoxFuture<'_, Result<Results, LabError>>;

pub const EXPERIMENTS: [Experiment; 6] = [
    Experiment {
        name: "counter-with-resetter",
        title: "200 calls per 500 ms: a counter that a leader resets, and a bucket that leaks",
        seconds: 22,
        run: |testbed| Box::pin(counter_with_resetter::run(testbed)),
    },
    Experiment {
        name: "gates-and-windows",
        title: "400 calls where 300 may pass in 10 s: gates, windows and bounded queues",
        seconds: 16,
        run: |testbed| Box::pin(gates_and_windows::run(testbed)),
    },
    Experiment {
        name: "sliding-counter",
        title: "40 calls per window, asked for by three gateways: the sliding-window counter",
        seconds: 7,
        run: |testbed| Box::pin(sliding_counter::run(testbed)),
    },
    Experiment {
        name: "rolling-log",
        title: "20 calls a second, 25 ms apart, of a client that never slows down: the rolling log",
        seconds: 9,
        run: |testbed| Box::pin(rolling_log::run(testbed)),
    },
    Experiment {
        name: "service-levels",
        title: "1000 calls/s of 25 tenants at three instances: service levels with local counts",
        seconds: 32,
        run: |testbed| Box::pin(service_levels::run(testbed)),
    },
    Experiment {
        name: "redis-time",
        title: "What a decision costs in Redis",
        seconds: 3,
        run: |testbed| Box::pin(redis_time::run(testbed)),
    },
];

impl Experiment {
    pub(crate) async fn find(&self, testbed: &Testbed) -> Result<Results, LabError> {
        (self.run)(testbed).await
    }
}
