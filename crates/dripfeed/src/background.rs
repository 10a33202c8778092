//! Spawns background tasks.

use std::fmt;

use dripfeed_store::restart_on_panic;
use futures::FutureExt as _;
use tokio::task::JoinHandle;

/// Spawns a task. Boxes its future, so that tokio's code for tasks is compiled only once per result type.
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task.boxed())
}

/// Spawns a task that must not end: it is restarted after a panic.
pub(crate) fn spawn_restarting<F>(
    name: impl fmt::Display + Send + 'static,
    mut task: impl FnMut() -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    spawn(restart_on_panic(name, move || task().boxed()));
}
