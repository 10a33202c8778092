//! Who calls, and whether they may: the same keys and scopes as over HTTP, shown in the metadata.

use std::sync::Arc;

use dripfeed_intake::{Caller, Keys, Scope};
use dripfeed_limit::ServiceName;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

#[derive(Clone, Debug)]
pub(crate) struct Access(Arc<Keys>);

impl Access {
    pub(crate) const fn new(keys: Arc<Keys>) -> Self {
        Self(keys)
    }

    /// A caller who may do this to the service of that name.
    pub(crate) fn allow(&self, shown: &MetadataMap, scope: Scope, name: &str) -> Result<(Caller, ServiceName), Status> {
        let unknown = || Status::unauthenticated("send a valid key as `authorization: Bearer …`");
        let caller = self.0.caller(shown.as_ref()).ok_or_else(unknown)?;
        if !caller.may(scope) {
            return Err(Status::new(Code::PermissionDenied, format!("this key lacks the scope `{}`", scope.as_str())));
        }
        // Asked first: who may not use a service doesn't learn whether it exists.
        if !caller.may_use_service(name) {
            return Err(Status::permission_denied("this key is not for this service"));
        }
        let name = name.parse().map_err(|_| unknown_service())?;
        Ok((caller, name))
    }
}

pub(crate) fn unknown_service() -> Status {
    Status::not_found("no service of this name is registered; register it first")
}
