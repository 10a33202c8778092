//! Breakpoints: kill a process exactly before or after a step.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::oneshot;

/// Kills a process, and waits until it is dead.
pub type Killer = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Steps that can be observed from outside the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The call of a script was sent, and isn't forwarded.
    Before(&'static str),
    /// A script has run, and its reply isn't forwarded.
    After(&'static str),
    /// Connected to the upstream, with nothing sent.
    BeforeSend,
    /// The upstream has read the request.
    AfterSend,
    /// Half of the upstream's answer was sent.
    MidAnswer,
}

/// The action at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakpointAction {
    Kill,
    /// Cut the connection; the process lives.
    Cut,
    /// Nothing, so that the breakpoint applies to a later step of the same kind.
    Pass,
}

/// Breakpoints in their order. `hit` is notified of the last.
struct Chain {
    steps: VecDeque<(Step, BreakpointAction)>,
    hit: oneshot::Sender<()>,
}

/// The breakpoints of one process. Cheap to clone.
#[derive(Clone)]
pub struct Breakpoints {
    killer: Killer,
    set: Arc<Mutex<Option<Chain>>>,
}

/// Without breakpoints, and without a process to kill.
impl Default for Breakpoints {
    fn default() -> Self {
        Self::new(Arc::new(|| Box::pin(async {})))
    }
}

impl Breakpoints {
    pub fn new(killer: Killer) -> Self {
        Self { killer, set: Arc::default() }
    }

    /// Sets breakpoints, each of which is active after the previous one was hit. The result resolves with the last.
    pub fn set(&self, steps: impl IntoIterator<Item = (Step, BreakpointAction)>) -> oneshot::Receiver<()> {
        let (hit, done) = oneshot::channel();
        *self.chain() = Some(Chain { steps: steps.into_iter().collect(), hit });
        done
    }

    /// Whether the next breakpoint kills at this step. If so, it is removed, and the caller must kill the process.
    pub(crate) fn takes(&self, step: Step) -> bool {
        self.take(step) == Some(BreakpointAction::Kill)
    }

    pub(crate) fn take(&self, step: Step) -> Option<BreakpointAction> {
        let mut set = self.chain();
        let chain = set.as_mut()?;
        let (_, action) = chain.steps.pop_front_if(|(next, _)| *next == step)?;
        if chain.steps.is_empty()
            && let Some(chain) = set.take()
        {
            // The receiver may have been dropped.
            chain.hit.send(()).ok();
        }
        (action != BreakpointAction::Pass).then_some(action)
    }

    fn chain(&self) -> MutexGuard<'_, Option<Chain>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn kill(&self) {
        (self.killer)().await;
    }

    /// Kills the process if the next breakpoint is at this step.
    pub(crate) async fn kills_at(&self, step: Step) -> bool {
        let hit = self.takes(step);
        if hit {
            self.kill().await;
        }
        hit
    }
}
