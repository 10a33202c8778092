use super::*;

#[test]
fn a_path_is_kept_as_sent_below_the_upstream() {
    for (sent, kept) in [
        ("a/b", "/a/b"),
        ("/a/b", "/a/b"),
        ("", ""),
        ("?x=1", "?x=1"),
        ("/a?u=http://x/@y/../z", "/a?u=http://x/@y/../z"),
        ("/users/joe@example.com", "/users/joe@example.com"),
        ("/a?b={1|2}^`&c=100%&d=[]", "/a?b={1|2}^`&c=100%&d=[]"),
        ("/a%20b/c.d..e", "/a%20b/c.d..e"),
        ("/a;v=1/b;..", "/a;v=1/b;.."),
        ("/...;/100%2525/%252f", "/...;/100%2525/%252f"),
    ] {
        assert_eq!(UpstreamPath::parse(sent).map(|path| path.to_string()).as_deref(), Ok(kept));
    }
}

#[test]
fn a_path_that_climbs_or_names_a_host_is_refused() {
    for text in [
        "..",
        "/a/../b",
        "/%2e%2e/b",
        "/a/.%2E",
        "/a%2f..%2fb",
        "/./a",
        "/..;/admin",
        "/..;a=b;c/admin",
        "/%2e%2e;/admin",
        "/.%2e%3b/admin",
        "/a/.;x/b",
        "/a/..;",
        "/%252e%252e/admin",
        "/%25252e./admin",
        "/..%253b/admin",
        "/a%252f..%252fb",
        "/a%255c..%255cb",
        "/%25252525252e",
    ] {
        assert_eq!(UpstreamPath::parse(text), Err(BadPath::Climbs), "{text}");
    }
    for text in
        ["//host/a", "/a//b", "http://host/", "@host/", "/@host", "user@host/a", "/\\host", "/%5chost", "/%2fhost"]
    {
        assert_eq!(UpstreamPath::parse(text), Err(BadPath::NamesHost), "{text}");
    }
    for text in ["/a b", "/a#b", "/ä", "/{a}", "/a|b", "/a?b=c d", "/a?b=\"", "/a?ä"] {
        assert_eq!(UpstreamPath::parse(text), Err(BadPath::BadCharacter), "{text}");
    }
    for text in ["/a\r\nb", "/a?b\n", "/a%00", "/a%0d%0ab", "/%7F"] {
        assert_eq!(UpstreamPath::parse(text), Err(BadPath::ControlCharacter), "{text}");
    }
    for text in ["/%", "/%2", "/%zz"] {
        assert_eq!(UpstreamPath::parse(text), Err(BadPath::BadEscape), "{text}");
    }
}

#[test]
fn dot_segments_are_found_in_any_path() {
    for path in ["/a/../b", "/a/.", "../b", "/%2e/b", "/a%2f..%2fb", "/..;/b", "/%zz/.."] {
        assert!(has_dot_segments(path), "{path}");
    }
    for path in ["", "/", "/a/...", "/a/b.c", "/.well-known/x", "/a?b=/../c", "/a#/../b", "/%zz", "/%ff"] {
        assert!(!has_dot_segments(path), "{path}");
    }
}
