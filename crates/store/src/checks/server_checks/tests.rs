use super::*;
use crate::checks::durability_check::Shortfall;
use crate::durability::append_fsync::AppendFsync;

/// A server with nothing to find fault with for the class `everysec`.
fn sound() -> ServerInfo {
    ServerInfo {
        product: "Redis 7.0.15".to_owned(),
        version: OLDEST,
        is_master: true,
        is_cluster: false,
        is_reached_as_cluster: false,
        eviction: "noeviction".to_owned(),
        used_memory: 0,
        peak_memory: 0,
        max_memory: 0,
        append_only: true,
        append_only_works: true,
        append_fsync: Some(AppendFsync::Everysec),
        refuses_writes: None,
        replicas: 0,
        replicas_required: false,
    }
}

#[test]
fn a_sound_server_gives_no_finding() {
    assert_eq!(server_findings(&sound(), Durability::Everysec), []);
    assert_eq!(server_findings(&sound(), Durability::Process), []);
}

#[test]
fn a_server_that_may_lose_jobs_is_an_error_with_a_remedy() {
    type Spoil = fn(&mut ServerInfo);
    let cases: [(Spoil, &str); 5] = [
        (|facts| facts.version.minor = 0, "6.2"),
        (|facts| facts.is_cluster = true, "redis+cluster://"),
        (|facts| facts.is_master = false, "master"),
        (|facts| facts.eviction = "allkeys-lru".to_owned(), "noeviction"),
        (|facts| facts.append_only_works = false, "disk"),
    ];
    for (spoil, advice) in cases {
        let mut facts = sound();
        spoil(&mut facts);
        let found = server_findings(&facts, Durability::Process);
        assert!(
            matches!(&found[..], [one] if one.severity == Severity::Error && one.what_to_do.contains(advice)),
            "{found:?}"
        );
    }
}

#[test]
fn everysec_without_its_settings_is_told_as_process() {
    for (append_only, append_fsync, class) in [
        (true, Some(AppendFsync::Always), Durability::Everysec),
        (true, None, Durability::Everysec),
        (true, Some(AppendFsync::No), Durability::Process),
        (false, Some(AppendFsync::Always), Durability::Process),
    ] {
        let facts = ServerInfo { append_only, append_fsync, ..sound() };
        assert_eq!(
            effective_durability(Durability::Everysec, &facts).map(|effective| effective.class),
            Ok(class),
            "{facts:?}"
        );
    }
    let facts = ServerInfo { append_only: false, ..sound() };
    let found = server_findings(&facts, Durability::Everysec);
    assert!(matches!(&found[..], [one] if one.severity == Severity::Warning), "{found:?}");
}

#[test]
fn fsync_and_replicated_are_refused_where_redis_does_not_give_them() {
    let fsync = |append_only, append_fsync| {
        effective_durability(Durability::Fsync, &ServerInfo { append_only, append_fsync, ..sound() })
    };
    assert!(fsync(true, Some(AppendFsync::Always)).is_ok());
    assert_eq!(
        fsync(true, Some(AppendFsync::Everysec)),
        Err(Shortfall::FlushedLess(Durability::Fsync, AppendFsync::Everysec))
    );
    assert_eq!(fsync(true, None), Err(Shortfall::NotVisible(Durability::Fsync)));
    assert_eq!(fsync(false, Some(AppendFsync::Always)), Err(Shortfall::NoAppendOnly(Durability::Fsync)));

    let replicated = |replicas, replicas_required| {
        effective_durability(Durability::Replicated, &ServerInfo { replicas, replicas_required, ..sound() })
    };
    assert!(replicated(1, true).is_ok());
    assert_eq!(replicated(0, true), Err(Shortfall::NoReplica));
    assert_eq!(replicated(1, false), Err(Shortfall::ReplicasNotRequired));
}

#[test]
fn temporarily_refused_writes_are_a_warning_with_the_reason() {
    for (code, reason) in [("NOREPLICAS", "min-replicas-to-write"), ("MISCONF", "snapshot"), ("CLUSTERDOWN", "down")] {
        let found =
            server_findings(&ServerInfo { refuses_writes: Some(code.to_owned()), ..sound() }, Durability::Everysec);
        assert!(matches!(&found[..], [found] if found.severity == Severity::Warning && found.what.contains(reason)));
    }
    let replica = ServerInfo { is_master: false, refuses_writes: Some("READONLY".to_owned()), ..sound() };
    assert_eq!(server_findings(&replica, Durability::Everysec).len(), 1, "it is reported once");
}
