//! Breakpoints: a process is killed at the very step that it is about to take, or has just taken.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::oneshot;

/// Kills a process; done when it is dead.
pub type Killer = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Steps that are seen from outside the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A script's call was sent and goes no further.
    Before(&'static str),
    /// A script has run; its reply goes no further.
    After(&'static str),
    /// Connected to the upstream, nothing sent.
    BeforeSend,
    /// The upstream has read the request.
    AfterSend,
    /// Half of the upstream's answer was sent.
    MidAnswer,
}

/// What happens at the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakpointAction {
    Kill,
    /// The connection is cut there, the process lives.
    Cut,
    /// Nothing: a later step of the same sort is meant.
    Pass,
}

/// Breakpoints in the order in which they are met; `hit` reports the last.
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

/// Nothing is set and nobody is killed.
impl Default for Breakpoints {
    fn default() -> Self {
        Self::new(Arc::new(|| Box::pin(async {})))
    }
}

impl Breakpoints {
    pub fn new(killer: Killer) -> Self {
        Self { killer, set: Arc::default() }
    }

    /// Sets breakpoints, each once the one before was hit; what comes back is done when the last was.
    pub fn set(&self, steps: impl IntoIterator<Item = (Step, BreakpointAction)>) -> oneshot::Receiver<()> {
        let (hit, done) = oneshot::channel();
        *self.chain() = Some(Chain { steps: steps.into_iter().collect(), hit });
        done
    }

    /// Whether a deadly breakpoint is set at this step; then it is used up, and anyone who asks must kill.
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
            // Who set it may have given it up.
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

    /// Kills where a breakpoint is set at this step.
    pub(crate) async fn kills_at(&self, step: Step) -> bool {
        let hit = self.takes(step);
        if hit {
            self.kill().await;
        }
        hit
    }
}
