#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use jiff::Timestamp;

use super::*;

fn ms(time: &str) -> u64 {
    time.parse::<Timestamp>().unwrap().as_millisecond().try_into().unwrap()
}

fn shown(ms: u64) -> String {
    Timestamp::from_millisecond(ms.try_into().unwrap()).unwrap().to_string()
}

/// The ticks after one time and up to another.
fn ticks(timetable: &Timetable, after: &str, until: &str) -> Vec<String> {
    let until = ms(until);
    let ticks = std::iter::successors(timetable.next_after(ms(after)), |tick| timetable.next_after(*tick));
    ticks.take_while(|tick| *tick <= until).map(shown).collect()
}

fn cron(expression: &str, zone: &str) -> Timetable {
    Timetable::cron(expression, zone).unwrap()
}

/// A year of daily ticks has one for each day, and around both changes of the clock those of a list made by hand.
fn a_year(expression: &str, zone: &str, [before, after]: [(&str, &str); 2], by_hand: &[&str]) {
    let timetable = cron(expression, zone);
    let year = ticks(&timetable, "2025-12-31T23:59:59Z", "2026-12-31T23:59:59Z");
    assert_eq!(year.len(), 365, "{zone}");
    let around = [before, after].into_iter().flat_map(|(from, to)| ticks(&timetable, from, to));
    assert_eq!(around.collect::<Vec<_>>(), by_hand, "{expression} in {zone}");
    assert!(by_hand.iter().all(|tick| year.iter().any(|known| known == tick)), "{zone}");
}

#[test]
fn a_daily_tick_comes_once_a_day_over_both_changes_in_berlin() {
    // On 29 March 02:00 is followed by 03:00, on 25 October 03:00 by 02:00.
    let spans = [("2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z"), ("2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z")];
    let by_hand = [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
        "2026-10-24T00:30:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-26T01:30:00Z",
    ];
    a_year("30 2 * * *", "Europe/Berlin", spans, &by_hand);
}

#[test]
fn a_daily_tick_comes_once_a_day_over_both_changes_in_new_york() {
    // On 8 March 02:00 is followed by 03:00, on 1 November 02:00 by 01:00.
    let spans = [("2026-03-07T00:00:00Z", "2026-03-09T12:00:00Z"), ("2026-10-31T00:00:00Z", "2026-11-02T12:00:00Z")];
    let by_hand = [
        "2026-03-07T07:15:00Z",
        "2026-03-08T07:00:00Z",
        "2026-03-09T06:15:00Z",
        "2026-10-31T06:15:00Z",
        "2026-11-01T07:15:00Z",
        "2026-11-02T07:15:00Z",
    ];
    a_year("15 2 * * *", "America/New_York", spans, &by_hand);
    let repeated = ticks(&cron("15 1 * * *", "America/New_York"), "2026-11-01T00:00:00Z", "2026-11-01T23:59:59Z");
    assert_eq!(repeated, ["2026-11-01T05:15:00Z"], "the first of both");
}

#[test]
fn a_daily_tick_comes_once_a_day_over_both_changes_of_half_an_hour_in_lord_howe() {
    // On 5 April 02:00 (+11) is followed by 01:30 (+10:30), on 4 October 02:00 (+10:30) by 02:30 (+11).
    let spans = [("2026-04-03T00:00:00Z", "2026-04-05T20:00:00Z"), ("2026-10-02T00:00:00Z", "2026-10-04T20:00:00Z")];
    let by_hand = [
        "2026-04-03T15:15:00Z",
        "2026-04-04T15:45:00Z",
        "2026-04-05T15:45:00Z",
        "2026-10-02T15:45:00Z",
        "2026-10-03T15:30:00Z",
        "2026-10-04T15:15:00Z",
    ];
    a_year("15 2 * * *", "Australia/Lord_Howe", spans, &by_hand);
    let repeated = ticks(&cron("45 1 * * *", "Australia/Lord_Howe"), "2026-04-04T00:00:00Z", "2026-04-05T12:00:00Z");
    assert_eq!(repeated, ["2026-04-04T14:45:00Z"], "the first of both");
}

/// On both days on which the clock of Berlin changes.
fn changes_in_berlin(expression: &str) -> [Vec<String>; 2] {
    let timetable = cron(expression, "Europe/Berlin");
    let day = |from, until| ticks(&timetable, from, until);
    [day("2026-03-28T22:59:59Z", "2026-03-29T21:59:59Z"), day("2026-10-24T21:59:59Z", "2026-10-25T22:59:59Z")]
}

