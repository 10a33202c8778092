use axum::routing::get;
use serde_json::Value;

use super::lists::{frame_of, page_of};
use super::{api, asked, bucket, over, text};

/// With 5 waiting jobs and 2 in flight.
fn filled(mut state: Value) -> Value {
    (state["level"], state["waiting"], state["in_flight"]) = (7.into(), 5.into(), 2.into());
    state
}

/// The words of each link to a state.
fn states(page: &str) -> Vec<String> {
    let (_, links) = page.split_once("aria-label=\"State\">").unwrap();
    let links = links.split_once("</nav>").unwrap().0.split("</a>");
    let words = |link: &str| link.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    links.map(words).filter(|words: &String| !words.is_empty()).collect()
}

#[test]
fn each_state_in_the_bucket_has_the_number_of_its_jobs() {
    let (mut later, state) = (frame_of(0, 1), filled(bucket("b", 100)).to_string());
    later["states"][0] = filled(later["states"][0].clone());
    later["states"][0]["waiting"] = 1400.into();
    let page = over(
        api(&[later])
            .route("/v1/buckets/b", get(async move || state))
            .route("/v1/buckets/b/jobs", get(async || page_of(&[]))),
    );
    let shown = text(asked(&page, "/buckets/b/jobs"));
    let ended = ["delivered", "dead", "expired", "cancelled"];
    assert_eq!(states(&shown), [&["in the bucket 7", "waiting 5", "in flight 2", "parked 0"][..], &ended].concat());
    let events = text(asked(&page, "/live/buckets/b/jobs"));
    assert!(events.contains(r#"["states","#) && events.contains("1,400"), "{events}");
    // These are numbers of all callers.
    let narrowed = text(asked(&page, "/buckets/b/jobs?caller=shop"));
    assert_eq!(states(&narrowed), [&["in the bucket", "waiting", "in flight", "parked"][..], &ended].concat());
    // Without them, if the bucket can't be read.
    let jobs_alone = over(api(&[]).route("/v1/buckets/b/jobs", get(async || page_of(&[]))));
    assert_eq!(states(&text(asked(&jobs_alone, "/buckets/b/jobs"))), states(&narrowed));
}
