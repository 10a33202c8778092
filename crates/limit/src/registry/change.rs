//! A change of a service's rules, which is recorded in the audit log together with it.

use dripfeed_job::audit_text;
use dripfeed_store::Call;
use serde_json::Value as Json;

use super::audit::MOST_ENTRIES;
use super::error::RegistryError;
use super::keys::RegistryKeys;
use super::name::ServiceName;
use super::rules::Rules;
use super::{Services, delete, put};

/// How often a change is tried while other intakes change the same rules.
const TRIES: usize = 10;

pub(super) struct Change<'c> {
    pub(super) service: &'c ServiceName,
    /// The text of the rules that it replaces, empty for none. `None`: whatever it has.
    pub(super) known: Option<&'c str>,
    /// `None`: the service is removed.
    pub(super) new: Option<&'c Rules>,
    /// The id of the acting key.
    pub(super) by: Option<&'c str>,
}

impl Change<'_> {
    fn call(&self, keys: &RegistryKeys, known: &str) -> Call<'static> {
        let mut call = match self.new {
            None => delete::call(keys, self.service, known),
            Some(rules) => put::call(keys, self.service, known, rules),
        };
        call.arg(MOST_ENTRIES).arg(self.by.unwrap_or_default()).arg(self.action(known)).arg(self.details(known));
        call
    }

    const fn action(&self, known: &str) -> &'static str {
        match self.new {
            None => "delete",
            Some(_) if known.is_empty() => "create",
            Some(_) => "change",
        }
    }

    /// From what to what, in as many texts as are needed.
    fn details(&self, known: &str) -> Vec<String> {
        let before = serde_json::from_str::<Json>(known).unwrap_or_default();
        let after = self.new.map_or(&Json::Null, Rules::document);
        if before == *after {
            return vec!["as before".to_owned()];
        }
        audit_text::joined(audit_text::change("policies", &before["policies"], &after["policies"]))
    }

    fn log(&self, known: &str) {
        let (service, key, action) = (self.service, self.by, self.action(known));
        self.details(known).iter().for_each(|detail| tracing::info!(%service, key, action, detail, "audit"));
    }
}

impl Services {
    /// Makes the change in Redis, and applies it at this intake before it returns. Returns false, and changes nothing,
    /// if the service has other rules than known.
    ///
    /// # Errors
    /// When Redis can't be asked, there is no room, or others change the same rules all the time.
    pub(super) async fn change(&self, change: &Change<'_>) -> Result<bool, RegistryError> {
        let shared = &self.0;
        let mut heartbeat = shared.heartbeat.lock().await;
        let heartbeat = heartbeat.as_mut().ok_or(RegistryError::Closed)?;
        // Known only now that no other change is made here.
        let mut known = change.known.map_or_else(|| self.known_text(change.service), str::to_owned);
        for _ in 0..TRIES {
            let reply: Vec<String> = shared.store.run_durably(&change.call(&shared.keys, &known)).await?;
            match reply.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["changed", current] if change.known.is_none() => known = current.to_owned(),
                ["changed", _] | ["none"] => return Ok(false),
                ["many services"] => return Err(RegistryError::ManyServices(put::MOST_SERVICES)),
                ["many bytes"] => return Err(RegistryError::ManyBytes(put::MOST_BYTES)),
                _ => {
                    change.log(&known);
                    shared.learn(heartbeat).await;
                    return Ok(true);
                }
            }
        }
        Err(RegistryError::Contended)
    }

    /// The text of the rules that this intake knows. Empty if it knows none.
    fn known_text(&self, name: &ServiceName) -> String {
        let known = self.0.known_services.find(name).ok().flatten();
        known.map_or_else(String::new, |service| service.rules.text.clone())
    }
}
