//! The consumer name of a replica in Redis.

use std::process;
use std::sync::Arc;

use dripfeed_bucket::Consumer;

/// What a process's replicas are called; each life of each of them adds its own ending.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerName(Arc<str>);

impl ConsumerName {
    /// The configured name, or the host's and the process's.
    pub(crate) fn new(configured: Option<&str>) -> Self {
        Self(configured.map_or_else(|| host_and_process().into(), Arc::from))
    }

    /// A name that no replica had before: one that was declared dead must not be taken for the one that comes after it,
    /// and neither may two processes that were given the same name.
    pub(crate) fn of_a_new_life(&self) -> Consumer {
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
        let (first, second) = (name.of_a_new_life(), name.of_a_new_life());
        assert!(first.as_str().starts_with("east-"));
        assert_ne!(first, second);
        assert!(ConsumerName::new(None).of_a_new_life().as_str().contains(&process::id().to_string()));
    }
}
