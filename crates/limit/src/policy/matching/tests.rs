#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn path(template: &str) -> Match {
    Match::new::<&str>(&[], Some(template)).unwrap()
}

fn variables(template: &str, given: &str) -> Option<Vec<(String, String)>> {
    path(template).variables("GET", given).map(|variables| variables.0)
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn a_template_matches_segment_by_segment() {
    let template = "/v1/organizations/{org}/product/{id}";
    let both = vec![pair("org", "acme"), pair("id", "7")];
    assert_eq!(variables(template, "/v1/organizations/acme/product/7"), Some(both.clone()));
    assert_eq!(variables(template, "/v1/organizations/acme/product/7/?x=1#y"), Some(both));
    assert_eq!(variables(template, "/v1/organizations/acme/product"), None);
    assert_eq!(variables(template, "/v1/organizations/acme/product/7/8"), None);
    assert_eq!(variables("/a/*", "/a/b"), Some(vec![]));
    assert_eq!(variables("/a/**", "/a"), Some(vec![]));
    assert_eq!(variables("/a/**", "/a/b/c"), Some(vec![]));
    assert_eq!(variables("/", "/"), Some(vec![]));
    assert_eq!(variables("/", "/a"), None);
}

#[test]
fn another_spelling_of_a_path_is_the_same_endpoint() {
    let org = Some(vec![pair("org", "a/b")]);
    assert_eq!(variables("/v1/{org}", "/%76%31/a%2Fb"), org);
    assert_eq!(variables("/v1/{org}", "//v1///a%2fb/"), org);
    assert_eq!(variables("/v1/{org}", "/v1/%ff"), Some(vec![pair("org", "%ff")]));
}

#[test]
fn methods_match_in_any_case_and_none_is_any() {
    let put = Match::new(&["put"], None).unwrap();
    assert!(put.variables("PUT", "/").is_some());
    assert!(put.variables("Put", "/").is_some());
    assert!(put.variables("GET", "/").is_none());
    assert!(Match::default().variables("anything", "").is_some());
}

#[test]
fn literals_are_more_specific_than_variables_and_those_than_any_rest() {
    let order = ["/**", "/{a}/**", "/{a}", "/v1/**", "/v1/{a}/**", "/v1/{a}", "/v1/{a}/x", "/v1/x/**", "/v1/x"];
    let matches: Vec<Match> = std::iter::once(Match::default()).chain(order.iter().map(|text| path(text))).collect();
    for (i, left) in matches.iter().enumerate() {
        for (j, right) in matches.iter().enumerate() {
            let compared = left.compare_specificity(right);
            // `/v1/{a}` and `/v1/{a}/x` match no path in common: their order doesn't matter.
            if !(left.path().is_some() && right.path().is_some() && disjoint(left, right)) {
                assert_eq!(compared, i.cmp(&j), "{left:?} {right:?}");
            }
        }
    }
    let named = Match::new(&["GET"], Some("/v1/x")).unwrap();
    assert_eq!(named.compare_specificity(&path("/v1/x")), Ordering::Greater);
    assert_eq!(path("/v1/{a}").compare_specificity(&path("/v1/{b}")), Ordering::Equal);
}

fn disjoint(left: &Match, right: &Match) -> bool {
    let paths = ["/", "/v1", "/v2", "/v1/x", "/v1/y", "/v1/y/x", "/v1/x/x", "/v2/y/z"];
    !paths.iter().any(|given| left.variables("GET", given).is_some() && right.variables("GET", given).is_some())
}

#[test]
fn what_is_no_template_says_why() {
    assert_eq!(Template::parse("v1/a"), Err(BadMatch::NoSlash("v1/a".to_owned())));
    for text in ["/**/a", "/a*", "/{}", "/{a b}", "/{a", "/a}", "/a?b", "/a/../b", "/./a", "/%2e%2E"] {
        assert!(matches!(Template::parse(text), Err(BadMatch::Segment { .. })), "{text}");
    }
    assert!(matches!(Template::parse("/{a}/{a}"), Err(BadMatch::Twice { .. })));
    assert!(matches!(Match::new(&["G T"], None), Err(BadMatch::Method(_))));
}
