//! A bucket, and a frame of many.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A bucket at one moment.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bucket {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) level: u64,
    pub(crate) capacity: u64,
    pub(crate) bytes: u64,
    pub(crate) capacity_bytes: u64,
    pub(crate) max_share: Option<String>,
    pub(crate) limits: Vec<Value>,
    pub(crate) waiting: u64,
    pub(crate) in_flight: u64,
    pub(crate) parked: u64,
    pub(crate) dead: u64,
    pub(crate) dead_bytes: u64,
    pub(crate) oldest_age_ms: Option<u64>,
    pub(crate) accepted_per_s: f64,
    pub(crate) refused_per_s: f64,
    pub(crate) settled_per_s: f64,
    pub(crate) pace: Pace,
    pub(crate) paused: bool,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) totals: Totals,
    /// Settings changed at run time, as in PATCH.
    pub(crate) changes: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Pace {
    pub(crate) target: Option<String>,
    pub(crate) effective_per_s: Option<f64>,
    pub(crate) reason: String,
    pub(crate) held_for_ms: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Replica {
    pub(crate) consumer: String,
    pub(crate) in_flight: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Totals {
    pub(crate) accepted: u64,
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) ended: BTreeMap<String, u64>,
    pub(crate) recovered: u64,
    pub(crate) dead_dropped: u64,
    pub(crate) dead_replayed: u64,
}

/// In a list: or the reason why its state can't be read.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum ListedBucket {
    State(Box<Bucket>),
    Unavailable { name: String },
}

/// One event of `GET /v1/events`.
#[derive(Deserialize)]
pub(crate) struct Frame {
    pub(crate) at: String,
    columns: Vec<String>,
    buckets: Vec<Vec<Value>>,
    pub(crate) states: Vec<Bucket>,
    pub(crate) unavailable: Vec<String>,
}

/// The numbers of a bucket in a table.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) level: u64,
    pub(crate) capacity: u64,
    pub(crate) waiting: u64,
    pub(crate) in_flight: u64,
    pub(crate) parked: u64,
    pub(crate) dead: u64,
    pub(crate) oldest_age_ms: Option<u64>,
    pub(crate) accepted_per_s: f64,
    pub(crate) refused_per_s: f64,
    pub(crate) settled_per_s: f64,
    pub(crate) effective_per_s: Option<f64>,
    pub(crate) reason: String,
    pub(crate) held_for_ms: Option<u64>,
    pub(crate) paused: bool,
    pub(crate) replicas: u64,
}

impl Frame {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = |values: &Vec<Value>| {
            let members = self.columns.iter().cloned().zip(values.iter().cloned());
            serde_json::from_value(Value::Object(members.collect())).ok()
        };
        self.buckets.iter().filter_map(row).collect()
    }
}

impl Bucket {
    pub(crate) fn row(&self) -> Row {
        Row {
            name: self.name.clone(),
            level: self.level,
            capacity: self.capacity,
            waiting: self.waiting,
            in_flight: self.in_flight,
            parked: self.parked,
            dead: self.dead,
            oldest_age_ms: self.oldest_age_ms,
            accepted_per_s: self.accepted_per_s,
            refused_per_s: self.refused_per_s,
            settled_per_s: self.settled_per_s,
            effective_per_s: self.pace.effective_per_s,
            reason: self.pace.reason.clone(),
            held_for_ms: self.pace.held_for_ms,
            paused: self.paused,
            replicas: self.replicas.len() as u64,
        }
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
