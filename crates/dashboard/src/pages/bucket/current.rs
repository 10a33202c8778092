//! Reads the settings of a bucket that can be changed at run time.

use http::HeaderValue;

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::setting::Setting;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

pub(super) async fn read(page: &Dashboard, visitor: &Visitor, bucket: &str) -> Result<Vec<Setting>, Failure> {
    page.api().get::<List<Setting>>(visitor, &path(bucket)).await.map(|list| list.items)
}

/// Reads the settings, with the version of the bucket.
pub(super) async fn read_version(
    page: &Dashboard,
    visitor: &Visitor,
    bucket: &str,
) -> Result<(Vec<Setting>, Option<HeaderValue>), Failure> {
    let (list, version) = page.api().get_version::<List<Setting>>(visitor, &path(bucket)).await?;
    Ok((list.items, version))
}

fn path(bucket: &str) -> String {
    format!("/v1/buckets/{}/settings", escaped(bucket))
}
