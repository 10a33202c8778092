#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use secrecy::ExposeSecret;

use super::*;

fn parsed(url: &str) -> Address {
    url.parse().unwrap()
}

fn refused(url: &str) -> AddressError {
    url.parse::<Address>().unwrap_err()
}

fn at(host: &str, port: u16) -> HostPort {
    HostPort { host: host.to_owned(), port }
}

#[test]
fn every_form_is_read() {
    let tcp = parsed("redis://cache");
    assert_eq!(tcp.place, Place::Tcp(at("cache", 6379)));
    assert_eq!((tcp.db, tcp.user.is_none()), (0, true));

    let tcp = parsed("redis://app:p%40ss%2Fword@127.0.0.1:7000/3");
    assert_eq!(tcp.place, Place::Tcp(at("127.0.0.1", 7000)));
    assert_eq!((tcp.db, tcp.user.as_deref()), (3, Some("app")));
    assert_eq!(tcp.password.unwrap().expose_secret(), "p@ss/word");

    let ipv6 = parsed("redis://:secret@[::1]:7000");
    assert_eq!(ipv6.place, Place::Tcp(at("::1", 7000)));
    assert!(ipv6.user.is_none());

    let tls = parsed("rediss://cache:6380/1?ca=/etc/ca.pem");
    let ca = Some("/etc/ca.pem".into());
    assert_eq!(tls.place, Place::Tls { at: at("cache", 6380), ca });

    for scheme in ["unix", "redis+unix"] {
        let unix = parsed(&format!("{scheme}:///run/my%20redis.sock?db=2&user=u&pass=p"));
        assert_eq!(unix.place, Place::Unix("/run/my redis.sock".into()));
        assert_eq!((unix.db, unix.user.as_deref()), (2, Some("u")));
        assert_eq!(unix.password.unwrap().expose_secret(), "p");
    }

    let sentinel = parsed("redis+sentinel://:pw@s1:5000,s2/mymaster/4");
    assert_eq!(
        sentinel.place,
        Place::Sentinel { sentinels: vec![at("s1", 5000), at("s2", 26379)], master: "mymaster".to_owned() }
    );
    assert_eq!(sentinel.db, 4);
}

#[test]
fn what_is_wrong_is_named() {
    use AddressError::*;
    for (url, error) in [
        ("127.0.0.1:6379", NoScheme),
        ("http://127.0.0.1", UnknownScheme("http".to_owned())),
        ("redis+cluster://h1,h2", ClusterNotSupported),
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
    for url in
        ["redis://app:canary@h/1", "rediss://app:canary@h", "unix:///s?pass=canary", "redis+sentinel://:canary@h/m"]
    {
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
fn what_prints_parses_to_the_same_place() {
    for url in
        ["redis://app@h:1/2", "rediss://h:6379/0", "unix:///run/redis.sock?db=1", "redis+sentinel://h1:1,[::1]:2/m/3"]
    {
        assert_eq!(parsed(url).to_string(), url);
    }
}
