//! The consumer name of a replica in Redis.

use std::process;
use std::sync::Arc;

use dripfeed_bucket::Consumer;

/// The prefix of the consumer names of a process.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerName(Arc<str>);

impl ConsumerName {
    /// The configured name, or else host name and process id.
    pub(crate) fn new(configured: Option<&str>) -> Self {
        Self(configured.map_or_else(|| host_and_process().into(), Arc::from))
    }

    /// A consumer name that no replica had before, so that a replica isn't confused with the dead one that it replaces,
    /// nor with one of another process that is configured with the same name.
    pub(crate) fn new_consumer(&self) -> Consumer {
        let random: String = std::iter::repeat_with(|| fastrand::char('a'..='z')).take(10).collect();
        Consumer::new(format!("{}-{random}", self.0))
    }
}

fn host_and_process() -> String {
    let host = nix::unistd::gethostname().ok().and_then(|host| host.into_string().ok());
    format!("{}-{}", host.unwrap_or_else(|| "unknown".to_owned()), process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_life_has_a_name_of_its_own() {
        let name = ConsumerName::new(Some("east"));
        let (first, second) = (name.new_consumer(), name.new_consumer());
        assert!(first.as_str().starts_with("east-"));
        assert_ne!(first, second);
        assert!(ConsumerName::new(None).new_consumer().as_str().contains(&process::id().to_string()));
    }
}
