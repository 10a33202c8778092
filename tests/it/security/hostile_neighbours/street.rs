//! Where all live: one Redis, one intake and one processor, that a hostile caller shares with its neighbours.

use std::future::pending;

use dripfeed_store::{Durability, ServerOptions};
use dripfeed_tests::client::Client;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::{Answer, Upstream};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::machine::Machine;

/// The bucket that all use.
pub const SHARED: &str = "shared";
/// A job that is answered 400, and is a dead letter then.
pub const REFUSED: &str = "refused";
/// The largest body of one call.
pub const MAX_BODY: usize = 1 << 20;

/// A caller names its address, as those behind a proxy do. And a machine under all this load may be slow: how long
/// others wait is measured in the long run, not by a timeout.
const SET: [&str; 3] = ["intake.trusted_proxies=[\"127.0.0.0/8\"]", "redis.response_timeout=20s", "processor.lease=1m"];

const HOSTILE: &str = "the key of the hostile one";
const NEIGHBOUR: &str = "the key of its neighbour";

pub struct Street {
    pub service: Service,
    pub intake: Process,
    _processor: Process,
    pub hostile: Client,
    pub neighbour: Client,
    _upstream: Machine,
}

impl Street {
    /// `settings` are sections besides; `{upstream}` in them stands for the address that all jobs go to.
    pub async fn open(settings: &str) -> Self {
        Self::over(settings, &[]).await
    }

    /// `redis` as on its command line.
    pub async fn over(settings: &str, redis: &[&str]) -> Self {
        let (url, upstream) = open_upstream().await;
        let arguments = redis.iter().map(|&argument| argument.to_owned()).collect();
        let redis = TestRedis::with(ServerOptions { arguments, ..ServerOptions::default() }).await;
        let keys = [("hostile", HOSTILE), ("neighbour", NEIGHBOUR)].map(|(id, key)| {
            format!(
                "[[keys]]\nid = \"{id}\"\nsha256 = \"{}\"\nscopes = [\"submit\", \"read\", \"inspect\", \"operate\"]\n\
                 services = [\"*\"]\n",
                hex(&Sha256::digest(key))
            )
        });
        let shared = format!(
            "[buckets.{SHARED}]\nupstream = \"{{upstream}}\"\ncapacity = 100000\nmax_share = \"50%\"\n\
             leak.concurrency = 50\n"
        );
        let settings = (keys.concat() + &shared + settings).replace("{upstream}", &url);
        let service = Service::over(redis, Durability::Everysec, &settings).await;
        let (intake, processor) = (service.role("intake", &SET).await, service.role("processor", &SET).await);
        let (hostile, neighbour) = (intake.client().with_key(HOSTILE), intake.client().with_key(NEIGHBOUR));
        Self { service, intake, _processor: processor, hostile, neighbour, _upstream: upstream }
    }
}

/// Its address, and the machine that it is on.
async fn open_upstream() -> (String, Machine) {
    let (to, url) = oneshot::channel();
    let machine = Machine::start(async move {
        let upstream = Upstream::without_book(|call| async move {
            if call.uri.path().ends_with(REFUSED) { Answer::Status(400) } else { Answer::Status(200) }
        })
        .await;
        to.send(upstream.url()).ok();
        pending().await
    });
    (url.await.expect("an upstream"), machine)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
