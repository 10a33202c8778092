//! Limits the connections from one address, so that no client can use all of them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Counts the connections by client.
#[derive(Debug)]
pub(crate) struct AddressLimit {
    most: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl AddressLimit {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    /// Returns `None` if the client is at the limit.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<AddressPermit> {
        let client = client_of(address);
        let mut all = self.open.lock();
        let open = all.entry(client).or_default();
        if *open >= self.most {
            return None;
        }
        *open += 1;
        Some(AddressPermit { open: Arc::clone(&self.open), client })
    }
}

/// For IPv6 the network of 64 bits, because that is what a subscriber has.
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Counts as one connection until it is dropped.
#[derive(Debug)]
pub(crate) struct AddressPermit {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    client: IpAddr,
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut all = self.open.lock();
        if let Some(open) = all.get_mut(&self.client) {
            *open -= 1;
            if *open == 0 {
                all.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn connections_of_each_client_are_limited() {
        let limit = AddressLimit::new(2);
        let enter = |address: &str| limit.enter(address.parse().unwrap());
        let first = [enter("192.0.2.1"), enter("::ffff:192.0.2.1")];
        assert!(first.iter().all(Option::is_some) && enter("192.0.2.1").is_none());
        let other = [enter("192.0.2.2"), enter("2001:db8::1"), enter("2001:db8::2")];
        assert!(other.iter().all(Option::is_some) && enter("2001:db8::3").is_none());
        assert!(enter("2001:db8:0:1::1").is_some());
        drop(first);
        assert!(enter("192.0.2.1").is_some());
        drop(other);
        assert!(limit.open.lock().is_empty(), "a client without a connection is forgotten");
    }
}
