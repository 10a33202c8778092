//! A managed Redis, as the operations guide describes it: CONFIG, ACL and SLOWLOG are denied.

use dripfeed_store::{Durability, ServerOptions};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::Upstream;

async fn managed(policy: &str) -> TestRedis {
    let denied = ["CONFIG", "ACL", "SLOWLOG"].into_iter().flat_map(|name| ["--rename-command", name, ""]);
    let arguments = denied.chain(["--maxmemory", "2gb", "--maxmemory-policy", policy]).map(str::to_owned).collect();
    TestRedis::with(ServerOptions { append_only: false, arguments, ..ServerOptions::default() }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_managed_redis_is_used_and_answers_name_the_class_that_it_has() {
    let upstream = Upstream::willing().await;
    let bucket = format!("[buckets.b]\nupstream = \"{}\"\n", upstream.url());
    let service = Service::quiet(managed("noeviction").await, Durability::Everysec, &bucket).await;
    let (code, said) = service.run(&["check", "--connect"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("set `appendonly yes`") && said.contains("class of accepted jobs: process"), "{said}");
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let accepted = intake.client().submit("b", "meat".to_owned()).await.expect("an answer");
    assert_eq!((accepted.status, accepted.text("durability").as_str()), (202, "process"), "{accepted:?}");
    upstream.has_got(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_managed_redis_that_may_evict_jobs_is_refused() {
    let bucket = "[buckets.b]\nupstream = \"http://127.0.0.1:9\"\n";
    let service = Service::quiet(managed("volatile-lru").await, Durability::Everysec, bucket).await;
    let (code, said) = service.run(&["check", "--connect"]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("set `maxmemory-policy noeviction`"), "{said}");
}
