//! A slot for one process of a run, which restarts the process when it has ended, as a service manager would.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

use super::breakpoint::Killer;
use crate::client::Client;
use crate::processes::{Log, Process, command};

/// Pause before a process that has ended unexpectedly is restarted.
const PAUSE: Duration = Duration::from_millis(100);
/// Timeout for a process to be ready; far more than it needs.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotCommand {
    Kill,
    Pause,
    Resume,
    Terminate,
}

type Order = (SlotCommand, oneshot::Sender<()>);

/// How to start the process of a slot.
pub struct Role {
    pub name: String,
    pub configuration: PathBuf,
    /// `intake` or `processor`.
    pub role: &'static str,
    /// Values of `--set`.
    pub settings: Vec<String>,
    /// The bug that it has, if it was built with planted bugs.
    pub plant: Option<&'static str>,
}

/// A slot. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct ProcessSlot(Arc<Inner>);

struct Inner {
    orders: mpsc::Sender<Order>,
    waiting: Mutex<Option<mpsc::Receiver<Order>>>,
    address: watch::Sender<Option<SocketAddr>>,
    lives: AtomicU32,
    logs: Mutex<Vec<Log>>,
    /// Unexpected ends of processes, and failures of those that were asked to stop.
    surprises: Mutex<Vec<String>>,
    running: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl ProcessSlot {
    /// An empty slot, whose killer can be passed to the servers that its process will connect to.
    pub fn empty() -> Self {
        let (orders, waiting) = mpsc::channel(16);
        Self(Arc::new(Inner {
            orders,
            waiting: Mutex::new(Some(waiting)),
            address: watch::Sender::new(None),
            lives: AtomicU32::new(0),
            logs: Mutex::default(),
            surprises: Mutex::default(),
            running: Mutex::default(),
        }))
    }

    pub fn killer(&self) -> Killer {
        let slot = Arc::downgrade(&self.0);
        Arc::new(move || {
            let slot = slot.upgrade().map(ProcessSlot);
            Box::pin(async move {
                if let Some(slot) = slot {
                    slot.kill().await;
                }
            })
        })
    }

    /// Starts the process.
    pub fn run(&self, role: Role) {
        let orders = lock(&self.0.waiting).take().expect("a slot is filled once");
        let inner = Arc::downgrade(&self.0);
        let running = tokio::spawn(async move {
            let mut orders = orders;
            while let Some(inner) = inner.upgrade() {
                let life = inner.lives.fetch_add(1, Ordering::SeqCst);
                let mut command = command(["-c"]);
                command.arg(&role.configuration);
                for setting in &role.settings {
                    command.args(["--set", setting]);
                }
                command.arg(role.role).envs(role.plant.map(|plant| ("DRIPFEED_PLANT", plant)));
                let process = Process::spawn(&format!("{}, life {life}", role.name), command);
                lock(&inner.logs).push(process.whole_log());
                live(&inner, process, &mut orders).await;
                inner.address.send_replace(None);
            }
        });
        *lock(&self.0.running) = Some(AbortOnDropHandle::new(running));
    }

    /// Ends the process permanently.
    pub fn empty_out(&self) {
        lock(&self.0.running).take();
        self.0.address.send_replace(None);
    }

    /// Kills the process (SIGKILL), and waits until it is dead.
    pub async fn kill(&self) {
        self.order(SlotCommand::Kill).await;
    }

    /// Suspends it (SIGSTOP).
    pub async fn pause(&self) {
        self.order(SlotCommand::Pause).await;
    }

    pub async fn resume(&self) {
        self.order(SlotCommand::Resume).await;
    }

    /// Asks the process to stop (SIGTERM), and waits for its end.
    pub async fn terminate(&self) {
        self.order(SlotCommand::Terminate).await;
    }

    async fn order(&self, command: SlotCommand) {
        let (done, seen) = oneshot::channel();
        if self.0.orders.send((command, done)).await.is_ok() {
            // An emptied slot ignores commands.
            seen.await.ok();
        }
    }

    /// A client of the current process; `None` while it doesn't listen.
    pub fn client(&self) -> Option<Client> {
        self.0.address.borrow().map(Client::to)
    }

    /// The address of the current process.
    pub fn address(&self) -> watch::Receiver<Option<SocketAddr>> {
        self.0.address.subscribe()
    }

    /// Waits until the process is ready.
    pub async fn ready(&self) {
        let begun = Instant::now();
        loop {
            let ready = match self.client() {
                Some(client) => client.get("/readyz").await.is_ok_and(|answer| answer.status == 200),
                None => false,
            };
            if ready {
                return;
            }
            let log = || self.logs().last().map(Log::end).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "it doesn't get ready; the end of its log:\n{}", log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The number of processes so far.
    pub fn lives(&self) -> u32 {
        self.0.lives.load(Ordering::SeqCst)
    }

    /// The logs of all processes.
    pub fn logs(&self) -> Vec<Log> {
        lock(&self.0.logs).clone()
    }

    pub fn surprises(&self) -> Vec<String> {
        lock(&self.0.surprises).clone()
    }
}

/// Runs a process until it ends. Publishes its address when it listens.
async fn live(inner: &Inner, mut process: Process, orders: &mut mpsc::Receiver<Order>) {
    let mut listening = process.address();
    let begun = Instant::now();
    let mut farewell: Option<oneshot::Sender<()>> = None;
    let mut silent = false;
    loop {
        tokio::select! {
            status = process.gone() => {
                record_end(inner, &process, status, farewell.is_some());
                drop(farewell);
                if begun.elapsed() < PAUSE {
                    tokio::time::sleep(PAUSE).await;
                }
                return;
            }
            changed = listening.changed(), if !silent => {
                silent = changed.is_err();
                inner.address.send_replace(*listening.borrow());
            }
            Some((command, done)) = orders.recv() => match command {
                SlotCommand::Kill => {
                    inner.address.send_replace(None);
                    process.kill().await;
                    done.send(()).ok();
                    return;
                }
                SlotCommand::Pause => {
                    process.pause();
                    done.send(()).ok();
                }
                SlotCommand::Resume => {
                    process.resume();
                    done.send(()).ok();
                }
                SlotCommand::Terminate => {
                    process.terminate();
                    farewell = Some(done);
                }
            }
        }
    }
}

fn record_end(inner: &Inner, process: &Process, status: ExitStatus, requested: bool) {
    if !requested || !status.success() {
        lock(&inner.surprises).push(format!("ended with {status}; its log:\n{}", process.whole_log().end()));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
