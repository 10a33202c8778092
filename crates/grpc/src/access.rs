//! Authorization: the same keys and scopes as over HTTP, in the metadata.

use std::sync::Arc;

use dripfeed_auth::{ApiKeys, Caller, Scope};
use dripfeed_limit::ServiceName;
use http::HeaderMap;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::refusal::unread_key;

#[derive(Clone, Debug)]
pub(crate) struct Access(Arc<ApiKeys>);

impl Access {
    pub(crate) const fn new(keys: Arc<ApiKeys>) -> Self {
        Self(keys)
    }

    /// Authorizes a caller for a service.
    pub(crate) async fn allow(
        &self,
        metadata: &MetadataMap,
        scope: Scope,
        name: &str,
    ) -> Result<(Caller, ServiceName), Status> {
        let caller = self.caller(metadata.as_ref(), scope).await?;
        // Checked before the lookup: a caller without access doesn't learn whether the service exists.
        if !caller.may_use_service(name) {
            return Err(Status::permission_denied("this key has no access to this service"));
        }
        let name = name.parse().map_err(|_| unknown_service())?;
        Ok((caller, name))
    }

    /// Authorizes the caller of a request with these header fields.
    pub(crate) async fn caller(&self, headers: &HeaderMap, scope: Scope) -> Result<Caller, Status> {
        let unknown = || Status::unauthenticated("send a valid key as `authorization: Bearer …`");
        let caller = self.0.authenticate(headers).await.map_err(|error| unread_key(&error))?.ok_or_else(unknown)?;
        if !caller.may(scope) {
            return Err(Status::new(Code::PermissionDenied, format!("this key lacks the scope `{}`", scope.as_str())));
        }
        Ok(caller)
    }
}

pub(crate) fn unknown_service() -> Status {
    Status::not_found("no service with this name is registered; register it first")
}
