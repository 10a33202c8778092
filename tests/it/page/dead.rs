use dripfeed_bucket::{Bucket, DeadFilter, Settlement};
use dripfeed_tests::buckets::{self, buried, join, settle, submit, take_one};
use dripfeed_tests::service::{Service, until};

use super::reader::{Reader, key};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
const GROUP: &str = "reason=gone&exact_reason=true&status=";

async fn die(service: &Service, reasons: &[&str]) -> Bucket {
    die_as(service, reasons.iter().map(|reason| buried(reason))).await
}

async fn die_as(service: &Service, ends: impl IntoIterator<Item = Settlement>) -> Bucket {
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "undertaker").await;
    for end in ends {
        submit(&bucket, buckets::job("x")).await;
        settle(&replica, take_one(&replica).await, end).await;
    }
    replica.leave().await.expect("Redis answers");
    bucket
}

#[tokio::test]
async fn a_group_of_dead_letters_is_deleted_whole_and_nothing_else() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    // More than one page of the list has.
    let bucket = die(&service, &[&["gone"; 120][..], &["gone for ever"]].concat()).await;
    let page = reader.text("/buckets/b/dead").await;
    assert!(page.contains("<span class=\"count\">120<") && page.contains("the reason “gone”"), "{page}");
    let token = reader.token("/buckets/b/dead").await;
    let delete = async |fields: &str| reader.post("/buckets/b/dead/delete", &format!("{token}{fields}")).await;
    assert_eq!(delete(GROUP).await.status, 422);
    assert_eq!(bucket.census().await.expect("Redis answers").dead, 121);
    let deleted = delete(&format!("{GROUP}&confirm=delete")).await;
    let next = "/buckets/b/dead?reason=gone&exact_reason=true&done=deleted&count=120";
    assert_eq!(deleted.headers["location"], next);
    assert!(reader.text(next).await.contains("Deleted 120: the reason “gone”."));
    assert!(reader.text("/buckets/b/dead").await.contains("gone for ever"));
}

#[tokio::test]
async fn a_group_that_got_no_answer_is_deleted_and_replayed_without_those_of_its_reason_that_got_one() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let refused = Settlement::Bury { reason: "gone".to_owned(), status: Some(410), answer: None, called: true };
    let bucket = die_as(&service, [buried("gone"), refused.clone(), buried("gone")]).await;
    let page = reader.text("/buckets/b/dead").await;
    assert!(page.contains("of this group: no answer, the reason “gone”.") && page.contains("status=none"), "{page}");
    let token = reader.token("/buckets/b/dead").await;
    let group = format!("{token}reason=gone&exact_reason=true&status=none");
    let deleted = reader.post("/buckets/b/dead/delete", &format!("{group}&confirm=delete")).await;
    let next = "/buckets/b/dead?reason=gone&exact_reason=true&status=none&done=deleted&count=2";
    assert_eq!(deleted.headers["location"], next);
    assert!(reader.text(next).await.contains("Deleted 2: no answer, the reason “gone”."));

    die_as(&service, [buried("gone")]).await;
    let replayed = reader.post("/buckets/b/dead/replay", &group).await;
    assert_eq!(
        replayed.headers["location"],
        "/buckets/b/dead?reason=gone&exact_reason=true&status=none&done=replaying"
    );
    until("it is replayed", async || reader.text("/buckets/b/dead").await.contains("1 of 1")).await;
    assert!(reader.text("/buckets/b/dead").await.contains("no answer, the reason “gone”"));
    assert_eq!(reader.post("/buckets/b/dead/replay", &format!("{token}status=x")).await.status, 422);
    let census = bucket.census().await.expect("Redis answers");
    assert_eq!((census.dead, census.level), (1, 1));
}

#[tokio::test]
async fn a_replay_of_a_group_is_shown_until_it_is_stopped() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    die(&service, &["gone", "gone", "gone for ever"]).await;
    let token = reader.token("/buckets/b/dead").await;
    let started = reader.post("/buckets/b/dead/replay", &format!("{token}{GROUP}&rate=1/h")).await;
    assert_eq!(started.headers["location"], "/buckets/b/dead?reason=gone&exact_reason=true&done=replaying");
    until("one is replayed", async || reader.text("/buckets/b/dead").await.contains("1 of 2")).await;
    let page = reader.text("/buckets/b/dead?done=replaying").await;
    assert!(page.contains("The replay has started") && page.contains("data-live=\"/live/buckets/b/dead\""), "{page}");
    let stop = page.split("action=\"").find(|form| form.contains("/cancel\"")).and_then(|form| form.split('"').next());
    let stopped = reader.post(stop.expect("a button"), &token).await;
    assert_eq!(stopped.headers["location"], "/buckets/b/dead?done=stopped");
    let page = reader.text("/buckets/b/dead").await;
    assert!(page.contains("cancelled") && !page.contains("/cancel\""), "{page}");
}

#[tokio::test]
async fn a_dead_letter_is_edited_and_replayed_by_who_may_see_and_submit() {
    let operator = key("operator", &["read", "inspect", "operate"]);
    let both = key("both", &["read", "inspect", "operate", "submit"]);
    let service = Service::new(&format!("{BUCKET}{operator}{both}")).await;
    let intake = service.intake().await;
    let bucket = die(&service, &["gone"]).await;
    let id = bucket.dead_letters(&DeadFilter::default(), None, 1).await.expect("Redis answers").items[0].id;
    let path = format!("/buckets/b/dead/{id}");

    let (mut refused, mut reader) = (Reader::of(&intake), Reader::of(&intake));
    refused.sign_in("operator").await;
    assert!(!refused.text(&path).await.contains("Edit and replay"));
    let token = refused.token(&path).await;
    assert_eq!(refused.post(&format!("{path}/edit"), &format!("{token}body=y")).await.status, 403);

    reader.sign_in("both").await;
    let form = reader.text(&path).await;
    assert!(form.contains("Edit and replay") && form.contains("<textarea name=\"body\""), "{form}");
    let token = reader.token(&path).await;
    // As a form writes line breaks.
    let edited = reader.post(&format!("{path}/edit"), &format!("{token}content_type=a/b&body=one%0D%0Atwo")).await;
    let next = edited.headers["location"].to_str().expect("text");
    assert!(next.ends_with("?done=replayed&count=1"), "{edited:?}");
    let page = reader.text(next).await;
    assert!(page.contains("edited from") && page.contains(&id.to_string()), "{page}");
    let replica = join(&bucket, "east").await;
    let job = take_one(&replica).await.job.expect("a job");
    assert_eq!((&job.body[..], job.content_type.as_deref()), (&b"one\ntwo"[..], Some("a/b")));
}

#[tokio::test]
async fn a_letter_of_a_list_is_not_offered_for_an_edit() {
    let service = Service::new(&BUCKET.replace("[buckets.b]", "[buckets.b]\nkind = \"list\"")).await;
    let intake = service.intake().await;
    let list = dripfeed_bucket::BucketSettings { kind: dripfeed_bucket::Kind::List, ..buckets::settings("b") };
    let bucket = Bucket::new(service.store().clone(), list);
    let replica = join(&bucket, "undertaker").await;
    let id = intake.client().submit("b", "wrong").await.expect("an answer").text("id");
    settle(&replica, take_one(&replica).await, buried("gone")).await;
    let page = Reader::of(&intake).text(&format!("/buckets/b/dead/{id}")).await;
    assert!(page.contains("wrong") && !page.contains("Edit and replay"), "{page}");
    replica.leave().await.expect("Redis answers");
}
