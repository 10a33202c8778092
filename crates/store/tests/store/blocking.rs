use std::time::Duration;

use redis::cmd;

use crate::bench::Bench;

#[tokio::test]
async fn a_blocking_read_waits_and_holds_nobody_up() {
    let bench = Bench::new().await;
    let dedicated = bench.store.dedicated().await.unwrap();
    let mut pop = cmd("BLPOP");
    pop.arg("queue").arg(0);
    let waiting = tokio::spawn(async move {
        let (_, popped) = dedicated.command::<(String, u32)>(&pop).await.unwrap();
        popped
    });
    until_blocked(&bench, 1).await;
    push(&bench, 7).await;
    assert_eq!(waiting.await.unwrap(), ("queue".to_owned(), 7));
}

#[tokio::test]
async fn a_connection_can_be_used_again_after_a_reply() {
    let bench = Bench::new().await;
    let dedicated = bench.store.dedicated().await.unwrap();
    let mut pop = cmd("BLPOP");
    pop.arg("queue").arg(0);
    for n in 0..3 {
        push(&bench, n).await;
    }
    let mut connection = dedicated;
    for n in 0..3 {
        let (back, (_, popped)) = connection.command::<(String, u32)>(&pop).await.unwrap();
        assert_eq!(popped, n);
        connection = back;
    }
}

#[tokio::test]
async fn a_dropped_blocking_read_takes_nothing() {
    let bench = Bench::new().await;
    let dedicated = bench.store.dedicated().await.unwrap();
    let mut pop = cmd("BLPOP");
    pop.arg("queue").arg(0);
    let abandoned = tokio::spawn(async move { dedicated.command::<(String, u32)>(&pop).await });
    until_blocked(&bench, 1).await;
    abandoned.abort();
    until_blocked(&bench, 0).await;

    push(&bench, 1).await;
    let length: u32 = bench.store.command(cmd("LLEN").arg("queue")).await.unwrap();
    assert_eq!(length, 1);
}

async fn push(bench: &Bench, value: u32) {
    let mut push = cmd("RPUSH");
    push.arg("queue").arg(value);
    bench.store.command::<u32>(&push).await.unwrap();
}

/// Waits until this many clients are blocked, as the server sees it.
async fn until_blocked(bench: &Bench, clients: u32) {
    let seen = async {
        loop {
            let info: redis::InfoDict = bench.store.command(cmd("INFO").arg("clients")).await.unwrap();
            if info.get::<u32>("blocked_clients") == Some(clients) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), seen).await.unwrap();
}
