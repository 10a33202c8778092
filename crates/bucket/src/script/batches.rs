//! Group commit: items that arrive during a call form the next batch. If no call is running, an item is sent at once.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures::{Future, FutureExt as _};
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};

/// The maximum size of a call, and the number of concurrent calls. An item that is larger than `bytes` is sent alone.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
    pub(crate) calls: usize,
}

/// The capacity of the queue. If it is full, senders wait.
const QUEUE_CAPACITY: usize = 4096;

type Request<I, O> = (I, oneshot::Sender<O>);
type Requests<I, O> = mpsc::Receiver<Request<I, O>>;

/// A handle of a batching task. The task starts with the first item, since a process may have many buckets and use few,
/// and ends when all handles are dropped.
pub(crate) struct Batches<I, O>(Arc<Inner<I, O>>);

struct Inner<I, O> {
    queue: OnceLock<mpsc::Sender<Request<I, O>>>,
    start: Box<dyn Fn(Requests<I, O>) + Send + Sync>,
    items_of_a_call: usize,
}

impl<I, O> Clone for Batches<I, O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I: Send + 'static, O: Send + 'static> Batches<I, O> {
    /// `call` returns the answers to a batch in the order of its items.
    pub(crate) fn new<F, R>(limits: Limits, weigh: fn(&I) -> usize, call: F) -> Self
    where
        F: Fn(Vec<I>) -> R + Send + Sync + 'static,
        R: Future<Output = Vec<O>> + Send + 'static,
    {
        let call = Arc::new(call);
        let start = move |queue| {
            let (queue, call) = (Mutex::new(queue), Arc::clone(&call));
            // Created outside of `serve`, because calls go on if it panics.
            let calls = Arc::new(Semaphore::new(limits.calls));
            tokio::spawn(async move {
                let serve = || async { serve(&mut *queue.lock().await, limits, weigh, &calls, &call).await };
                // Restarts at once: the item that caused the panic is gone.
                while AssertUnwindSafe(serve()).catch_unwind().await.is_err() {
                    tracing::error!("forming batches panicked and restarts; this is a bug, please report it");
                }
            });
        };
        Self(Arc::new(Inner { queue: OnceLock::new(), start: Box::new(start), items_of_a_call: limits.items }))
    }

    /// Returns `None` if the task has ended without an answer, as when the process closes.
    pub(crate) async fn put(&self, item: I) -> Option<O> {
        self.enter(item).await?.await.ok()
    }

    /// Sends the items in order, and returns their answers in order. At most the items of one call are in the queue at
    /// a time, so that others get in between.
    pub(crate) async fn put_all(&self, items: Vec<I>) -> Vec<Option<O>> {
        let mut answers = Vec::with_capacity(items.len());
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            let mut entered = Vec::with_capacity(self.0.items_of_a_call);
            for item in items.by_ref().take(self.0.items_of_a_call) {
                entered.push(self.enter(item).await);
            }
            for answer in entered {
                answers.push(match answer {
                    Some(answer) => answer.await.ok(),
                    None => None,
                });
            }
        }
        answers
    }

    /// Like [`Self::put`], but doesn't wait for the answer. The item is sent even if the receiver is dropped.
    pub(crate) async fn enter(&self, item: I) -> Option<oneshot::Receiver<O>> {
        let (to, answer) = oneshot::channel();
        self.0.queue().send((item, to)).await.ok()?;
        Some(answer)
    }
}

impl<I, O> Inner<I, O> {
    fn queue(&self) -> &mpsc::Sender<Request<I, O>> {
        self.queue.get_or_init(|| {
            let (sender, queue) = mpsc::channel(QUEUE_CAPACITY);
            (self.start)(queue);
            sender
        })
    }
}

async fn serve<I, O, F, R>(
    queue: &mut Requests<I, O>,
    limits: Limits,
    weigh: fn(&I) -> usize,
    calls: &Arc<Semaphore>,
    call: &Arc<F>,
) where
    I: Send + 'static,
    O: Send + 'static,
    F: Fn(Vec<I>) -> R + Send + Sync + 'static,
    R: Future<Output = Vec<O>> + Send + 'static,
{
    let mut next = None;
    // Acquired before the batch is formed, so that the batch grows while other calls are running.
    while let Ok(permit) = Arc::clone(calls).acquire_owned().await {
        let first = match next.take() {
            Some(first) => first,
            None => match queue.recv().await {
                Some(first) => first,
                None => break,
            },
        };
        wait_for_more(queue, limits.items).await;
        let (items, answers) = gather(first, queue, &mut next, limits, weigh);
        let call = Arc::clone(call);
        tokio::spawn(async move {
            for (answer, to) in call(items).await.into_iter().zip(answers) {
                // An error means that the caller has gone.
                let _ = to.send(answer);
            }
            drop(permit);
        });
    }
}

