//! The load of rows about failovers between several Redis servers: callers, and checks of their jobs.

use std::time::{Duration, Instant};

use dripfeed_store::Durability;

use super::invariants::pace;
use super::report::Report;
use crate::callers::{Callers, until_taken};
use crate::client::Client;
use crate::processes::Process;
use crate::redis_server::{RunningRedis, TestRedis};
use crate::sentinels::Sentinels;
use crate::service::Service;
use crate::upstream::Upstream;

const CALLERS: u32 = 8;
/// How soon after a new master exists jobs must be accepted.
const TAKING_AGAIN: Duration = Duration::from_secs(10);
/// Interval between two checks of the master's replicas.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A fault of a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MasterFault {
    Killed,
    /// Its connections stay open, and it considers itself the master when it is resumed.
    Hangs,
    /// An operator promotes a replica.
    StepsDown,
}

impl MasterFault {
    /// A sequence of this many faults.
    pub fn in_turn(faults: u32) -> impl Iterator<Item = Self> {
        [Self::Killed, Self::Hangs, Self::StepsDown].into_iter().cycle().take(faults as usize)
    }

    /// Kills or suspends a master; `StepsDown` must be triggered separately.
    pub async fn strikes(self, master: &mut TestRedis) {
        match self {
            Self::Killed => master.server.kill().await.expect("it runs"),
            Self::Hangs => master.server.pause().expect("it runs"),
            Self::StepsDown => {}
        }
    }

    pub async fn is_over(self, master: &mut TestRedis) {
        match self {
            Self::Killed => master.server.start_again().await.expect("it starts"),
            Self::Hangs => master.server.resume().expect("it runs"),
            Self::StepsDown => {}
        }
    }
}

/// Two intakes and two processors under load.
pub struct Load {
    upstream: Upstream,
    _intakes: [Process; 2],
    _processors: [Process; 2],
    client: Client,
    callers: Callers,
    begun: Instant,
    report: Report,
    /// Rate in calls per second, and burst.
    pace: Option<(u64, u64)>,
    /// By which factor a recovery may take longer than promised.
    slack: u32,
}

/// The bucket under load. It keeps the idempotency keys of all jobs, because at the maximum new ones are refused for a
/// day.
pub fn buckets(upstream: &Upstream) -> String {
    let keep = "keep = { most_idempotency_keys = 10000000 }";
    format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 500\n{keep}\n", upstream.url())
}

impl Load {
    pub async fn on<R: RunningRedis>(service: &Service<R>, upstream: Upstream, per_second: u32) -> Self {
        let begun = Instant::now();
        let intakes = [service.intake().await, service.intake().await];
        let processors = [service.processor().await, service.processor().await];
        let clients = intakes.each_ref().map(Process::client);
        let callers = Callers::start(CALLERS, &clients, "b", per_second);
        let [client, _] = clients;
        let load = Self {
            upstream,
            _intakes: intakes,
            _processors: processors,
            client,
            callers,
            begun,
            report: Report::default(),
            pace: None,
            slack: 1,
        };
        load.flows().await;
        load
    }

    /// Checks at the end that the bucket has kept this rate and burst.
    #[must_use]
    pub const fn paced(mut self, rate: u64, burst: u64) -> Self {
        self.pace = Some((rate, burst));
        self
    }

    /// Sets by which factor a recovery may take longer than promised.
    #[must_use]
    pub const fn with_slack(mut self, slack: u32) -> Self {
        self.slack = slack;
        self
    }

    /// A client of an intake.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Checks the durability class of receipts.
    ///
    /// # Panics
    /// When it is another one.
    pub async fn is_kept_by(&self, class: Durability) {
        let accepted = self.client.submit("b", "x").await.expect("an answer");
        assert_eq!((accepted.status, accepted.text("durability")), (202, class.to_string()));
    }

    /// Waits until some more jobs are delivered.
    pub async fn flows(&self) {
        self.upstream.has_got(self.upstream.count() + 50).await;
    }

    /// Checks that jobs are accepted and delivered soon after a new master exists.
    pub async fn goes_on(&mut self, fault: &str) {
        let again = until_taken(&self.client, "b").await;
        self.went_on(fault, again).await;
    }

    /// As `goes_on`, with the time counted from when the master last had no replica, since until then Redis refuses all
    /// writes. That may happen twice, because a Sentinel that doesn't know of an election may start another one; then
    /// the first master becomes a replica after ten seconds.
    pub async fn goes_on_once_followed(&mut self, redis: &Sentinels, fault: &str) {
        let mut since = Instant::now();
        let look = async {
            loop {
                if redis.server(redis.master().await).followers().await == 0 {
                    since = Instant::now();
                }
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
        };
        tokio::select! {
            _ = until_taken(&self.client, "b") => {}
            () = look => {}
        }
        self.went_on(fault, since.elapsed()).await;
    }

    async fn went_on(&mut self, fault: &str, again: Duration) {
        self.report.faults += 1;
        self.report.note(fault, 1);
        self.report.recoveries_ms.push(u64::try_from(again.as_millis()).unwrap_or(u64::MAX));
        self.report
            .must(again < TAKING_AGAIN * self.slack, || format!("{fault}: it took {again:?} until jobs were taken"));
        self.flows().await;
    }

    /// Ends the load, and checks that exactly one job of each idempotency key was delivered.
    pub async fn ends<R: RunningRedis>(self, service: &Service<R>, fault: &str) -> Report {
        let Self { upstream, callers, begun, mut report, pace, .. } = self;
        let seen = callers.stop().await;
        service.store().connected().await;
        service.drained("b").await;
        let broken = seen.broken_at(&upstream);
        let again = upstream.calls_by_job().into_values().filter(|calls| *calls > 1).count();
        report.seconds = begun.elapsed().as_secs();
        report.jobs = seen.accepted.len() as u64;
        report.stored = report.jobs;
        report.calls = upstream.count() as u64;
        report.lost = broken.lost.len() as u64;
        report
            .note("answers of unknown outcome, after which the job was sent again under its key", seen.unknown as u64);
        if again > 0 {
            report.duplicates.insert(fault.to_owned(), again as u64);
        }
        if let Some((rate, burst)) = pace {
            pace::is_kept(upstream.calls().iter().map(|call| call.arrived).collect(), rate, burst, &mut report);
        }
        report.must(broken.lost.is_empty(), || format!("accepted and lost: {:?}", broken.lost));
        report.must(broken.doubled.is_empty(), || format!("several jobs of one key: {:?}", broken.doubled));
        report
    }
}
