//! A client that deletes a bucket with `If-Match` deletes the definition that it has seen, or nothing.

use dripfeed_bucket::{
    Bucket, BucketSettings, DefinitionBounds, Kind, KnownDefinitions, NewDefinition, PutDefinitionResult, ReopenResult,
};
use dripfeed_tests::buckets::{self, DELIVERED, join, settle, take_one};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};

use super::*;

const BOUNDS: DefinitionBounds = DefinitionBounds { most: 10, bytes: 1 << 30 };

/// How the definition is replaced during its deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replacement {
    /// By a client of another intake, which gets its response before the deletion goes on.
    Answered,
    /// By an intake that is stopped after it stored the definition, before it opened the bucket.
    CutOff,
}

/// An intake that deletes, and whose calls of Redis can be delayed, and another one.
pub(super) struct Deletions {
    pub(super) service: Service,
    pub(super) proxy: RedisFaultProxy,
    pub(super) deleting: Process,
    pub(super) other: Process,
    definition: Value,
}

impl Deletions {
    pub(super) async fn start(upstream: &Upstream, kind: Kind) -> Self {
        let service = Service::new(&settings(upstream)).await;
        let proxy = RedisFaultProxy::before(&service.redis).await;
        let url = format!("redis.url={}", proxy.url());
        let deleting = service.role("intake", &[&url, "redis.response_timeout=10s", "processor.lease=30s"]).await;
        let other = service.intake().await;
        let definition = json!({ "upstream": upstream.url(), "kind": kind.as_str() });
        Self { service, proxy, deleting, other, definition }
    }

    pub(super) async fn created(&self) -> String {
        let created = put(&self.other.client(), "b", &self.definition).await;
        assert_eq!(created.status, 201, "{created:?}");
        created.headers["etag"].to_str().expect("a tag").to_owned()
    }

    /// Opens the bucket directly, without an intake.
    async fn bucket(&self, kind: Kind) -> Bucket {
        let mut known = KnownDefinitions::default();
        known.follow(self.service.store()).await.expect("Redis answers");
        let incarnation = known.get("b").expect("a definition").incarnation;
        let settings = BucketSettings { kind, ..buckets::settings("b") };
        Bucket::defined(self.service.store().clone(), settings, incarnation)
    }

    async fn replace(&self, by: Replacement) {
        match by {
            Replacement::Answered => {
                let replaced = put(&self.other.client(), "b", &self.definition).await;
                assert_eq!(replaced.status, 200, "{replaced:?}");
            }
            Replacement::CutOff => {
                let (store, mut known) = (self.service.store(), KnownDefinitions::default());
                known.follow(store).await.expect("Redis answers");
                let known = known.get("b").expect("a definition");
                let new = NewDefinition {
                    bucket: &known.bucket,
                    known: Some(known.version),
                    capacity_bytes: 1 << 20,
                    by: None,
                    definition: &self.definition,
                    sealed: None,
                };
                let put = new.put(store, BOUNDS).await.expect("Redis answers");
                assert!(matches!(put, PutDefinitionResult::Done { .. }), "{put:?}");
            }
        }
    }

    /// Deletes the bucket if it has this tag. The definition is replaced before the first of these scripts.
    async fn replaced_before(&self, scripts: &[&str], tag: &str, path: &str, by: Replacement) -> ClientResponse {
        scripts.iter().for_each(|script| self.proxy.plan(script, ProxyFault::Hold, 1));
        let client = self.deleting.client();
        let request = client.request(Method::DELETE, &format!("/v1/buckets/{path}")).header("if-match", tag);
        let (answer, ()) = tokio::join!(client.call(request, ""), async {
            self.proxy.any_done(scripts).await;
            scripts.iter().for_each(|script| self.proxy.behave(script));
            self.replace(by).await;
            self.proxy.release();
        });
        answer.expect("an answer")
    }

    /// Checks that the outcome, the schedule and the change at run time are kept. The test checks the jobs.
    async fn nothing_is_deleted(&self, context: &str) {
        for client in [self.other.client(), self.deleting.client()] {
            for list in ["outcomes", "schedules"] {
                let listed = get(&client, &format!("/v1/buckets/b/{list}")).await;
                assert_eq!(listed.status, 200, "{context}: {listed:?}");
                assert_eq!(listed.json()["items"].as_array().map(Vec::len), Some(1), "{context}: {listed:?}");
            }
            let state = get(&client, "/v1/buckets/b").await;
            assert_eq!(state.json()["changes"]["leak"]["concurrency"], json!(3), "{context}: {state:?}");
        }
    }
}

