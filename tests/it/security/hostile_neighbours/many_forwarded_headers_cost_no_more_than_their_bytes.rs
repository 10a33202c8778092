//! 40,000 forwarded headers in an item: their sum isn't made again for each.

use std::sync::LazyLock;

use bytes::Bytes;

use super::attacks::{Attack, nothing};
use super::many_options_cost_no_more_than_their_bytes::{costs_no_more_than_its_bytes, item, members, strike};

pub const ATTACK: Attack = Attack {
    name: "40,000 forwarded headers in an item of a batch",
    settings: "",
    prepare: nothing,
    strike: |street| Box::pin(strike(street, &HEADERS)),
};

const MANY: usize = 40_000;
static HEADERS: LazyLock<Bytes> = LazyLock::new(|| item(&format!("\"forward\":{{{}}}", members(MANY))));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_forwarded_headers_cost_no_more_than_their_bytes() {
    costs_no_more_than_its_bytes(&HEADERS).await;
}
