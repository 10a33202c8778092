//! Tasks beside the work of the process.

use futures::FutureExt as _;
use tokio::task::JoinHandle;

/// Spawns a task. The compiler makes tokio's code around a task again for each type of future, which takes it longer
/// than most of these tasks: so they have one type.
pub(crate) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task.boxed())
}
