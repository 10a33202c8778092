//! A bucket moves to another Redis, as the operations guide says.

use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;

const JOBS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_moves_to_another_redis_and_each_job_is_called_once() {
    let upstream = Upstream::willing().await;
    let bucket = format!("[buckets.b]\nupstream = \"{}\"\nleak.rate = \"50/s\"\n", upstream.url());
    let old = Service::new(&bucket).await;
    let new = old.beside(&bucket).await;
    let (mut old_intake, mut old_processor) = (old.intake().await, old.processor().await);
    let (new_intake, _new_processor) = (new.intake().await, new.processor().await);
    for intake in [&old_intake, &new_intake] {
        for number in 0..JOBS {
            assert_eq!(intake.client().submit("b", number.to_string()).await.expect("an answer").status, 202);
        }
    }
    old_intake.terminate();
    assert!(old_intake.ended().await.success());
    until("the old one shows no jobs", async || {
        let (code, said) = old.run(&["check", "--connect"]).await;
        assert_eq!(code, Some(0), "{said}");
        said.contains("bucket b: 0 of")
    })
    .await;
    old_processor.terminate();
    assert!(old_processor.ended().await.success());
    new.drained("b").await;
    assert_eq!(upstream.count(), 2 * JOBS);
}
