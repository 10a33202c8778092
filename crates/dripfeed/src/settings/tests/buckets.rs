//! What a bucket refuses.

use super::{Folder, bucket, layers, load, reported};

#[test]
fn a_list_refuses_what_it_cannot_do() {
    let reported = reported(
        r#"
            [buckets.list]
            upstream = "http://127.0.0.1:1/"
            kind = "list"
            retry = { attempts = 2, first = "1s", max = "1m" }
            keep = { when_dead_full = "hold" }
        "#,
    );
    insta::assert_snapshot!(reported);
}

#[test]
fn a_pace_of_a_kind_that_cannot_be_is_refused_with_its_place() {
    let reported = reported(
        r#"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/"
            [buckets.mail.leak]
            rate = "10/s"
            tiers = [
                { kind = "fixed", limit = 10000, period = "1d" },
                { kind = "fixed", limit = 10, period = "1s", spread = "tenant" },
                { kind = "log", rate = "10/s" },
                { kind = "sliding", rate = "10/s" },
                { kind = "concurrent", limit = 3, lease = "1m" },
                { kind = "backlog", limit = 3 },
                { kind = "gate", rate = "2/s" },
                { kind = "bucket", limit = "many", period = "1s" },
            ]
        "#,
    );
    insta::assert_snapshot!(reported);
}

