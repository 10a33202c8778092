//! What others ask for while somebody is hostile, and that they get it.

use std::time::{Duration, Instant};

use super::street::{SHARED, Street};

/// That a neighbour is answered as ever: it submits, and looks. How long that took.
pub async fn is_answered(street: &Street) -> Duration {
    let begun = Instant::now();
    let submitted = street.neighbour.submit(SHARED, "small").await.expect("an answer");
    assert_eq!(submitted.status, 202, "{submitted:?}");
    let job = street.neighbour.get(&format!("/v1/buckets/{SHARED}/jobs/{}", submitted.text("id"))).await;
    let job = job.expect("an answer");
    assert_eq!(job.status, 200, "{job:?}");
    let ready = street.neighbour.get("/readyz").await.expect("an answer");
    assert_eq!(ready.status, 200, "{ready:?}");
    begun.elapsed()
}

/// That neighbours are answered as ever for as long as the attack lasts, and after it.
pub async fn are_answered_beside<T>(street: &Street, attack: impl Future<Output = T>) -> T {
    let neighbours = async {
        loop {
            is_answered(street).await;
        }
    };
    let done = tokio::select! {
        done = attack => done,
        never = neighbours => never,
    };
    is_answered(street).await;
    done
}

/// That this many of them are answered as ever while an attack goes on that doesn't end on its own.
pub async fn are_answered_while_held<T>(street: &Street, many: usize, attack: impl Future<Output = T>) {
    let neighbours = async {
        for _ in 0..many {
            is_answered(street).await;
        }
    };
    tokio::select! {
        _ = attack => panic!("the attack ended"),
        () = neighbours => {}
    }
}
