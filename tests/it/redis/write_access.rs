//! What a process reports while Redis answers and refuses writes, and while a part of a Cluster is gone.

use dripfeed_store::Durability;
use dripfeed_tests::client::Client;
use dripfeed_tests::cluster::TestCluster;
use dripfeed_tests::service::{Service, until};

use super::readiness::until_ready;

const MASTERS: usize = 3;

/// A bucket on each node, by its name.
async fn buckets(cluster: &TestCluster) -> [String; MASTERS] {
    let mut names: [Option<String>; MASTERS] = Default::default();
    for name in 'a'..='z' {
        let owner = cluster.owner_of(&format!("{{{name}}}")).await;
        names[owner].get_or_insert_with(|| name.to_string());
    }
    names.map(|name| name.expect("a name for each node"))
}

fn settings(names: &[String]) -> String {
    names.iter().map(|name| format!("[buckets.{name}]\nupstream = \"http://127.0.0.1:1/\"\n")).collect()
}

async fn metrics(client: &Client) -> String {
    String::from_utf8_lossy(&client.get("/metrics").await.expect("an answer").body).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_whose_masters_refuse_writes_is_reported_everywhere() {
    let cluster = TestCluster::start(MASTERS, 0, "").await;
    let names = buckets(&cluster).await;
    let service = Service::over(cluster, Durability::Everysec, &settings(&names)).await;
    let intake = service.intake().await;
    let client = intake.client();
    until_ready(&client, true).await;
    let require = async |replicas: usize| {
        for number in 0..MASTERS {
            let node = &service.redis.node(number).redis;
            node.ask::<()>(&format!("CONFIG SET min-replicas-to-write {replicas}")).await;
        }
    };
    require(1).await;
    let refused = until_ready(&client, false).await.json();
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("refuses writes")), "{refused}");
    until("the metrics say so", async || metrics(&client).await.contains("dripfeed_redis_takes_writes 0\n")).await;
    assert!(metrics(&client).await.contains("dripfeed_redis_up 1\n"), "it answers");
    let output = service.command(&[]).args(["check", "--connect"]).output().await.expect("the executable");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(75) && said.contains("min-replicas-to-write"), "{output:?}");
    until("the log says so", async || intake.log().contains("min-replicas-to-write")).await;

    require(0).await;
    until_ready(&client, true).await;
    until("the metrics say so", async || metrics(&client).await.contains("dripfeed_redis_takes_writes 1\n")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buckets_of_a_cluster_are_served_while_the_node_of_others_is_gone() {
    let cluster = TestCluster::start(MASTERS, 0, "--cluster-require-full-coverage no").await;
    let names = buckets(&cluster).await;
    let mut service = Service::over(cluster, Durability::Everysec, &settings(&names)).await;
    let intake = service.intake().await;
    let client = intake.client();
    until_ready(&client, true).await;
    service.redis.node_mut(0).redis.server.kill().await.expect("it runs");
    until("the metrics say so", async || metrics(&client).await.contains("dripfeed_redis_up 0\n")).await;
    let (gone, there) = (&names[0], &names[1]);
    assert_eq!(client.get("/readyz").await.expect("an answer").status, 200, "two thirds of the buckets work");
    until("there is a bucket to submit to", async || {
        client.submit(there, "x").await.is_ok_and(|answer| answer.status == 202)
    })
    .await;
    assert_eq!(client.submit(gone, "x").await.expect("an answer").status, 503);
    let level = |name: &str| format!("dripfeed_bucket_level{{bucket=\"{name}\"}}");
    until("the metrics have the buckets that can be read", async || {
        let metrics = metrics(&client).await;
        metrics.contains(&level(there)) && !metrics.contains(&level(gone))
    })
    .await;
}
