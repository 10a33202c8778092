//! Lists jobs by state: what is in the bucket, oldest first; what has ended, in the order of their ends.

use std::sync::LazyLock;

use dripfeed_job::{JobId, State};

use crate::core::Core;
use crate::error::BucketError;
use crate::find::JobView;
use crate::page::{Cursor, Page};
use crate::reply::Reply;
use crate::scripts::{NOW, Scripts};

static SCRIPTS: LazyLock<Scripts> =
    LazyLock::new(|| Scripts::new("list", |kind| vec![NOW, kind.entry, kind.view, kind.list]));

const LIST: &str = "jobs";
/// Entries looked at in one call, so that a rare state doesn't keep Redis from others.
const LOOKED_AT: usize = 500;
/// Calls for one page: after that the page is what was found, and its cursor goes on from there.
const CALLS: usize = 20;

impl Core {
    /// `state` None: all that is in the bucket. A list bucket is looked through whole for each page.
    pub(crate) async fn jobs(
        &self,
        state: Option<State>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobView>, BucketError> {
        if let Some(State::Ended(ending)) = state {
            let page = self.outcomes(None, Some(ending), after, limit).await?;
            return Ok(Page { items: page.items.into_iter().map(JobView::from).collect(), next: page.next });
        }
        let settings = self.settings();
        let bucket = settings.name.as_str();
        let mut last = match after {
            Some(cursor) => cursor.position::<JobId>(LIST, bucket)?.to_string(),
            None => String::new(),
        };
        let mut items: Vec<JobView> = Vec::new();
        for _ in 0..CALLS {
            let looked_at = if state.is_none() { limit - items.len() } else { LOOKED_AT };
            let args = [last.as_str(), &looked_at.to_string(), state.map_or("", State::as_str)];
            let mut reply = Reply::new("list", self.look(&SCRIPTS, &args).await?)?;
            last = reply.text()?;
            while !reply.is_empty() {
                let job = JobView::read(&mut reply.array()?)?;
                if items.len() == limit {
                    // The page is full and there is more: it goes on after the last one shown.
                    let shown = items.last().map_or(job.id, |job| job.id);
                    return Ok(Page { items, next: Some(Cursor::new(LIST, bucket, shown)) });
                }
                items.push(job);
            }
            if last.is_empty() || items.len() == limit {
                break;
            }
        }
        let next = (!last.is_empty()).then(|| Cursor::new(LIST, bucket, &last));
        Ok(Page { items, next })
    }
}
