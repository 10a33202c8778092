use std::fmt::Write as _;

use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use tokio::sync::watch;

const BUCKETS: usize = 20;
const JOBS: usize = 20;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_refuses_the_login_is_an_outage_and_not_a_refusal_of_each_job() {
    let (answer, _) = watch::channel(false);
    let answers = answer.clone();
    let upstream = Upstream::start(move |_| {
        let mut answers = answers.subscribe();
        async move {
            let _ = answers.wait_for(|is_answering| *is_answering).await;
            Answer::Status(200)
        }
    })
    .await;
    let bucket = format!("[buckets.b]\nupstream = \"{}\"\nleak.concurrency = {JOBS}", upstream.url());
    let service = Service::new(&bucket).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    for _ in 0..JOBS {
        assert_eq!(intake.client().submit("b", "x").await.unwrap().status, 202);
    }
    upstream.has_got(JOBS).await;

    service.redis::<String>("CONFIG SET requirepass new").await;
    service.redis::<u64>("CLIENT KILL TYPE normal SKIPME yes").await;
    answer.send_replace(true);
    until("it is reported", async || processor.log().contains("can't connect to Redis")).await;
    service.redis::<String>("CONFIG SET requirepass ").await;
    service.drained("b").await;
    let log = processor.log();
    assert!(log.matches("could not record outcomes").count() <= 1, "{log}");
    assert_eq!(upstream.count(), JOBS, "a recorded call isn't made again");
}
