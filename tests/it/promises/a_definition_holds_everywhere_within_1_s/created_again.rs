//! A bucket that is created again between two looks of an intake begins its counts at this intake again.

use super::*;

/// The value of a counter that an intake has for the bucket `b`.
async fn counted(client: &Client, counter: &str) -> Option<String> {
    let metrics = get(client, "/metrics").await;
    let text = String::from_utf8_lossy(&metrics.body).into_owned();
    let begins = format!("{counter}{{bucket=\"b\"");
    let line = text.lines().find(|line| line.starts_with(&begins))?;
    Some(line.rsplit(' ').next().expect("a value").to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_intake_that_missed_the_deletion_counts_only_what_the_new_bucket_does() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let (one, other) = tokio::join!(service.intake(), service.intake());
    let (client, late) = (one.client(), other.client());
    let definition = json!({
        "upstream": upstream.url(),
        "limits": [{ "id": "each", "tiers": [{ "kind": "fixed", "limit": 2, "period": "1d" }] }],
    });
    assert_eq!(put(&client, "b", &definition).await.status, 201);
    for status in [202, 202, 429] {
        assert_eq!(submit(&late, "b").await.status, status);
    }
    assert_eq!(counted(&late, "dripfeed_jobs_accepted_total").await.as_deref(), Some("2"));
    other.pause();
    assert_eq!(delete(&client, "b?purge=true").await.status, 204);
    assert_eq!(put(&client, "b", &definition).await.status, 201);
    other.resume();
    assert_eq!(submit(&late, "b").await.status, 202);
    assert_eq!(counted(&late, "dripfeed_jobs_accepted_total").await.as_deref(), Some("1"));
    assert_eq!(counted(&late, "dripfeed_jobs_refused_total").await, None);
    let holders = get(&late, "/v1/buckets/b/holders").await.json();
    assert_eq!(holders["limits"], json!({ "each": { "allowed": 1, "refused": 0, "shadow_refused": 0 } }), "{holders}");
    // A change of the definition isn't another bucket.
    let mut changed = definition;
    changed["capacity"] = json!(7);
    assert_eq!(put(&client, "b", &changed).await.status, 200);
    until("the other intake has it", async || get(&late, "/v1/buckets/b").await.number("capacity") == 7).await;
    assert_eq!(counted(&late, "dripfeed_jobs_accepted_total").await.as_deref(), Some("1"));
}
