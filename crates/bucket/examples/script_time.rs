//! How long scripts keep Redis from others, with the largest bodies that an intake takes by default, as multiples of
//! one `XADD` and one `XRANGE` of such a body in the same run: `cargo run -p dripfeed-bucket --example script_time`.
//! Fails when one takes more than six times as long. It is the CPU time of Redis' main thread, so reading the command
//! and writing the reply count, and what the client does doesn't. Best on a machine that does nothing else.
#![expect(clippy::print_stdout, reason = "what it measured is what it is for")]

use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{
    Bucket, BucketSettings, ClaimedJob, Consumer, Kind, Life, Replica, SCRIPT_BYTES, Settlement, Take,
};
use dripfeed_job::{Start, Submission};
use dripfeed_store::{AppendFsync, Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets;

type Failed = Box<dyn Error>;

const ROUNDS: usize = 30;
const BODY: usize = 1 << 20;
/// As many as a replica with many slots asks for.
const WANTED: usize = 128;
const MOST: f64 = 6.0;

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

/// ms that Redis' main thread has worked so far.
async fn worked(store: &Store) -> Result<f64, Failed> {
    let info: String = store.command(redis::cmd("INFO").arg("cpu")).await?;
    let mut ms = 0.0;
    for name in ["used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"] {
        let seconds = info.lines().find_map(|line| line.strip_prefix(name)).ok_or(name)?;
        ms += seconds.parse::<f64>()? * 1e3;
    }
    Ok(ms)
}

/// What it returns, and how many ms Redis works on it.
async fn timed<T>(store: &Store, what: impl Future<Output = Result<T, Failed>>) -> Result<(f64, T), Failed> {
    let before = worked(store).await?;
    let done = what.await?;
    Ok((worked(store).await? - before, done))
}

async fn write_and_read(store: &Store, body: &[u8]) -> Result<(), Failed> {
    let id: String = store.command(redis::cmd("XADD").arg("plain").arg("*").arg("body").arg(body)).await?;
    store.command::<redis::Value>(redis::cmd("XRANGE").arg("plain").arg(&id).arg(&id)).await?;
    Ok(())
}

struct Bench {
    store: Store,
    bucket: Bucket,
    replica: Replica,
}

impl Bench {
    async fn of(store: &Store, kind: Kind) -> Result<Self, Failed> {
        let bucket = Bucket::new(store.clone(), settings(kind));
        let replica = bucket.join(Consumer::new("a"), Duration::from_mins(1), Life::First).await?;
        Ok(Self { store: store.clone(), bucket, replica })
    }

    async fn submit(&self, jobs: usize, start: Start) -> Result<(), Failed> {
        let large = || Submission { body: vec![b'x'; BODY].into(), start, ..Submission::default() };
        for admission in self.bucket.admit_many((0..jobs).map(|_| large()).collect()).await {
            admission?;
        }
        Ok(())
    }

    /// Empty when there is nothing to be called now.
    async fn take(&self) -> Result<Vec<ClaimedJob>, Failed> {
        match self.replica.take(WANTED).await? {
            Take::Jobs(jobs) => Ok(jobs),
            Take::Idle(_) | Take::Fenced => Ok(Vec::new()),
        }
    }

    /// One batch that fills a call.
    async fn admits(&self) -> Result<f64, Failed> {
        let (time, ()) = timed(&self.store, self.submit(SCRIPT_BYTES / BODY, Start::AtOnce)).await?;
        self.bucket.purge().await?;
        Ok(time)
    }

    /// As many jobs as a take hands out.
    async fn takes(&self) -> Result<f64, Failed> {
        self.submit(2 * SCRIPT_BYTES / BODY, Start::AtOnce).await?;
        let (time, jobs) = timed(&self.store, self.take()).await?;
        for taken in jobs {
            self.replica.settle(taken.claim, Settlement::Complete { status: 200, answer: None }).await?;
        }
        self.bucket.purge().await?;
        Ok(time)
    }

    /// Nothing is due, beside large jobs.
    async fn idles(&self) -> Result<f64, Failed> {
        self.submit(2, Start::After(Duration::from_hours(1))).await?;
        self.take().await?;
        let (time, _) = timed(&self.store, self.take()).await?;
        self.bucket.purge().await?;
        Ok(time)
    }
}

async fn often(mut once: impl AsyncFnMut() -> Result<f64, Failed>) -> Result<f64, Failed> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        times.push(once().await?);
    }
    Ok(median(times))
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let options = ServerOptions { append_only: false, append_fsync: AppendFsync::No, ..ServerOptions::default() };
    let server = PrivateServer::start(dir.path(), options).await?;
    let store = Store::connect(&RedisSettings::new(server.address(), "dripfeed", Durability::Process)).await?;
    let body = vec![b'x'; BODY];
    let base = often(async || {
        let (time, ()) = timed(&store, write_and_read(&store, &body)).await?;
        store.command::<u64>(redis::cmd("DEL").arg("plain")).await?;
        Ok(time)
    })
    .await?;
    println!("XADD and XRANGE of {BODY} bytes: {base:.2} ms");
    let (stream, list) = (Bench::of(&store, Kind::Stream).await?, Bench::of(&store, Kind::List).await?);
    let measured = [
        ("admit, stream", often(async || stream.admits().await).await?),
        ("admit, list", often(async || list.admits().await).await?),
        ("take, stream", often(async || stream.takes().await).await?),
        ("take, list", often(async || list.takes().await).await?),
        ("take beside parked jobs", often(async || stream.idles().await).await?),
    ];
    for (what, time) in measured {
        println!("{what:24} {time:6.2} ms  {:5.2} ×", time / base);
    }
    let slow = measured.iter().filter(|(_, time)| time / base > MOST).count();
    if slow == 0 { Ok(()) } else { Err(format!("{slow} take more than {MOST} times as long").into()) }
}
