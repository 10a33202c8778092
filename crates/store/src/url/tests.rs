#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use secrecy::ExposeSecret;

use std::path::Path;

use super::*;

fn parsed(url: &str) -> Address {
    url.parse().unwrap()
}

fn refused(url: &str) -> AddressError {
    url.parse::<Address>().unwrap_err()
}

fn route(url: &str) -> Route {
    match parsed(url).deployment {
        Deployment::Server(route) => route,
        Deployment::Cluster(_) => panic!("{url}"),
    }
}

fn tcp(url: &str) -> HostPort {
    match route(url) {
        Route::Tcp(at) => at,
        other => panic!("{other:?}"),
    }
}

fn at(host: &str, port: u16) -> HostPort {
    HostPort { host: host.to_owned(), port }
}

#[test]
fn every_form_is_read() {
    assert_eq!(tcp("redis://cache"), at("cache", 6379));
    let plain = parsed("redis://cache");
    assert_eq!((plain.db, plain.login.user, plain.tls), (0, None, None));

    let url = "redis://app:p%40ss%2Fword@127.0.0.1:7000/3";
    assert_eq!(tcp(url), at("127.0.0.1", 7000));
    let Address { db, login, .. } = parsed(url);
    assert_eq!((db, login.user.as_deref()), (3, Some("app")));
    assert_eq!(login.password.unwrap().expose_secret(), "p@ss/word");

    let url = "redis://:secret@[::1]:7000";
    assert_eq!(tcp(url), at("::1", 7000));
    assert!(parsed(url).login.user.is_none());

    for scheme in ["unix", "redis+unix"] {
        let url = format!("{scheme}:///run/my%20redis.sock?db=2&user=u&pass=p");
        assert!(matches!(route(&url), Route::Unix(path) if path == Path::new("/run/my redis.sock")));
        let Address { db, login, .. } = parsed(&url);
        assert_eq!((db, login.user.as_deref()), (2, Some("u")));
        assert_eq!(login.password.unwrap().expose_secret(), "p");
    }
}

#[test]
fn sentinels_have_a_login_of_their_own() {
    let url = "redis+sentinel://:pw@s1:5000,s2/mymaster/4?sentinel_user=watch&sentinel_pass=word";
    let Route::Sentinel(sentinels) = route(url) else { panic!("{url}") };
    assert_eq!((sentinels.at, sentinels.master.as_str()), (vec![at("s1", 5000), at("s2", 26379)], "mymaster"));
    assert_eq!(sentinels.login.user.as_deref(), Some("watch"));
    assert_eq!(sentinels.login.password.unwrap().expose_secret(), "word");
    assert_eq!(parsed(url).db, 4);
    assert_eq!(parsed(url).login.password.unwrap().expose_secret(), "pw");
}

#[test]
fn a_cluster_is_named_by_some_of_its_nodes() {
    let cluster = parsed("redis+cluster://app:pw@h1,h2:7000/");
    assert!(matches!(&cluster.deployment, Deployment::Cluster(nodes) if *nodes == [at("h1", 6379), at("h2", 7000)]));
    assert!(cluster.is_cluster() && !parsed("redis://h1").is_cluster());
}

#[test]
fn every_way_over_tcp_goes_over_tls_too() {
    let client = Some(("/c".into(), "/k".into()));
    for (url, tls) in [
        ("rediss://h/1?ca=/etc/ca.pem", Tls { ca: Some("/etc/ca.pem".into()), client: None }),
        ("rediss+sentinel://h/m?sentinel_pass=x", Tls::default()),
        ("rediss+cluster://h?cert=/c&key=/k&ca=/a", Tls { ca: Some("/a".into()), client }),
    ] {
        assert_eq!(parsed(url).tls, Some(tls), "{url}");
    }
}

#[test]
fn an_invalid_url_is_refused_with_the_reason() {
    use AddressError::*;
    for (url, error) in [
        ("127.0.0.1:6379", NoScheme),
        ("http://127.0.0.1", UnknownScheme("http".to_owned())),
        ("redis+cluster://h1,h2/1", ClusterDatabase),
        ("redis+cluster://", NoHost),
        ("rediss://h?cert=/c", HalfACertificate),
        ("redis+sentinel://h/m?ca=/etc/ca.pem", UnknownParameter),
        ("redis://", NoHost),
        ("redis://user@:6379", NoHost),
        ("redis://h1,h2", SeveralHosts),
        ("redis://h:0", BadPort),
        ("redis://h:66000", BadPort),
        ("redis://[::1]6379", BadPort),
        ("redis://h/one", BadDatabase),
        ("redis://h/-1", BadDatabase),
        ("unix://redis.sock", NoSocketPath),
        ("unix:///", NoSocketPath),
        ("redis+sentinel://h1,h2", NoMasterName),
        ("redis+sentinel://h1,/m", NoHost),
        ("redis://h?ca=/etc/ca.pem", UnknownParameter),
        ("rediss://h#insecure", Fragment),
        ("redis://:%ff@h", NotText),
    ] {
        assert_eq!(refused(url), error, "{url}");
    }
}

#[test]
fn the_password_never_prints() {
    for url in [
        "redis://app:canary@h/1",
        "rediss://app:canary@h",
        "unix:///s?pass=canary",
        "redis+sentinel://:canary@h/m?sentinel_pass=canary",
        "redis+cluster://:canary@h",
    ] {
        let address = parsed(url);
        assert!(!format!("{address} {address:?}").contains("canary"), "{url}");
    }
    for url in ["redis://:cana/ry@h", "redis://:cana?ry@h", "redis://h/canary", "canary@h", "redis://h?canary=canary"] {
        let error = refused(url);
        let said = format!("{error} {error:?}");
        assert!(!said.contains("cana"), "{said}");
    }
}

#[test]
fn a_printed_url_parses_to_the_same_address() {
    for url in [
        "redis://app@h:1/2",
        "rediss://h:6379/0",
        "unix:///run/redis.sock?db=1",
        "redis+sentinel://h1:1,[::1]:2/m/3",
        "rediss+cluster://app@h1:1,h2:2",
    ] {
        assert_eq!(parsed(url).to_string(), url);
    }
}
