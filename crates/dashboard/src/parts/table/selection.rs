//! The search, order and page of the table.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::model::bucket::Row;
use crate::parts::leak::State;
use crate::parts::listing;

/// Rows per page; a stream of the API accepts up to 64 names.
const MOST_ROWS: usize = 40;

/// A column by which the table can be sorted.
pub(super) struct Column {
    /// Its name in the query of the page.
    key: &'static str,
    pub(super) heading: &'static str,
    pub(super) is_number: bool,
    order: fn(&Row, &Row) -> Ordering,
}

const fn number(key: &'static str, heading: &'static str, order: fn(&Row, &Row) -> Ordering) -> Column {
    Column { key, heading, is_number: true, order }
}

const fn text(key: &'static str, heading: &'static str, order: fn(&Row, &Row) -> Ordering) -> Column {
    Column { key, heading, is_number: false, order }
}

pub(super) const COLUMNS: [Column; 9] = [
    text("name", "bucket", |a, b| a.name.cmp(&b.name)),
    text("state", "state", |a, b| severity(a).cmp(&severity(b))),
    number("level", "level", |a, b| a.level.cmp(&b.level)),
    number("capacity", "capacity", |a, b| a.capacity.cmp(&b.capacity)),
    number("full", "full", |a, b| fullness(a).total_cmp(&fullness(b))),
    number("in", "in/s", |a, b| a.accepted_per_s.total_cmp(&b.accepted_per_s)),
    number("refused", "429/s", |a, b| a.refused_per_s.total_cmp(&b.refused_per_s)),
    number("out", "out/s", |a, b| a.settled_per_s.total_cmp(&b.settled_per_s)),
    number("dead", "dead", |a, b| a.dead.cmp(&b.dead)),
];

/// Sorts the worst state first, and groups equal ones.
fn severity(row: &Row) -> (usize, &'static str) {
    let State { word, mood, .. } = State::of(row);
    (["bad", "look", "good"].into_iter().position(|one| one == mood).unwrap_or(0), word)
}

#[expect(clippy::cast_precision_loss, reason = "an order")]
fn fullness(row: &Row) -> f64 {
    row.level as f64 / row.capacity.max(1) as f64
}

/// The search, order and page in the query.
#[derive(Default, Deserialize)]
pub(crate) struct TableQuery {
    /// A part of the name.
    q: Option<String>,
    /// The key of a column; with a leading `-`, the highest first.
    sort: Option<String>,
    /// Counted from 1.
    page: Option<String>,
}

/// One page of the table.
pub(crate) struct Selection {
    pub(crate) rows: Vec<Row>,
    /// The number of matching buckets, on all pages.
    pub(super) found: usize,
    /// Counted from 1.
    page: usize,
}

impl TableQuery {
    pub(crate) fn select(&self, mut rows: Vec<Row>) -> Selection {
        let wanted = self.search().to_lowercase();
        rows.retain(|row| row.name.to_lowercase().contains(&wanted));
        let (column, down) = self.order();
        rows.sort_by(|a, b| {
            let order = (column.order)(a, b);
            (if down { order.reverse() } else { order }).then_with(|| a.name.cmp(&b.name))
        });
        let found = rows.len();
        let page = self.page.as_deref().and_then(|page| page.parse().ok()).unwrap_or(1);
        let page = page.clamp(1, found.div_ceil(MOST_ROWS).max(1));
        let rows = rows.into_iter().skip((page - 1) * MOST_ROWS).take(MOST_ROWS).collect();
        Selection { rows, found, page }
    }

    pub(super) fn search(&self) -> &str {
        self.q.as_deref().map_or("", str::trim)
    }

    /// The order, for a form that keeps it.
    pub(super) fn sort(&self) -> Option<&str> {
        self.sort.as_deref()
    }

    /// The column that the table is sorted by, and whether the highest comes first.
    fn order(&self) -> (&'static Column, bool) {
        let sort = self.sort.as_deref().unwrap_or_default();
        let (key, down) = sort.strip_prefix('-').map_or((sort, false), |key| (key, true));
        COLUMNS.iter().find(|column| column.key == key).map_or((&COLUMNS[0], false), |column| (column, down))
    }

    /// The value of `aria-sort`. `None` if the table isn't sorted by this column.
    pub(super) fn sorted_by(&self, column: &Column) -> Option<&'static str> {
        let (current, down) = self.order();
        (current.key == column.key).then_some(if down { "descending" } else { "ascending" })
    }

    /// The query of the page sorted by this column, in reverse order if it already is.
    pub(super) fn sorting(&self, column: &Column) -> String {
        let down = self.sorted_by(column).map_or(column.is_number, |now| now == "ascending");
        let sort = format!("{}{}", if down { "-" } else { "" }, column.key);
        listing::query(&[("q", self.q.as_deref()), ("sort", Some(&sort))])
    }

    /// The query of another page in the same order.
    pub(super) fn turned_to(&self, page: usize) -> String {
        let page = page.to_string();
        listing::query(&[("q", self.q.as_deref()), ("sort", self.sort.as_deref()), ("page", Some(&page))])
    }
}

impl Selection {
    pub(super) fn before(&self) -> Option<usize> {
        (self.page > 1).then(|| self.page - 1)
    }

    pub(super) fn after(&self) -> Option<usize> {
        (self.page * MOST_ROWS < self.found).then_some(self.page + 1)
    }

    /// The number of its first row among all matching ones, from 1.
    pub(super) fn first(&self) -> usize {
        (self.page - 1) * MOST_ROWS + 1
    }
}
