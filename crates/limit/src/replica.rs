//! What a replica decides on its own: calls leased ahead, counts reported later, known refusals, and all while Redis is
//! away.

pub(crate) mod async_counter;
pub(crate) mod leased;
pub(crate) mod outage;
pub(crate) mod refusal_cache;
