use dripfeed_bucket::{BucketPlace, Kind, register_places, register_places_once, registered_places};
use dripfeed_tests::service::{Service, until};
use http::Method;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_a_bucket_that_was_created_right_before_all_stopped_are_reported() {
    let service = Service::new("[define]\nupstreams = [\"https://a.example\"]\n").await;
    let mut intake = service.intake().await;
    let client = intake.client();
    let definition = r#"{"upstream": "https://a.example/", "kind": "list"}"#;
    let put = client.call(client.request(Method::PUT, "/v1/buckets/new"), definition).await.expect("an answer");
    assert_eq!(put.status, 201, "{put:?}");
    assert_eq!(remembered(&service).await, ["new list "]);
    assert_eq!(client.submit("new", "{}").await.expect("an answer").status, 202);
    intake.kill().await;
    service.silence("new list ").await;

    service.configure(&buckets(&[("kept", "")]));
    let intake = service.intake().await;
    until("it is reported", async || stranded(&intake).await == ["dripfeed_stranded_jobs{bucket=\"new\"} 1"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_a_thousand_buckets_are_all_remembered() {
    const BUCKETS: usize = 1100;
    let names: Vec<String> = (0..BUCKETS).map(|n| format!("b-{n:04}")).collect();
    let sections: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let service = Service::new(&buckets(&sections)).await;
    let mut first = service.intake().await;
    let last = names.last().expect("some");
    assert_eq!(first.client().submit(last, "{}").await.expect("an answer").status, 202);
    until("all are noted", async || remembered(&service).await.len() == BUCKETS).await;
    let (code, said) = service.run(&["drain", last]).await;
    assert_eq!(code, Some(75), "it is served: {said}");
    first.terminate();
    first.ended().await;

    for name in &names {
        service.silence(&format!("{name} stream ")).await;
    }
    service.configure(&buckets(&[("kept", "")]));
    let intake = service.intake().await;
    let line = format!("dripfeed_stranded_jobs{{bucket=\"{last}\"}} 1");
    until("the one with a job is reported", async || stranded(&intake).await == [line.as_str()]).await;
    let (code, said) = doctor(&service).await;
    assert!(code == Some(1) && said.contains(&format!("drain {last}")), "{said}");
    let mut places = remembered(&service).await;
    places.sort();
    assert_eq!(places, [format!("{last} stream "), "kept stream ".to_owned()]);
}

#[tokio::test]
async fn ten_thousand_places_are_noted_and_read_in_parts() {
    const PLACES: usize = 10_000;
    let service = Service::new(&buckets(&[("kept", "")])).await;
    let place = |n: usize| BucketPlace {
        bucket: format!("b-{n:05}").parse().expect("a name"),
        kind: Kind::Stream,
        key: n.is_multiple_of(100).then(|| "k".repeat(2000) + &n.to_string()),
    };
    let places: Vec<BucketPlace> = (0..PLACES).map(place).collect();
    register_places(service.store(), &places).await.expect("Redis answers");
    let noted = registered_places(service.store()).await.expect("Redis answers");
    assert!(noted.iter().all(|noted| noted.is_served()));
    assert_eq!(noted.into_iter().map(|noted| noted.place).collect::<Vec<_>>(), places);
    let stats: String = service.redis("INFO commandstats").await;
    let scans = stats.lines().find_map(|line| line.strip_prefix("cmdstat_hscan:calls=")?.split(',').next());
    assert!(scans.and_then(|calls| calls.parse::<usize>().ok()) >= Some(PLACES / 1000), "{stats}");
}

#[tokio::test]
async fn one_of_the_processes_with_the_same_places_registers_them() {
    let service = Service::new(&buckets(&[("kept", "")])).await;
    let place = |name: &str| BucketPlace { bucket: name.parse().expect("a name"), kind: Kind::Stream, key: None };
    let (store, places) = (service.store(), [place("a"), place("b")]);
    let note = async |places: &[BucketPlace]| {
        register_places_once(store, places).await.expect("Redis answers");
        service.redis.calls("hset").await
    };
    let once = note(&places).await;
    assert!(once > 0);
    assert_eq!(note(&places).await, once);
    assert!(note(&places[..1]).await > once, "other places");
}
