//! Warns about an intake that is reachable by others and has no keys.

use std::net::SocketAddr;

/// What the log says at the start; nothing where keys are asked for, or only this machine reaches the intake.
/// `open_to_others`: where others reach it.
pub(super) fn warning(open_to_others: Option<SocketAddr>, has_keys: bool) -> Option<String> {
    let address = open_to_others.filter(|_| !has_keys)?;
    Some(format!(
        "no [[keys]] are configured: anyone who can reach {address} may submit, read, change and purge everything"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_intake_is_warned_of() {
        let everywhere = "0.0.0.0:7180".parse().ok();
        let warned = warning(everywhere, false);
        assert!(warned.is_some_and(|text| text.contains("anyone who can reach 0.0.0.0:7180")));
        assert_eq!((warning(everywhere, true), warning(None, false)), (None, None));
    }
}
