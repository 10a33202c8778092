//! `dripfeed drain BUCKET --into OTHER`: the jobs of a bucket that nobody serves become jobs of another one.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketSettings, Kind, Settlement};
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{Ending, JobId, JobState, Submission};
use dripfeed_tests::buckets::{self as units, DELIVERED, join, settle, submit, take, take_one};
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use http::Method;

use super::buckets;

const WHOLE: Duration = Duration::from_hours(1);

/// A bucket as this test looks at it.
fn bucket(service: &Service, name: &str, kind: Kind, key: Option<&str>) -> Bucket {
    let key = key.map(str::to_owned);
    Bucket::new(service.store().clone(), BucketSettings { kind, key, capacity: 10_000, ..units::settings(name) })
}

fn stream(service: &Service, name: &str) -> Bucket {
    bucket(service, name, Kind::Stream, None)
}

async fn level(bucket: &Bucket) -> u64 {
    bucket.census().await.expect("Redis answers").level
}

/// Each job of the bucket: its body, and when it is due.
async fn bodies(bucket: &Bucket) -> Vec<(JobId, String)> {
    let replica = join(bucket, "reader").await;
    let mut all = Vec::new();
    while level(bucket).await > 0 {
        for taken in take(&replica, 100).await {
            let job = taken.job.as_ref().expect("a job");
            all.push((job.id, String::from_utf8_lossy(&job.body).into_owned()));
            settle(&replica, taken, DELIVERED).await;
        }
    }
    all
}

