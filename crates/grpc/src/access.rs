//! Authorization with the same keys and scopes as over HTTP, in the request's metadata.

use std::net::IpAddr;
use std::sync::Arc;

use dripfeed_auth::{ApiKeys, Caller, CallerTurns, LOOKUPS, LimitedCaller, SUBMISSIONS, Scope, Turn};
use dripfeed_http::Peer;
use dripfeed_limit::{BadServiceName, ServiceName};
use http::{Extensions, HeaderMap};
use tonic::{Request, Status};

use crate::refusal::unread_key;

#[derive(Clone, Debug)]
pub(crate) struct Access {
    keys: Arc<ApiKeys>,
    checks: Arc<CallerTurns>,
    lookups: Arc<CallerTurns>,
}

impl Access {
    pub(crate) fn new(keys: Arc<ApiKeys>) -> Self {
        let [checks, lookups] = [SUBMISSIONS, LOOKUPS].map(|at_once| Arc::new(CallerTurns::new(at_once)));
        Self { keys, checks, lookups }
    }

    /// Waits for the turn of a check. As over HTTP, only a few checks of a caller call Redis at a time.
    pub(crate) async fn turn(&self, caller: &Caller, extensions: &Extensions) -> Turn {
        self.checks.take_one(waiter(caller, extensions)).await
    }

    /// Waits for the turn of a read of buckets or a change of rules.
    pub(crate) async fn lookup_turn(&self, waiter: LimitedCaller) -> Turn {
        self.lookups.take_one(waiter).await
    }

    /// Authorizes the caller of a request, which was authenticated by its head, for a service.
    pub(crate) fn allow<T>(
        &self,
        request: &Request<T>,
        scope: Scope,
        name: &str,
    ) -> Result<(Caller, ServiceName), Status> {
        let caller = request.extensions().get::<Caller>();
        // The key may have been revoked while the message was received.
        let caller = caller.filter(|caller| self.keys.is_current(caller)).ok_or_else(no_key)?;
        check_scope(caller, scope)?;
        // Checked before the lookup: a caller without access doesn't learn whether the service exists.
        if !caller.may_use_service(name) {
            return Err(Status::permission_denied("this key has no access to this service"));
        }
        let name = name.parse().map_err(|error: BadServiceName| Status::not_found(error.to_string()))?;
        Ok((caller.clone(), name))
    }

    /// Authenticates a request with these headers, and checks its scope.
    pub(crate) async fn caller(&self, headers: &HeaderMap, scope: Scope) -> Result<Caller, Status> {
        let caller = self.authenticate(headers).await?;
        check_scope(&caller, scope)?;
        Ok(caller)
    }

    /// Returns the caller, if this process already knows the key.
    pub(crate) fn known(&self, headers: &HeaderMap) -> Option<Caller> {
        self.keys.caller(headers)
    }

    pub(crate) async fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Status> {
        self.keys.authenticate(headers).await.map_err(|error| unread_key(&error))?.ok_or_else(no_key)
    }
}

fn no_key() -> Status {
    Status::unauthenticated("send a valid key as `authorization: Bearer …`")
}

fn check_scope(caller: &Caller, scope: Scope) -> Result<(), Status> {
    let lacks = || Status::permission_denied(format!("this key lacks the scope `{}`", scope.as_str()));
    caller.may(scope).then_some(()).ok_or_else(lacks)
}

/// Runs `work`, which calls Redis, to its end even if the caller cancels the call. So a caller can't have more calls to
/// Redis in flight than turns, and all charges are counted.
pub(crate) async fn in_turn<T: Send + 'static>(
    turn: Turn,
    work: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<T, Status> {
    turn.run(work).await.unwrap_or_else(|_| Err(panicked()))
}

/// Returns the status of a call that panicked, which the panic hook has logged.
pub(crate) fn panicked() -> Status {
    Status::internal("internal error; see the intake's log")
}

/// Returns the caller for the fair share of turns: identified by its key, or by its address if no keys are configured.
pub(crate) fn waiter(caller: &Caller, extensions: &Extensions) -> LimitedCaller {
    LimitedCaller::new(caller.id(), address(extensions))
}

pub(crate) fn address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<Peer>().map(|peer| peer.0.to_canonical())
}

pub(crate) fn unknown_service() -> Status {
    Status::not_found("no service with this name is registered; register it first")
}
