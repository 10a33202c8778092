#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use futures::{StreamExt as _, stream};

use super::*;

const MOST: u64 = 10;
const TIMEOUT: Duration = Duration::from_millis(20);

async fn read(body: Body) -> Result<Bytes, Problem> {
    read_with(body, MOST, &BodyBudget::new(2 * MOST, MOST), None).await
}

async fn read_with(body: Body, most: u64, budget: &BodyBudget, caller: Option<&str>) -> Result<Bytes, Problem> {
    read_in_time(body, most, TIMEOUT, budget, || LimitedCaller::new(caller, None), || Ok(())).await
}

fn code(read: Result<Bytes, Problem>) -> Code {
    read.unwrap_err().code()
}

#[tokio::test]
async fn a_body_within_the_limit_is_read() {
    assert_eq!(read(Body::from("0123456789")).await.unwrap(), "0123456789");
    assert_eq!(read(Body::empty()).await.unwrap(), "");
}

#[tokio::test]
async fn reading_stops_at_the_size_limit() {
    assert_eq!(code(read(Body::from("0123456789a")).await), Code::BodyTooLarge);
    let endless = stream::repeat_with(|| Ok::<_, std::io::Error>("abc"));
    assert_eq!(code(read(Body::from_stream(endless)).await), Code::BodyTooLarge);
}

#[tokio::test]
async fn bodies_share_a_budget_and_release_it() {
    let budget = BodyBudget::new(15, MOST);
    let read = async |text: &'static str| read_with(Body::from(text), MOST, &budget, None).await;
    let first = read("0123456789").await.unwrap();
    let part = first.slice(2..4);
    assert_eq!(code(read("012345").await), Code::Overloaded);
    assert_eq!(read("01234").await.unwrap(), "01234");
    drop(first);
    assert_eq!(code(read("0123456789").await), Code::Overloaded, "a slice of the first is still in use");
    drop(part);
    assert_eq!(read("0123456789").await.unwrap(), "0123456789");
}

#[tokio::test]
async fn large_bodies_of_one_caller_leave_room_for_others() {
    let largest = 1 << 20;
    let budget = BodyBudget::new(4 * largest, largest);
    let read =
        async |caller, bytes: usize| read_with(Body::from(vec![b'x'; bytes]), largest, &budget, Some(caller)).await;
    let held = [read("acme", 1 << 20).await.unwrap(), read("acme", 1 << 20).await.unwrap()];
    assert_eq!(code(read("acme", COUNTED + 1).await), Code::Overloaded);
    assert_eq!(read("acme", COUNTED).await.unwrap().len(), COUNTED);
    assert_eq!(read("other", 1 << 20).await.unwrap().len(), 1 << 20);
    drop(held);
    assert_eq!(read("acme", 1 << 20).await.unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn a_slow_body_times_out() {
    let silent = stream::iter([Ok::<_, std::io::Error>("abc")]).chain(stream::pending());
    assert_eq!(code(read(Body::from_stream(silent)).await), Code::BodyTimeout);
}

#[tokio::test]
async fn a_truncated_body_is_refused() {
    let broken = stream::iter([Ok("abc"), Err(std::io::Error::other("gone"))]);
    assert_eq!(code(read(Body::from_stream(broken)).await), Code::BadBody);
}
