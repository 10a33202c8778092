//! Dead letters deleted by a command: those of a group or of a time, and no others.

use dripfeed_bucket::{Bucket, Settlement};
use dripfeed_tests::buckets::{self, join, settle, submit, take_one};
use dripfeed_tests::service::Service;
use serde_json::Value;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test]
async fn a_group_of_dead_letters_is_deleted_and_no_other_letter() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "undertaker").await;
    for (reason, status) in
        [("gone", Some(410)), ("gone", None), ("gone for ever", Some(410)), ("gone", Some(410)), ("late", None)]
    {
        submit(&bucket, buckets::job("x")).await;
        let settlement = Settlement::Bury { reason: reason.to_owned(), status, answer: None, called: true };
        settle(&replica, take_one(&replica).await, settlement).await;
    }
    let url = intake.url();
    let dead = async |more: &[&str]| service.run(&[&["dead", "b", "--server", &url], more].concat()).await;
    let delete = async |filter: &[&str]| dead(&[&["delete", "--all", "--yes"], filter].concat()).await;
    let listed = async |filter: &[&str]| -> Vec<Value> {
        let (code, out) = dead(&[&["-o", "json", "list"], filter].concat()).await;
        assert_eq!(code, Some(0), "{out}");
        serde_json::from_str(&out).expect("JSON")
    };

    for verb in ["replay", "delete"] {
        let (code, said) = dead(&[verb]).await;
        assert!(code == Some(2) && said.contains("<ID|--all>"), "{code:?} {said}");
    }
    // Nobody confirms, as standard input is no terminal.
    let (code, said) = dead(&["delete", "--all", "--reason", "gone"]).await;
    assert!(code == Some(2) && said.contains("--yes"), "{code:?} {said}");
    assert_eq!(listed(&[]).await.len(), 5);
    let group = ["--reason", "gone", "--exact-reason", "--status", "410"];
    assert_eq!(listed(&group).await.len(), 2);
    assert_eq!(delete(&group).await, (Some(0), "2 dead letters deleted\n".to_owned()));
    let left = listed(&[]).await;
    let reasons: Vec<&Value> = left.iter().map(|letter| &letter["outcome"]["reason"]).collect();
    assert_eq!(reasons, ["gone", "gone for ever", "late"]);

    assert_eq!(
        delete(&["--status", "none", "--reason", "gone"]).await,
        (Some(0), "1 dead letter deleted\n".to_owned())
    );
    let last = left[2]["died_at"].as_str().expect("a time");
    assert_eq!(listed(&["--since", last]).await.last(), left.last());
    assert_eq!(listed(&["--until", "2020-01-01T00:00:00Z"]).await, Vec::<Value>::new());
    let replayed = ["replay", "--all", "--until", "2020-01-01T00:00:00Z"];
    assert_eq!(dead(&replayed).await, (Some(0), "0 dead letters replayed\n".to_owned()));
    assert_eq!(delete(&["--since", last, "--reason", "late"]).await, (Some(0), "1 dead letter deleted\n".to_owned()));
    let (code, said) = delete(&["--since", "yesterday"]).await;
    assert!(code == Some(1) && said.contains("since"), "{code:?} {said}");
    assert_eq!(listed(&[]).await.len(), 1);
    let id = left[1]["id"].as_str().expect("an id");
    assert_eq!(dead(&["delete", id]).await, (Some(0), String::new()));
    assert_eq!(listed(&[]).await.len(), 0);
}
