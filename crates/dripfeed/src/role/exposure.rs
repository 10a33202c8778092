//! Warns about an intake that is reachable by others and has no keys.

use std::net::SocketAddr;

/// At the start. `open_to_others`: where others reach it.
pub(super) fn warn(open_to_others: Option<SocketAddr>, has_keys: bool) {
    if let Some(address) = without_keys(open_to_others, has_keys) {
        tracing::warn!(
            %address,
            "no [[keys]] are configured: anyone who can reach the intake may submit, read, change and purge everything"
        );
    }
}

/// None: keys are asked for, or only this machine reaches the intake.
fn without_keys(open_to_others: Option<SocketAddr>, has_keys: bool) -> Option<SocketAddr> {
    open_to_others.filter(|_| !has_keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_intake_is_warned_of() {
        let everywhere = "0.0.0.0:7180".parse().ok();
        assert_eq!(without_keys(everywhere, false), everywhere);
        assert_eq!((without_keys(everywhere, true), without_keys(None, false)), (None, None));
    }
}
