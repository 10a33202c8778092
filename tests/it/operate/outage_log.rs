use std::fmt::Write as _;

use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;

const BUCKETS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_redis_is_logged_once_and_not_of_each_bucket() {
    let upstream = Upstream::willing().await;
    let mut buckets = String::new();
    for number in 0..BUCKETS {
        writeln!(buckets, "[buckets.b{number}]\nupstream = \"{}\"", upstream.url()).expect("a text");
    }
    let service = Service::new(&buckets).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let client = intake.client();
    // A job makes the processor a member of its bucket.
    let called_once = async || {
        for number in 0..BUCKETS {
            let submit = async || client.submit(&format!("b{number}"), "x").await.is_ok_and(|sent| sent.status == 202);
            until("it is accepted", submit).await;
        }
    };
    called_once().await;
    upstream.has_got(BUCKETS).await;
    let joined = || processor.log().matches("this replica has joined the bucket").count();
    until("it is a member of each", async || joined() >= BUCKETS).await;

    service.redis.server.pause().expect("it runs");
    until("it notices", async || processor.log().contains("this replica can't")).await;
    service.redis.server.resume().expect("it runs");
    called_once().await;
    upstream.has_got(2 * BUCKETS).await;
    until("it reports the end", async || processor.log().contains("again\"")).await;
    let (log, lines) = (processor.log(), |part: &str| processor.log().matches(part).count());
    assert_eq!((lines("this replica can't"), lines("this replica can ")), (1, 1), "{log}");
    assert!(lines("could not record outcomes") <= 1, "{log}");
}
