//! A bucket, and a frame of the API's events.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The state of a bucket.
#[derive(Clone, Debug, Deserialize)]
pub struct Bucket {
    pub name: String,
    pub kind: String,
    pub level: u64,
    pub capacity: u64,
    pub bytes: u64,
    pub capacity_bytes: u64,
    pub max_share: Option<String>,
    pub limits: Vec<Value>,
    pub waiting: u64,
    pub in_flight: u64,
    pub parked: u64,
    pub dead: u64,
    pub dead_bytes: u64,
    pub oldest_age_ms: Option<u64>,
    pub accepted_per_s: f64,
    pub refused_per_s: f64,
    pub settled_per_s: f64,
    /// The lowest rate in force while `settled_per_s` was measured: 0 without a processor. `None` if only the current
    /// one is known.
    #[serde(skip)]
    pub lowest_per_s: Option<f64>,
    pub pace: Pace,
    /// Recent calls by class of answer. An intake of an earlier version doesn't send them.
    #[serde(default)]
    pub recent_answers: BTreeMap<String, u64>,
    /// Dead letters added recently. An intake of an earlier version doesn't send them.
    #[serde(default)]
    pub recent_dead: u64,
    #[serde(default)]
    pub outbox_oversized: u64,
    pub paused: bool,
    pub replicas: Vec<Replica>,
    pub totals: Totals,
    /// Names of problems that need an operator. An intake of an earlier version doesn't send them.
    #[serde(default)]
    pub problems: Vec<String>,
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Settings changed at run time, as in PATCH.
    pub changes: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Pace {
    pub target: Option<String>,
    pub effective_per_s: Option<f64>,
    pub reason: String,
    pub held_for_ms: Option<u64>,
    /// An intake of an earlier version doesn't send it.
    #[serde(default)]
    pub used_up_for_ms: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Replica {
    pub consumer: String,
    pub in_flight: u64,
    /// When it joined.
    #[serde(default)]
    pub since: Option<String>,
    #[serde(default)]
    pub heartbeat_age_ms: Option<u64>,
    /// Whether its heartbeat is overdue.
    #[serde(default)]
    pub silent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Totals {
    pub accepted: u64,
    pub refused: BTreeMap<String, u64>,
    pub ended: BTreeMap<String, u64>,
    pub recovered: u64,
    pub dead_dropped: u64,
    pub dead_replayed: u64,
}

/// A bucket in a list, whose state may be unavailable.
pub(crate) enum ListedBucket {
    State(Box<Bucket>),
    Unavailable { name: String },
}

/// Not `untagged`, which would first deserialize to a tree of values.
impl<'de> Deserialize<'de> for ListedBucket {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Unavailable {
            name: String,
        }
        let text = <&RawValue>::deserialize(deserializer)?.get();
        serde_json::from_str(text).map(Self::State).or_else(|error| match serde_json::from_str(text) {
            Ok(Unavailable { name }) => Ok(Self::Unavailable { name }),
            Err(_) => Err(D::Error::custom(error)),
        })
    }
}

/// One event of `GET /v1/events`.
#[derive(Deserialize)]
pub struct Frame {
    pub at: String,
    pub summary: Summary,
    columns: Vec<String>,
    /// The names for the columns `problems` and `warnings`, in which rows have indices.
    #[serde(default)]
    needs: Vec<String>,
    buckets: Vec<Vec<Value>>,
    pub states: Vec<Bucket>,
    pub unavailable: Vec<String>,
    /// An intake of an earlier version doesn't send it.
    #[serde(default)]
    attention: Attention,
}

/// Problems and warnings of all buckets.
#[derive(Default, Deserialize)]
struct Attention {
    problems: u64,
    warnings: u64,
    /// If the frame lacks rows: rows of the buckets with the most problems.
    buckets: Vec<Vec<Value>>,
}

/// Totals of all buckets, also of those without a row in the frame.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Summary {
    pub buckets: u64,
    pub level: u64,
    pub capacity: u64,
    pub dead: u64,
    /// An intake of an earlier version doesn't send these.
    #[serde(default)]
    pub buckets_with_dead: u64,
    pub paused: u64,
    #[serde(default)]
    pub accepted_per_s: f64,
    #[serde(default)]
    pub refused_per_s: f64,
    #[serde(default)]
    pub settled_per_s: f64,
}

/// The numbers of a bucket in a table.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    pub name: String,
    pub level: u64,
    pub capacity: u64,
    pub waiting: u64,
    pub in_flight: u64,
    pub parked: u64,
    pub dead: u64,
    #[serde(default)]
    pub recent_dead: u64,
    pub oldest_age_ms: Option<u64>,
    pub accepted_per_s: f64,
    pub refused_per_s: f64,
    pub settled_per_s: f64,
    /// See [`Bucket::lowest_per_s`].
    #[serde(skip)]
    pub lowest_per_s: Option<f64>,
    pub effective_per_s: Option<f64>,
    pub reason: String,
    pub held_for_ms: Option<u64>,
    /// Only known for a whole state, as frames have small rows.
    #[serde(default)]
    pub used_up_for_ms: Option<u64>,
    /// Only known for a whole state.
    #[serde(default)]
    pub recent_answers: BTreeMap<String, u64>,
    /// An earlier version sends none.
    #[serde(default)]
    pub outbox_oversized: u64,
    pub paused: bool,
    pub replicas: u64,
    #[serde(default)]
    pub problems: Vec<String>,
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl Frame {
    /// Returns a row for each bucket of the frame, in the order of their names.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.rows_of(&self.buckets)
    }

