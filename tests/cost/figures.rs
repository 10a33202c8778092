//! Figures beside the committed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::bench::Cost;

/// A change of one part in as many is none.
const TOLERANCE: u64 = 20;

/// By `STEP NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures(BTreeMap<String, u64>);

impl Figures {
    pub fn of(step: &str, cost: Cost) -> Self {
        let mut figures = Self::default();
        figures.add(step, cost);
        figures
    }

    pub fn add(&mut self, step: &str, cost: Cost) {
        let costs = cost.into_iter().filter(|(_, count)| *count > 0);
        self.0.extend(costs.map(|(name, count)| (format!("{step} {name}"), count)));
    }

    /// Of each the middle one of all rounds, 0 in those that don't have it. What happens only as time passes is in few
    /// rounds; a message to the replica mostly comes before its step ends, but not in each.
    pub fn middle(rounds: &[Self]) -> Self {
        let names: BTreeSet<&String> = rounds.iter().flat_map(|figures| figures.0.keys()).collect();
        let middle = |name: &String| {
            let mut counts: Vec<u64> = rounds.iter().map(|figures| figures.0.get(name).copied().unwrap_or(0)).collect();
            counts.sort_unstable();
            counts[(counts.len() - 1) / 2]
        };
        let middles = names.into_iter().map(|name| (name.clone(), middle(name)));
        Self(middles.filter(|(_, count)| *count > 0).collect())
    }

    pub fn count(&self, name: &str) -> u64 {
        self.0[name]
    }

    /// Compares them with `figures/FILE.txt`, or writes that.
    pub fn check(&self, file: &str) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("cost/figures/{file}.txt"));
        if std::env::var_os("UPDATE_COSTS").is_some() {
            let lines: String = self.0.iter().map(|(name, count)| format!("{name} {count}\n")).collect();
            return fs::write(path, lines).expect("figures can be written");
        }
        let known = Self::read(&fs::read_to_string(path).expect("figures can be read"));
        let changed = self.changed_since(&known);
        assert!(changed.is_empty(), "{file}: {changed:#?}; if that is meant: UPDATE_COSTS=1");
    }

    fn read(text: &str) -> Self {
        let figure = |line: &str| {
            let (name, count) = line.rsplit_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        Self(text.lines().filter_map(figure).collect())
    }

    /// What differs by too much, as text.
    fn changed_since(&self, known: &Self) -> Vec<String> {
        let names = self.0.keys().chain(known.0.keys().filter(|name| !self.0.contains_key(*name)));
        let of = |figures: &Self, name: &String| figures.0.get(name).copied().unwrap_or(0);
        let counts = names.map(|name| (name, of(known, name), of(self, name)));
        let changed = counts.filter(|(_, was, is)| is.abs_diff(*was) * TOLERANCE > *was);
        changed.map(|(name, was, is)| format!("{name}: {was}, now {is}")).collect()
    }
}

#[test]
fn a_change_of_more_than_a_twentieth_is_found() {
    let known = Figures::read("admit xadd 32\nadmit allocations 1000\ntake evalsha 1\n");
    let changed = |text| Figures::read(text).changed_since(&known);
    assert!(changed("admit xadd 32\nadmit allocations 1050\ntake evalsha 1\n").is_empty());
    assert!(changed("admit xadd 32\nadmit allocations 950\ntake evalsha 1\n").is_empty());
    assert_eq!(changed("admit xadd 32\nadmit allocations 949\ntake evalsha 1\n"), ["admit allocations: 1000, now 949"]);
    let other = changed("admit xadd 34\nadmit allocations 1000\nsettle hset 1\n");
    assert_eq!(other, ["admit xadd: 32, now 34", "settle hset: 0, now 1", "take evalsha: 1, now 0"]);
}
