//! A bucket whose kind was changed, and not its key: its jobs are in the way, and everything else goes on.

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};

use super::{buckets, stranded};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_another_kind_are_a_finding_of_their_bucket_until_they_are_moved() {
    let service = Service::new(&buckets(&[("lst", "kind = \"list\""), ("gone", "")])).await;
    let mut old = service.intake().await;
    assert_eq!(old.client().post("/v1/buckets/lst/pause", "").await.expect("an answer").status, 200);
    for bucket in ["lst", "lst", "gone"] {
        assert_eq!(old.client().submit(bucket, "{}").await.expect("an answer").status, 202);
    }
    old.terminate();
    old.ended().await;
    service.configure(&buckets(&[("lst", ""), ("other", "")]));
    for place in ["lst list ", "gone stream "] {
        service.silence(place).await;
    }

    let (code, said) = service.run(&["doctor"]).await;
    assert_eq!(code, Some(1), "{said}");
    let finding = said.lines().find(|line| line.contains("jobs in a list under the key of this stream"));
    assert!(finding.is_some_and(|line| line.contains("drain lst --into OTHER") && line.contains(" 2 ")), "{said}");
    assert!(said.contains("-c OLD drain gone") && !said.contains("-c OLD drain lst"), "{said}");
    let (code, said) = service.run(&["check", "--connect"]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("error: bucket lst: the key dripfeed:{lst}:jobs holds a list with 2 jobs"), "{said}");
    assert!(said.contains("drain lst --into OTHER") && said.contains("bucket other: 0 of "), "{said}");

    let intake = service.intake().await;
    let refused = intake.client().submit("lst", "{}").await.expect("an answer");
    assert_eq!((refused.status, refused.text("outcome").as_str()), (503, "not_stored"), "{}", refused.json());
    assert_eq!(intake.client().submit("other", "{}").await.expect("an answer").status, 202);
    until("both are reported", async || stranded(&intake).await.len() == 2).await;
    let log = intake.log();
    assert!(log.contains("`dripfeed drain lst --into OTHER`") && !log.contains("-c OLD drain lst"), "{log}");

    let (code, said) = service.run(&["drain", "lst", "--into", "other"]).await;
    assert!(code == Some(0) && said.contains("2 jobs of `lst` moved into `other`"), "{said}");
    assert_eq!(intake.client().submit("lst", "{}").await.expect("an answer").status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_stream_makes_way_for_a_list() {
    let service = Service::new(&buckets(&[("b", ""), ("other", "")])).await;
    let old = service.intake().await;
    accept_and_purge(&old, "b").await;
    drop(old);
    assert_eq!(service.redis.ask::<u64>("EXISTS dripfeed:{b}:jobs").await, 1);
    service.configure(&buckets(&[("b", "kind = \"list\""), ("other", "")]));

    let intake = service.intake().await;
    let accepted = intake.client().submit("b", "{}").await.expect("an answer");
    assert_eq!(accepted.status, 202, "{}", accepted.json());
    assert_eq!(service.redis.ask::<u64>("LLEN dripfeed:{b}:jobs").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_in_a_stream_hinder_their_list_alone_and_only_until_they_are_moved() {
    let service = Service::new(&buckets(&[("b", ""), ("other", "")])).await;
    let mut old = service.intake().await;
    assert_eq!(old.client().submit("b", "{}").await.expect("an answer").status, 202);
    old.terminate();
    old.ended().await;
    service.configure(&buckets(&[("b", "kind = \"list\""), ("other", "")]));
    service.silence("b stream ").await;

    let intake = service.intake().await;
    for (path, body) in [("jobs", "{}"), ("purge", ""), ("jobs/cancel", "{\"state\":\"waiting\"}")] {
        let refused = intake.client().post(&format!("/v1/buckets/b/{path}"), body).await.expect("an answer");
        let outcome = refused.text("outcome");
        assert_eq!((refused.status, outcome.as_str()), (503, "not_stored"), "{path}: {}", refused.json());
    }
    assert_eq!(intake.client().submit("other", "{}").await.expect("an answer").status, 202);
    for path in ["b", "b/jobs", "b/doctor"] {
        let unread = intake.client().get(&format!("/v1/buckets/{path}")).await.expect("an answer");
        let (status, detail) = (unread.status, unread.text("detail"));
        assert!(status == 503 && detail.contains("the key of the bucket's jobs has another type"), "{path}: {detail}");
    }
    let (code, said) = service.run(&["buckets", "--server", &intake.url()]).await;
    assert!(code == Some(0) && said.contains("the key of the bucket's jobs has another type"), "{said}");
    let scale = intake.client().get("/v1/scale?bucket=*").await.expect("an answer");
    assert_eq!((scale.status, &scale.json()["slots"]), (200, &1.into()), "{}", scale.json());
    let (code, said) = service.run(&["doctor"]).await;
    assert!(code == Some(1) && said.contains("jobs in a stream under the key of this list"), "{said}");

    let (code, said) = service.run(&["drain", "b", "--into", "other"]).await;
    assert!(code == Some(0) && said.contains("1 job of `b` moved into `other`"), "{said}");
    assert_eq!(service.redis.ask::<u64>("EXISTS dripfeed:{b}:jobs").await, 0);
    assert_eq!(intake.client().submit("b", "{}").await.expect("an answer").status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_a_type_that_no_bucket_has_is_reported_of_its_bucket() {
    let service = Service::new(&buckets(&[("b", ""), ("other", "")])).await;
    service.redis.ask::<String>("SET dripfeed:{b}:jobs mine").await;
    let intake = service.intake().await;
    let refused = intake.client().submit("b", "{}").await.expect("an answer");
    assert_eq!((refused.status, refused.text("outcome").as_str()), (503, "not_stored"), "{}", refused.json());
    assert_eq!(intake.client().get("/v1/scale?bucket=*").await.expect("an answer").status, 200);
    let (code, said) = service.run(&["check", "--connect"]).await;
    assert!(code == Some(78) && said.contains("error: bucket b: the key dripfeed:{b}:jobs has a type"), "{said}");
    let (code, said) = service.run(&["doctor"]).await;
    assert!(code == Some(1) && said.contains("delete the key, or give the bucket another `key`"), "{said}");
}

async fn accept_and_purge(intake: &Process, bucket: &str) {
    let accepted = intake.client().submit(bucket, "{}").await.expect("an answer");
    assert_eq!(accepted.status, 202, "{}", accepted.json());
    let purged = intake.client().post(&format!("/v1/buckets/{bucket}/purge"), "").await.expect("an answer");
    assert_eq!(purged.status, 200, "{}", purged.json());
}
