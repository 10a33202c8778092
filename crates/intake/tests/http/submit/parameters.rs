use crate::harness::Harness;

/// Somebody who writes an option as a parameter would find it ignored.
#[tokio::test]
async fn a_submission_with_query_parameters_is_refused_and_nothing_is_stored() {
    let harness = Harness::start().await;
    for path in ["/v1/buckets/b/jobs", "/v1/buckets/%62/jobs"] {
        let problem = harness.ask(&format!("POST {path}?delay=10s"), &[], "x").await.refuses(422, "bad_query");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("`delay`") && detail.contains("Dripfeed-Delay"), "{path}: {detail}");
    }
    let batch = "POST /v1/buckets/b/jobs/batch?delay=10s";
    let detail = harness.ask(batch, &[], "[{\"body\": 1}]").await.refuses(422, "bad_query")["detail"].clone();
    assert!(detail.as_str().unwrap().contains("`delay`"), "{detail}");
    assert_eq!(harness.length("b").await, 0);
    assert_eq!(harness.ask("POST /v1/buckets/b/jobs?", &[], "x").await.status, 202);
}
