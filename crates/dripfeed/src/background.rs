//! Tasks beside the work of the process.

use std::fmt;

use dripfeed_store::keep_running;
use futures::FutureExt as _;
use tokio::task::JoinHandle;

/// Spawns a task. The compiler makes tokio's code around a task again for each type of future, which takes it longer
/// than most of these tasks: so they have one type.
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task.boxed())
}

/// The same of one that must last: it begins again after a panic.
pub(crate) fn keep<F>(name: impl fmt::Display + Send + 'static, mut task: impl FnMut() -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    spawn(keep_running(name, move || task().boxed()));
}
