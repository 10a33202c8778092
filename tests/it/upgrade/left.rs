//! What the base left in Redis is read, and goes on.

use dripfeed_tests::client::Client;
use dripfeed_tests::service::until;
use dripfeed_tests::upstream::{Answer, Call, Upstream};
use http::Method;

use super::load::put;
use super::versions::Installation;
use super::versions::Version::{Base, This};

const BUCKET: &str = "/v1/buckets/mail";

async fn state(intake: &Client, job: &str) -> String {
    intake.get(&format!("{BUCKET}/jobs/{job}")).await.expect("an answer").text("state")
}

async fn post(intake: &Client, path: &str) {
    let answer = intake.post(&format!("{BUCKET}{path}"), "").await.expect("an answer");
    assert!((200..300).contains(&answer.status), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_of_the_base_version_is_read_and_used() {
    let refuses = |call: Call| async move { Answer::Status(if call.text() == "refused" { 422 } else { 200 }) };
    let upstream = Upstream::start(refuses).await;
    let here = Installation::new(&format!("[buckets.mail]\nupstream = \"{}\"\n", upstream.url())).await;
    let mut old = [here.intake(Base).await, here.processor(Base).await];
    let intake = old[0].client();
    let ended =
        [put(&intake, "mail", "called").await.expect("a job"), put(&intake, "mail", "refused").await.expect("a job")];
    let late = intake.request(Method::POST, &format!("{BUCKET}/jobs")).header("dripfeed-delay", "1h");
    let late = intake.call(late, "late").await.expect("an answer").text("id");
    upstream.has_got(2).await;
    until("both have ended, and one is parked", async || {
        let counts = here.service.counts("mail").await;
        (counts.delivered, counts.dead, counts.parked) == (1, 1, 1)
    })
    .await;
    assert_eq!(intake.patch(BUCKET, r#"{"capacity": 77}"#).await.expect("an answer").status, 200);
    post(&intake, "/pause").await;
    let waiting = put(&intake, "mail", "waits").await.expect("a job");
    for role in &mut old {
        role.terminate();
        assert!(role.ended().await.success());
    }

    here.types("Before an upgrade", "mail", "").await;
    let (new, _processor) = (here.intake(This).await, here.processor(This).await);
    let intake = new.client();
    assert_eq!(here.service.redis::<String>("HGET dripfeed:{@installation}:state layout").await, "1");
    let bucket = intake.get(BUCKET).await.expect("an answer").json();
    assert_eq!((&bucket["capacity"], &bucket["paused"]), (&77.into(), &true.into()));
    for (job, expected) in ended.iter().zip(["delivered", "dead"]).chain([(&late, "parked"), (&waiting, "waiting")]) {
        assert_eq!(state(&intake, job).await, expected);
    }
    assert_eq!(put(&intake, "mail", "called").await.as_ref(), Some(&ended[0]), "its key is known");
    post(&intake, &format!("/dead/{}/replay", ended[1])).await;
    post(&intake, "/resume").await;
    upstream.has_got(4).await;
    let mut bodies: Vec<String> = upstream.calls().iter().map(|call| call.text().to_owned()).collect();
    bodies.sort();
    assert_eq!(bodies, ["called", "refused", "refused", "waits"]);
    until("all but one have ended", async || here.service.level("mail").await == 1).await;
    here.examine("mail").await;
}

/// What the guide warns of: in 0.1.0 all callers had their keys in common.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idempotency_keys_of_callers_with_an_api_key_begin_again() {
    let hash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let here = Installation::new(&format!(
        "[buckets.mail]\nupstream = \"http://127.0.0.1:1/\"\n\
         [[keys]]\nid = \"shop\"\nsha256 = \"{hash}\"\nscopes = [\"submit\"]\n"
    ))
    .await;
    let old = here.intake(Base).await;
    let known = put(&old.client().with_key("foo"), "mail", "order").await.expect("a job");
    assert_eq!(put(&old.client().with_key("foo"), "mail", "order").await.as_ref(), Some(&known));
    here.types("Before an upgrade", "mail", "").await;
    let new = here.intake(This).await;
    assert_ne!(put(&new.client().with_key("foo"), "mail", "order").await.expect("a job"), known);
}
