//! The rows, and how much of each is run.

use dripfeed_tests::torture::driver::Load;
use dripfeed_tests::torture::harness::Setup;
use dripfeed_tests::torture::report::Report;
use futures::future::BoxFuture;

use crate::arguments::Arguments;
use crate::{
    buckets_redefined, clocks_stepped, connections_cut, crashes, crashes_of_limits, groups_paced, intakes_killed,
    masters_replaced, masters_replaced_late, memory_full, memory_full_killed, memory_full_repaired, nodes_replaced,
    none, outcomes_once, poison, processors_killed, processors_stopped, purges_killed, redis_killed, redis_stopped,
    redis_wiped, replaced, settles_refused, slots_moved, ticks_once, turns_taken,
};

pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub short: Volume,
    pub long: Volume,
    pub run: fn(Order) -> BoxFuture<'static, Report>,
}

#[derive(Clone, Copy)]
pub struct Volume {
    pub jobs: u64,
    pub faults: u32,
    /// Jobs submitted per second while there are faults to come.
    pub per_second: u32,
    /// Harnesses that share the volume and run at once.
    pub harnesses: u32,
}

/// What one harness has to do.
#[derive(Clone, Copy)]
pub struct Order {
    pub seed: u64,
    pub load: Load,
    pub faults: u32,
    pub long: bool,
    pub plant: Option<&'static str>,
}

const fn volume(jobs: u64, faults: u32, per_second: u32, harnesses: u32) -> Volume {
    Volume { jobs, faults, per_second, harnesses }
}