#[test]
fn a_tier_of_a_caller_that_cannot_be_is_refused_with_its_place() {
    let refused = |fair: &str| reported(&format!("[buckets.mail]\nupstream = \"http://127.0.0.1:1/\"\nfair = {fair}"));
    for (tiers, why) in [
        (r#"[{ rate = "1/s" }, { rate = "1/d", kind = "fixed" }]"#, "tiers[1].kind: unknown key: use rate"),
        (r#"[{ burst = 2 }]"#, "tiers[0]: the key `rate` is missing"),
        (r#"[{ rate = "1/s", burst = 0 }]"#, "tiers[0]: a burst of 0 allows no calls"),
        (r#"[{ rate = "many" }]"#, "tiers[0].rate: `many` is not a rate"),
        (r#"{ rate = "1/s" }"#, "tiers: "),
    ] {
        let each = refused(&format!("{{ tiers = {tiers} }}"));
        assert!(each.contains(&format!("buckets.mail.fair.{why}")), "{each}");
        let named = refused(&format!("{{ flows = {{ shop = {{ tiers = {tiers} }} }} }}"));
        assert!(named.contains(&format!("buckets.mail.fair.flows.shop.{why}")), "{named}");
    }
    let many = refused(&format!("{{ tiers = [{}] }}", r#"{ rate = "1/s" }, "#.repeat(5)));
    assert!(many.contains("buckets.mail.fair.tiers: 5 tiers: use at most 4"), "{many}");
    let off = refused(r#"{ by = "off", tiers = [{ rate = "1/s" }] }"#);
    assert!(off.contains("rate, burst, tiers, max_in_flight and flows of [fair]"), "{off}");
}

#[test]
fn weights_without_fair_queuing_are_refused_except_those_of_the_defaults() {
    let upstream = "upstream = \"http://127.0.0.1:1/\"";
    let refused = "fair.by: weights, rate, burst,";
    let own = reported(&format!("[buckets.mail]\n{upstream}\nfair = {{ by = \"off\", weights = {{ shop = 4 }} }}"));
    assert!(own.contains(&format!("buckets.mail.{refused}")), "{own}");
    let defaults = "[defaults.fair]\nweights = { shop = 4 }\n";
    let one = format!("{defaults}[buckets.mail]\n{upstream}\n[buckets.one]\n{upstream}\nfair.by = \"off\"\n");
    assert_eq!(reported(&one), "taken", "a table can't be emptied by a later layer");
    let named = reported(&format!("{one}fair.weights = {{ mail = 2 }}"));
    assert!(named.contains(&format!("buckets.one.{refused}")), "{named}");
    let all = reported(&format!("{defaults}by = \"off\"\n[buckets.mail]\n{upstream}"));
    assert!(all.contains(&format!("defaults.{refused}")), "{all}");
}

#[test]
fn limits_that_cannot_be_enforced_are_refused_with_their_place() {
    let reported = reported(
        r#"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/"
            [[buckets.mail.limits]]
            id = "each"
            key = ["caller", "moon"]
            tiers = [{ kind = "bucket", rate = "0/s" }]
            [buckets.sms]
            upstream = "http://127.0.0.1:1/"
            [[buckets.sms.limits]]
            id = "each"
            on_store_error = "open"
            tiers = [{ kind = "concurrent", limit = 3, lease = "1m" }]
            [[buckets.sms.limits]]
            id = "max_share"
            consistency = "leased"
            tiers = [{ kind = "bucket", rate = "100/s", burst = 100 }]
        "#,
    );
    insta::assert_snapshot!(reported);
}

#[test]
fn a_key_of_two_buckets_and_one_among_our_own_are_refused_and_named() {
    let upstream = "upstream = \"http://127.0.0.1:1/\"";
    let two = |one: &str, two: &str| {
        format!("[buckets.a]\n{upstream}\nkey = {one:?}\n[buckets.b]\n{upstream}\nkey = {two:?}\n")
    };
    assert_eq!(reported(&two("x:a", "x:b")), "taken");
    assert_eq!(reported(&two("dripfeed:x", "dripfeed")), "taken", "no hash tag, so no key of ours");
    let same = reported(&two("x:a", "x:a"));
    assert!(same.contains("buckets.b.key: the bucket `a` has the same key, `x:a`"), "{same}");
    let ours = reported(&two("dripfeed:{b}:jobs", "x"));
    assert!(ours.contains("buckets.a.key: `dripfeed:{b}:jobs` is reserved"), "{ours}");
    let prefixed =
        reported(&format!("[redis]\nprefix = \"own\"\n{}", two("own:{@installation}:state", "dripfeed:{a}:x")));
    assert!(prefixed.contains("buckets.a.key") && !prefixed.contains("buckets.b.key"), "{prefixed}");
}

#[test]
fn a_bucket_of_the_defaults_fits_into_the_memory_of_the_containers() {
    let compose = include_str!("../../../../../docker-compose.yml");
    let mib = compose.split("- --maxmemory\n").nth(1).unwrap().trim().strip_prefix("- ").unwrap();
    let mib: u64 = mib.split("mb").next().unwrap().parse().unwrap();
    let folder = Folder::new();
    let file = folder.file("dripfeed.toml", "[buckets.a]\nupstream = \"http://127.0.0.1:1/\"");
    let needed = bucket(&load(&layers([file])), "a").most_memory() + dripfeed_bucket::INSTALLATION;
    assert!(needed <= mib << 20, "{needed} bytes are needed, {mib} MiB given");
}

#[test]
fn a_body_larger_than_a_script_may_read_is_refused() {
    let most = "[intake]\nmax_body = \"4MiB\"";
    assert_eq!(reported(most), "taken");
    let more = reported("[intake]\nmax_body = \"4194305B\"");
    assert!(more.contains("intake.max_body: use at most 4MiB"), "{more}");
}

#[test]
fn the_targets_of_outcomes_are_other_buckets_with_room() {
    let with = |on_outcome: &str, more: &str| {
        reported(&format!(
            "[buckets.a]\nupstream = \"http://127.0.0.1:1/\"\non_outcome = {on_outcome}\n{more}\n\
             [buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n[buckets.small]\nupstream = \"http://127.0.0.1:1/\"\n\
             capacity_bytes = \"5KiB\"\n[buckets.brief]\nupstream = \"http://127.0.0.1:1/\"\n\
             keep.idempotency_keys = \"59s\"\n"
        ))
    };
    let to = |bucket: &str| format!("{{ bucket = \"{bucket}\", outcomes = [\"dead\"] }}");
    for sound in ["[]", &to("b"), &format!("[{}]", to("b")), &format!("[{}, {}]", to("b"), to("small"))] {
        let more = if sound.contains("small") { "keep.failed_answer = \"1KiB\"" } else { "" };
        assert_eq!(with(sound, more), "taken", "{sound}");
    }
    for (on_outcome, more, why) in [
        (to("c"), "", "unknown bucket `c`: add it, or use another one"),
        (to("a"), "", "a bucket can't be its own target"),
        (to("none"), "", "`none` can't be a target"),
        (to("http://b"), "", "buckets.a.on_outcome"),
        (format!("[{}, {}]", to("b"), to("b")), "", "`b` is listed twice"),
        ("{ bucket = \"b\", outcomes = [] }".to_owned(), "", "the target `b` has no outcomes"),
        (
            "{ bucket = \"b\", outcomes = [\"lost\"] }".to_owned(),
            "",
            "is not a valid value: use delivered, dead, expired",
        ),
        ("{ bucket = \"b\" }".to_owned(), "", "the key `outcomes` is missing"),
        ("\"b\"".to_owned(), "", "must be a table or a list of tables"),
        (
            to("small"),
            "keep.failed_answer = \"2KiB\"",
            "`small` is too small for an outcome job: raise its capacity_bytes",
        ),
        (to("brief"), "", "`brief` might get an outcome job twice: raise its keep.idempotency_keys to at least 1m"),
        (to("b"), "keep.outbox_bytes = \"4KiB\"", "are too small for the outcome jobs of one job of `a`"),
        (to("b"), "kind = \"list\"", "a list has no outbox for outcome jobs"),
    ] {
        let reported = with(&on_outcome, more);
        assert!(reported.contains(why), "{on_outcome} {more}: {reported}");
    }
}
