use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::{Answer, Upstream};
use http::Method;

use super::redis::{WORK, roles, work};
use super::{Names, check};

#[tokio::test]
async fn metrics_keep_their_names_and_labels() {
    let upstream = Upstream::start(|_| async { Answer::Status(200) }).await;
    let service = Service::new(&WORK.replace("{upstream}", &upstream.url())).await;
    let (intake, processor) = roles(&service).await;
    work(&intake.client()).await;
    service.drained("stream").await;
    let client = intake.client();
    let known_key = client.request(Method::POST, "/v1/buckets/stream/jobs").header("idempotency-key", "k");
    assert_eq!(client.call(known_key, "another body").await.expect("an answer").status, 409);
    let delayed = client.request(Method::POST, "/v1/buckets/stream/jobs").header("dripfeed-delay", "1h");
    let delayed = client.call(delayed, "").await.expect("an answer").text("id");
    let cancel = client.request(Method::DELETE, &format!("/v1/buckets/stream/jobs/{delayed}"));
    assert_eq!(client.call(cancel, "").await.expect("an answer").status, 204);
    for (name, role) in [("metrics_intake", &intake), ("metrics_processor", &processor)] {
        // Families have their shorter names in OpenMetrics; samples are named alike in both forms.
        let client = role.client();
        let scrape = client.request(Method::GET, "/metrics").header("accept", "application/openmetrics-text");
        let page = client.call(scrape, "").await.expect("an answer");
        check(name, &families(&String::from_utf8_lossy(&page.body)));
    }
}

/// `name{label,label}` of every sample, and the type of each family.
fn families(page: &str) -> Names {
    let mut names = Names::new();
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            names.insert(format!("TYPE {family}"));
        } else if !line.starts_with('#') {
            names.insert(sample(line));
        }
    }
    names
}

fn sample(line: &str) -> String {
    let Some((name, rest)) = line.split_once('{') else {
        return line.split(' ').next().unwrap_or_default().to_owned();
    };
    let labels = rest.split_once("} ").map_or(rest, |(labels, _)| labels);
    let names: Vec<_> = labels.split("\",").filter_map(|label| label.split_once('=')).map(|(name, _)| name).collect();
    format!("{name}{{{}}}", names.join(","))
}