/// Creates an outcome, a schedule and a change at run time, which a deletion would delete.
async fn used(deletions: &Deletions, bucket: &Bucket) {
    let client = deletions.other.client();
    assert_eq!(submit(&client, "b").await.status, 202);
    let replica = join(bucket, "r").await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    replica.leave().await.expect("Redis answers");
    let schedule = client.request(Method::PUT, "/v1/buckets/b/schedules/yearly");
    let defined = client.call(schedule, r#"{"every":"366d","job":{"body":1}}"#).await.expect("an answer");
    assert_eq!(defined.status, 200, "{defined:?}");
    assert_eq!(client.patch("/v1/buckets/b", r#"{"leak":{"concurrency":3}}"#).await.expect("an answer").status, 200);
}

/// The scripts of a deletion up to the one that decides it. A replacement before any of them has the same effect.
const BEFORE_IT_IS_DECIDED: [&[&str]; 3] =
    [&["open_bucket", "suspend_bucket", "close_bucket"], &["suspend_bucket"], &["begin_deletion"]];

async fn refused(kind: Kind, path: &str, in_flight: bool) {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, kind).await;
    let mut tag = deletions.created().await;
    let bucket = deletions.bucket(kind).await;
    used(&deletions, &bucket).await;
    let jobs = if path == "b" { 0 } else { 3 };
    for _ in 0..jobs {
        assert_eq!(submit(&deletions.other.client(), "b").await.status, 202);
    }
    let replica = join(&bucket, "slow").await;
    let _claimed = if in_flight { Some(take_one(&replica).await) } else { None };
    for scripts in BEFORE_IT_IS_DECIDED {
        for by in [Replacement::Answered, Replacement::CutOff] {
            let context = format!("{kind:?} {path} {scripts:?} {by:?}");
            let answer = deletions.replaced_before(scripts, &tag, path, by).await;
            assert_eq!(answer.status, 412, "{context}: {answer:?}");
            assert_eq!(answer.text("code"), "precondition_failed", "{context}");
            assert_eq!(bucket.level().await.expect("Redis answers"), jobs, "{context}");
            deletions.nothing_is_deleted(&context).await;
            let seen = get(&deletions.deleting.client(), "/v1/buckets/b").await;
            tag = seen.headers["etag"].to_str().expect("a tag").to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_a_new_definition_came_before_deletes_nothing() {
    refused(Kind::Stream, "b", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_a_new_definition_came_before_purges_nothing() {
    for kind in [Kind::Stream, Kind::List] {
        refused(kind, "b?purge=true", false).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_a_new_definition_came_before_purges_nothing_beside_jobs_in_flight() {
    for kind in [Kind::Stream, Kind::List] {
        refused(kind, "b?purge=true", true).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_stopped_before_it_was_decided_is_undone_by_a_new_definition() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    deletions.created().await;
    used(&deletions, &deletions.bucket(Kind::Stream).await).await;
    assert_eq!(submit(&deletions.other.client(), "b").await.status, 202);
    deletions.proxy.plan("begin_deletion", ProxyFault::Drop, 1);
    assert_eq!(delete(&deletions.deleting.client(), "b?purge=true").await.status, 503);
    let suspended = submit(&deletions.other.client(), "b").await;
    let is_final = (suspended.status, suspended.text("code"), suspended.headers.contains_key("retry-after"));
    assert_eq!(is_final, (503, "store_unavailable".to_owned(), true), "{suspended:?}");
    deletions.replace(Replacement::Answered).await;
    assert_eq!(submit(&deletions.deleting.client(), "b").await.status, 202);
    assert_eq!(deletions.service.level("b").await, 2);
    deletions.nothing_is_deleted("after a new definition").await;
}

/// Changes the state as if the bucket had been suspended this much earlier.
pub(super) async fn suspended_for(deletions: &Deletions, ms: u64) {
    let suspended: u64 = deletions.service.redis("HGET dripfeed:{b}:control suspended").await;
    let earlier = format!("HSET dripfeed:{{b}}:control suspended {}", suspended - ms);
    deletions.service.redis::<u8>(&earlier).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_stopped_before_it_was_decided_is_undone_a_minute_later() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    let client = deletions.other.client();
    for by in ["submission", "schedule", "processor"] {
        deletions.created().await;
        used(&deletions, &deletions.bucket(Kind::Stream).await).await;
        assert_eq!(submit(&client, "b").await.status, 202);
        deletions.proxy.plan("begin_deletion", ProxyFault::Drop, 1);
        assert_eq!(delete(&deletions.deleting.client(), "b?purge=true").await.status, 503);
        suspended_for(&deletions, 50_000).await;
        assert_eq!(submit(&client, "b").await.status, 503, "{by}");
        suspended_for(&deletions, 10_000).await;
        if by == "submission" {
            assert_eq!(submit(&client, "b").await.status, 202);
            assert_eq!(deletions.service.level("b").await, 2);
        } else if by == "schedule" {
            let now: (u64, u64) = deletions.service.redis("TIME").await;
            let due = format!("ZADD dripfeed:{{b}}:schedules:next {}000 yearly", now.0);
            deletions.service.redis::<u64>(&due).await;
            until("the job of its tick waits", async || deletions.service.level("b").await == 2).await;
        }
        deletions.nothing_is_deleted(by).await;
        let processor = deletions.service.processor().await;
        deletions.service.drained("b").await;
        drop(processor);
        assert_eq!(delete(&client, "b").await.status, 204, "{by}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_stopped_leaves_the_scale_of_the_other_buckets() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    deletions.created().await;
    let client = deletions.other.client();
    put(&client, "c", &deletions.definition).await;
    assert_eq!(submit(&client, "c").await.status, 202);
    deletions.proxy.plan("begin_deletion", ProxyFault::Drop, 1);
    assert_eq!(delete(&deletions.deleting.client(), "b").await.status, 503);
    let scale = get(&client, "/v1/scale?bucket=*").await;
    assert_eq!((scale.status, scale.number("slots")), (200, 1), "{scale:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_decided_is_never_undone() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    deletions.created().await;
    assert_eq!(submit(&deletions.other.client(), "b").await.status, 202);
    deletions.proxy.plan("purge", ProxyFault::Drop, 1);
    assert_eq!(delete(&deletions.deleting.client(), "b?purge=true").await.status, 503);
    suspended_for(&deletions, 600_000).await;
    let bucket = deletions.bucket(Kind::Stream).await;
    assert_eq!(bucket.reopen_abandoned().await.expect("Redis answers"), ReopenResult::Gone);
    assert_eq!(submit(&deletions.other.client(), "b").await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_stopped_after_it_was_decided_is_ended_by_the_next() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    let (client, stopped) = (deletions.other.client(), deletions.deleting.client());
    for (script, fault) in [
        ("purge", ProxyFault::Drop),
        ("close_bucket", ProxyFault::Drop),
        ("close_bucket", ProxyFault::Close),
        ("delete_definition", ProxyFault::Drop),
    ] {
        for ends in [Method::PUT, Method::DELETE] {
            deletions.created().await;
            used(&deletions, &deletions.bucket(Kind::Stream).await).await;
            assert_eq!(submit(&client, "b").await.status, 202);
            deletions.proxy.plan(script, fault, 1);
            assert_eq!(delete(&stopped, "b?purge=true").await.status, 503, "{script}");
            assert_eq!(submit(&client, "b").await.status, 404, "{script}");
            if ends == Method::DELETE {
                assert_eq!(delete(&client, "b?purge=true").await.status, 204, "{script}");
                assert_eq!(delete(&client, "b").await.status, 404, "{script}");
                continue;
            }
            deletions.created().await;
            for list in ["jobs", "outcomes", "schedules"] {
                let listed = get(&client, &format!("/v1/buckets/b/{list}")).await;
                assert_eq!(listed.json()["items"], json!([]), "{script}: {listed:?}");
            }
            assert_eq!(submit(&client, "b").await.status, 202, "{script}");
            assert_eq!(delete(&client, "b?purge=true").await.status, 204, "{script}");
        }
    }
}
