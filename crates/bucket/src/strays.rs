//! Strays: jobs that a living replica holds without knowing it, because the answer to a take was lost. Nobody takes a
//! job from a living replica, so it gives them back itself, before it takes again.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::core::Core;
use crate::error::BucketError;
use crate::scripts::{METER, NOW, RECORD, Scripts};

static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    Scripts::new("strays", |kind| {
        let own = [kind.entry, kind.consumers, kind.held];
        [&[NOW, METER, RECORD], &own[..], &[include_str!("strays.lua")]].concat()
    })
});

/// Given back in one call.
const MOST: usize = 500;

/// What a replica knows that it holds: the jobs whose claims live.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// A job that was parked and taken again may have two claims for a moment.
    claims: HashMap<Bytes, u32>,
    /// There may be others.
    doubt: bool,
}

/// Lives as long as the claim that it is part of.
#[derive(Debug)]
pub(crate) struct Hold {
    job: Bytes,
    held: Held,
}

impl Held {
    /// `job` as its kind names it: the id, or in a list the element.
    pub(crate) fn hold(&self, job: Bytes) -> Hold {
        *self.known().claims.entry(job.clone()).or_default() += 1;
        Hold { job, held: self.clone() }
    }

    pub(crate) fn doubt(&self) {
        self.known().doubt = true;
    }

    /// The jobs that are known, where there may be others.
    fn in_doubt(&self) -> Option<Vec<Bytes>> {
        let known = self.known();
        known.doubt.then(|| known.claims.keys().cloned().collect())
    }

    fn sure(&self) {
        self.known().doubt = false;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut known = self.held.known();
        if let Some(claims) = known.claims.get_mut(&self.job) {
            *claims -= 1;
            if *claims == 0 {
                known.claims.remove(&self.job);
            }
        }
    }
}

impl Core {
    /// Where there is doubt, gives back what `consumer` holds beyond `held`. `take` is the number of its last take.
    pub(crate) async fn give_back_strays(&self, consumer: &str, held: &Held, take: u64) -> Result<(), BucketError> {
        while let Some(known) = held.in_doubt() {
            let keys = &self.keys;
            let common = vec![keys.jobs(), keys.tally(), keys.replicas(), keys.takes()];
            let mut call = SCRIPTS.of(self.kind).on(&keys.and_held(common, consumer));
            call.arg(consumer).arg(take).arg(MOST);
            for job in known {
                call.arg(&job[..]);
            }
            let given_back: usize = self.store.run(&call).await?;
            if given_back < MOST {
                held.sure();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_known_as_long_as_one_of_its_claims_lives() {
        let (held, job) = (Held::default(), Bytes::from_static(b"1-0"));
        let (parked, again) = (held.hold(job.clone()), held.hold(job.clone()));
        assert_eq!(held.in_doubt(), None);
        held.doubt();
        drop(parked);
        assert_eq!(held.in_doubt(), Some(vec![job]));
        drop(again);
        assert_eq!(held.in_doubt(), Some(Vec::new()));
        held.sure();
        assert_eq!(held.in_doubt(), None);
    }
}