/// The longest first. Those of several servers submit jobs as long as there are faults to come.
pub const ROWS: &[Row] = &[
    Row {
        name: "masters_replaced",
        about: "Sentinel failover: a master killed, stopped, or asked to step down",
        short: volume(0, 3, 2000, 1),
        long: volume(0, 50, 200, 1),
        run: |order| Box::pin(masters_replaced::run(order)),
    },
    Row {
        name: "masters_replaced_late",
        about: "Sentinel failover while replies are late",
        short: volume(0, 2, 200, 1),
        long: volume(0, 20, 200, 1),
        run: |order| Box::pin(masters_replaced_late::run(order)),
    },
    Row {
        name: "nodes_replaced",
        about: "Cluster: a node killed, stopped, or asked to step down",
        short: volume(0, 3, 2000, 1),
        long: volume(0, 50, 200, 1),
        run: |order| Box::pin(nodes_replaced::run(order)),
    },
    Row {
        name: "slots_moved",
        about: "Cluster: the bucket's slot moved",
        short: volume(0, 3, 2000, 1),
        long: volume(0, 50, 200, 1),
        run: |order| Box::pin(slots_moved::run(order)),
    },
    Row {
        name: "memory_full",
        about: "maxmemory reached",
        short: volume(20_000, 3, 600, 1),
        long: volume(200_000, 50, 60, 2),
        run: |order| Box::pin(memory_full::run(order)),
    },
    Row {
        name: "memory_full_repaired",
        about: "maxmemory reached: processor killed and started, bucket resumed, capacity lowered",
        short: volume(20_000, 5, 800, 1),
        long: volume(200_000, 100, 250, 1),
        run: |order| Box::pin(memory_full_repaired::run(order)),
    },
    Row {
        name: "memory_full_killed",
        about: "kill -9 a processor with calls under way, maxmemory reached",
        short: volume(4000, 2, 800, 1),
        long: volume(60_000, 20, 800, 1),
        run: |order| Box::pin(memory_full_killed::run(order)),
    },
    Row {
        name: "redis_stopped",
        about: "SIGSTOP Redis",
        short: volume(20_000, 5, 600, 1),
        long: volume(200_000, 100, 60, 2),
        run: |order| Box::pin(redis_stopped::run(order)),
    },
    Row {
        name: "redis_killed",
        about: "kill -9 Redis, back after 0–10 s",
        short: volume(20_000, 10, 600, 1),
        long: volume(200_000, 200, 120, 4),
        run: |order| Box::pin(redis_killed::run(order)),
    },
    Row {
        name: "redis_wiped",
        about: "stream deleted, FLUSHALL, Redis back empty",
        short: volume(20_000, 3, 1000, 1),
        long: volume(200_000, 20, 1000, 1),
        run: |order| Box::pin(redis_wiped::run(order)),
    },
    Row {
        name: "processors_stopped",
        about: "SIGSTOP a processor for 0.5, 1, 3 leases",
        short: volume(20_000, 10, 800, 1),
        long: volume(200_000, 300, 250, 4),
        run: |order| Box::pin(processors_stopped::run(order)),
    },
    Row {
        name: "crashes",
        about: "crash at each step: faults at each",
        short: volume(20_000, 10, 400, 1),
        long: volume(200_000, 100, 200, 1),
        run: |order| Box::pin(crashes::run(order)),
    },
    Row {
        name: "crashes_of_limits",
        about: "crash at each script of limits and rules: faults at each",
        short: volume(4000, 2, 400, 1),
        long: volume(60_000, 40, 400, 1),
        run: |order| Box::pin(crashes_of_limits::run(order)),
    },
    Row {
        name: "processors_killed",
        about: "kill -9 a processor",
        short: volume(20_000, 50, 1000, 1),
        long: volume(200_000, 1000, 800, 1),
        run: |order| Box::pin(processors_killed::run(order)),
    },
    Row {
        name: "intakes_killed",
        about: "kill -9 an intake",
        short: volume(20_000, 20, 1000, 1),
        long: volume(200_000, 500, 800, 1),
        run: |order| Box::pin(intakes_killed::run(order)),
    },
    Row {
        name: "purges_killed",
        about: "kill -9 an intake during a purge",
        short: volume(6000, 2, 800, 1),
        long: volume(60_000, 20, 800, 1),
        run: |order| Box::pin(purges_killed::run(order)),
    },
    Row {
        name: "clocks_stepped",
        about: "Redis' clock stepped while the upstream throttles",
        short: volume(4000, 2, 400, 1),
        long: volume(60_000, 20, 400, 1),
        run: |order| Box::pin(clocks_stepped::run(order)),
    },
    Row {
        name: "outcomes_once",
        about: "outcome jobs: what hands them over killed, Redis full",
        short: volume(2000, 5, 500, 1),
        long: volume(40_000, 60, 400, 1),
        run: |order| Box::pin(outcomes_once::run(order)),
    },
    Row {
        name: "ticks_once",
        about: "schedules: kill -9 an intake, Redis' clock stepped",
        short: volume(2000, 4, 400, 1),
        long: volume(30_000, 60, 400, 1),
        run: |order| Box::pin(ticks_once::run(order)),
    },
    Row {
        name: "groups_paced",
        about: "own paces: kill -9 a processor, Redis' clock stepped, late replies",
        short: volume(2000, 4, 800, 1),
        long: volume(60_000, 60, 600, 1),
        run: |order| Box::pin(groups_paced::run(order)),
    },
    Row {
        name: "turns_taken",
        about: "turns: kill -9 a processor, Redis' clock stepped, their index deleted",
        short: volume(1500, 4, 2500, 1),
        long: volume(50_000, 80, 2000, 1),
        run: |order| Box::pin(turns_taken::run(order)),
    },
    Row {
        name: "buckets_redefined",
        about: "buckets put, replaced and deleted: kill -9 an intake or a processor",
        short: volume(3000, 6, 400, 1),
        long: volume(60_000, 100, 400, 1),
        run: |order| Box::pin(buckets_redefined::run(order)),
    },
    Row {
        name: "replaced",
        about: "SIGTERM under load, all replaced",
        short: volume(20_000, 10, 800, 1),
        long: volume(200_000, 200, 400, 1),
        run: |order| Box::pin(replaced::run(order)),
    },
    Row {
        name: "connections_cut",
        about: "connections cut at a random byte, replies lost",
        short: volume(20_000, 500, 800, 1),
        long: volume(200_000, 10_000, 400, 1),
        run: |order| Box::pin(connections_cut::run(order)),
    },
    Row {
        name: "settles_refused",
        about: "entries that are hard to bury, beside ordinary jobs",
        short: volume(3000, 6, 400, 1),
        long: volume(60_000, 60, 400, 1),
        run: |order| Box::pin(settles_refused::run(order)),
    },
    Row {
        name: "poison",
        about: "poison entries, 1 per 1,000; a job that kills its processor",
        short: volume(20_000, 2, 1000, 1),
        // One killer after the other: what dies beside two of them can't be known from a third.
        long: volume(200_000, 10, 1000, 1),
        run: |order| Box::pin(poison::run(order)),
    },
    Row {
        name: "none",
        about: "none",
        short: volume(20_000, 0, 1500, 1),
        long: volume(1_000_000, 0, 2000, 1),
        run: |order| Box::pin(none::run(order)),
    },
];

impl Order {
    pub fn of(row: &Row, arguments: &Arguments) -> Vec<Self> {
        let volume = if arguments.long { row.long } else { row.short };
        let jobs = arguments.jobs.unwrap_or(volume.jobs) / u64::from(volume.harnesses);
        let load = Load { jobs, per_second: volume.per_second };
        let faults = arguments.faults.unwrap_or(volume.faults).div_ceil(volume.harnesses);
        let seeds = (0..u64::from(volume.harnesses)).map(|harness| arguments.seed.wrapping_add(harness));
        seeds.map(|seed| Self { seed, load, faults, long: arguments.long, plant: None }).collect()
    }

    pub fn setup(&self) -> Setup {
        Setup { plant: self.plant, slack: self.slack(), ..Setup::new(self.seed, self.load) }
    }

    /// How many times as long as promised a recovery may take: the short volume also runs on machines that are slow and
    /// busy with something else, and the report of the long one has the figures.
    pub const fn slack(&self) -> u32 {
        if self.long { 1 } else { 6 }
    }
}
