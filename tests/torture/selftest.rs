use std::process::ExitCode;

use dripfeed_tests::torture::driver::Load;
use dripfeed_tests::torture::report::Report;
use futures::future::{BoxFuture, join_all};
use tokio::sync::Semaphore;

use crate::arguments::Arguments;
use crate::rows::Order;
use crate::{
    buckets_redefined, groups_paced, intakes_killed, none, outcomes_once, processors_killed, processors_stopped,
    redis_wiped, ticks_once, turns_taken,
};

/// A bug, the row that must find it, and what that says then.
struct Bug {
    plant: &'static str,
    jobs: u64,
    faults: u32,
    run: fn(Order) -> BoxFuture<'static, Report>,
    finding: &'static str,
}

const BUGS: &[Bug] = &[
    Bug {
        plant: "ack_before_send",
        jobs: 3000,
        faults: 10,
        run: |order| Box::pin(processors_killed::run(order)),
        finding: "accepted and lost",
    },
    Bug {
        plant: "ack_and_delete_apart",
        jobs: 1000,
        faults: 3,
        run: |order| Box::pin(processors_killed::run(order)),
        finding: "jobs are left after",
    },
    Bug {
        plant: "owner_not_checked",
        jobs: 3000,
        faults: 9,
        run: |order| Box::pin(processors_stopped::run(order)),
        finding: "settled by one that was declared dead",
    },
    Bug {
        plant: "recovery_off",
        jobs: 2000,
        faults: 5,
        run: |order| Box::pin(processors_killed::run(order)),
        finding: "jobs are left after",
    },
    Bug {
        plant: "stream_trimmed",
        jobs: 3000,
        faults: 0,
        run: |order| Box::pin(none::run(order)),
        finding: "accepted and lost",
    },
    Bug {
        plant: "answered_before_write",
        jobs: 1000,
        faults: 3,
        run: |order| Box::pin(intakes_killed::run(order)),
        finding: "accepted and lost",
    },
    Bug {
        plant: "lost_pace_is_full_bucket",
        jobs: 4000,
        faults: 4,
        run: |order| Box::pin(redis_wiped::run(order)),
        finding: "calls within",
    },
    Bug {
        plant: "turn_not_charged",
        jobs: 1500,
        faults: 0,
        run: |order| Box::pin(turns_taken::run(order)),
        finding: "calls while both waited",
    },
    Bug {
        plant: "deleted_index_stays",
        jobs: 1500,
        faults: 3,
        run: |order| Box::pin(turns_taken::run(order)),
        finding: "jobs are left after",
    },
    Bug {
        plant: "call_of_group_not_charged",
        jobs: 2000,
        faults: 0,
        run: |order| Box::pin(groups_paced::run(order)),
        finding: "calls within",
    },
    Bug {
        plant: "call_of_group_not_counted",
        jobs: 2000,
        faults: 0,
        run: |order| Box::pin(groups_paced::run(order)),
        finding: "were under way at once",
    },
    Bug {
        plant: "tick_ends_before_its_job",
        jobs: 1000,
        faults: 3,
        run: |order| Box::pin(ticks_once::run(order)),
        finding: "without a job",
    },
    Bug {
        plant: "outcome_without_key",
        jobs: 2000,
        faults: 1,
        run: |order| Box::pin(outcomes_once::run(order)),
        finding: "have several outcome jobs",
    },
    Bug {
        plant: "outbox_trimmed",
        jobs: 2000,
        faults: 0,
        run: |order| Box::pin(outcomes_once::run(order)),
        finding: "without an outcome job",
    },
    Bug {
        plant: "incarnation_not_checked",
        jobs: 1000,
        faults: 2,
        run: |order| Box::pin(buckets_redefined::run(order)),
        finding: "took a job after it was deleted",
    },
];

/// Submitted per second.
const LOAD: u32 = 600;

pub async fn run(arguments: &Arguments) -> ExitCode {
    let lanes = Semaphore::new(arguments.lanes());
    let chosen = BUGS.iter().filter(|bug| arguments.wants(bug.plant));
    let found = join_all(chosen.map(|bug| async {
        let _lane = lanes.acquire().await.expect("lanes stay open");
        finds(bug, arguments.seed).await
    }));
    let missed = found.await.into_iter().filter(|found| !found).count();
    println!("\n{missed} bugs were not found");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

async fn finds(bug: &Bug, seed: u64) -> bool {
    let load = Load { jobs: bug.jobs, per_second: LOAD };
    let order = Order { seed, load, faults: bug.faults, long: false, plant: Some(bug.plant) };
    let violations = match tokio::spawn((bug.run)(order)).await {
        Ok(report) => report.violations,
        Err(error) => vec![crate::told(error)],
    };
    let finding = violations.iter().find(|violation| violation.contains(bug.finding));
    match finding {
        Some(finding) => println!("{}: found: {}", bug.plant, finding.lines().next().unwrap_or_default()),
        None => println!("{}: NOT FOUND; what was: {violations:#?}", bug.plant),
    }
    finding.is_some()
}
