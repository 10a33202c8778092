//! Looks up names of upstreams, each once at a time. While a name server is silent, a lookup keeps one of the process's
//! threads for as long as the resolver waits, also when nobody waits for it any more; and all buckets share those
//! threads.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use parking_lot::Mutex;
use tower::Service as _;

use crate::local_shortage::{is_local_shortage, shortage_of_files, shortage_of_threads};

/// The lookups of all upstreams that are on their way. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Names(Arc<Mutex<HashMap<Name, Pending>>>);

type Pending = Shared<BoxFuture<'static, Result<Vec<SocketAddr>, Arc<io::Error>>>>;

impl Names {
    /// The addresses of a name.
    pub(super) async fn look_up(&self, name: &Name) -> io::Result<Vec<SocketAddr>> {
        let pending = self.0.lock().entry(name.clone()).or_insert_with(|| self.begin(name.clone())).clone();
        pending.await.map_err(|error| of_one(&error))
    }

    /// From now on, whatever the resolver would find.
    #[cfg(test)]
    pub(super) fn know(&self, name: Name, found: Vec<SocketAddr>) {
        self.0.lock().insert(name, async { Ok(found) }.boxed().shared());
    }

    /// It goes on when nobody waits for it any more: who comes then waits for it, too.
    fn begin(&self, name: Name) -> Pending {
        let names = self.clone();
        let lookup = tokio::spawn(async move {
            let found = look_up(&name).await;
            names.0.lock().remove(&name);
            found.map_err(Arc::new)
        });
        async move { lookup.await.unwrap_or_else(|error| Err(Arc::new(io::Error::other(error)))) }.boxed().shared()
    }
}

/// An error that several wait for.
fn of_one(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// A name that can't be looked up for want of files looks like one that doesn't exist. When there are files again by
/// the time this is looked at, the name is looked up once more.
pub(super) async fn look_up(name: &Name) -> io::Result<Vec<SocketAddr>> {
    for _ in 0..2 {
        match resolve(name).await {
            Err(error) if !is_local_shortage(&error) => {}
            ended => return ended,
        }
        if let Some(shortage) = shortage_of_files() {
            return Err(shortage);
        }
    }
    resolve(name).await
}

/// A lookup has a thread, and panics where the system gives it none.
async fn resolve(name: &Name) -> io::Result<Vec<SocketAddr>> {
    let resolved = async { GaiResolver::new().call(name.clone()).await.map(Iterator::collect) };
    AssertUnwindSafe(resolved).catch_unwind().await.unwrap_or_else(|_| Err(shortage_of_threads()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[tokio::test]
    async fn a_name_is_looked_up_once_for_all_who_ask_meanwhile() {
        let (names, name) = (Names::default(), "localhost".parse::<Name>().unwrap());
        let on_its_way = || names.0.lock().get(&name).map(|pending| pending.strong_count().unwrap_or_default());
        let many: Vec<_> = (0..100).map(|_| Box::pin(names.look_up(&name))).collect();
        let many: Vec<_> = many
            .into_iter()
            .map(|mut asking| {
                assert!((&mut asking).now_or_never().is_none());
                asking
            })
            .collect();
        assert!(on_its_way() >= Some(100), "{:?}", on_its_way());
        // One that leaves takes nothing from the others.
        let mut many = many.into_iter();
        drop(many.next());
        for asking in many {
            assert!(!asking.await.unwrap().is_empty());
        }
        assert_eq!(on_its_way(), None, "it is asked about again later");
    }

    #[tokio::test]
    async fn what_a_lookup_fails_by_is_known_to_all_who_wait() {
        let names = Names::default();
        let unknown = "name.invalid".parse::<Name>().unwrap();
        let (one, other) = tokio::join!(names.look_up(&unknown), names.look_up(&unknown));
        assert_eq!(one.unwrap_err().to_string(), other.unwrap_err().to_string());
    }
}
