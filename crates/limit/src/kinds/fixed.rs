//! `fixed`: parsing and packing. Its windows are in `window.rs`, `fixed.lua` and `fixed_first.lua`.

use std::time::Duration;

use super::raw::{Parsed, Raw, text_error, time};
use super::rule::Rule;
use super::window::{self, Window};
use crate::policy::calendar::{Calendar, Unit};
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Align, Tier};
use crate::policy::wire::{Packed, Phase};

/// Regular expression of `align`.
pub const FIXED_ALIGN: &str = r"^(epoch|first|calendar\(.+\))$";

pub(super) fn read(raw: &Raw) -> Parsed<Tier> {
    let (limit, period) = raw.limit_per(None)?;
    let align = raw.align.as_deref().unwrap_or("epoch");
    let spread = raw.spread.as_deref().map(|part| text_error(part.parse::<KeyPart>())).transpose()?;
    if spread.is_some() && align != "epoch" {
        return Err("only windows with align `epoch` can be spread".to_owned());
    }
    let zone = align.strip_prefix("calendar(").and_then(|zone| zone.strip_suffix(')'));
    match (align, zone) {
        ("epoch", _) => text_error(Tier::fixed(limit, of_one_length(&period)?, Align::Epoch { spread })),
        ("first", _) => text_error(Tier::fixed(limit, of_one_length(&period)?, Align::First)),
        (_, Some(zone)) => {
            let unit = text_error(Unit::parse(&period))?;
            text_error(Tier::calendar(limit, text_error(Calendar::new(unit, zone.trim()))?))
        }
        _ => Err(format!("`{align}` is not an alignment: use epoch, first, or calendar(<time zone>)")),
    }
}

fn of_one_length(period: &str) -> Parsed<Duration> {
    time(period).map_err(|error| match Unit::parse(period) {
        Ok(_) => format!("`{period}` is a unit of the calendar: add `align: calendar(<time zone>)`"),
        Err(_) => error,
    })
}

pub(super) fn pack(packed: &mut Packed, tier: &Tier, align: &Align, phase: Phase) {
    packed.limit_and_period(tier);
    match align {
        Align::Epoch { .. } => {
            packed.number(phase.offset, 6);
        }
        Align::First => {}
        Align::Calendar(_) => {
            for border in phase.borders {
                packed.number(border, 7);
            }
        }
    }
}

pub(super) fn rule(tier: &Tier, align: &Align, phase: Phase) -> Box<dyn Rule> {
    let (limit, period) = (tier.limit(), tier.period_us());
    match align {
        Align::Epoch { .. } => Box::new(Window::new(limit, window::Epoch { period, offset: phase.offset })),
        Align::First => Box::new(Window::new(limit, window::First::new(period))),
        Align::Calendar(_) => Box::new(Window::new(limit, window::Calendar { borders: phase.borders })),
    }
}
