//! What goes wrong, as a gRPC status. Internal texts stay inside.

use std::error::Error;

use dripfeed_limit::{LimitError, RegistryError};
use dripfeed_store::ErrorKind;
use tonic::Status;

pub(crate) fn refusal(error: &RegistryError) -> Status {
    match error {
        RegistryError::Unread => Status::unavailable("Redis has told no rules of services yet; ask again later"),
        RegistryError::Closed => Status::unavailable("this intake is stopping; another one will answer"),
        RegistryError::ManyServices(_) | RegistryError::ManyBytes(_) => {
            Status::resource_exhausted(format!("{error}: delete some first"))
        }
        RegistryError::Store(store) if store.kind() == ErrorKind::Full => {
            Status::resource_exhausted("Redis has no memory left; nothing was stored")
        }
        RegistryError::Store(store) => {
            if !store.is_transient() {
                tracing::error!(error = error as &dyn Error, "Redis can't do what a call needs");
            }
            Status::unavailable("Redis can't serve this now; send it again later")
        }
        RegistryError::Limit(LimitError::Unavailable { .. }) => {
            Status::unavailable("whether this may pass can't be told without Redis; ask again later")
        }
        RegistryError::Limit(_) => {
            tracing::error!(error = error as &dyn Error, "a check can't be answered");
            Status::internal("the log of this intake tells more")
        }
    }
}
