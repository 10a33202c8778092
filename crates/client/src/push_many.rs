//! Submits many jobs, in batches.

use dripfeed_job::BucketName;

use crate::batch::BatchSender;
use crate::batch::item::BatchItem;
use crate::batch::sent::SentBatch;
use crate::client::Client;
use crate::client_error::ClientError;
use crate::new_job::NewJob;

/// Maximum size of one batch, far below what an intake accepts in one call.
pub const BATCH_ITEMS: usize = 64;
pub const BATCH_BYTES: usize = 256 << 10;

impl Client {
    /// Submits jobs in batches, one batch after the other. Each job is accepted or refused separately; the results are
    /// in the order of `jobs`. The client's retries apply to each batch. Stops after the first batch with an error.
    ///
    /// # Errors
    /// When an option can't be sent; nothing is submitted then.
    pub async fn push_all(&self, bucket: &BucketName, jobs: &[NewJob]) -> Result<SentBatch, ClientError> {
        let mut items = Vec::with_capacity(jobs.len());
        for job in jobs {
            let job = self.to_send(job);
            job.headers()?;
            items.push(BatchItem::from(&job));
        }
        let sender = BatchSender::new(self.clone(), bucket, |_, _| {});
        let mut sent = SentBatch::of(0);
        let mut rest = items.as_slice();
        while !rest.is_empty() && sent.error.is_none() {
            let (batch, later) = rest.split_at(batch_length(rest));
            let part = sender.send(batch).await;
            sent.items.extend(part.items);
            sent.error = part.error;
            rest = later;
        }
        sent.items.extend(SentBatch::of(rest.len()).items);
        Ok(sent)
    }
}

/// How many of the items form the next batch; at least one.
fn batch_length(items: &[BatchItem]) -> usize {
    let mut bytes = 0;
    let fits = |item: &&BatchItem| {
        bytes += item.as_str().len();
        bytes <= BATCH_BYTES
    };
    items.iter().take(BATCH_ITEMS).take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded_by_number_and_bytes() {
        let items = |number: usize, bytes: usize| vec![BatchItem::of_json(&"x".repeat(bytes)); number];
        assert_eq!(batch_length(&items(100, 1)), BATCH_ITEMS);
        assert_eq!(batch_length(&items(3, BATCH_BYTES / 2)), 2);
        assert_eq!(batch_length(&items(3, BATCH_BYTES * 2)), 1);
    }
}
