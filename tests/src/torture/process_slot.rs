//! A place for one process of a run. Anyone who ends there is followed by a new one at once, as a service manager would
//! do.

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

/// Before one that ended on its own is followed by the next.
const PAUSE: Duration = Duration::from_millis(100);
/// For a process to be ready: far more than it takes.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotCommand {
    Kill,
    Pause,
    Resume,
    Terminate,
}

type Order = (SlotCommand, oneshot::Sender<()>);

/// How to start what runs in a slot.
pub struct Role {
    pub name: String,
    pub configuration: PathBuf,
    /// `intake` or `processor`.
    pub role: &'static str,
    /// As after `--set`.
    pub settings: Vec<String>,
    /// The bug to be in it, where it was built with bugs.
    pub plant: Option<&'static str>,
}

/// Cheap to clone; clones are the same slot.
#[derive(Clone)]
pub struct ProcessSlot(Arc<Inner>);

struct Inner {
    orders: mpsc::Sender<Order>,
    waiting: Mutex<Option<mpsc::Receiver<Order>>>,
    address: watch::Sender<Option<SocketAddr>>,
    lives: AtomicU32,
    logs: Mutex<Vec<Log>>,
    /// Ends that nobody asked for, and bad ends of those that were asked to end.
    surprises: Mutex<Vec<String>>,
    running: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl ProcessSlot {
    /// Empty still, so that what its process is to be connected to can be given the killer.
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

    /// Fills it.
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

    /// Ends for good.
    pub fn empty_out(&self) {
        lock(&self.0.running).take();
        self.0.address.send_replace(None);
    }

    /// As a crash would end it; done when it is dead.
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

    /// Asks it to end; done when it has ended.
    pub async fn terminate(&self) {
        self.order(SlotCommand::Terminate).await;
    }

    async fn order(&self, command: SlotCommand) {
        let (done, seen) = oneshot::channel();
        if self.0.orders.send((command, done)).await.is_ok() {
            // A slot that is emptied carries out nothing more.
            seen.await.ok();
        }
    }

    /// A caller of what runs there now; None while it doesn't listen.
    pub fn client(&self) -> Option<Client> {
        self.0.address.borrow().map(Client::to)
    }

    /// Where what runs there now listens.
    pub fn address(&self) -> watch::Receiver<Option<SocketAddr>> {
        self.0.address.subscribe()
    }

    /// Returns when it is ready to work.
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

    /// How many processes ran there so far.
    pub fn lives(&self) -> u32 {
        self.0.lives.load(Ordering::SeqCst)
    }

    /// Of all its lives.
    pub fn logs(&self) -> Vec<Log> {
        lock(&self.0.logs).clone()
    }

    pub fn surprises(&self) -> Vec<String> {
        lock(&self.0.surprises).clone()
    }
}

/// Until it ends; the process is published as soon as it listens.
async fn live(inner: &Inner, mut process: Process, orders: &mut mpsc::Receiver<Order>) {
    let mut listening = process.address();
    let begun = Instant::now();
    let mut farewell: Option<oneshot::Sender<()>> = None;
    let mut silent = false;
    loop {
        tokio::select! {
            status = process.gone() => {
                told_to_end(inner, &process, status, farewell.is_some());
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

fn told_to_end(inner: &Inner, process: &Process, status: ExitStatus, asked: bool) {
    if !asked || !status.success() {
        lock(&inner.surprises).push(format!("ended with {status}; its log:\n{}", process.whole_log().end()));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
