//! A bucket whose kind was changed, and not its key: its jobs are in the way, and everything else goes on.

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
