//! Faults of methods and path templates.

use thiserror::Error;

/// More than HTTP has.
pub(super) const MOST_METHODS: usize = 32;
/// Every segment is compared for each request.
pub(super) const MOST_SEGMENTS: usize = 64;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadMatch {
    #[error("`{0}` is not a method, such as PUT")]
    Method(String),
    #[error("the path template `{0}` doesn't begin with a slash")]
    NoSlash(String),
    #[error(
        "`{segment}` in the path template `{template}` is not valid: a segment is a literal, {{name}}, *, or ** at \
        the end"
    )]
    Segment { segment: String, template: String },
    #[error("{0} methods: use at most {MOST_METHODS}")]
    ManyMethods(usize),
    #[error("the path template has more than {MOST_SEGMENTS} segments: use `**` for the rest")]
    ManySegments,
    #[error("the variable `{name}` occurs twice in the path template `{template}`")]
    Twice { name: String, template: String },
}
