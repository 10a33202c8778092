//! Secrets, keys and certificates come from their files.

use std::path::Path;

use super::{Folder, Layers, layers, load, reported, tls};

#[test]
fn whom_to_trust_is_read_from_a_file() {
    let folder = Folder::new();
    let no_certificate = folder.file("none.pem", "-----BEGIN NOTHING-----\n");
    for (file, says) in [
        (folder.0.path().join("missing.pem"), "buckets.a.upstream_ca_file: can't read missing.pem"),
        (no_certificate, "buckets.a.upstream_ca_file: none.pem contains no certificate in PEM format"),
    ] {
        let bucket = format!("upstream = \"https://a.example/\"\nupstream_ca_file = \"{}\"", file.display());
        let reported = folder.reported(&layers([folder.file("dripfeed.toml", format!("[buckets.a]\n{bucket}"))]));
        assert!(reported.contains(says), "{reported}");
    }
}

#[test]
fn files_of_tls_to_redis_are_read_with_the_settings() {
    let folder = Folder::new();
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (mine, other) = (made(), made());
    folder.file("cert.pem", mine.cert.pem());
    folder.file("key.pem", mine.signing_key.serialize_pem());
    folder.file("other.pem", other.signing_key.serialize_pem());
    folder.file("none.pem", "-----BEGIN NOTHING-----\n");
    folder.file("broken.pem", "-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n");
    let url = |parameters: &str| {
        let dir = folder.0.path().display();
        format!("rediss://:canary@127.0.0.1:6379?{}", parameters.replace('=', &format!("={dir}/")))
    };
    let with = |parameters: &str| {
        let arguments = vec![format!("redis.url={}", url(parameters))];
        Layers { arguments, ..layers([]) }
    };
    load(&with("ca=cert.pem&cert=cert.pem&key=key.pem"));
    for (parameters, says) in [
        ("ca=missing.pem", "redis.url: ?ca=: can't read missing.pem: No such file"),
        ("ca=none.pem", "redis.url: ?ca=: none.pem contains no certificate in PEM format"),
        ("ca=key.pem", "redis.url: ?ca=: key.pem contains no certificate in PEM format"),
        ("ca=broken.pem", "redis.url: ?ca=: broken.pem contains a certificate that can't be used"),
        ("cert=missing.pem&key=key.pem", "redis.url: ?cert=: can't read missing.pem: No such file"),
        ("cert=cert.pem&key=missing.pem", "redis.url: &key=: can't read missing.pem: No such file"),
        ("cert=cert.pem&key=none.pem", "redis.url: &key=: none.pem contains no private key in PEM format"),
        ("cert=cert.pem&key=other.pem", "redis.url: &key=: other.pem doesn't match the certificate in cert.pem"),
    ] {
        let reported = folder.reported(&with(parameters));
        assert!(reported.contains(says) && !reported.contains("canary"), "{parameters}: {reported}");
    }
    let both = folder.reported(&with("ca=missing.pem&cert=cert.pem&key=other.pem"));
    assert!(both.contains("?ca=") && both.contains("&key="), "{both}");
    let file = folder.secret("redis.url", &url("ca=missing.pem"), 0o600);
    let arguments = vec![format!("redis.url_file={}", file.display())];
    let reported = folder.reported(&Layers { arguments, ..layers([]) });
    assert!(reported.contains("redis.url_file: ?ca=: can't read missing.pem"), "{reported}");
}

#[test]
fn secrets_come_from_files_that_others_cannot_read() {
    let folder = Folder::new();
    let url = folder.secret("redis.url", "redis://:hunter2@127.0.0.1:6379\n", 0o600);
    let headers = folder.secret("headers", "# for the partner\nAuthorization: Bearer hunter2\n\nX-Shop: 1\n", 0o640);
    let content = format!(
        r#"
            redis.url_file = "{}"
            [buckets.mail]
            upstream = "http://127.0.0.1:1/"
            headers_file = "{}"
        "#,
        url.display(),
        headers.display()
    );
    let files = layers([folder.file("dripfeed.toml", content)]);
    assert_eq!(load(&files).redis.url.to_string(), "redis://127.0.0.1:6379/0");

    folder.secret("redis.url", "redis://:hunter2@127.0.0.1:6379", 0o644);
    folder.secret("headers", "Authorization Bearer hunter2", 0o600);
    let reported = folder.reported(&files);
    assert!(!reported.contains("hunter2"), "{reported}");
    insta::assert_snapshot!(reported);
}

#[test]
fn signing_secrets_are_one_or_more_wherever_they_stand() {
    let folder = Folder::new();
    let [old, new] = ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4"];
    let both = folder.secret("secrets", &format!("{new}\n{old}\n"), 0o600);
    let upstream = |settings: &str, arguments: &[String]| {
        let file = folder.file("dripfeed.toml", format!("[buckets.mail]\nupstream = \"http://h/\"\n{settings}"));
        let settings = load(&Layers { arguments: arguments.to_vec(), ..layers([file]) });
        settings.buckets.get("mail").unwrap().upstream.clone()
    };
    let unsigned = upstream("", &[]);
    let one = upstream(&format!("signing_secret = \"{old}\""), &[]);
    let two = upstream(&format!("signing_secret = [\"{new}\", \"{old}\"]"), &[]);
    assert!(unsigned != one && one != two);
    assert_eq!(upstream(&format!("signing_secret_file = \"{}\"", both.display()), &[]), two);
    let argument = |value: String| upstream("", &[format!("buckets.mail.signing_secret={value}")]);
    assert_eq!(argument(old.to_owned()), one);
    assert_eq!(argument(format!("[\"{new}\", \"{old}\"]")), two);

    folder.secret("secrets", &format!("{new}\ncanary\n"), 0o600);
    let reported = reported(&format!(
        "[buckets.mail]\nupstream = \"http://h/\"\nsigning_secret_file = \"{0}\"\n\
         [buckets.sms]\nupstream = \"http://h/\"\nsigning_secret_file = \"{0}\"\nsigning_secret = \"{new}\"",
        both.display()
    ));
    assert!(
        reported.contains("line 2 is not a signing secret") && reported.contains("signing_secret is also set"),
        "{reported}"
    );
    assert!(!reported.contains("canary") && !reported.contains("whsec_Z"), "{reported}");
}

#[test]
fn tls_takes_a_certificate_and_its_key() {
    let folder = Folder::new();
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (mine, other) = (made(), made());
    let certificate = folder.file("cert.pem", mine.cert.pem());
    let key = folder.secret("key.pem", mine.signing_key.serialize_pem().trim_end(), 0o600);
    let others = folder.secret("other.pem", &other.signing_key.serialize_pem(), 0o640);
    let open = folder.secret("open.pem", &mine.signing_key.serialize_pem(), 0o644);
    assert!(load(&tls(&certificate, &key)).intake.tls.is_some());
    assert!(load(&layers([])).intake.tls.is_none());
    let none = Path::new("");
    let reported =
        [(&*certificate, none), (none, &key), (&certificate, &others), (&certificate, &open), (&key, &certificate)]
            .map(|(certificate, key)| folder.reported(&tls(certificate, key)));
    insta::assert_snapshot!(reported.join("\n"));
}
