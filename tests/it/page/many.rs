use std::fmt::Write as _;
use std::time::Instant;

use dripfeed_tests::service::{Service, until};
use futures::StreamExt as _;
use serde_json::Value;

use super::reader::Reader;

/// Beyond the rows that a frame of the API has.
const BUCKETS: usize = 1001;

fn buckets(count: usize) -> String {
    (0..count).fold(String::new(), |mut all, number| {
        let _ = write!(all, "[buckets.b{number:04}]\nupstream = \"http://127.0.0.1:1/\"\n");
        all
    })
}

/// The names of a page's rows, in their order.
fn rows(page: &str) -> Vec<&str> {
    page.split("<tr id=\"bucket-").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn the_table_is_searched_sorted_and_turned_without_script() {
    let service = Service::new(&buckets(60)).await;
    let intake = service.intake().await;
    for bucket in ["b0007", "b0007", "b0031"] {
        intake.client().submit(bucket, "{}").await.expect("an answer");
    }
    let reader = Reader::of(&intake);

    let first = reader.text("/").await;
    assert_eq!((rows(&first).len(), rows(&first)[0]), (40, "b0000"), "{first}");
    assert!(first.contains("1 to 40 of 60 buckets") && first.contains("href=\"/?page=2\""), "{first}");
    assert!(first.contains("<strong>3</strong> of 60,000"), "{first}");
    let second = reader.text("/?page=2").await;
    assert_eq!((rows(&second).len(), rows(&second)[0]), (20, "b0040"), "{second}");

    // Sums of all, also where a frame has no row of each.
    until("the rates are measured", async || {
        let event = intake.client().event(intake.client().request(http::Method::GET, "/v1/events")).await;
        let event = event.expect("an event");
        let frame: Value = serde_json::from_str(event.split("data: ").nth(1).expect("data")).expect("JSON");
        let rows = frame["buckets"].as_array().expect("rows");
        let columns = frame["columns"].as_array().expect("columns");
        let rate = columns.iter().position(|column| column == "accepted_per_s").expect("a rate");
        let rates = rows.iter().filter_map(|row| row[rate].as_f64()).sum::<f64>();
        let sum = frame["summary"]["accepted_per_s"].as_f64().expect("a sum");
        assert!((sum - rates).abs() < 1.0 && frame["summary"]["buckets_with_dead"] == 0, "{sum} {rates}");
        sum > 0.0
    })
    .await;

    let by_level = reader.text("/?sort=-level").await;
    assert_eq!(rows(&by_level)[..3], ["b0007", "b0031", "b0000"], "{by_level}");
    assert!(by_level.contains("aria-sort=\"descending\"><a href=\"/?sort=level\">level"), "{by_level}");
    let found = reader.text("/?q=B003&sort=-level").await;
    assert_eq!((rows(&found).len(), rows(&found)[0]), (10, "b0031"), "{found}");
    assert!(found.contains("1 to 10 of 10 buckets"), "{found}");
    let none = reader.text("/?q=%3Cscript%3E&page=x&sort=x").await;
    assert!(none.contains("No bucket has such a name.") && none.contains("value=\"&lt;script&gt;\""), "{none}");
}

#[tokio::test]
async fn an_event_has_only_what_the_page_shows() {
    let service = Service::new(&buckets(BUCKETS)).await;
    let intake = service.role("intake", &["redis.response_timeout=30s", "processor.lease=2m"]).await;
    let reader = Reader::of(&intake);
    let page = reader.text("/").await;
    assert_eq!((rows(&page).len(), rows(&page)[39]), (40, "b0039"), "{page}");
    // Each bucket with a job needs a person, since no processor serves it.
    let jobs = (0..BUCKETS).map(async |number| intake.client().submit(&format!("b{number:04}"), "{}").await);
    let answers = futures::stream::iter(jobs).buffer_unordered(8);
    answers.for_each(async |answer| assert_eq!(answer.expect("an answer").status, 202)).await;

    until("the page shows what needs a person", async || {
        let full = reader.text("/").await;
        full.contains("1,001 problems, 1 warning") && full.contains("and 982 more")
    })
    .await;

    let path = page.split("data-live=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("events");
    let path = path.replace("&amp;", "&");
    // On a slow machine a frame may lack the state of some.
    until("an event has all that is shown", async || {
        let event = reader.event(&path).await;
        assert!(event.starts_with("event: frame\n") && event.len() < 100_000, "{} B: {event:.300}", event.len());
        assert!(!event.contains("bucket-b0040"), "{event}");
        let shown = ["<strong>1,001</strong>", "bucket-b0000", "bucket-b0039"];
        let urgent = ["1,001 problems, 1 warning", "and 982 more", "/buckets/b0019"];
        shown.iter().chain(&urgent).all(|part| event.contains(part))
    })
    .await;
    // There are others than the page knows of.
    let event = reader.event("/live/buckets?names=b0000&of=7").await;
    assert!(event.starts_with("event: reload\n"), "{event}");
}

#[tokio::test]
async fn pages_loaded_within_a_second_cost_redis_no_more_than_one() {
    const FEW: u32 = 20;
    const LOADS: usize = 40;
    let service = Service::new(&buckets(FEW as usize)).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let list = || intake.client().request(http::Method::GET, "/v1/buckets");
    let scripts = async || service.redis.calls("evalsha").await;

    let (begun, before) = (Instant::now(), scripts().await);
    for _ in 0..LOADS {
        reader.text("/").await;
        let recent = list().header("cache-control", "max-age=1");
        assert_eq!(intake.client().call(recent, "").await.expect("an answer").status, 200);
    }
    // Beside what an intake does in any case, and since a part of a second has a first load, too.
    let (seconds, for_pages) = (begun.elapsed().as_secs() + 1, scripts().await - before);
    assert!(for_pages <= 3 * u64::from(FEW) * seconds, "{for_pages} scripts in {seconds} s");

    // Who doesn't accept that gets what is there now.
    for level in 1..=3 {
        intake.client().submit("b0007", "{}").await.expect("an answer");
        let answer = intake.client().call(list(), "").await.expect("an answer");
        assert_eq!(answer.json()["items"][7]["level"], level, "{answer:?}");
    }
}
