use dripfeed_tests::service::{Service, until};

use super::{buckets, stranded};

async fn doctor(service: &Service) -> (Option<i32>, String) {
    let ended = service.command(&[]).arg("doctor").output().await.expect("the executable");
    (ended.status.code(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

async fn remembered(service: &Service) -> Vec<String> {
    service.redis("HKEYS dripfeed:{@installation}:buckets").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_buckets_that_left_the_settings_are_reported_until_they_are_gone() {
    let before = buckets(&[
        ("gone", ""),
        ("rekeyed", "key = \"x:old\""),
        ("list", "kind = \"list\""),
        ("idle", ""),
        ("kept", ""),
    ]);
    let service = Service::new(&before).await;
    let mut first = service.intake().await;
    for bucket in ["gone", "rekeyed", "list", "kept"] {
        let answer = first.client().submit(bucket, "{}").await.expect("an answer");
        assert_eq!(answer.status, 202, "{bucket}");
    }
    let (code, said) = doctor(&service).await;
    assert!(code == Some(0), "all are served: {said}");
    first.terminate();
    first.ended().await;

    service.configure(&buckets(&[("rekeyed", "key = \"x:new\""), ("kept", "")]));
    let intake = service.intake().await;
    until("all three are reported", async || stranded(&intake).await.len() == 3).await;
    let found = stranded(&intake).await;
    for bucket in ["gone", "rekeyed", "list"] {
        let line = format!("dripfeed_stranded_jobs{{bucket=\"{bucket}\"}} 1");
        assert!(found.contains(&line), "{found:?}");
        let log = intake.log();
        let warning =
            log.lines().find(|line| line.contains("stranded") && line.contains(&format!("\"bucket\":\"{bucket}\"")));
        assert!(
            warning.is_some_and(|line| line.contains("\"jobs\":1") && line.contains(&format!("drain {bucket}"))),
            "{log}"
        );
    }
    let (code, said) = doctor(&service).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(["drain gone", "x:old", "dripfeed:{list}:jobs"].iter().all(|part| said.contains(part)), "{said}");
    assert!(!said.contains("kept") && !said.contains("idle"), "{said}");
    assert!(!remembered(&service).await.iter().any(|place| place.starts_with("idle")), "nothing is in it");

    for key in ["dripfeed:{gone}:jobs", "x:old", "dripfeed:{list}:jobs"] {
        service.redis::<u64>(&format!("DEL {key}")).await;
    }
    until("nothing is stranded", async || stranded(&intake).await.is_empty()).await;
    let mut places = remembered(&service).await;
    places.sort();
    assert_eq!(places, ["kept stream ", "rekeyed stream x:new"]);
}
