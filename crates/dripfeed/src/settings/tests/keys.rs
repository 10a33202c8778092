//! Who may do what.

use dripfeed_auth::ServiceSet;

use super::{Folder, Layers, layers, load, reported};

#[test]
fn beyond_loopback_there_must_be_keys() {
    let open = layers([]);
    let exposed = Layers { arguments: vec!["intake.listen=0.0.0.0:7180".to_owned()], ..open };
    let folder = Folder::new();
    insta::assert_snapshot!(folder.reported(&exposed));
    let grpc = Layers { arguments: vec!["grpc.listen=0.0.0.0:7183".to_owned()], ..exposed.clone() };
    assert!(
        folder.reported(&grpc).contains("grpc.listen: 0.0.0.0:7183 is not a loopback address"),
        "{}",
        folder.reported(&grpc)
    );
    assert_eq!(folder.reported(&Layers { insecure_no_auth: true, ..exposed.clone() }), "taken");
    let key = format!("keys = [{{ id = \"shop\", sha256 = \"{}\", scopes = [\"submit\"] }}]", "ab".repeat(32));
    let with_key = Layers { files: vec![folder.file("keys.toml", key)], ..exposed };
    assert_eq!(folder.reported(&with_key), "taken");
}

/// As a template writes what it has no value for.
#[test]
fn a_key_with_an_empty_member_is_not_left_out() {
    let folder = Folder::new();
    for (members, wrong) in [("id: , scopes: [read]", "keys[0].id"), ("id: shop, scopes: ", "keys[0].scopes")] {
        let key = format!("{{{members}, sha256: {}}}", "ab".repeat(32));
        let file = folder.file("dripfeed.yaml", format!("intake: {{listen: '0.0.0.0:7180'}}\nkeys: [{key}]\n"));
        let reported = folder.reported(&layers([file]));
        assert!(reported.contains("1 error:") && reported.contains(&format!("{wrong}: is missing")), "{reported}");
    }
}

#[test]
fn keys_say_who_may_do_what() {
    let folder = Folder::new();
    let hash = folder.secret("shop.sha256", &format!("{}  -\n", "ab".repeat(32)), 0o644);
    let file = folder.file(
        "dripfeed.toml",
        format!(
            r#"
                keys = [
                    {{ id = "shop", hash_file = "{hash}", scopes = ["submit"] }},
                    {{ id = "shop", sha256 = "the key itself", scopes = [], buckets = ["mail"] }},
                    {{ id = "", scopes = ["admin"], hash_file = "{missing}" }},
                    {{ sha256 = "{digits}", scopes = ["read"], colour = "red" }},
                    {{ id = "cart", sha256 = "{digits}", scopes = ["read"], services = ["cart", "a/b"] }},
                    {{ id = "cart", sha256 = "{digits}", scopes = ["read"], services = [] }},
                    "just a text",
                ]
            "#,
            hash = hash.display(),
            missing = folder.0.path().join("missing.sha256").display(),
            digits = "0".repeat(64),
        ),
    );
    insta::assert_snapshot!(folder.reported(&layers([file])));
}

#[test]
fn a_keys_services_are_those_it_names_or_named_as_its_buckets() {
    let folder = Folder::new();
    let services = |members: &str| {
        let digits = "ab".repeat(32);
        let content = format!(
            "[buckets.mail]\nupstream = \"http://h/\"\n[[keys]]\nid = \"shop\"\nsha256 = \"{digits}\"\n\
             scopes = [\"submit\"]\n{members}"
        );
        load(&layers([folder.file("dripfeed.toml", content)])).keys.remove(0).services
    };
    let named = |name: &str| ServiceSet::Named([name.parse().unwrap()].into());
    assert_eq!(services(""), ServiceSet::All);
    assert_eq!(services("buckets = [\"mail\"]"), named("mail"));
    assert_eq!(services("buckets = [\"mail\"]\nservices = [\"cart\"]"), named("cart"));
    assert_eq!(services("services = [\"cart\", \"*\"]"), ServiceSet::All);
}

#[test]
fn a_caller_may_have_two_keys_but_no_key_twice() {
    let key = |id: &str, digits: &str| {
        format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{}\"\nscopes = [\"read\"]\n", digits.repeat(32))
    };
    assert_eq!(reported(&[key("shop", "ab"), key("shop", "cd")].concat()), "taken");
    insta::assert_snapshot!(reported(&[key("shop", "ab"), key("shop", "cd"), key("till", "AB")].concat()));
}

#[test]
fn a_key_that_names_no_buckets_is_warned_of() {
    let folder = Folder::new();
    let key = |id: &str, buckets: &str| {
        format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{}\"\nscopes = [\"read\"]\n{buckets}\n", id.repeat(64))
    };
    let file = folder.file("dripfeed.toml", key("a", "") + &key("b", "buckets = [\"*\"]"));
    let warnings = load(&layers([file])).warnings;
    assert!(matches!(&warnings[..], [warning] if warning.starts_with("keys[0] (`a`)")), "{warnings:?}");
}
