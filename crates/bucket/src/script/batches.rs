//! Group commit: items that arrive while a call is running form the next batch. A single item never waits.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures::{Future, FutureExt as _};
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};

/// How much goes into one call, and how many calls are on their way at once. One item may be larger than `bytes`: it
/// goes alone.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
    pub(crate) calls: usize,
}

/// Items that wait beyond this make the sender wait.
const QUEUE: usize = 4096;

type Waiting<I, O> = (I, oneshot::Sender<O>);
type Waiters<I, O> = mpsc::Receiver<Waiting<I, O>>;

/// The entrance to a batching task, which begins with the first item: a process may know many buckets and use few. It
/// ends when all entrances are gone.
pub(crate) struct Batches<I, O>(Arc<Entrance<I, O>>);

struct Entrance<I, O> {
    queue: OnceLock<mpsc::Sender<Waiting<I, O>>>,
    serve: Box<dyn Fn(Waiters<I, O>) + Send + Sync>,
    items_of_a_call: usize,
}

impl<I, O> Clone for Batches<I, O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I: Send + 'static, O: Send + 'static> Batches<I, O> {
    /// `call` answers a batch in its order.
    pub(crate) fn new<F, R>(limits: Limits, weigh: fn(&I) -> usize, call: F) -> Self
    where
        F: Fn(Vec<I>) -> R + Send + Sync + 'static,
        R: Future<Output = Vec<O>> + Send + 'static,
    {
        let call = Arc::new(call);
        let serve = move |queue| {
            let (queue, call) = (Mutex::new(queue), Arc::clone(&call));
            // Also of a life of the task that has panicked: its calls go on.
            let calls = Arc::new(Semaphore::new(limits.calls));
            tokio::spawn(async move {
                let serve = || async { serve(&mut *queue.lock().await, limits, weigh, &calls, &call).await };
                // Again at once: each panic takes an item along.
                while AssertUnwindSafe(serve()).catch_unwind().await.is_err() {
                    tracing::error!("forming batches panicked and restarts; this is a bug, please report it");
                }
            });
        };
        Self(Arc::new(Entrance { queue: OnceLock::new(), serve: Box::new(serve), items_of_a_call: limits.items }))
    }

    /// None when the task has ended without an answer: the process is closing.
    pub(crate) async fn put(&self, item: I) -> Option<O> {
        self.enter(item).await?.await.ok()
    }

    /// Puts them in order, and answers in order. No more than one call's are in the queue at once: a large batch lets
    /// others in between.
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

    /// As [`Self::put`], before the answer: that comes also if nobody waits for it.
    pub(crate) async fn enter(&self, item: I) -> Option<oneshot::Receiver<O>> {
        let (to, answer) = oneshot::channel();
        self.0.queue().send((item, to)).await.ok()?;
        Some(answer)
    }
}

impl<I, O> Entrance<I, O> {
    fn queue(&self) -> &mpsc::Sender<Waiting<I, O>> {
        self.queue.get_or_init(|| {
            let (entrance, queue) = mpsc::channel(QUEUE);
            (self.serve)(queue);
            entrance
        })
    }
}

async fn serve<I, O, F, R>(
    queue: &mut Waiters<I, O>,
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
    // The place is got before the batch is formed, so that the batch grows while all places are taken.
    while let Ok(place) = Arc::clone(calls).acquire_owned().await {
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
                // Who asked may have left meanwhile.
                let _ = to.send(answer);
            }
            drop(place);
        });
    }
}

/// What is about to be put goes into this call, too: it takes less time than one more. So others get their turn for as
/// long as that brings more; a lone item waits for one.
async fn wait_for_more<I, O>(queue: &Waiters<I, O>, items: usize) {
    let mut there = queue.len();
    loop {
        tokio::task::yield_now().await;
        let now = queue.len();
        if now == there || now >= items {
            return;
        }
        there = now;
    }
}

/// The items and who waits for them; one that has no room among them is the `next` call's first.
fn gather<I, O>(
    first: Waiting<I, O>,
    queue: &mut Waiters<I, O>,
    next: &mut Option<Waiting<I, O>>,
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
