//! Elements of lists: filter links and pagination.

use maud::{Markup, html};

use crate::parts::numbers;
use crate::web::api::escaped;

/// A query string, without empty values.
pub(crate) fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let pairs = pairs.iter().filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", escaped(value))).collect();
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

/// A form for the id of an item to show.
pub(crate) fn id_form(path: &str) -> Markup {
    html! {
        form.find method="get" action=(path) {
            span.field {
                label for="id" { "Job id" }
                input #id name="id" type="search" placeholder="1700000000000-0" autocomplete="off" spellcheck="false"
                    data-search-field;
            }
            button type="submit" { "Show" }
        }
    }
}

/// A field of a form that finds items.
pub(crate) fn field(label: &str, name: &str, example: &str, value: Option<&str>) -> Markup {
    html! {
        span.field {
            label for=(name) { (label) }
            input id=(name) name=(name) type="search" placeholder=(example) autocomplete="off" spellcheck="false"
                value=(value.unwrap_or_default());
        }
    }
}

/// The number of items on a page: `3 jobs` if these are all, `the first 3 jobs`, or `3 more jobs` on later pages.
pub(crate) fn shown(items: usize, (one, many): (&str, &str), is_first: bool, is_last: bool) -> String {
    let what = if items == 1 { one } else { many };
    let count = numbers::count(items as u64);
    match (is_first, is_last) {
        (true, true) => format!("{count} {what}"),
        (true, false) if items == 1 => format!("the first {what}"),
        (true, false) => format!("the first {count} {what}"),
        (false, _) => format!("{count} more {what}"),
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

/// The head of a bucket's page: breadcrumbs, heading, and tabs.
pub(crate) fn heading(bucket: &str, title: &Markup, current: &str) -> Markup {
    let tabs = [("", "Overview"), ("/jobs", "Jobs"), ("/dead", "Dead letters")];
    let is_overview = current.is_empty();
    html! {
        nav.crumbs aria-label="Breadcrumb" {
            a href="/" { "Buckets" }
            @if !is_overview { " / " a href={ "/buckets/" (bucket) } { (bucket) } }
        }
        h1 { (title) }
        nav.tabs aria-label="Pages of this bucket" {
            @for (path, name) in tabs {
                a href={ "/buckets/" (bucket) (path) } aria-current=[(path == current).then_some("page")] { (name) }
            }
        }
    }
}
