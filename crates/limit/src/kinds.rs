//! The kinds of limits. For each kind, `kinds/` contains parsing, packing for scripts, the rule in Lua, and the same
//! rule in Rust for replicas that decide locally. This file lists the kinds.

mod backlog;
mod bucket;
mod concurrent;
mod fixed;
mod log;
mod raw;
mod rule;
mod sliding;
mod window;

pub use self::fixed::FIXED_ALIGN;
use self::raw::Parsed;
pub(crate) use self::raw::Raw;
pub(crate) use self::rule::{Reader, Rule};

use crate::policy::tier::{Align, Tier, TierKind};
use crate::policy::wire::{Packed, Phase};

/// Defines the codes of the rules, in Rust and in Lua, and joins the Lua files into one function that creates the rule
/// of a code. A script creates only the rules of its plans, as all of them would cost time in each call.
macro_rules! rules {
    ($($name:ident = $code:literal),*; $($file:literal),*) => {
        $(const $name: u8 = $code;)*

        pub(crate) const RULES: &str = concat!(
            include_str!("kinds.lua"),
            "\nlocal function limit_kind(code)\n",
            $("  local ", stringify!($name), " = ", $code, "\n",)*
            $(include_str!($file),)*
            "end\n",
        );
    };
}

rules! {
    BUCKET = 1, EPOCH = 2, FIRST = 3, CALENDAR = 4, SLIDING = 5, LOG = 6, CONCURRENT = 7, BACKLOG = 8;
    "kinds/bucket.lua", "kinds/fixed.lua", "kinds/fixed_first.lua", "kinds/sliding.lua", "kinds/log.lua",
    "kinds/concurrent.lua", "kinds/backlog.lua"
}

/// The code of a kind's rule.
pub(crate) const fn code(kind: &TierKind) -> u8 {
    match kind {
        TierKind::Bucket { .. } | TierKind::Gate => BUCKET,
        TierKind::Fixed(Align::Epoch { .. }) => EPOCH,
        TierKind::Fixed(Align::First) => FIRST,
        TierKind::Fixed(Align::Calendar(_)) => CALENDAR,
        TierKind::Sliding => SLIDING,
        TierKind::Log { .. } => LOG,
        TierKind::Concurrent => CONCURRENT,
        TierKind::Backlog => BACKLOG,
    }
}

/// Parses a tier.
///
/// # Errors
/// Each member that the kind doesn't have, and the faults of the others.
pub(crate) fn read(raw: &Raw) -> Result<Tier, Vec<String>> {
    let kind = TextKind::of(raw)?;
    let mut faults = raw.beyond(kind.members);
    let tier = (kind.read)(raw).map_err(|fault| faults.push(fault)).ok();
    tier.filter(|_| faults.is_empty()).ok_or(faults)
}

/// Each member that the kind doesn't have, for tiers of which other members can't be parsed.
pub(crate) fn misplaced(raw: &Raw) -> Vec<String> {
    TextKind::of(raw).map_or_else(|faults| faults, |kind| raw.beyond(kind.members))
}

/// How a kind is parsed.
struct TextKind {
    /// Its members besides limit and period.
    members: &'static [&'static str],
    read: ReadTier,
}

type ReadTier = fn(&Raw) -> Parsed<Tier>;

impl TextKind {
    fn of(raw: &Raw) -> Result<Self, Vec<String>> {
        let (members, read): (&[&str], ReadTier) = match raw.kind.as_str() {
            "" => return Err(vec!["missing field `kind`".to_owned()]),
            "bucket" => (&["burst"], bucket::read),
            "gate" => (&[], bucket::read_gate),
            "fixed" => (&["align", "spread"], fixed::read),
            "sliding" => (&[], sliding::read),
            "log" => (&["min_gap", "count_denied"], log::read),
            "concurrent" => (&["lease"], concurrent::read),
            "backlog" => (&[], backlog::read),
            other => {
                let kinds = "bucket, gate, fixed, sliding, log, concurrent or backlog";
                return Err(vec![format!("`{other}` is not a kind: use {kinds}")]);
            }
        };
        Ok(Self { members, read })
    }
}

/// Packs a tier for its rule in Lua.
pub(crate) fn pack(packed: &mut Packed, tier: &Tier, phase: Phase) {
    packed.number(code(tier.kind()).into(), 1);
    match tier.kind() {
        TierKind::Bucket { .. } | TierKind::Gate => bucket::pack(packed, tier),
        TierKind::Fixed(align) => fixed::pack(packed, tier, align, phase),
        TierKind::Sliding | TierKind::Concurrent => {
            packed.limit_and_period(tier);
        }
        TierKind::Log { min_gap_us, count_denied } => log::pack(packed, tier, *min_gap_us, *count_denied),
        TierKind::Backlog => backlog::pack(packed, tier),
    }
}

/// The rule of a tier in Rust. `None` if the kind can only be decided in Redis.
pub(crate) fn rule(tier: &Tier, phase: Phase) -> Option<Box<dyn Rule>> {
    let (limit, period) = (tier.limit(), tier.period_us());
    Some(match tier.kind() {
        TierKind::Bucket { .. } | TierKind::Gate => {
            let (limit, unit) = tier.drain();
            Box::new(bucket::Bucket::new(limit, unit, tier.most()))
        }
        TierKind::Fixed(align) => fixed::rule(tier, align, phase),
        TierKind::Sliding => Box::new(sliding::Sliding::new(limit, period)),
        TierKind::Log { min_gap_us, count_denied } => {
            Box::new(log::Log::new(limit, period, *min_gap_us, *count_denied))
        }
        TierKind::Concurrent => Box::new(concurrent::Concurrent::new(limit, period)),
        TierKind::Backlog => return None,
    })
}
