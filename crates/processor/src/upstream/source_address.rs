//! Whether this machine has an address from which another one can be reached. Without one, as for IPv6 where it is
//! turned off, Linux answers a connection with the error that it has for a lack of ports (`EADDRNOTAVAIL`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use http::Uri;
use nix::errno::Errno;
use thiserror::Error;
use tower::{BoxError, Service, ServiceExt as _};

#[derive(Debug, Error)]
#[error("this machine has no address from which {0} can be reached; enable IPv6, or use another address")]
pub(super) struct NoSourceAddress(pub(super) String);

/// Connecting a UDP socket sends nothing, and needs no port of those that TCP connections have.
pub(super) fn has_source_for(to: IpAddr) -> bool {
    let any: IpAddr = match to {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    const ANY_PORT: u16 = 9;
    let connected = UdpSocket::bind((any, 0)).and_then(|socket| socket.connect((to, ANY_PORT)));
    !connected.is_err_and(|error| error.raw_os_error() == Some(Errno::EADDRNOTAVAIL as i32))
}

/// Connects to a host. Names are resolved to addresses that have a source; an address in the URL is looked at where the
/// connection fails.
pub(super) async fn connect<T>(tcp: T, to: Uri) -> Result<T::Response, BoxError>
where
    T: Service<Uri, Error: Into<BoxError>>,
{
    let address = to.host().and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok());
    tcp.oneshot(to).await.map_err(|error| match address {
        Some(address) if !has_source_for(address) => NoSourceAddress(address.to_string()).into(),
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_reaches_itself() {
        assert!(has_source_for(Ipv4Addr::LOCALHOST.into()));
    }
}
