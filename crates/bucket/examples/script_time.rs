//! How long a script keeps Redis from others, with the largest bodies that an intake takes by default and with as many
//! small ones as a script is given, as multiples of one `XADD` and one `XRANGE` of such a body in the same run:
//! `make script-time`. Fails when one of a stream takes more than six times as long.
//! It is the CPU time of Redis' main thread, so reading the command and writing the reply count, and what the client
//! does doesn't. Best on a machine that does nothing else.
#![expect(clippy::print_stdout, reason = "what it measured is what it is for")]

use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{
    BATCH_BYTES, BATCH_JOBS, Bucket, BucketSettings, ClaimedJob, Consumer, DeadFilter, JobFilter, JoinKind, Kind,
    Replica, SettleResult, Settlement, Take, TimeWindow,
};
use dripfeed_job::{StartTime, Submission};
use dripfeed_store::{AppendFsync, Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets;
use futures::future::try_join_all;

type Failed = Box<dyn Error>;

const ROUNDS: usize = 30;
const LARGE: usize = 1 << 20;
const SMALL: usize = 256;
/// As many as a replica with many slots asks for.
const WANTED: usize = 500;
/// What a script may take, as a multiple. In a list, what has failed, and a dead letter that comes back, changes its
/// head, for which Lua takes the element apart and makes a new one.
const fn most(kind: Kind) -> f64 {
    match kind {
        Kind::Stream => 6.0,
        Kind::List => 16.0,
    }
}

fn settings(kind: Kind) -> BucketSettings {
    let mut settings = BucketSettings { kind, ..buckets::settings(kind.as_str()) };
    (settings.capacity, settings.capacity_bytes) = (10_000, 1 << 30);
    (settings.keep.dead_bytes, settings.durability) = (1 << 30, Durability::Process);
    settings
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// ms that Redis' main thread has worked so far, and the scripts that it has run.
async fn worked(store: &Store) -> Result<(f64, f64), Failed> {
    let info: String = store.command(redis::cmd("INFO").arg("cpu").arg("commandstats")).await?;
    let number = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
    let mut ms = 0.0;
    for name in ["used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"] {
        ms += number(name).ok_or(name)?.parse::<f64>()? * 1e3;
    }
    let scripts = number("cmdstat_evalsha:calls=").and_then(|calls| calls.split(',').next());
    Ok((ms, scripts.unwrap_or("0").parse()?))
}

/// How many ms Redis works on each of its scripts, and what it returns.
async fn timed<T>(store: &Store, what: impl Future<Output = Result<T, Failed>>) -> Result<(f64, T), Failed> {
    let before = worked(store).await?;
    let done = what.await?;
    let after = worked(store).await?;
    Ok(((after.0 - before.0) / (after.1 - before.1).max(1.0), done))
}

async fn write_and_read(store: &Store) -> Result<(), Failed> {
    let body = vec![b'x'; LARGE];
    let id: String = store.command(redis::cmd("XADD").arg("plain").arg("*").arg("body").arg(body)).await?;
    store.command::<redis::Value>(redis::cmd("XRANGE").arg("plain").arg(&id).arg(&id)).await?;
    Ok(())
}

struct Bench {
    store: Store,
    bucket: Bucket,
    replica: Replica,
}

/// What is measured, in ms for one script.
type Measured = Vec<(&'static str, f64)>;

impl Bench {
    async fn of(store: &Store, kind: Kind) -> Result<Self, Failed> {
        let bucket = Bucket::new(store.clone(), settings(kind));
        let replica = bucket.join(Consumer::new("a"), Duration::from_mins(1), JoinKind::First).await?;
        Ok(Self { store: store.clone(), bucket, replica })
    }

    async fn submit(&self, jobs: usize, bytes: usize, start: StartTime) -> Result<(), Failed> {
        let job = || Submission { body: vec![b'x'; bytes].into(), start, ..Submission::default() };
        for admission in self.bucket.admit_many((0..jobs).map(|_| job()).collect()).await {
            admission?;
        }
        Ok(())
    }

    /// Empty when there is nothing to be called now.
    async fn take(&self) -> Result<Vec<ClaimedJob>, Failed> {
        match self.replica.take(WANTED).await? {
            Take::Jobs(jobs, _) => Ok(jobs),
            Take::Idle(_) | Take::Fenced => Ok(Vec::new()),
        }
    }

    async fn settle(&self, jobs: Vec<ClaimedJob>, settlement: Settlement) -> Result<(), Failed> {
        let settled = jobs.into_iter().map(|taken| self.replica.settle(taken.claim, settlement.clone()));
        let all_recorded = try_join_all(settled).await?.into_iter().all(|settled| settled == SettleResult::Recorded);
        if all_recorded { Ok(()) } else { Err("the replica was declared dead".into()) }
    }

    /// One `XADD` and one `XRANGE`.
    async fn base(&self) -> Result<Measured, Failed> {
        let (time, ()) = timed(&self.store, write_and_read(&self.store)).await?;
        self.store.command::<u64>(redis::cmd("DEL").arg("plain")).await?;
        Ok(vec![("", time)])
    }

    /// What happens to jobs of one size, from admission to purge: as many as one script is given, or more.
    async fn journey(&self, jobs: usize, bytes: usize) -> Result<Measured, Failed> {
        let (store, bucket) = (&self.store, &self.bucket);
        let throttle = Settlement::Throttled { wait: Some(Duration::ZERO) };
        let deliver = Settlement::Complete { status: 200, answer: None };
        let bury = Settlement::Bury { reason: "no luck".to_owned(), status: None, answer: None, called: true };
        let mut measured = Vec::new();
        let mut add = |what, time| measured.push((what, time));

        add("admit", timed(store, self.submit(jobs, bytes, StartTime::AtOnce)).await?.0);
        add("list jobs", timed(store, async { Ok(bucket.jobs(&JobFilter::default(), None, 1000).await?) }).await?.0);
        let (time, taken) = timed(store, self.take()).await?;
        add("take", time);
        add("settle: returned", timed(store, self.settle(taken, Settlement::Requeue)).await?.0);
        let (time, taken) = timed(store, self.take()).await?;
        add("take again", time);
        add("settle: throttled", timed(store, self.settle(taken, throttle)).await?.0);
        let taken = self.take().await?;
        add("settle: delivered", timed(store, self.settle(taken, deliver)).await?.0);
        add("purge", timed(store, async { Ok(bucket.purge().await?) }).await?.0);

        self.submit(jobs, bytes, StartTime::AtOnce).await?;
        let taken = self.take().await?;
        add("settle: buried", timed(store, self.settle(taken, bury)).await?.0);
        let filter = DeadFilter::default();
        let (time, page) = timed(store, async { Ok(bucket.dead_letters(&filter, None, 1000).await?) }).await?;
        add("list dead letters", time);
        let groups = timed(store, async { Ok(bucket.dead_groups(&filter, None, 100).await?) }).await?.0;
        add("group dead letters", groups);
        add("replay", timed(store, async { Ok(bucket.replay(page.items[0].id).await?) }).await?.0);
        add(
            "list outcomes",
            timed(store, async { Ok(bucket.outcomes(TimeWindow::default(), None, None, 1000).await?) }).await?.0,
        );
        add("examine", timed(store, async { Ok(bucket.examine(false).await?) }).await?.0);
        add("report", timed(store, async { Ok(bucket.report(Duration::from_hours(1)).await?) }).await?.0);
        bucket.purge().await?;
        Ok(measured)
    }

    /// A large job behind as many others as one script hands out.
    async fn last(&self) -> Result<Measured, Failed> {
        self.submit(BATCH_JOBS - 1, BATCH_BYTES / BATCH_JOBS - SMALL, StartTime::AtOnce).await?;
        self.submit(1, LARGE, StartTime::AtOnce).await?;
        let (time, taken) = timed(&self.store, self.take()).await?;
        if taken.len() < BATCH_JOBS {
            return Err(format!("one take handed out {} of {BATCH_JOBS} jobs", taken.len()).into());
        }
        self.settle(taken, Settlement::Requeue).await?;
        self.bucket.purge().await?;
        Ok(vec![("take the last and large", time)])
    }

    /// Nothing is due, beside large jobs.
    async fn idle(&self) -> Result<Measured, Failed> {
        self.submit(2, LARGE, StartTime::After(Duration::from_hours(1))).await?;
        self.take().await?;
        self.take().await?;
        let (time, _) = timed(&self.store, self.take()).await?;
        self.bucket.purge().await?;
        Ok(vec![("take", time)])
    }
}

/// The median of each.
async fn often(mut once: impl AsyncFnMut() -> Result<Measured, Failed>) -> Result<Measured, Failed> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        rounds.push(once().await?);
    }
    let of = |n: usize| median(rounds.iter().map(|round: &Measured| round[n].1).collect());
    Ok(rounds[0].iter().enumerate().map(|(n, (what, _))| (*what, of(n))).collect())
}

/// The base is measured in turn with each round. How many take too long.
async fn compare(
    bench: &Bench,
    what: &str,
    mut once: impl AsyncFnMut(&Bench) -> Result<Measured, Failed>,
) -> Result<usize, Failed> {
    let with_base = async || Ok([bench.base().await?, once(bench).await?].concat());
    let measured = often(with_base).await?;
    let (base, kind) = (measured[0].1, bench.bucket.settings().kind);
    println!("{}, {what}; XADD and XRANGE of {LARGE} bytes: {base:.2} ms", kind.as_str());
    for (what, time) in &measured[1..] {
        println!("  {what:24} {time:6.2} ms  {:5.2} ×", time / base);
    }
    Ok(measured.iter().filter(|(_, time)| time / base > most(kind)).count())
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let options = ServerOptions { append_only: false, append_fsync: AppendFsync::No, ..ServerOptions::default() };
    let server = PrivateServer::start(dir.path(), options).await?;
    let store = Store::connect(&RedisSettings::new(server.address(), "dripfeed", Durability::Process)).await?;
    let mut slow = 0;
    for kind in [Kind::Stream, Kind::List] {
        let bench = Bench::of(&store, kind).await?;
        slow += compare(&bench, "3 jobs of 1 MiB", async |bench| bench.journey(3, LARGE).await).await?;
        slow += compare(&bench, "500 jobs of 256 B", async |bench| bench.journey(500, SMALL).await).await?;
        slow += compare(&bench, "small jobs and one of 1 MiB", async |bench| bench.last().await).await?;
    }
    let bench = Bench::of(&store, Kind::Stream).await?;
    slow += compare(&bench, "parked jobs of 1 MiB", async |bench| bench.idle().await).await?;
    if slow == 0 { Ok(()) } else { Err(format!("{slow} take longer than they may").into()) }
}
