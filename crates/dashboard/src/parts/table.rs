//! The table of buckets, for many of them, in pages.

mod selection;

use std::collections::HashMap;

use maud::{Markup, html};

use self::selection::COLUMNS;
pub(crate) use self::selection::{Selection, TableQuery};
use crate::model::bucket::Row;
use crate::parts::leak::State;
use crate::parts::{bar, card, numbers, teach};
use crate::web::api::escaped;

/// A chart of the level in the last hour, by bucket.
pub(crate) type Sparklines = HashMap<String, Markup>;

pub(crate) fn of(query: &TableQuery, selection: &Selection, sparklines: &Sparklines) -> Markup {
    html! {
        (search(query))
        @if selection.rows.is_empty() {
            (teach::empty(&html! { p { "No bucket has such a name." } }))
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Buckets" {
                table {
                    (head(query))
                    tbody { @for bucket in &selection.rows { (row(bucket, sparklines.get(&bucket.name))) } }
                }
            }
            (pages(query, selection))
        }
    }
}

fn search(query: &TableQuery) -> Markup {
    html! {
        form.find method="get" action="/" role="search" {
            label for="search" { "Name" }
            input #search name="q" type="search" value=(query.search()) autocomplete="off" spellcheck="false"
                data-search-field;
            @if let Some(sort) = query.sort() { input type="hidden" name="sort" value=(sort); }
            button type="submit" { "Find" }
        }
    }
}

/// The head of the table; a heading is a link that sorts by its column.
fn head(query: &TableQuery) -> Markup {
    html! {
        thead { tr {
            @for column in &COLUMNS {
                th.number[column.is_number] scope="col" aria-sort=[query.sorted_by(column)] {
                    a href={ "/" (query.sorting(column)) } { (column.heading) }
                }
                // Beside the level, which is its last value.
                @if column.heading == "level" { th scope="col" { "last hour" } }
            }
        } }
    }
}

/// Without a sparkline, the row keeps the one of the page.
pub(crate) fn row(bucket: &Row, sparkline: Option<&Markup>) -> Markup {
    let path = format!("/buckets/{}", escaped(&bucket.name));
    html! {
        tr id=(card::id(&bucket.name)) {
            th scope="row" { a href=(path) { (bucket.name) } }
            td { (State::of(bucket).badge()) }
            td.number { (numbers::count(bucket.level)) }
            td { spark-line { @if let Some(sparkline) = sparkline { (sparkline) } } }
            td.number { (numbers::count(bucket.capacity)) }
            td { (bar::level(bucket)) }
            (rate(bucket.accepted_per_s))
            (rate(bucket.refused_per_s))
            (rate(bucket.settled_per_s))
            td.number {
                @if bucket.dead > 0 { a href={ (path) "/dead" } { (numbers::count(bucket.dead)) } }
                @else { "0" }
            }
        }
    }
}

/// A rate, faint if it is 0.
fn rate(per_s: f64) -> Markup {
    html! { td.number.faint[per_s <= 0.0] { (numbers::rate(per_s)) } }
}

fn pages(query: &TableQuery, selection: &Selection) -> Markup {
    let (first, found) = (selection.first(), selection.found as u64);
    let last = first + selection.rows.len() - 1;
    html! {
        nav.more aria-label="Pages" {
            span { (first) " to " (last) " of " (numbers::pluralize(found, "bucket", "buckets")) }
            @if let Some(page) = selection.before() {
                a.button href={ "/" (query.turned_to(page)) } rel="prev" { "Previous" }
            }
            @if let Some(page) = selection.after() {
                a.button href={ "/" (query.turned_to(page)) } rel="next" { "Next" }
            }
        }
    }
}
