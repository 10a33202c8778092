use std::collections::HashSet;
use std::time::Duration;

use dripfeed_tests::client::Client;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};

const JOBS: u32 = 300;

/// An upstream that takes its time, so that there is always something in flight.
async fn slow() -> Upstream {
    Upstream::start(|_| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Answer::Status(200)
    })
    .await
}

async fn service(upstream: &Upstream) -> Service {
    Service::new(&format!("[buckets.b]\nupstream = \"{}\"\nleak = {{ concurrency = 5 }}", upstream.url())).await
}

async fn hand_in(client: &Client, jobs: u32) -> HashSet<String> {
    let mut ids = HashSet::new();
    for number in 0..jobs {
        let answer = client.submit("b", number.to_string()).await.expect("an answer");
        assert_eq!(answer.status, 202, "{answer:?}");
        ids.insert(answer.text("id"));
    }
    ids
}

/// Each job was called, and duplicates are at most what could be in flight at the faults.
async fn nothing_is_lost(service: &Service, upstream: &Upstream, ids: &HashSet<String>, faults: u32) {
    service.drained("b").await;
    let calls = upstream.calls_by_job();
    assert_eq!(calls.keys().cloned().collect::<HashSet<_>>(), *ids, "called and accepted jobs");
    let duplicates = calls.values().sum::<u32>() - JOBS;
    assert!(duplicates <= faults * 5, "{duplicates} duplicates after {faults} faults with at most 5 in flight each");
    let counts = service.counts("b").await;
    assert_eq!((counts.delivered, counts.dead, counts.in_flight, counts.parked), (JOBS.into(), 0, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processors_that_are_killed_lose_nothing() {
    let upstream = slow().await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let _steady = service.processor().await;
    let mut victim = service.processor().await;
    let ids = hand_in(&intake.client(), JOBS).await;
    for kill in 1..=4 {
        upstream.has_got(kill * 40).await;
        victim.kill().await;
        victim = service.processor().await;
    }
    nothing_is_lost(&service, &upstream, &ids, 4).await;
    until("the names of the dead are gone", async || {
        let members: u32 = service.redis("HLEN dripfeed:{b}:replicas").await;
        members == 2
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_processor_that_was_stopped_in_its_tracks_settles_nothing_it_has_lost() {
    let upstream = slow().await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let _steady = service.processor().await;
    let sleeper = service.processor().await;
    let ids = hand_in(&intake.client(), JOBS).await;
    // Half a lease, one, and three, of the two seconds that the service is set to.
    for (stop, pause) in [1, 2, 6].into_iter().enumerate() {
        upstream.has_got((stop + 1) * 50).await;
        sleeper.pause();
        tokio::time::sleep(Duration::from_secs(pause)).await;
        sleeper.resume();
    }
    nothing_is_lost(&service, &upstream, &ids, 3).await;
    until("three leases of silence are noticed", async || sleeper.log().contains("declared dead")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processors_that_are_asked_to_end_finish_what_they_have_and_cost_no_attempt() {
    let upstream = slow().await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let mut old = service.processor().await;
    let ids = hand_in(&intake.client(), JOBS).await;
    for replaced in 1..=4 {
        upstream.has_got(replaced * 40).await;
        let new = service.processor().await;
        old.terminate();
        assert_eq!(old.ended().await.code(), Some(0));
        old = new;
    }
    nothing_is_lost(&service, &upstream, &ids, 0).await;
    assert!(upstream.calls().iter().all(|call| call.attempt == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_drain_cuts_is_given_back_at_once() {
    let upstream = Upstream::start(|call| async move {
        if call.text() == "hangs" {
            std::future::pending::<()>().await;
        }
        Answer::Status(200)
    })
    .await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let mut first = service.role("processor", &["processor.drain=100ms"]).await;
    assert_eq!(intake.client().submit("b", "hangs").await.unwrap().status, 202);
    upstream.has_got(1).await;
    first.terminate();
    assert_eq!(first.ended().await.code(), Some(0));
    let counts = service.counts("b").await;
    assert_eq!((counts.level, counts.in_flight, counts.parked), (1, 0, 1));
    let _second = service.processor().await;
    upstream.has_got(2).await;
    let attempts: Vec<u32> = upstream.calls().iter().map(|call| call.attempt).collect();
    assert_eq!(attempts, [1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intakes_that_are_killed_keep_what_they_accepted() {
    let upstream = slow().await;
    let service = service(&upstream).await;
    let _processor = service.processor().await;
    let mut ids = HashSet::new();
    for life in 0..3 {
        let mut intake = service.intake().await;
        let client = intake.client();
        let submitting = tokio::spawn(async move {
            let mut accepted = Vec::new();
            for number in 0.. {
                let key = format!("{life}-{number}");
                match client.submit_once("b", &key, key.clone()).await {
                    Ok(answer) if answer.status == 202 => accepted.push(answer.text("id")),
                    // Its connection is cut: that one may be in or not.
                    _ => return (key, accepted),
                }
            }
            unreachable!("it goes on until the intake is gone")
        });
        upstream.has_got(upstream.calls().len() + 20).await;
        intake.kill().await;
        let (unknown, accepted) = submitting.await.unwrap();
        ids.extend(accepted);
        // Under its key it is in once, whether it was or not.
        let again = service.intake().await.client().submit_once("b", &unknown, unknown.clone()).await.unwrap();
        assert_eq!(again.status, 202, "{again:?}");
        ids.insert(again.text("id"));
    }
    service.drained("b").await;
    let calls = upstream.calls_by_job();
    assert_eq!(calls.keys().cloned().collect::<HashSet<_>>(), ids);
    assert!(calls.values().all(|calls| *calls == 1));
}
