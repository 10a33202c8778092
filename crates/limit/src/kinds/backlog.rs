//! `backlog`, with `backlog.lua`. It has no local rule, because the queue is in Redis.

use super::raw::{NO_LIMIT, Parsed, Raw, text_error};
use crate::policy::tier::Tier;
use crate::policy::wire::Packed;

pub(super) fn read(raw: &Raw) -> Parsed<Tier> {
    if raw.period.is_some() || raw.rate.is_some() {
        return Err("a backlog has no period".to_owned());
    }
    text_error(Tier::backlog(raw.limit.ok_or(NO_LIMIT)?))
}

pub(super) fn pack(packed: &mut Packed, tier: &Tier) {
    packed.number(tier.limit(), 7);
}
