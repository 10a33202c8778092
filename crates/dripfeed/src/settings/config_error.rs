//! Errors of the configuration, one per line.

use std::fmt;

use dripfeed_job::pluralize;

/// An error: the origin and key of the setting, and what is wrong with it and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    /// A file, an environment variable or `--set`. `None` for a missing setting.
    pub(crate) origin: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.origin, &self.key].into_iter().flatten() {
            write!(f, "{part}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// All errors of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub(crate) struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    pub(super) fn push(&mut self, error: ConfigError) {
        if !self.0.contains(&error) {
            self.0.push(error);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }

    pub(super) fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = pluralize(self.0.len() as u64, "error");
        write!(f, "invalid configuration, {errors}:")?;
        self.0.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}
