//! Valid bursts for a rate.

use dripfeed_job::Rate;
use dripfeed_limit::Tier;

/// Describes what is wrong with this rate and burst together. Returns `None` if they are valid.
pub(crate) fn fault(rate: Option<Rate>, burst: u64) -> Option<String> {
    if burst == 0 {
        return Some("a burst of 0 allows no calls: use at least 1".to_owned());
    }
    let rate = rate?;
    let most = Tier::most_burst(rate);
    (burst > most).then(|| format!("a burst of {burst} at {rate} can't be counted exactly: use at most {most}"))
}
