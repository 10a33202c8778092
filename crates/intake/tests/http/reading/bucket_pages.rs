use serde_json::{Value, json};

use crate::harness::{Answer, Harness, settings};

async fn page(harness: &Harness, query: &str) -> Answer {
    let answer = harness.get(&format!("/v1/buckets{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer
}

fn names(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|bucket| bucket["name"].as_str().unwrap()).collect()
}

/// The pages of buckets from the first to the last.
async fn pages(harness: &Harness, limit: Option<usize>) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut from = limit.map_or_else(String::new, |limit| format!("?limit={limit}"));
    loop {
        let page = page(harness, &from).await.json();
        let next = page["next"].as_str().map(|next| {
            limit.map_or_else(|| format!("?cursor={next}"), |limit| format!("?limit={limit}&cursor={next}"))
        });
        pages.push(page);
        let Some(next) = next else { return pages };
        from = next;
    }
}

#[tokio::test]
async fn buckets_are_listed_in_pages() {
    let harness = Harness::with(["a", "b", "c", "d", "e"].map(settings).into(), Vec::new(), &[]).await;
    let two = pages(&harness, Some(2)).await;
    assert_eq!(two.iter().map(names).collect::<Vec<_>>(), [&["a", "b"][..], &["c", "d"], &["e"]]);
    assert_eq!(pages(&harness, Some(5)).await.len(), 1, "and no empty page behind the last bucket");
    let first = page(&harness, "?limit=2").await;
    let next = first.json()["next"].as_str().unwrap().to_owned();
    assert_eq!(first.header("link"), Some(format!("</v1/buckets?limit=2&cursor={next}>; rel=\"next\"").as_str()));
    assert_eq!(page(&harness, "").await.header("link"), None);
    for wrong in ["?limit=0", "?limit=1001", "?cursor=", "?cursor=a/b", "?state=paused", "?bucket=a"] {
        harness.get(&format!("/v1/buckets{wrong}")).await.refuses(422, "bad_query");
    }
}

#[tokio::test]
async fn a_page_of_one_bucket_that_cant_be_read_leads_on_to_the_next() {
    let harness = Harness::with(["a", "b", "c"].map(settings).into(), Vec::new(), &[]).await;
    let mut breaking = redis::cmd("SET");
    breaking.arg("dripfeed:{b}:tally").arg("broken");
    harness.store.command::<()>(&breaking).await.unwrap();
    let all = pages(&harness, Some(1)).await;
    assert_eq!(all.iter().flat_map(names).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(all[1]["items"][0]["error"]["code"], "store_unavailable");
}

#[tokio::test]
async fn who_asks_for_no_page_gets_as_many_buckets_as_one_may_have() {
    let buckets = (0..1001).map(|number| settings(&format!("b{number:04}"))).collect();
    let harness = Harness::with(buckets, Vec::new(), &[]).await;
    let all = pages(&harness, None).await;
    assert_eq!(all.iter().map(|page| names(page).len()).collect::<Vec<_>>(), [1000, 1]);
}

/// Each of these buckets shows its limits, and that they were changed.
#[tokio::test]
async fn a_page_of_large_buckets_ends_early() {
    const BUCKETS: usize = 60;
    let all: Vec<String> = (0..BUCKETS).map(|number| format!("b{number:02}")).collect();
    let harness = Harness::with(all.iter().map(|name| settings(name)).collect(), Vec::new(), &[]).await;
    let policy = |number| {
        json!({ "id": format!("p{number}"), "key": ["caller"], "message": "m".repeat(450),
            "tiers": [{ "kind": "fixed", "limit": 1, "period": "1h" }] })
    };
    let limits = json!({ "limits": (0..100).map(policy).collect::<Vec<_>>() }).to_string();
    for name in &all {
        let answer = harness
            .ask(&format!("PATCH /v1/buckets/{name}"), &[("content-type", "application/json")], limits.clone())
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let pages = pages(&harness, None).await;
    assert!(pages.len() > 1);
    assert!(pages.iter().all(|page| page.to_string().len() < 5 << 20), "about 4 MiB each");
    assert_eq!(pages.iter().flat_map(names).collect::<Vec<_>>(), all);
}