/// Yields to other tasks for as long as they send more items, since one larger call costs less than two.
async fn wait_for_more<I, O>(queue: &Requests<I, O>, items: usize) {
    let mut before = queue.len();
    loop {
        tokio::task::yield_now().await;
        let now = queue.len();
        if now == before || now >= items {
            return;
        }
        before = now;
    }
}

/// The items of the next call, and the senders of their answers. An item that exceeds the limits becomes the first of
/// the call after it: `next`.
fn gather<I, O>(
    first: Request<I, O>,
    queue: &mut Requests<I, O>,
    next: &mut Option<Request<I, O>>,
    limits: Limits,
    weigh: fn(&I) -> usize,
) -> (Vec<I>, Vec<oneshot::Sender<O>>) {
    let mut bytes = weigh(&first.0);
    let (mut items, mut answers) = (vec![first.0], vec![first.1]);
    while items.len() < limits.items {
        let Ok((item, answer)) = queue.try_recv() else { break };
        bytes += weigh(&item);
        if bytes > limits.bytes {
            *next = Some((item, answer));
            break;
        }
        items.push(item);
        answers.push(answer);
    }
    (items, answers)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// How many items were in the call of each, when all came during the first one's. An item weighs what it is.
    async fn sizes_of_calls(items: &[usize], bytes: usize) -> Vec<usize> {
        let gate = Arc::new(Semaphore::new(0));
        let limits = Limits { items: 10, bytes, calls: 1 };
        let held = gate.clone();
        let batches = Batches::new(
            limits,
            |item| *item,
            move |items: Vec<usize>| {
                let held = held.clone();
                async move {
                    let _ = held.acquire().await.map(tokio::sync::SemaphorePermit::forget);
                    vec![items.len(); items.len()]
                }
            },
        );
        let mut asked: Vec<_> = items.iter().map(|item| Box::pin(batches.put(*item))).collect();
        for ask in &mut asked {
            assert!(futures::poll!(ask.as_mut()).is_pending());
            // Until the call has begun.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
        gate.add_permits(items.len());
        futures::future::join_all(asked).await.into_iter().flatten().collect()
    }

    #[tokio::test]
    async fn what_arrives_during_a_call_goes_into_the_next() {
        assert_eq!(sizes_of_calls(&[1; 5], usize::MAX).await, [1, 4, 4, 4, 4]);
        assert_eq!(sizes_of_calls(&[1; 15], usize::MAX).await[1..11], [10; 10]);
    }

    /// Who waited for what the task had in hand is answered, and what comes later is served.
    #[tokio::test]
    async fn what_comes_after_a_panic_of_the_task_is_served() {
        let weigh = |item: &usize| {
            assert_ne!(*item, 13, "a bug");
            1
        };
        let limits = Limits { items: 10, bytes: usize::MAX, calls: 1 };
        let batches = Batches::new(limits, weigh, async |items: Vec<usize>| items);
        assert_eq!(batches.put(13).await, None);
        assert_eq!(batches.put(7).await, Some(7));
    }

    #[tokio::test]
    async fn what_is_put_at_once_goes_into_one_call() {
        let limits = Limits { items: 10, bytes: usize::MAX, calls: 1 };
        let batches = Batches::new(limits, |()| 1, async |items: Vec<()>| vec![items.len(); items.len()]);
        let sizes = futures::future::join_all((0..8).map(|_| batches.put(()))).await;
        assert_eq!(sizes, [Some(8); 8]);
    }

    #[tokio::test]
    async fn one_of_others_waits_behind_one_call_of_a_large_batch() {
        let limits = Limits { items: 10, bytes: usize::MAX, calls: 1 };
        let batches = Batches::new(
            limits,
            |_| 1,
            async |items: Vec<usize>| {
                tokio::task::yield_now().await;
                items
            },
        );
        let many = tokio::spawn({
            let batches = batches.clone();
            async move { batches.put_all((0..1000).collect()).await }
        });
        tokio::task::yield_now().await;
        assert_eq!(batches.put(7).await, Some(7));
        assert!(!many.is_finished(), "the other had to wait for all of the batch");
        assert_eq!(many.await.unwrap(), (0..1000).map(Some).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn no_call_has_more_bytes_unless_it_has_one_item() {
        assert_eq!(sizes_of_calls(&[9, 3, 4, 3, 1, 11, 10, 2], 10).await, [1, 3, 3, 3, 1, 1, 1, 1]);
    }
}
