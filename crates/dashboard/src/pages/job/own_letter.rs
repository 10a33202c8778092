//! The dead letter of a job, which may be kept longer than the outcome, or be deleted before.

use crate::dashboard::Dashboard;
use crate::model::job::DeadLetter;
use crate::web::api::escaped;
use crate::web::identity::Visitor;

/// The path of its page; `None` if there is no letter.
pub(super) async fn path(page: &Dashboard, visitor: &Visitor, bucket: &str, job: &str) -> Option<String> {
    let path = format!("/buckets/{}/dead/{}", escaped(bucket), escaped(job));
    page.api().get::<DeadLetter>(visitor, &format!("/v1{path}")).await.is_ok().then_some(path)
}
