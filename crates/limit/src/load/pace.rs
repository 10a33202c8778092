use serde_json::Value as Json;

use super::{LoadError, LoadFault, join, tier};
use crate::policy::MOST_TIERS;
use crate::policy::tier::{Align, Tier, TierKind};

/// Together with the bucket's rate as many as a policy may have.
const MOST: usize = MOST_TIERS - 1;

pub(super) fn read(place: &str, items: Vec<Json>) -> Result<Vec<Tier>, LoadError> {
    if items.len() > MOST {
        let message = format!("{} tiers: use at most {MOST}", items.len());
        return Err(LoadError { faults: vec![LoadFault { place: place.to_owned(), message }] });
    }
    let (mut tiers, mut faults) = (Vec::new(), Vec::new());
    for (at, item) in items.into_iter().enumerate() {
        let below = |fault: LoadFault| LoadFault { place: join(&format!("{place}[{at}]"), &fault.place), ..fault };
        let whole = |message: String| vec![LoadFault { place: String::new(), message }];
        match tier(item).and_then(|tier| fit(tier).map_err(whole)) {
            Ok(tier) => tiers.push(tier),
            Err(found) => faults.extend(found.into_iter().map(below)),
        }
    }
    if faults.is_empty() { Ok(tiers) } else { Err(LoadError { faults }) }
}

fn fit(tier: Tier) -> Result<Tier, String> {
    let instead = match tier.kind() {
        TierKind::Fixed(Align::Epoch { spread: Some(_) }) => {
            return Err("`spread` is not supported in leak.tiers".to_owned());
        }
        TierKind::Bucket { .. } | TierKind::Gate | TierKind::Fixed(_) => return Ok(tier),
        TierKind::Sliding => "its estimate can exceed the limit; use bucket or fixed",
        TierKind::Log { .. } => "use bucket, which limits every window, or fixed",
        TierKind::Concurrent => "use leak.max_in_flight",
        TierKind::Backlog => "use the bucket's capacity",
    };
    Err(format!("the kind `{}` is not supported in leak.tiers: {instead}", tier.kind().as_str()))
}
