#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn borders(unit: Unit, zone: &str, now: &str) -> [String; 3] {
    let now: Timestamp = now.parse().unwrap();
    let calendar = Calendar::new(unit, zone).unwrap();
    let found = calendar.borders(u64::try_from(now.as_microsecond()).unwrap());
    found.map(|us| Timestamp::from_microsecond(i64::try_from(us).unwrap()).unwrap().to_string())
}

#[test]
fn each_published_period_is_read() {
    assert!(CALENDAR_PERIODS.iter().all(|text| Unit::parse(text).is_ok()));
}

#[test]
fn days_begin_at_midnight_of_the_zone_also_when_clocks_change() {
    assert_eq!(
        borders(Unit::Day, "Europe/Berlin", "2026-03-28T23:30:00Z"),
        ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"]
    );
    // The day of 25 hours.
    assert_eq!(
        borders(Unit::Day, "Europe/Berlin", "2026-10-25T22:59:59Z"),
        ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", "2026-10-26T23:00:00Z"]
    );
    // Clocks go forward at midnight itself, so that this day begins at one.
    assert_eq!(borders(Unit::Day, "America/Havana", "2026-03-08T12:00:00Z")[0], "2026-03-08T05:00:00Z");
}

#[test]
fn weeks_months_and_years_begin_with_their_first_day() {
    assert_eq!(
        borders(Unit::Week, "UTC", "2026-01-01T00:00:00Z"),
        ["2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z"]
    );
    assert_eq!(
        borders(Unit::Month, "Asia/Kolkata", "2026-01-31T18:29:59Z"),
        ["2025-12-31T18:30:00Z", "2026-01-31T18:30:00Z", "2026-02-28T18:30:00Z"]
    );
    assert_eq!(
        borders(Unit::Year, "UTC", "2024-02-29T12:00:00Z"),
        ["2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]
    );
}

#[test]
fn a_window_contains_its_now() {
    for unit in [Unit::Day, Unit::Week, Unit::Month, Unit::Year] {
        for zone in ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"] {
            let calendar = Calendar::new(unit, zone).unwrap();
            for hours in 0..20_000_u64 {
                let now = 1_300_000_000_000_000 + hours * 7 * 3_600_000_000;
                let [b1, b2, b3] = calendar.borders(now);
                assert!(b1 <= now && now < b2 && b2 < b3, "{unit:?} {zone} {now}");
            }
        }
    }
}

#[test]
fn unknown_zones_and_units_are_named() {
    assert_eq!(Calendar::new(Unit::Day, "Mars/Olympus"), Err(BadCalendar::Zone("Mars/Olympus".to_owned())));
    assert_eq!(Unit::parse("fortnight"), Err(BadCalendar::Unit("fortnight".to_owned())));
}

fn tier(members: &str) -> Result<crate::Tier, String> {
    let text = format!("policies: [{{ id: a, tiers: [{{ kind: fixed, {members} }}] }}]");
    let policies = crate::load::yaml(&text).map_err(|error| error.to_string())?;
    policies.iter().next().map(|policy| policy.tiers()[0].clone()).ok_or_else(String::new)
}

#[test]
fn a_rate_of_a_calendar_is_its_limit_and_period() {
    for (rate, period) in [("10/day", "day"), ("10/1 week", "week"), ("10/month", "month"), (" 10 / year ", "year")] {
        let of_rate = tier(&format!("rate: {rate}, align: calendar(UTC)"));
        assert_eq!(of_rate, tier(&format!("limit: 10, period: {period}, align: calendar(UTC)")), "{rate}");
        assert!(of_rate.is_ok(), "{of_rate:?}");
    }
}

#[test]
fn a_month_without_a_calendar_is_refused_with_what_to_write() {
    for (members, align) in [("rate: 10/month", ""), ("limit: 10, period: year", ""), ("rate: 1/mo", ", align: first")]
    {
        let error = tier(&format!("{members}{align}")).unwrap_err();
        assert!(error.contains("align: calendar(<time zone>)"), "{error}");
    }
}
