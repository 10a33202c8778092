//! Traps: a process is killed at the very step that it is about to take, or has just taken.

use std::sync::{Arc, Mutex, PoisonError};

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
pub enum Deed {
    Kill,
    /// The connection is cut there, the process lives.
    Cut,
}

struct Trap {
    step: Step,
    deed: Deed,
    sprung: oneshot::Sender<()>,
}

/// The traps of one process: at most one is set at a time. Cheap to clone.
#[derive(Clone)]
pub struct Traps {
    killer: Killer,
    set: Arc<Mutex<Option<Trap>>>,
}

impl Traps {
    pub fn new(killer: Killer) -> Self {
        Self { killer, set: Arc::default() }
    }

    /// Sets a trap; what comes back is done when it has sprung.
    pub fn set(&self, step: Step, deed: Deed) -> oneshot::Receiver<()> {
        let (sprung, done) = oneshot::channel();
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = Some(Trap { step, deed, sprung });
        done
    }

    /// Whether a deadly trap is set at this step; then it is used up, and its owner must kill.
    pub(crate) fn takes(&self, step: Step) -> bool {
        self.take(step) == Some(Deed::Kill)
    }

    pub(crate) fn take(&self, step: Step) -> Option<Deed> {
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        let trap = set.take_if(|trap| trap.step == step)?;
        // Who set it may have given it up.
        trap.sprung.send(()).ok();
        Some(trap.deed)
    }

    pub(crate) async fn kill(&self) {
        (self.killer)().await;
    }

    /// Kills where a trap is set at this step.
    pub(crate) async fn springs(&self, step: Step) -> bool {
        let springs = self.takes(step);
        if springs {
            self.kill().await;
        }
        springs
    }
}
