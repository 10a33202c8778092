//! Whether this machine has a source address for a destination. If not, for example with IPv6 turned off, Linux refuses
//! a connection with the same error as when no port is free (`EADDRNOTAVAIL`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use nix::errno::Errno;
use thiserror::Error;

#[derive(Debug, Error)]
#[error("this machine has no address from which {0} can be reached; enable IPv6, or use another address")]
pub(super) struct NoSourceAddress(pub(super) String);

/// Connects a UDP socket: that sends nothing, and needs no TCP port.
pub(super) fn has_source_for(to: IpAddr) -> bool {
    let any: IpAddr = match to {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    const ANY_PORT: u16 = 9;
    let connected = UdpSocket::bind((any, 0)).and_then(|socket| socket.connect((to, ANY_PORT)));
    !connected.is_err_and(|error| error.raw_os_error() == Some(Errno::EADDRNOTAVAIL as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_reaches_itself() {
        assert!(has_source_for(Ipv4Addr::LOCALHOST.into()));
    }
}
