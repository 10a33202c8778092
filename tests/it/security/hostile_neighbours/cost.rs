//! What something cost the intake and Redis: work and bytes, and no time.

use std::fs;

use dripfeed_tests::processes::Process;

use super::street::{SHARED, Street};

/// Commands that Redis carried out, those within scripts included, and bytes that it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfRedis {
    pub commands: u64,
    pub sent: u64,
}

impl OfRedis {
    async fn so_far(street: &Street) -> Self {
        let commands: String = street.service.redis("INFO commandstats").await;
        let of =
            |line: &str| line.split_once(":calls=").and_then(|(_, rest)| rest.split(',').next()?.parse::<u64>().ok());
        let commands = commands.lines().filter_map(of).sum();
        let stats: String = street.service.redis("INFO stats").await;
        Self { commands, sent: number(&stats, "total_net_output_bytes") }
    }

    /// What Redis does meanwhile.
    pub async fn meanwhile<T>(street: &Street, what: impl Future<Output = T>) -> (T, Self) {
        let before = Self::so_far(street).await;
        let done = what.await;
        let after = Self::so_far(street).await;
        (done, Self { commands: after.commands - before.commands, sent: after.sent - before.sent })
    }
}

/// Bytes that Redis holds.
pub async fn memory_of_redis(street: &Street) -> u64 {
    number(&street.service.redis::<String>("INFO memory").await, "used_memory")
}

/// Keys that Redis holds.
pub async fn keys(street: &Street) -> u64 {
    street.service.redis("DBSIZE").await
}

fn number(info: &str, name: &str) -> u64 {
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {name} in {info}"))
}

/// The processor time that a process takes meanwhile, in ticks of the kernel.
pub async fn ticks_of<T>(process: &Process, what: impl Future<Output = T>) -> (T, u64) {
    let before = ticks(process);
    let done = what.await;
    (done, ticks(process) - before)
}

/// In user and in kernel mode, of all threads that are or were.
fn ticks(process: &Process) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).expect("a running process");
    // The name, in brackets, may have spaces in it.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

/// The ticks that an intake takes for this many batches of one job each, full of short texts, nothing being wrong with
/// them; at least one each.
pub async fn of_plain_batches(street: &Street, many: usize, bytes: usize) -> u64 {
    const TEXT: &str = "\"plain!\"";
    let texts = vec![TEXT; (bytes - 11) / (TEXT.len() + 1)].join(",");
    let batch = format!("{{\"body\":[{texts}]}}");
    let submit = async {
        for _ in 0..many {
            let answer = street.neighbour.post(&format!("/v1/buckets/{SHARED}/jobs/batch"), batch.clone()).await;
            assert_eq!(answer.expect("an answer").status, 202);
        }
    };
    let ((), ticks) = ticks_of(&street.intake, submit).await;
    street.service.drained(SHARED).await;
    ticks.max(many as u64)
}