    /// Rows of the buckets that need an operator, of the most urgent ones if there are many buckets.
    #[must_use]
    pub fn urgent(&self) -> Vec<Row> {
        self.rows_of(&self.attention.buckets)
    }

    /// Returns the numbers of problems and warnings of all buckets.
    #[must_use]
    pub fn notices(&self) -> (u64, u64) {
        (self.attention.problems, self.attention.warnings)
    }

    fn rows_of(&self, rows: &[Vec<Value>]) -> Vec<Row> {
        let row = |values: &Vec<Value>| {
            let members =
                self.columns.iter().zip(values).map(|(column, value)| (column.clone(), self.named(column, value)));
            serde_json::from_value(Value::Object(members.collect())).ok()
        };
        rows.iter().filter_map(row).collect()
    }

    /// Replaces indices in a value of a row by names.
    fn named(&self, column: &str, value: &Value) -> Value {
        if !matches!(column, "problems" | "warnings") {
            return value.clone();
        }
        let indices = value.as_array().into_iter().flatten().filter_map(|index| usize::try_from(index.as_u64()?).ok());
        indices.filter_map(|index| self.needs.get(index)).cloned().collect()
    }

    /// Returns whether it has a row for each bucket that can be read, not only for requested ones.
    #[must_use]
    pub fn has_all(&self) -> bool {
        self.summary.buckets == (self.buckets.len() + self.unavailable.len()) as u64
    }
}

impl Summary {
    pub(crate) fn add_rates(&mut self, bucket: &Bucket) {
        self.accepted_per_s += bucket.accepted_per_s;
        self.refused_per_s += bucket.refused_per_s;
        self.settled_per_s += bucket.settled_per_s;
    }

    /// Clamped at 0, because of rounding errors.
    pub(crate) fn subtract_rates(&mut self, bucket: &Bucket) {
        self.accepted_per_s = (self.accepted_per_s - bucket.accepted_per_s).max(0.0);
        self.refused_per_s = (self.refused_per_s - bucket.refused_per_s).max(0.0);
        self.settled_per_s = (self.settled_per_s - bucket.settled_per_s).max(0.0);
    }
}

impl Bucket {
    /// Replicas that aren't silent.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.replicas.iter().filter(|replica| !replica.silent).count()
    }

    #[must_use]
    pub fn row(&self) -> Row {
        Row {
            name: self.name.clone(),
            level: self.level,
            capacity: self.capacity,
            waiting: self.waiting,
            in_flight: self.in_flight,
            parked: self.parked,
            dead: self.dead,
            recent_dead: self.recent_dead,
            oldest_age_ms: self.oldest_age_ms,
            accepted_per_s: self.accepted_per_s,
            refused_per_s: self.refused_per_s,
            settled_per_s: self.settled_per_s,
            lowest_per_s: self.lowest_per_s,
            effective_per_s: self.pace.effective_per_s,
            reason: self.pace.reason.clone(),
            held_for_ms: self.pace.held_for_ms,
            used_up_for_ms: self.pace.used_up_for_ms,
            recent_answers: self.recent_answers.clone(),
            outbox_oversized: self.outbox_oversized,
            paused: self.paused,
            replicas: self.alive() as u64,
            problems: self.problems.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

impl Row {
    /// Whether jobs were refused because it was full. A bucket that leaks isn't full all the time.
    pub(crate) fn refuses(&self) -> bool {
        self.has_problem("refusing")
    }

    /// Whether most of its calls fail.
    pub(crate) fn fails(&self) -> bool {
        self.has_problem("failing")
    }

    fn has_problem(&self, name: &str) -> bool {
        self.problems.iter().any(|problem| problem == name)
    }
}

impl ListedBucket {
    pub(crate) fn into_name(self) -> String {
        match self {
            Self::State(bucket) => bucket.name,
            Self::Unavailable { name } => name,
        }
    }
}
