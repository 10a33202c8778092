//! What `dripfeed check --connect` looks at: the Redis servers, the layout of the keys, and each bucket. All that can
//! be seen is reported.

use dripfeed_bucket::Bucket;
use dripfeed_job::{BucketName, counted};
use dripfeed_store::{Durability, Store, installed_layout};

use super::level::{Unusable, level};
use super::server::look_at_server;
use crate::command::doctor::partial::PartialStore;
use crate::exit::{Exit, Failure};
use crate::memory;
use crate::output;
use crate::permissions::{self, RULES, UNASKED};
use crate::settings::{ConfiguredBucket, Settings};

pub(super) struct RedisCheck<'s> {
    settings: &'s Settings,
    partial: PartialStore,
    /// As a role that the ACL stops, and as one that is configured wrong.
    denials: usize,
    errors: usize,
    /// Servers that refuse writes.
    refusing: usize,
    /// The class that all servers give.
    durability: Durability,
    /// Of each server. None: not known of all.
    max_memory: Option<Vec<u64>>,
    /// Whether Redis says what its ACL permits.
    can_be_asked: bool,
}

impl<'s> RedisCheck<'s> {
    pub(super) async fn run(settings: &'s Settings) -> Result<(), Failure> {
        let partial = PartialStore::connect(&settings.redis).await?;
        for why in &partial.away {
            output::line(format!("error: {why}"))?;
        }
        let mut check = Self {
            settings,
            partial,
            denials: 0,
            errors: 0,
            refusing: 0,
            durability: settings.redis.durability,
            max_memory: Some(Vec::new()),
            can_be_asked: true,
        };
        for master in check.partial.store.masters() {
            check.look_at_master(&master).await?;
        }
        check.look_at_layout().await?;
        for (name, bucket) in &settings.buckets {
            check.look_at_bucket(name, bucket).await?;
        }
        check.verdict()
    }

    async fn look_at_master(&mut self, master: &Store) -> Result<(), Failure> {
        let looked = unless_denied(look_at_server(master, self.settings.redis.durability).await);
        match self.partial.unless_away(looked)? {
            Ok(Ok(looked)) => {
                self.errors += looked.errors;
                self.refusing += usize::from(looked.refuses_writes);
                self.durability = self.durability.min(looked.durability);
                self.max_memory.iter_mut().for_each(|servers| servers.push(looked.max_memory));
            }
            Ok(Err(denied)) => {
                self.denials += report(&denied)?;
                self.max_memory = None;
            }
            // Reported before.
            Err(_) => self.max_memory = None,
        }
        Ok(())
    }

    async fn look_at_layout(&mut self) -> Result<(), Failure> {
        let store = &self.partial.store;
        let layout = unless_denied(installed_layout(store).await.map_err(Failure::from));
        match self.partial.unless_away(layout)? {
            Ok(Ok(Some(layout))) => {
                output::line(format!("keys with the prefix `{}` have layout {layout}", store.prefix()))?;
            }
            Ok(Ok(None)) => {
                output::line(format!("no intake or processor has run with the prefix `{}` yet", store.prefix()))?;
            }
            Ok(Err(denied)) => self.denials += report(&denied)?,
            Err(why) => output::line(format!("error: layout of the keys: {why}"))?,
        }
        Ok(())
    }

    async fn look_at_bucket(&mut self, name: &BucketName, bucket: &ConfiguredBucket) -> Result<(), Failure> {
        let (partial, prefix) = (&self.partial, self.partial.store.prefix());
        let away = |why: String| output::line(format!("error: bucket {name}: {why}"));
        let bucket = Bucket::new(partial.store.clone(), bucket.settings(self.settings.redis.durability));
        let mut denied = match partial.unless_away(bucket.denied().await)? {
            Ok(denied) => denied,
            Err(why) => return Ok(away(why)?),
        };
        self.can_be_asked &= denied.is_some();
        if let Some(dispensable) = denied.take_if(|denied| permissions::are_dispensable(denied)) {
            let report = permissions::report(&dispensable, prefix);
            output::line(format!("warning: bucket {name}: {}: {report}", permissions::NOTICED_LATER))?;
            denied = Some(Vec::new());
        }
        match partial.unless_away(level(&bucket, denied, prefix).await)? {
            Ok(Ok(level)) => output::line(format!("bucket {name}: {level}"))?,
            Ok(Err(Unusable::Denied(why))) => self.denials += report(&format!("bucket {name}: {why}"))?,
            Ok(Err(Unusable::OtherKind(why))) => self.errors += report(&format!("bucket {name}: {why}"))?,
            Err(why) => away(why)?,
        }
        Ok(())
    }

    fn verdict(self) -> Result<(), Failure> {
        if !self.can_be_asked {
            output::line(format!("warning: {UNASKED}"))?;
        }
        if let Some(shortfall) = self.max_memory.and_then(|servers| memory::shortfall(self.settings, &servers)) {
            output::line(format!("warning: {shortfall}"))?;
        }
        let exit = match (self.errors, self.denials) {
            (0, 0) => {
                self.partial.verdict()?;
                if self.refusing > 0 {
                    let why = "Redis refuses writes now: nothing is accepted or delivered";
                    return Err(Failure::new(Exit::RefusedForNow, why));
                }
                return Ok(output::line(format!("durability class of accepted jobs: {}", self.durability))?);
            }
            (0, _) => Exit::NotAllowed,
            _ => Exit::Configuration,
        };
        let errors = counted((self.errors + self.denials) as u64, "error");
        Err(Failure::new(exit, format!("Redis can't be used as configured, {errors}")))
    }
}

/// One error.
fn report(what: &str) -> Result<usize, Failure> {
    output::line(format!("error: {what}"))?;
    Ok(1)
}

/// What the ACL denies doesn't end the check: there may be more.
fn unless_denied<T>(answer: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match answer {
        Err(failure) if failure.exit == Exit::NotAllowed => {
            Ok(Err(format!("{failure}: grant the Redis user the rules of {RULES}")))
        }
        answer => answer.map(Ok),
    }
}
