//! `dripfeed drain BUCKET`: a bucket that left the settings is served with those that it had, until it is empty.

use dripfeed_bucket::{Bucket, BucketSettings, Settlement};
use dripfeed_job::JobState;
use dripfeed_tests::buckets::{self as units, DELIVERED, join, settle, take_one, takes_nothing};
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use http::Method;

use super::{buckets, noted_ms, stranded};

fn calling(upstream: &Upstream, sections: &[(&str, &str)]) -> String {
    let section =
        |(name, settings): &(&str, &str)| format!("[buckets.{name}]\nupstream = \"{}\"\n{settings}\n", upstream.url());
    sections.iter().map(section).collect()
}

/// Submits this many jobs, and ends what took them.
async fn leave_behind(service: &Service, bucket: &str, jobs: usize) {
    let mut intake = service.intake().await;
    for n in 0..jobs {
        let answer = intake.client().submit(bucket, n.to_string()).await.expect("an answer");
        assert_eq!(answer.status, 202, "{bucket}");
    }
    intake.terminate();
    intake.ended().await;
}

async fn submit_delayed(intake: &Process, bucket: &str, delay: &str) {
    let request = intake.client().request(Method::POST, &format!("/v1/buckets/{bucket}/jobs"));
    let answer = intake.client().call(request.header("dripfeed-delay", delay), "later").await.expect("an answer");
    assert_eq!(answer.status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_was_removed_or_renamed_is_drained_with_the_settings_that_it_had() {
    let upstream =
        Upstream::start(|call| async move { Answer::Status(if call.text() == "3" { 400 } else { 200 }) }).await;
    let old = calling(&upstream, &[("mail", ""), ("list", "kind = \"list\"")]);
    let service = Service::new(&old).await;
    leave_behind(&service, "mail", 5).await;
    leave_behind(&service, "list", 2).await;

    service.configure(&buckets(&[("post", "")]));
    let intake = service.intake().await;
    service.silence("mail stream ").await;
    service.silence("list list ").await;
    until("both are reported", async || stranded(&intake).await.len() == 2).await;
    let log = intake.log();
    assert!(log.contains("dripfeed -c OLD drain mail") && log.contains("drain mail --into OTHER"), "{log}");

    service.configure(&old);
    let (code, said) = service.run(&["drain", "mail"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is empty: 4 delivered, 1 dead, 0 expired, 0 cancelled"), "{said}");
    let (code, said) = service.run(&["drain", "list", "-o", "json"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\"delivered\": 2") && said.contains("\"left\": 0"), "{said}");
    assert_eq!(upstream.count(), 7);
    until("nothing is stranded", async || stranded(&intake).await.is_empty()).await;
    assert_eq!(noted_ms(&service, "mail stream ").await, None, "it is empty, and nobody has it");

    let (code, said) = service.run(&["drain", "mail"]).await;
    assert!(code == Some(0) && said.contains("has no jobs"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_were_in_flight_parked_or_forgotten_are_drained_as_well() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&calling(&upstream, &[("mail", "")])).await;
    leave_behind(&service, "mail", 3).await;
    let bucket = Bucket::new(service.store().clone(), units::settings("mail"));
    // One is claimed by a replica that died, one was parked and has lost its due time.
    let dead = join(&bucket, "dead").await;
    let forgotten = take_one(&dead).await;
    settle(&dead, forgotten, Settlement::Requeue).await;
    service.redis::<u64>("DEL dripfeed:{mail}:parked").await;
    let _held = take_one(&dead).await;

    service.silence("mail stream ").await;
    let (code, said) = service.run(&["drain", "mail"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is empty: 3 delivered"), "{said}");
    assert_eq!(upstream.calls_by_job().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_that_is_stopped_ends_in_order_and_leaves_the_rest_stranded() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&calling(&upstream, &[("mail", "")])).await;
    let mut intake = service.intake().await;
    submit_delayed(&intake, "mail", "1h").await;
    let paused = intake.client().post("/v1/buckets/mail/pause", "").await.expect("an answer");
    assert_eq!(paused.status, 200);
    intake.terminate();
    intake.ended().await;
    service.silence("mail stream ").await;

    let (code, said) = service.run(&["drain", "mail"]).await;
    assert!(code == Some(75) && said.contains("--resume"), "{said}");
    let mut command = service.command(&[]);
    command.args(["drain", "mail", "--resume"]);
    let mut drain = Process::spawn("drain", command);
    until("it is parked", async || service.counts("mail").await.parked == 1).await;
    assert!(noted_ms(&service, "mail stream ").await > Some(1), "it isn't reported as stranded meanwhile");
    drain.terminate();
    assert_eq!(drain.ended().await.code(), Some(1), "nobody takes the bucket for empty");
    assert!(drain.log().contains("still has 1 job; drain it again"), "{}", drain.log());
    assert_eq!((service.counts("mail").await.parked, upstream.count()), (1, 0));
    assert_eq!(noted_ms(&service, "mail stream ").await, Some(1), "it is stranded again, at once");
    let replicas: u64 = service.redis("HLEN dripfeed:{mail}:replicas").await;
    assert_eq!(replicas, 0, "it has left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_other_processes_serve_or_share_is_not_drained() {
    let service = Service::new(&buckets(&[("mail", ""), ("other", "")])).await;
    let mut intake = service.intake().await;
    intake.client().submit("mail", "{}").await.expect("an answer");
    let (code, said) = service.run(&["drain", "mail"]).await;
    assert!(code == Some(75) && said.contains("is in use") && said.contains("dripfeed:{mail}:jobs"), "{said}");
    intake.terminate();
    intake.ended().await;

    service.configure(&buckets(&[("mail", "key = \"x:new\"")]));
    service.silence("mail stream ").await;
    let (code, said) = service.run(&["drain", "gone"]).await;
    assert!(code == Some(78) && said.contains("unknown bucket `gone`") && said.contains("`mail` (stream"), "{said}");
    let _intake = service.intake().await;
    service.configure(&buckets(&[("mail", "")]));
    let (code, said) = service.run(&["drain", "mail"]).await;
    assert!(code == Some(78) && said.contains("x:new") && said.contains("drain mail --into"), "{said}");
    assert_eq!(service.level("mail").await, 1);
}

#[tokio::test]
async fn two_places_of_one_name_lose_each_others_due_times_so_they_are_not_served_together() {
    let redis = TestRedis::start().await;
    let [old, new] = ["x:old", "x:new"].map(|key| BucketSettings { key: Some(key.into()), ..units::settings("mail") });
    let [old, new] = [units::open(&redis, old).await, units::open(&redis, new).await];
    let (of_old, of_new) = (join(&old, "old").await, join(&new, "new").await);
    let id = units::submit(&old, units::job("parked")).await.id;
    let taken = take_one(&of_old).await;
    settle(&of_old, taken, Settlement::Requeue).await;
    assert_eq!(old.census().await.expect("Redis answers").parked, 1);

    // The replica of the new place finds the due time, and no job under it.
    let parked = async || old.census().await.expect("Redis answers").parked;
    until("the due time is gone", async || takes_nothing(&of_new).await && parked().await == 0).await;
    let job = old.find(id).await.expect("Redis answers").expect("a job");
    assert_eq!(job.state, JobState::Waiting, "it is pending for the owner of parked jobs, and due never");

    // What a drain repairs first.
    assert_eq!(old.repair_jobs().await.expect("Redis answers").len(), 1);
    let taken = take_one(&of_old).await;
    assert_eq!(taken.claim.id(), id);
    settle(&of_old, taken, DELIVERED).await;
}
