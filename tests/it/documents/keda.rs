use std::fs;

use dripfeed_tests::service::Service;
use dripfeed_tests::sources::from_the_root;
use dripfeed_tests::upstream::Upstream;
use http::Method;
use serde_json::Value;
use sha2::{Digest, Sha256};

const KEY: &str = "the key of the scaler";
const SHOP: &str = "the key of a caller";

fn hash(key: &str) -> String {
    Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The one trigger of a manifest.
fn trigger(manifest: &str) -> Value {
    let text = fs::read_to_string(from_the_root("config/deploy/keda").join(manifest)).unwrap();
    let mut documents = text.split("\n---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    let scaled = documents.find(|document| document["kind"] == "ScaledObject").expect("a ScaledObject");
    assert_eq!(scaled["spec"]["minReplicaCount"], 0);
    scaled["spec"]["triggers"][0].clone()
}

#[tokio::test]
async fn the_metric_of_keda_is_above_zero_until_the_last_job_has_ended() {
    let upstream = Upstream::willing().await;
    let settings = format!(
        "[buckets.mail]\nupstream = \"{}\"\n[[keys]]\nid = \"scale\"\nsha256 = \"{}\"\nscopes = [\"read\"]\n\
         [[keys]]\nid = \"shop\"\nsha256 = \"{}\"\nscopes = [\"submit\"]\n",
        upstream.url(),
        hash(KEY),
        hash(SHOP)
    );
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let client = intake.client();
    let (scale, length) = (trigger("scale.yaml"), trigger("stream-length.yaml"));
    assert_eq!(scale["metadata"]["authMode"], "bearer");
    let (_, path) = scale["metadata"]["url"].as_str().unwrap().split_once(":7180").unwrap();
    let asked = async || {
        let request = client.request(Method::GET, path).header("authorization", format!("Bearer {KEY}"));
        let answer: Value = serde_json::from_slice(&client.call(request, "").await.unwrap().body).unwrap();
        let replicas = answer[scale["metadata"]["valueLocation"].as_str().unwrap()].as_u64();
        let length: u64 = service.redis(&format!("XLEN {}", length["metadata"]["stream"].as_str().unwrap())).await;
        (replicas, length)
    };

    assert_eq!(asked().await, (Some(0), 0));
    // A delayed job needs a processor once it is due.
    for delay in ["0s", "1s"] {
        let job = client.request(Method::POST, "/v1/buckets/mail/jobs").header("dripfeed-key", SHOP);
        assert_eq!(client.call(job.header("dripfeed-delay", delay), "").await.unwrap().status, 202);
    }
    assert_eq!(asked().await, (Some(1), 2));
    let _processor = service.processor().await;
    service.drained("mail").await;
    assert_eq!(asked().await, (Some(0), 0));
}
