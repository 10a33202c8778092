//! Processes are replaced one after the other, under load.

use std::collections::BTreeSet;

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::until;
use dripfeed_tests::upstream::Upstream;

use super::load::{self, Accepted, Load, put, wrong};
use super::versions::Version::{Base, This};
use super::versions::{Installation, Version};

/// Calls between two steps.
const STEP: usize = 150;
/// Buckets of both kinds.
const STREAM: &str = "mail";
const LIST: &str = "sms";

/// What is under load: the callers go on while processes come and go.
struct Rolling {
    upstream: Upstream,
    here: Installation,
    loads: [Load; 2],
    accepted: Accepted,
}

/// The rate is below that of the load, so that jobs wait.
fn buckets(upstream: &Upstream) -> String {
    let upstream = upstream.url();
    let both = "capacity = 20000\nleak = { rate = \"80/s\", burst = 10, concurrency = 20 }\n";
    format!(
        "[buckets.{STREAM}]\nupstream = \"{upstream}\"\n{both}\
         retry = {{ attempts = 4, first = \"100ms\", max = \"200ms\" }}\n\
         [buckets.{LIST}]\nupstream = \"{upstream}\"\nkind = \"list\"\n{both}"
    )
}

impl Rolling {
    /// With an intake of the base.
    async fn start() -> (Self, Process) {
        let upstream = load::upstream().await;
        let here = Installation::new(&buckets(&upstream)).await;
        let intake = here.intake(Base).await;
        let loads = [Load::of_stream(STREAM, &intake.client()), Load::of_list(LIST, &intake.client())];
        (Self { upstream, here, loads, accepted: Accepted::new() }, intake)
    }

    async fn processors(&self, version: Version) -> [Process; 2] {
        [self.here.processor(version).await, self.here.processor(version).await]
    }

    /// Returns when the callers and the upstream have gone on for a while.
    async fn step(&self) {
        self.upstream.has_got(self.upstream.count() + STEP).await;
    }

    /// One after the other, in order.
    async fn leave(&self, processes: impl IntoIterator<Item = Process>) {
        for mut process in processes {
            process.terminate();
            assert!(process.ended().await.success(), "{}", process.log());
            self.step().await;
        }
    }

    /// A key that one intake has given a job names the same job at the other one.
    async fn agree(&mut self, one: &Process, other: &Process) {
        for (bucket, first, second) in [(STREAM, one, other), (STREAM, other, one), (LIST, one, other)] {
            let key = format!("{bucket}-both-{}-plain", self.accepted.len());
            let job = put(&first.client(), bucket, &key).await.expect("it is accepted");
            assert_eq!(put(&second.client(), bucket, &key).await.as_ref(), Some(&job), "{key}");
            self.accepted.insert(key, job);
        }
    }

    /// The callers go over to another intake, and the one that they had ends.
    async fn replace(&mut self, intake: Process, by: &Process) {
        self.agree(&intake, by).await;
        self.loads.iter().for_each(|load| load.go_to(&by.client()));
        self.leave([intake]).await;
    }

