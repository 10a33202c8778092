//! Reports what the ACL of Redis denies our user, and the rules that grant it.

use std::collections::BTreeSet;

pub(crate) const RULES: &str = "config/deploy/redis-acl.conf";
pub(crate) const UNASKED: &str = "the Redis ACL could not be checked: this needs Redis 7.0 or later, and `+acl|whoami \
    +acl|dryrun` for the Redis user";
/// Logged if only permissions are missing that a role can work without.
pub(crate) const NOTICED_LATER: &str = "jobs and their ends are noticed up to a second later";

/// Describes `denials`, which are error texts of Redis, and the rules that are missing. `prefix`: of keys and channels.
pub(crate) fn report(denials: &[String], prefix: &str) -> String {
    let mut rules: BTreeSet<String> = denials.iter().filter_map(|denial| rule(denial, prefix)).collect();
    // Redis names the channel of a call only once its command is granted.
    if ["+publish", "+subscribe"].iter().any(|of_channels| rules.contains(*of_channels)) {
        rules.insert(format!("&{prefix}:*"));
    }
    let rules = rules.into_iter().collect::<Vec<_>>().join(" ");
    let what = denials.join("; ");
    match rules.is_empty() {
        true => format!("the Redis ACL denies access ({what}): grant the Redis user the rules of {RULES}"),
        false => {
            format!("the Redis ACL denies access ({what}): add `{rules}` to the Redis user; {RULES} has all rules")
        }
    }
}

/// Returns whether only pub/sub is denied, so that a role still works: it polls Redis. `false` if nothing is denied.
pub(crate) fn are_dispensable(denials: &[String]) -> bool {
    let is_dispensable = |denial: &String| {
        denial.contains("' channel") || ["'publish'", "'subscribe'"].iter().any(|command| denial.contains(command))
    };
    !denials.is_empty() && denials.iter().all(is_dispensable)
}

pub(crate) fn log(denials: &[String], prefix: &str) {
    let denials_and_rules = report(denials, prefix);
    if are_dispensable(denials) {
        tracing::warn!(denied = denials_and_rules, "{NOTICED_LATER}");
    } else {
        tracing::error!(denied = denials_and_rules, "the Redis user lacks permissions");
    }
}

/// Returns the rule that grants what was denied. Redis quotes its name, and says whether it is a command, a key or a
/// channel.
fn rule(denial: &str, prefix: &str) -> Option<String> {
    let (before, rest) = denial.split_once('\'')?;
    let (name, after) = rest.split_once('\'')?;
    let is = |what: &str| after.contains(what) || before.contains(what);
    // One pattern for all keys and channels of dripfeed.
    let pattern = if name.starts_with(&format!("{prefix}:")) { format!("{prefix}:*") } else { name.to_owned() };
    if is("command") {
        Some(format!("+{name}"))
    } else if is("channel") {
        Some(format!("&{pattern}"))
    } else {
        is("key").then(|| format!("~{pattern}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_denial_names_the_acl_rule_that_grants_it() {
        for (denial, rule) in [
            ("This user has no permissions to run the 'xgroup|setid' command", "`+xgroup|setid`"),
            ("User dripfeed has no permissions to run the 'zcount' command", "`+zcount`"),
            ("the command 'xclaim'", "`+xclaim`"),
            ("This user has no permissions to access the 'd:{b}:jobs' key", "`~d:*`"),
            ("This user has no permissions to access the 'elsewhere' key", "`~elsewhere`"),
            ("This user has no permissions to access the 'd:{b}:notices' channel", "`&d:*`"),
            ("This user has no permissions to run the 'publish' command", "`&d:* +publish`"),
            ("whatever else", "the rules of config/deploy/redis-acl.conf"),
        ] {
            let reported = report(&[denial.to_owned()], "d");
            assert!(reported.contains(&format!("access ({denial}): ")) && reported.contains(rule), "{reported}");
        }
    }
}
