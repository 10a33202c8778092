//! Resolves host names of upstreams, with one lookup of a name at a time. If a name server doesn't answer, a lookup
//! blocks a thread until the resolver's timeout, even if its caller has given up; and all buckets share these threads.

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

/// The pending lookups of all upstreams. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Names(Arc<Mutex<HashMap<Name, Pending>>>);

type Pending = Shared<BoxFuture<'static, Result<Vec<SocketAddr>, Arc<io::Error>>>>;

impl Names {
    /// The addresses of a name.
    pub(super) async fn look_up(&self, name: &Name) -> io::Result<Vec<SocketAddr>> {
        let pending = self.0.lock().entry(name.clone()).or_insert_with(|| self.begin(name.clone())).clone();
        pending.await.map_err(|error| copy_of(&error))
    }

    /// Makes lookups of a name return these addresses.
    #[cfg(test)]
    pub(super) fn know(&self, name: Name, addresses: Vec<SocketAddr>) {
        self.0.lock().insert(name, async { Ok(addresses) }.boxed().shared());
    }

    /// Spawned, so that the lookup goes on if its caller gives up: a later caller then waits for the same lookup.
    fn begin(&self, name: Name) -> Pending {
        let names = self.clone();
        let lookup = tokio::spawn(async move {
            let result = look_up(&name).await;
            names.0.lock().remove(&name);
            result.map_err(Arc::new)
        });
        async move { lookup.await.unwrap_or_else(|error| Err(Arc::new(io::Error::other(error)))) }.boxed().shared()
    }
}

/// An `io::Error` can't be cloned, but several callers wait for it.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Resolves a name. Without a free file descriptor the resolver reports that the name doesn't exist; so an error is
/// checked, and the lookup repeated if the shortage may be over by then.
pub(super) async fn look_up(name: &Name) -> io::Result<Vec<SocketAddr>> {
    for _ in 0..2 {
        match resolve(name).await {
            Err(error) if !is_local_shortage(&error) => {}
            result => return result,
        }
        if let Some(shortage) = shortage_of_files() {
            return Err(shortage);
        }
    }
    resolve(name).await
}

/// The resolver panics if the system can't start a thread for it.
async fn resolve(name: &Name) -> io::Result<Vec<SocketAddr>> {
    let lookup = async { GaiResolver::new().call(name.clone()).await.map(Iterator::collect) };
    AssertUnwindSafe(lookup).catch_unwind().await.unwrap_or_else(|_| Err(shortage_of_threads()))
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
