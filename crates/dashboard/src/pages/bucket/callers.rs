//! The callers of a bucket, as part of its page.

use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::bucket::Bucket;
use crate::model::flows::Flows;
use crate::model::holders::Holders;
use crate::parts::holders;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// The id of the card.
pub(super) const CARD: &str = "callers";
/// Maximum number of callers, those with the most jobs.
const MOST_CALLERS: usize = 10;
/// Enough for all callers with waiting jobs, because the throttled ones come last.
const MOST_FLOWS: usize = 1000;

pub(super) async fn card(page: &Dashboard, visitor: &Visitor, bucket: &Bucket) -> Result<Markup, Failure> {
    let path = format!("/v1/buckets/{}", escaped(&bucket.name));
    let callers: Holders = page.api().get(visitor, &format!("{path}/holders?limit={MOST_CALLERS}")).await?;
    // Flows exist only for waiting jobs with a caller. If they can't be read, the numbers are shown all the same.
    let flows: Flows = if callers.items.is_empty() || bucket.waiting == 0 {
        Flows::default()
    } else {
        page.api().get(visitor, &format!("{path}/flows?limit={MOST_FLOWS}")).await.unwrap_or_default()
    };
    Ok(html! { section.card id=(CARD) data-calm { (holders::of(bucket, &callers, &flows)) } })
}
