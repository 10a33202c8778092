//! A change of a service's rules, which is recorded in the audit log together with it.

use dripfeed_job::audit_text;
use dripfeed_store::Call;
use serde_json::Value as Json;

use super::Services;
use super::audit::MOST_ENTRIES;
use super::error::RegistryError;
use super::name::ServiceName;
use super::rules::Rules;

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
    /// The call of its script for the rules that are replaced, without the arguments of record_rules.
    pub(super) call: &'c (dyn Fn(&str) -> Call<'static> + Sync),
}

impl Change<'_> {
    fn recorded_call(&self, known: &str) -> Call<'static> {
        let mut call = (self.call)(known);
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
    /// Makes the change in Redis, and applies it at this intake before it returns. Returns the word with which the
    /// script replied; if that is `changed`, the service has other rules than known, and keeps them.
    ///
    /// # Errors
    /// When Redis can't be asked, or others change the same rules all the time.
    pub(super) async fn change(&self, change: &Change<'_>) -> Result<String, RegistryError> {
        let shared = &self.0;
        let mut heartbeat = shared.heartbeat.lock().await;
        let heartbeat = heartbeat.as_mut().ok_or(RegistryError::Closed)?;
        // Known only now that no other change is made here.
        let mut known = change.known.map_or_else(|| self.known_text(change.service), str::to_owned);
        for _ in 0..TRIES {
            let reply: Vec<String> = shared.store.run_durably(&change.recorded_call(&known)).await?;
            let mut reply = reply.into_iter();
            let (word, current) = (reply.next().unwrap_or_default(), reply.next());
            match (word.as_str(), current) {
                ("changed", Some(current)) if change.known.is_none() => known = current,
                ("registered" | "deleted", _) => {
                    change.log(&known);
                    shared.learn(heartbeat).await;
                    return Ok(word);
                }
                _ => return Ok(word),
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