#[test]
fn several_fixed_times_come_once_a_day_over_both_changes() {
    let by_hand: [(&str, [&[&str]; 2]); 6] = [
        ("0 2 * * *", [&["2026-03-29T01:00:00Z"], &["2026-10-25T00:00:00Z"]]),
        (
            "30 2,14 * * *",
            [&["2026-03-29T01:00:00Z", "2026-03-29T12:30:00Z"], &["2026-10-25T00:30:00Z", "2026-10-25T13:30:00Z"]],
        ),
        ("0,30 2 * * *", [&["2026-03-29T01:00:00Z"], &["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"]]),
        (
            "15 1-3 * * *",
            [
                &["2026-03-29T00:15:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z"],
                &["2026-10-24T23:15:00Z", "2026-10-25T00:15:00Z", "2026-10-25T02:15:00Z"],
            ],
        ),
        ("50-59/9 2 * * *", [&["2026-03-29T01:00:00Z"], &["2026-10-25T00:50:00Z", "2026-10-25T00:59:00Z"]]),
        ("0 2,3 * * *", [&["2026-03-29T01:00:00Z"], &["2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"]]),
    ];
    for (expression, days) in by_hand {
        assert_eq!(changes_in_berlin(expression), days.map(<[_]>::to_vec), "{expression}");
    }
}

#[test]
fn within_an_hour_that_repeats_what_comes_every_so_many_minutes_comes_in_both() {
    let [skipped, repeated] = changes_in_berlin("*/20 2 * * *");
    assert!(skipped.is_empty(), "{skipped:?}");
    let by_hand = ["00:00", "00:20", "00:40", "01:00", "01:20", "01:40"].map(|time| format!("2026-10-25T{time}:00Z"));
    assert_eq!(repeated, by_hand);
    let twice_an_hour = ticks(&cron("0,30 * * * *", "Europe/Berlin"), "2025-12-31T22:59:59Z", "2026-12-31T22:59:59Z");
    assert_eq!(twice_an_hour.len(), 365 * 48);
}

#[test]
fn ticks_every_few_minutes_continue_through_a_clock_change() {
    let hourly = cron("0 * * * *", "Europe/Berlin");
    let year = ticks(&hourly, "2025-12-31T22:59:59Z", "2026-12-31T22:59:59Z");
    assert_eq!(year.len(), 365 * 24, "23 hours on one day, 25 on another");
    let half_hours = cron("*/30 * * * *", "Australia/Lord_Howe");
    let year = ticks(&half_hours, "2025-12-31T12:59:59Z", "2026-12-31T12:59:59Z");
    assert_eq!(year.len(), 365 * 48);
    for zone in ["Europe/Berlin", "America/New_York"] {
        let minutes = cron("*/5 * * * *", zone);
        let ticks = ticks(&minutes, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
        assert_eq!(ticks.len(), 365 * 288, "{zone}");
    }
}

#[test]
fn a_leap_day_is_waited_for() {
    let leap = cron("0 0 29 2 *", "UTC");
    let years = ticks(&leap, "2026-01-01T00:00:00Z", "2033-01-01T00:00:00Z");
    assert_eq!(years, ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]);
}

#[test]
fn an_invalid_timetable_is_refused_with_its_member() {
    let refused = |expression: &str, zone: &str| Timetable::cron(expression, zone).unwrap_err().member;
    for expression in ["", "* * * *", "* * * * * *", "61 * * * *", "a b c d e", "0 0 30 2 *", "@daily", "*/0 * * * *"] {
        assert_eq!(refused(expression, "UTC"), "cron", "{expression}");
    }
    assert_eq!(refused(&"0,".repeat(200), "UTC"), "cron");
    for zone in ["", "Europe/Nowhere", "../UTC", "CEST 2"] {
        assert_eq!(refused("0 3 * * *", zone), "zone", "{zone}");
    }
    for period in [Duration::ZERO, Duration::from_millis(999), Duration::from_hours(10_000)] {
        assert_eq!(Timetable::every(period).unwrap_err().member, "every");
    }
}

#[test]
fn ticks_that_have_come_are_counted_however_many() {
    let every = Timetable::every(Duration::from_secs(2)).unwrap();
    let due = every.due(10_000, 1_000_000_001_000, 3);
    assert_eq!(due.count, 499_999_996);
    assert_eq!(due.latest, [999_999_996_000, 999_999_998_000, 1_000_000_000_000]);
    assert_eq!(every.due(9_999, 10_000, 3).latest, [9_999, 10_000], "one that was moved");
    assert_eq!(every.due(10_000, 10_000, 1), DueTicks { count: 1, latest: [10_000].into() });

    let (first, now) = (ms("2026-01-01T00:00:00Z"), ms("2026-11-23T16:00:30Z"));
    let due = cron("* * 1-7 1 *", "UTC").due(first, now, 1);
    assert_eq!((due.count, shown(due.latest[0]).as_str()), (10_080, "2026-01-07T23:59:00Z"));
    let due = cron("* * * * *", "UTC").due(first, now, 2);
    assert_eq!(shown(due.latest[0]), "2026-11-23T15:59:00Z");
    assert!((10_000..12_000).contains(&due.count), "{}", due.count);
}
