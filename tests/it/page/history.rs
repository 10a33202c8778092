use dripfeed_tests::service::{Service, until};

use super::reader::Reader;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test]
async fn the_history_is_shown_without_javascript() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let empty = reader.text("/buckets/b").await;
    assert!(
        empty.contains("No jobs, calls or refusals in this window.") && empty.contains("id=\"history\""),
        "{empty}"
    );
    // What came before the first look at a bucket isn't part of it.
    until("a job is in the history", async || {
        intake.client().submit("b", "{}").await.expect("an answer");
        reader.text("/buckets/b").await.contains("data-slot=")
    })
    .await;
    for (window, slot) in [("5m", "5 s"), ("1h", "60 s"), ("24h", "15 min")] {
        let part = reader.text(&format!("/buckets/b/history?window={window}")).await;
        assert!(part.starts_with("<section") && part.contains(&format!("As a table, by slots of {slot}<")), "{part}");
        assert_eq!(part.matches("<svg").count(), 7, "{part}");
        assert!(part.contains("aria-label=\"Submissions: accepted up to "), "{part}");
        assert!(part.contains(&format!("?window={window}#history\" aria-current=\"page\"")), "{part}");
    }
    let other = reader.text("/buckets/b?window=%3Cscript%3E").await;
    assert!(other.contains("?window=5m#history\" aria-current=\"page\"") && !other.contains("script&gt;"), "{other}");
    assert_eq!(reader.get("/buckets/nope/history").await.status, 404);
}
