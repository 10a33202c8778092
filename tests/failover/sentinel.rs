use std::collections::HashMap;

use dripfeed_store::Durability;
use dripfeed_tests::callers::{Seen, until_taken};
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use futures::future::join_all;

use crate::{Load, TAKING_AGAIN, buckets};

/// How a master goes.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    /// Its connections stay open, and it believes to be the master when it goes on.
    Hangs,
    /// An operator has another one promoted.
    StepsDown,
}

impl Fault {
    async fn strikes(self, redis: &mut Sentinels, master: usize) {
        match self {
            Self::Killed => redis.server_mut(master).server.kill().await.expect("it runs"),
            Self::Hangs => redis.server(master).server.pause().expect("it runs"),
            Self::StepsDown => redis.fail_over().await,
        }
    }

    async fn is_over(self, redis: &mut Sentinels, master: usize) {
        match self {
            Self::Killed => redis.server_mut(master).server.start_again().await.expect("it starts"),
            Self::Hangs => redis.server(master).server.resume().expect("it runs"),
            Self::StepsDown => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_is_replaced_under_load_and_nothing_accepted_is_lost() {
    let upstream = Upstream::willing().await;
    let redis = Sentinels::start(2, "").await;
    let mut service = Service::over(redis, Durability::Replicated, &buckets(&upstream)).await;
    let load = Load::on(&service, upstream).await;
    let client = load.intakes[0].client();
    let accepted = client.submit("b", "x").await.expect("an answer");
    assert_eq!((accepted.status, accepted.text("durability").as_str()), (202, "replicated"));

    for fault in [Fault::Killed, Fault::Hangs, Fault::StepsDown] {
        let old = service.redis.master().await;
        fault.strikes(&mut service.redis, old).await;
        until("another master", async || service.redis.master().await != old).await;
        let again = until_taken(&client, "b").await;
        println!("{fault:?}: taking again {again:?} after there was a master");
        assert!(again < TAKING_AGAIN, "{fault:?}: it took {again:?}");
        load.flows().await;

        fault.is_over(&mut service.redis, old).await;
        let old = service.redis.server(old);
        until("the old master follows the new one", async || !old.is_master().await).await;
        let scripts: String = old.tell("INFO commandstats").await;
        if matches!(fault, Fault::Killed) {
            // It counts from its start, and was a master until a Sentinel told it otherwise.
            assert!(!scripts.contains("cmdstat_eval"), "it was written to: {scripts}");
        }
        let master = service.redis.server(service.redis.master().await);
        until("both replicas are in step", async || master.followers().await == 2).await;
        load.flows().await;
        service.redis.agreed().await;
    }
    load.ends_well(&service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replica_has_is_not_accepted_and_is_one_job_when_sent_again() {
    const KEYS: [&str; 3] = ["k1", "k2", "k3"];
    let upstream = Upstream::willing().await;
    let redis = Sentinels::start(2, "").await;
    let mut service = Service::over(redis, Durability::Replicated, &buckets(&upstream)).await;
    let intake = service.intake().await;
    let client = intake.client();
    let (old, replicas) = (service.redis.master().await, [1, 2]);
    for replica in replicas {
        service.redis.server(replica).server.pause().expect("it runs");
    }
    let answers = KEYS.map(|key| client.submit_once("b", key, key));
    for answer in join_all(answers).await {
        let answer = answer.expect("an answer");
        assert_eq!((answer.status, answer.text("outcome").as_str()), (503, "unknown"), "{answer:?}");
    }
    assert_eq!(
        service.redis.server(old).tell::<usize>("XLEN dripfeed:{b}:jobs").await,
        KEYS.len(),
        "the master has them"
    );
    service.redis.server_mut(old).server.kill().await.expect("it runs");
    for replica in replicas {
        service.redis.server(replica).server.resume().expect("it runs");
    }
    let _processor = service.processor().await;
    let mut accepted = HashMap::new();
    for key in KEYS {
        until("it is accepted", async || client.submit_once("b", key, key).await.expect("an answer").status == 202)
            .await;
        let again = client.submit_once("b", key, key).await.expect("an answer");
        accepted.insert(key.to_owned(), again.text("id"));
    }
    service.store().connected().await;
    service.drained("b").await;
    Seen { accepted, ..Seen::default() }.kept_by(&upstream);
}
