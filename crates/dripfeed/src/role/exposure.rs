//! Warns about an intake without API keys that other machines can reach.

use std::net::SocketAddr;

/// `public_address`: an address that other machines can reach.
pub(super) fn warn(public_address: Option<SocketAddr>, has_keys: bool) {
    if let Some(address) = unprotected(public_address, has_keys) {
        tracing::warn!(
            %address,
            "no [[keys]] are configured: anyone who can reach the intake may submit, read, change and purge everything"
        );
    }
}

fn unprotected(public_address: Option<SocketAddr>, has_keys: bool) -> Option<SocketAddr> {
    public_address.filter(|_| !has_keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_intake_is_warned_of() {
        let everywhere = "0.0.0.0:7180".parse().ok();
        assert_eq!(unprotected(everywhere, false), everywhere);
        assert_eq!((unprotected(everywhere, true), unprotected(None, false)), (None, None));
    }
}
