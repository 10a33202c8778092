//! `dripfeed check --connect`: checks the Redis servers, the layout of the keys, and each bucket. Goes on after an
//! error, to report all of them.

use dripfeed_bucket::Bucket;
use dripfeed_job::{BucketName, pluralize};
use dripfeed_store::{Durability, Store, installed_layout};

use super::level::{Unusable, level};
use super::server::check_server;
use crate::command::doctor::partial_store::PartialStore;
use crate::exit::{Exit, Failure};
use crate::memory;
use crate::output;
use crate::permissions::{self, RULES, UNASKED};
use crate::settings::{ConfiguredBucket, Settings};

pub(super) struct RedisCheck<'s> {
    settings: &'s Settings,
    partial: PartialStore,
    /// The number of errors because the ACL denies something, which have another exit code.
    denials: usize,
    /// The number of other errors.
    errors: usize,
    /// The number of servers that refuse writes.
    refusing: usize,
    /// The lowest durability class of all servers.
    durability: Durability,
    /// `maxmemory` of each server. `None` if it isn't known of all.
    max_memory: Option<Vec<u64>>,
    /// Whether the Redis user may run `ACL DRYRUN`.
    can_dry_run: bool,
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
            can_dry_run: true,
        };
        for master in check.partial.store.masters() {
            check.check_master(&master).await?;
        }
        check.check_layout().await?;
        for (name, bucket) in &settings.buckets {
            check.check_bucket(name, bucket).await?;
        }
        check.verdict()
    }

    async fn check_master(&mut self, master: &Store) -> Result<(), Failure> {
        let checked = unless_denied(check_server(master, self.settings.redis.durability).await);
        match self.partial.unless_away(checked)? {
            Ok(Ok(server)) => {
                self.errors += server.errors;
                self.refusing += usize::from(server.refuses_writes);
                self.durability = self.durability.min(server.durability);
                self.max_memory.iter_mut().for_each(|servers| servers.push(server.max_memory));
            }
            Ok(Err(denied)) => {
                self.denials += report(&denied)?;
                self.max_memory = None;
            }
            // That the server is unreachable was reported before.
            Err(_) => self.max_memory = None,
        }
        Ok(())
    }

    async fn check_layout(&mut self) -> Result<(), Failure> {
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

    async fn check_bucket(&mut self, name: &BucketName, bucket: &ConfiguredBucket) -> Result<(), Failure> {
        let (partial, prefix) = (&self.partial, self.partial.store.prefix());
        let report_away = |why: String| output::line(format!("error: bucket {name}: {why}"));
        let bucket = Bucket::new(partial.store.clone(), bucket.settings(self.settings.redis.durability));
        let mut denied = match partial.unless_away(bucket.denied().await)? {
            Ok(denied) => denied,
            Err(why) => return Ok(report_away(why)?),
        };
        self.can_dry_run &= denied.is_some();
        if let Some(dispensable) = denied.take_if(|denied| permissions::are_dispensable(denied)) {
            let report = permissions::report(&dispensable, prefix);
            output::line(format!("warning: bucket {name}: {}: {report}", permissions::NOTICED_LATER))?;
            denied = Some(Vec::new());
        }
        match partial.unless_away(level(&bucket, denied, prefix).await)? {
            Ok(Ok(level)) => output::line(format!("bucket {name}: {level}"))?,
            Ok(Err(Unusable::Denied(why))) => self.denials += report(&format!("bucket {name}: {why}"))?,
            Ok(Err(Unusable::OtherKind(why))) => self.errors += report(&format!("bucket {name}: {why}"))?,
            Err(why) => report_away(why)?,
        }
        Ok(())
    }

    fn verdict(self) -> Result<(), Failure> {
        if !self.can_dry_run {
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
        let errors = pluralize((self.errors + self.denials) as u64, "error");
        Err(Failure::new(exit, format!("Redis can't be used as configured, {errors}")))
    }
}

/// Prints an error, and returns 1 to count it.
fn report(what: &str) -> Result<usize, Failure> {
    output::line(format!("error: {what}"))?;
    Ok(1)
}

/// Moves a denial of the ACL into the inner result, so that the check goes on.
fn unless_denied<T>(result: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match result {
        Err(failure) if failure.exit == Exit::NotAllowed => {
            Ok(Err(format!("{failure}: grant the Redis user the rules of {RULES}")))
        }
        result => result.map(Ok),
    }
}