async fn cancelled(bucket: &Bucket, id: JobId) -> String {
    let job = bucket.find(id).await.expect("Redis answers").expect("it is remembered");
    assert_eq!(job.state, JobState::Ended(Ending::Cancelled));
    job.outcome.and_then(|(outcome, _)| outcome.reason).expect("a reason")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moved_job_keeps_all_its_options() {
    let service = Service::new(&buckets(&[("mail", ""), ("post", "")])).await;
    let mut intake = service.intake().await;
    let request = intake.client().request(Method::POST, "/v1/buckets/mail/jobs");
    let request =
        request.header("dripfeed-method", "PUT").header("dripfeed-path", "/a?b=c").header("dripfeed-delay", "1h");
    let request = request
        .header("dripfeed-forward-x-shop", "17")
        .header("dripfeed-timeout", "7s")
        .header("dripfeed-retries", "3");
    let request = request.header("content-type", "text/x-mail").header("idempotency-key", "order-17");
    let request = request.header("dripfeed-expires-in", "2h").header("dripfeed-priority", "low");
    let answer = intake.client().call(request, "first").await.expect("an answer");
    let old: JobId = answer.text("id").parse().expect("an id");
    intake.terminate();
    intake.ended().await;
    service.silence("mail stream ").await;
    let mail = stream(&service, "mail");
    let entry = |key: &str| format!("XRANGE dripfeed:{{{key}}}:jobs - +");
    let before: Vec<(String, BTreeMap<String, String>)> = service.redis(&entry("mail")).await;

    service.configure(&buckets(&[("post", "")]));
    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 job of `mail` moved into `post`, 0 expired, 0 left"), "{said}");
    let after: Vec<(String, BTreeMap<String, String>)> = service.redis(&entry("post")).await;
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_eq!(before[0].1, after[0].1, "the entry is the same, its due time and deadline too");
    assert_eq!(cancelled(&mail, old).await, format!("moved to `post` as job {}", after[0].0));
    assert_eq!(level(&mail).await, 0);

    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert!(code == Some(0) && said.contains("no stranded jobs"), "{said}");
    let (code, said) = service.run(&["drain", "mail", "--into", "nowhere"]).await;
    assert!(code == Some(78) && said.contains("unknown bucket `nowhere`"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_parked_and_held_jobs_move_with_their_due_times_and_what_cannot_be_read_stays() {
    let upstream = Upstream::willing().await;
    let post = format!("[buckets.post]\nupstream = \"{}\"\n", upstream.url());
    let service = Service::new(&post).await;
    let mail = stream(&service, "mail");
    service.silence("mail stream ").await;
    let replica = join(&mail, "dead").await;
    let [retried, held, waiting] = [
        submit(&mail, units::job("retried")).await.id,
        submit(&mail, units::job("held")).await.id,
        submit(&mail, units::job("waiting")).await.id,
    ];
    let taken = take_one(&replica).await;
    assert_eq!(taken.claim.id(), retried);
    settle(&replica, taken, Settlement::Retry { after: WHOLE }).await;
    let due: f64 = service.redis(&format!("ZSCORE dripfeed:{{mail}}:parked {retried}")).await;
    let _held = take_one(&replica).await;
    let gone = Submission { expires_in: Some(Duration::from_millis(1)), ..units::job("gone") };
    let expired = submit(&mail, gone).await.id;
    let unreadable: String = service.redis("XADD dripfeed:{mail}:jobs * method NO-BODY").await;
    service.redis::<String>("XADD dripfeed:{mail}:jobs * body by-hand").await;

    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("4 jobs of `mail` moved into `post`, 1 expired, 1 left"), "{said}");
    assert!(said.contains(&format!("{unreadable}: the entry has neither")), "{said}");
    for id in [retried, held, waiting] {
        assert!(cancelled(&mail, id).await.starts_with("moved to `post` as job "));
    }
    let job = mail.find(expired).await.expect("Redis answers").expect("it is remembered");
    assert_eq!(job.state, JobState::Ended(Ending::Expired));
    let _processor = service.processor().await;
    upstream.has_got(3).await;
    until("one is parked", async || service.counts("post").await.parked == 1).await;
    let parked: Vec<(String, f64)> = service.redis("ZRANGE dripfeed:{post}:parked 0 -1 WITHSCORES").await;
    assert!((parked[0].1 - due).abs() < 0.5, "{parked:?} {due}");
    let mut sent: Vec<String> = upstream.calls().iter().map(|call| call.text().to_owned()).collect();
    sent.sort();
    assert_eq!(sent, ["by-hand", "held", "waiting"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_change_of_key_or_kind_jobs_move_into_the_bucket_of_the_same_name() {
    let service = Service::new(&buckets(&[("mail", "key = \"x:new\"")])).await;
    let _intake = service.intake().await;
    let old = stream(&service, "mail");
    let list = bucket(&service, "mail", Kind::List, Some("x:list"));
    let again = bucket(&service, "mail", Kind::Stream, Some("x:again"));
    for (bucket, body) in [(&old, "of a stream"), (&list, "of a list"), (&again, "of a stream")] {
        submit(bucket, units::job(body)).await;
    }
    service.redis::<u64>("LPUSH x:list by-hand").await;
    for place in ["mail stream ", "mail list x:list", "mail stream x:again"] {
        service.silence(place).await;
    }
    let (code, said) = service.run(&["drain", "mail", "--into", "mail"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("4 jobs of `mail` moved into `mail`, 0 expired, 0 left"), "{said}");
    let new = bucket(&service, "mail", Kind::Stream, Some("x:new"));
    let mut moved: Vec<String> = bodies(&new).await.into_iter().map(|(_, body)| body).collect();
    moved.sort();
    assert_eq!(moved, ["by-hand", "of a list", "of a stream", "of a stream"]);

    // Where the old one occupies the key of the new one, it can only go elsewhere.
    submit(&old, units::job("more")).await;
    service.silence("mail stream ").await;
    service.configure(&buckets(&[("mail", "kind = \"list\""), ("post", "")]));
    let (code, said) = service.run(&["drain", "mail", "--into", "mail"]).await;
    assert!(code == Some(78) && said.contains("its key is in use"), "{said}");
    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert!(code == Some(0) && said.contains("1 job of `mail` moved into `post`"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_another_place_of_the_name_has_is_not_taken_for_this_one() {
    let service = Service::new(&buckets(&[("post", "")])).await;
    // The same id and body at two places: as two intakes give them in one millisecond.
    for key in ["dripfeed:{mail}:jobs", "x:old"] {
        service.redis::<String>(&format!("XADD {key} 1700000000000-0 body same")).await;
    }
    for place in ["mail stream ", "mail stream x:old"] {
        service.silence(place).await;
    }
    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert!(code == Some(0) && said.contains("2 jobs"), "{said}");
    assert_eq!(service.level("post").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_bucket_is_waited_for() {
    let upstream = Upstream::willing().await;
    let post = format!("[buckets.post]\nupstream = \"{}\"\ncapacity = 3\n", upstream.url());
    let service = Service::new(&post).await;
    let mail = stream(&service, "mail");
    for n in 0..20 {
        submit(&mail, units::job(n.to_string())).await;
    }
    service.silence("mail stream ").await;
    let mut command = service.command(&[]);
    command.args(["drain", "mail", "--into", "post"]);
    let mut moving = Process::spawn("drain", command);
    until("it is full", async || moving.log().contains("the target bucket is full")).await;
    assert_eq!((service.level("post").await, level(&mail).await), (3, 17));
    moving.terminate();
    assert_eq!(moving.ended().await.code(), Some(1), "nobody takes the bucket for empty");
    assert!(moving.log().contains("still has 17 jobs; drain it again"), "{}", moving.log());
    let mut command = service.command(&[]);
    command.args(["drain", "mail", "--into", "post"]);
    let mut moving = Process::spawn("drain", command);
    let _processor = service.processor().await;
    assert!(moving.ended().await.success());
    service.drained("post").await;
    assert_eq!((upstream.count(), level(&mail).await), (20, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_whose_replicas_live_is_not_moved() {
    let upstream = Upstream::willing().await;
    let old = format!("[buckets.mail]\nupstream = \"{}\"\n", upstream.url());
    let service = Service::new(&old).await;
    let mail = stream(&service, "mail");
    mail.pause().await.expect("Redis answers");
    submit(&mail, units::job("{}")).await;
    let _processor = service.processor().await;
    service.configure(&buckets(&[("post", "")]));
    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert!(code == Some(75) && said.contains("is in use"), "{said}");
    // A replica of an earlier release notes nothing; its heartbeats show it.
    service.silence("mail stream ").await;
    let replica = join(&mail, "quiet").await;
    let beating = tokio::spawn(async move {
        loop {
            replica.beat().await.expect("Redis answers");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    beating.abort();
    assert_eq!(code, Some(75), "{said}");
    assert_eq!((level(&mail).await, service.level("post").await), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_whose_key_names_another_job_keeps_its_old_one() {
    let service = Service::new(&buckets(&[("post", "")])).await;
    let (mail, post) = (stream(&service, "mail"), stream(&service, "post"));
    let id = submit(&mail, units::job("mine")).await.id;
    let key = IdempotencyKey::parse(&format!("mail/{id}")).ok();
    submit(&post, Submission { idempotency_key: key, ..units::job("another") }).await;
    service.silence("mail stream ").await;
    let (code, said) = service.run(&["drain", "mail", "--into", "post"]).await;
    assert!(code == Some(1) && said.contains(&id.to_string()) && said.contains("1 left"), "{said}");
    assert_eq!((level(&mail).await, level(&post).await), (1, 1));
}
