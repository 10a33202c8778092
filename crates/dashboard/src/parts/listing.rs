//! Parts of lists: filters as links, the way to the next page.

use maud::{Markup, html};

use crate::web::api::escaped;

/// Pairs of a query, without those that are empty.
pub(crate) fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let given = pairs.iter().filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    let pairs: Vec<String> = given.map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// The head of a table. A column whose name begins with `#` has numbers.
pub(crate) fn head(columns: &[&str]) -> Markup {
    html! {
        thead { tr { @for column in columns {
            @match column.strip_prefix('#') {
                Some(name) => th.number scope="col" { (name) },
                None => th scope="col" { (column) },
            }
        } } }
    }
}

pub(crate) fn next(path: &str, query: &str, shown: &str) -> Markup {
    html! {
        nav.more aria-label="Pages" {
            span { (shown) }
            @if !query.is_empty() { a.button href={ (path) (query) } rel="next" { "More" } }
        }
    }
}

/// Ways within a bucket.
pub(crate) fn tabs(bucket: &str, current: &str) -> Markup {
    let tabs = [("", "Overview"), ("/jobs", "Jobs"), ("/dead", "Dead letters")];
    html! {
        nav.tabs aria-label="Of this bucket" {
            @for (path, name) in tabs {
                a href={ "/buckets/" (bucket) (path) } aria-current=[(path == current).then_some("page")] { (name) }
            }
        }
    }
}