    /// Everything that was accepted was called as often as it should be, and nothing is left.
    async fn ends(mut self, killed: &BTreeSet<String>) {
        for load in self.loads {
            self.accepted.extend(load.stop().await);
        }
        let service = &self.here.service;
        service.drained(STREAM).await;
        until("the list is empty", async || {
            let left: Vec<u64> = vec![
                service.redis(&format!("LLEN dripfeed:{{{LIST}}}:jobs")).await,
                service.redis::<Vec<u64>>(&format!("HVALS dripfeed:{{{LIST}}}:takers")).await.iter().sum(),
            ];
            left == [0, 0]
        })
        .await;
        let wrong = wrong(&self.accepted, &self.upstream, killed);
        assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), self.accepted.len());
        let of_list: u64 = service.redis(&format!("HGET dripfeed:{{{LIST}}}:tally delivered")).await;
        let delivered = service.counts(STREAM).await.delivered + of_list;
        assert_eq!(usize::try_from(delivered), Ok(self.accepted.len()), "each has one outcome");
        self.here.examine(STREAM).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_under_load_loses_nothing_and_calls_nothing_twice() {
    let (mut rolling, old_intake) = Rolling::start().await;
    let old = rolling.processors(Base).await;
    rolling.step().await;

    rolling.here.types("Before an upgrade", STREAM, &old_intake.url()).await;
    let _new = rolling.processors(This).await;
    rolling.step().await;
    rolling.leave(old).await;
    let intake = rolling.here.intake(This).await;
    rolling.replace(old_intake, &intake).await;
    rolling.step().await;
    rolling.ends(&BTreeSet::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_back_loses_nothing_and_calls_nothing_twice() {
    let (mut rolling, old_intake) = Rolling::start().await;
    rolling.here.types("Before an upgrade", STREAM, &old_intake.url()).await;
    let new = rolling.processors(This).await;
    let intake = rolling.here.intake(This).await;
    rolling.replace(old_intake, &intake).await;
    rolling.step().await;

    let old_intake = rolling.here.intake(Base).await;
    rolling.here.types("Going back", STREAM, &intake.url()).await;
    rolling.replace(intake, &old_intake).await;
    let _old = rolling.processors(Base).await;
    rolling.leave(new).await;
    rolling.step().await;
    rolling.ends(&BTreeSet::new()).await;
}

/// As where everything is replaced at once, by a package or a chart: nothing but the wait is different.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_of_intakes_first_loses_nothing_and_calls_nothing_twice() {
    let (mut rolling, old_intake) = Rolling::start().await;
    let old = rolling.processors(Base).await;
    rolling.step().await;
    rolling.here.types("Before an upgrade", STREAM, &old_intake.url()).await;
    let intake = rolling.here.intake(This).await;
    rolling.agree(&old_intake, &intake).await;
    rolling.loads.iter().for_each(|load| load.go_to(&intake.client()));
    let _new = rolling.processors(This).await;
    rolling.leave(old.into_iter().chain([old_intake])).await;
    rolling.step().await;
    rolling.ends(&BTreeSet::new()).await;
}

/// Stops it, notes what it has, and kills it. Of the stream, where deliveries are counted.
async fn kill(rolling: &Rolling, mut victim: Process) -> BTreeSet<String> {
    let id = victim.id();
    victim.pause();
    let pending = format!("XPENDING dripfeed:{{{STREAM}}}:jobs processors - + 10000");
    let pending: Vec<(String, String, u64, u64)> = rolling.here.service.redis(&pending).await;
    let list: Vec<String> = rolling.here.service.redis(&format!("HKEYS dripfeed:{{{LIST}}}:takers")).await;
    let mut held: BTreeSet<String> =
        pending.into_iter().filter(|(_, owner, ..)| owner.contains(&format!("-{id}-"))).map(|(job, ..)| job).collect();
    for taker in list.into_iter().filter(|taker| taker.contains(&format!("-{id}-"))) {
        let elements: Vec<String> =
            rolling.here.service.redis(&format!("LRANGE dripfeed:{{{LIST}}}:taken:{taker} 0 -1")).await;
        held.extend(elements.iter().map(|element| job_of(element)));
    }
    victim.kill().await;
    held
}

/// The id that an element begins with.
fn job_of(element: &str) -> String {
    let element: serde_json::Value = serde_json::from_str(element).expect("JSON");
    element["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_jobs_of_killed_processors_are_called_again_during_an_upgrade() {
    let (mut rolling, old_intake) = Rolling::start().await;
    let [old, other_old] = rolling.processors(Base).await;
    rolling.here.types("Before an upgrade", STREAM, &old_intake.url()).await;
    let [new, _other_new] = rolling.processors(This).await;
    rolling.step().await;
    let mut killed = kill(&rolling, old).await;
    rolling.step().await;
    killed.extend(kill(&rolling, new).await);
    let intake = rolling.here.intake(This).await;
    rolling.replace(old_intake, &intake).await;
    rolling.leave([other_old]).await;
    rolling.step().await;
    rolling.ends(&killed).await;
}
