//! CPU time and calls by Redis command, from `INFO commandstats`.

use std::collections::BTreeMap;

use dripfeed_store::Store;
use redis::cmd;

use crate::error::LabError;

/// Calls, and their time in µs, by command, since the server started.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandStats(BTreeMap<String, Commands>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commands {
    pub(crate) calls: u64,
    pub(crate) us: u64,
}

/// The commands that call scripts.
pub(crate) const SCRIPTS: [&str; 2] = ["eval", "evalsha"];

impl CommandStats {
    pub(crate) async fn so_far(store: &Store) -> Result<Self, LabError> {
        let info: String = store.command(cmd("INFO").arg("commandstats")).await?;
        Ok(Self::read(&info))
    }

    fn read(info: &str) -> Self {
        let line = |line: &str| {
            let (name, fields) = line.strip_prefix("cmdstat_")?.split_once(':')?;
            let field = |name: &str| {
                fields.split(',').find_map(|field| field.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
            };
            Some((name.to_owned(), Commands { calls: field("calls")?, us: field("usec")? }))
        };
        Self(info.lines().filter_map(line).collect())
    }

    /// Returns calls and time of `commands` since `before`.
    pub(crate) fn since(&self, before: &Self, commands: &[&str]) -> Commands {
        let sum = |spent: &Self| {
            let found = commands.iter().filter_map(|name| spent.0.get(*name));
            found.fold(Commands::default(), |sum, one| Commands { calls: sum.calls + one.calls, us: sum.us + one.us })
        };
        let (now, before) = (sum(self), sum(before));
        Commands { calls: now.calls.saturating_sub(before.calls), us: now.us.saturating_sub(before.us) }
    }
}

impl Commands {
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    pub(crate) fn us_per_call(self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.us as f64 / self.calls as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_between_two_reads_is_reported_by_command() {
        let before = CommandStats::read("# Commandstats\r\ncmdstat_evalsha:calls=10,usec=100,usec_per_call=10.00\r\n");
        let now = CommandStats::read(
            "# Commandstats\r\n\
             cmdstat_evalsha:calls=14,usec=160,usec_per_call=11.43,rejected_calls=0,failed_calls=0\r\n\
             cmdstat_eval:calls=1,usec=40,usec_per_call=40.00\r\n\
             cmdstat_config|get:calls=3,usec=9,usec_per_call=3.00\r\n",
        );
        let scripts = now.since(&before, &SCRIPTS);
        assert_eq!(scripts, Commands { calls: 5, us: 100 });
        assert_eq!(scripts.us_per_call().to_string(), "20");
        assert_eq!(now.since(&before, &["get"]), Commands::default());
    }
}
