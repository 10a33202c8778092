//! A waiting request.

use std::net::IpAddr;

/// The waiting caller: its key id, or its address where no keys are configured.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Waiter {
    Key(String),
    Address(Option<IpAddr>),
}

impl Waiter {
    #[must_use]
    pub fn new(caller: Option<&str>, address: Option<IpAddr>) -> Self {
        caller.map_or(Self::Address(address), |caller| Self::Key(caller.to_owned()))
    }
}
