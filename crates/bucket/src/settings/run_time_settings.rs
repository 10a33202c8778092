//! The settings that can be changed at run time, each defined once. `PATCH` and its description, `dripfeed set`, the
//! overrides that a bucket shows, and the hash `control` use this table. Defaults are in `config/default.toml`.

use serde_json::Value as Json;

use crate::settings::BucketSettings;
use crate::settings::limits::BucketLimits;
use crate::settings::setting_kind::SettingKind::{
    self, Count, FairBy, FlowTiers, Flows, Limits, MaxShare, Most, PaceTiers, Rate, Size, SmallCount, Switch, Weights,
};

#[derive(Debug)]
pub struct RunTimeSetting {
    /// The name in the configuration, in `PATCH` and for `dripfeed set`.
    pub name: &'static str,
    /// For the API description and the dashboard.
    pub description: &'static str,
    /// An example value for `dripfeed set`.
    pub example: &'static str,
    /// How it is parsed and applied.
    pub kind: SettingKind,
    read: fn(&BucketSettings, &BucketLimits) -> Json,
}

pub static RUN_TIME_SETTINGS: [RunTimeSetting; 17] = [
    RunTimeSetting {
        name: "capacity",
        description: "Maximum number of jobs in the bucket.",
        example: "50",
        kind: Count(|to, count| to.settings.capacity = count),
        read: |settings, _| settings.capacity.into(),
    },
    RunTimeSetting {
        name: "capacity_bytes",
        description: "Maximum bytes of these jobs, as a number or a string with a unit: `64MiB`.",
        example: "32MiB",
        kind: Size(|to, bytes| to.settings.capacity_bytes = bytes),
        read: |settings, _| settings.capacity_bytes.into(),
    },
    RunTimeSetting {
        name: "max_share",
        description: "Maximum share of the capacity, in jobs and in bytes, for the jobs of one caller; or `free`: as \
            much as there is free room; `none`: no limit.",
        example: "25%",
        kind: MaxShare(|to, share| to.settings.max_share = share),
        read: |settings, _| text(settings.max_share),
    },
    RunTimeSetting {
        name: "fair.by",
        description: "Fair queuing by `caller` or by `group`; `off`: all jobs are in one queue.",
        example: "group",
        kind: FairBy(|to, by| to.settings.fair.by = by),
        read: |settings, _| settings.fair.by.as_str().into(),
    },
    RunTimeSetting {
        name: "fair.weights",
        description: "Weights of callers, or groups, from 1 to 1000: calls while one of weight 1 gets one; replaced as \
            a whole.",
        example: r#"{"shop":4}"#,
        kind: Weights(|to, weights| to.settings.fair.weights = weights),
        read: |settings, _| settings.fair.weights.to_json(),
    },
    RunTimeSetting {
        name: "fair.rate",
        description: "Rate limit of each caller, or group, such as `10/s`; `none`: no limit.",
        example: "10/s",
        kind: Rate(|to, rate| to.settings.fair.bounds.rate = rate),
        read: |settings, _| text(settings.fair.bounds.rate),
    },
    RunTimeSetting {
        name: "fair.burst",
        description: "Calls of each that may start at once after an idle time.",
        example: "10",
        kind: Count(|to, burst| to.settings.fair.bounds.burst = burst),
        read: |settings, _| settings.fair.bounds.burst.into(),
    },
    RunTimeSetting {
        name: "fair.tiers",
        description: "Further rate limits of each, at most 4, that a call must pass in addition to `fair.rate`; \
            replaced as a whole.",
        example: r#"[{"rate":"1000/d","burst":1000}]"#,
        kind: FlowTiers(|to, tiers| to.settings.fair.bounds.tiers = tiers),
        read: |settings, _| settings.fair.bounds.tiers.to_json(),
    },
    RunTimeSetting {
        name: "fair.max_in_flight",
        description: "Maximum concurrent calls of each, over all replicas; `none`: no limit.",
        example: "2",
        kind: Most(|to, calls| to.settings.fair.bounds.max_in_flight = calls),
        read: |settings, _| settings.fair.bounds.max_in_flight.into(),
    },
    RunTimeSetting {
        name: "fair.flows",
        description: "Settings of single callers, or groups, by name: `weight`, `rate`, `burst`, `tiers`, \
            `max_in_flight` and `paused`; a rate or `max_in_flight` of `none`: no limit; replaced as a whole.",
        example: r#"{"shop":{"rate":"50/s","max_in_flight":10}}"#,
        kind: Flows(|to, flows| to.settings.fair.flows = flows),
        read: |settings, _| settings.fair.flows.to_json(),
    },
    RunTimeSetting {
        name: "limits",
        description: "Rate limits of submissions, as a list or as a document; replaced as a whole. Policies with the \
            same id keep their counters.",
        example: r#"[{"id":"each","key":["caller"],"tiers":[{"kind":"gate","period":"1s"}]}]"#,
        kind: Limits(|to, limits| to.limits = limits),
        read: |_, limits| limits.document().into(),
    },
    RunTimeSetting {
        name: "leak.rate",
        description: "Calls per time, such as `200/500ms`; `none`: no limit.",
        example: "10/s",
        kind: Rate(|to, rate| to.settings.leak.rate = rate),
        read: |settings, _| text(settings.leak.rate),
    },
    RunTimeSetting {
        name: "leak.burst",
        description: "Calls that may start at once after an idle time.",
        example: "10",
        kind: Count(|to, burst| to.settings.leak.burst = burst),
        read: |settings, _| settings.leak.burst.into(),
    },
    RunTimeSetting {
        name: "leak.tiers",
        description: "Further rate limits that each call must pass.",
        example: r#"[{"kind":"fixed","limit":10000,"period":"1d"}]"#,
        kind: PaceTiers(|to, tiers| to.settings.leak.tiers = tiers),
        read: |settings, _| settings.leak.tiers.written().into(),
    },
    RunTimeSetting {
        name: "leak.adaptive",
        description: "Whether the rate adapts to the upstream's refusals and timeouts.",
        example: "false",
        kind: Switch(|to, adaptive| to.settings.leak.adaptive = adaptive),
        read: |settings, _| settings.leak.adaptive.into(),
    },
    RunTimeSetting {
        name: "leak.concurrency",
        description: "Concurrent calls of each replica.",
        example: "5",
        kind: SmallCount(|to, calls| to.settings.leak.concurrency = calls),
        read: |settings, _| settings.leak.concurrency.into(),
    },
    RunTimeSetting {
        name: "leak.max_in_flight",
        description: "Concurrent calls of all replicas; `none`: no limit.",
        example: "20",
        kind: Most(|to, calls| to.settings.leak.max_in_flight = calls),
        read: |settings, _| settings.leak.max_in_flight.into(),
    },
];

impl RunTimeSetting {
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        RUN_TIME_SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Returns the value of this setting in `settings` and `limits`, in the form of `PATCH`; null: no limit.
    #[must_use]
    pub fn value(&self, settings: &BucketSettings, limits: &BucketLimits) -> Json {
        (self.read)(settings, limits)
    }

    /// Returns the section, such as `leak`, or an empty text; and the name in the section.
    #[must_use]
    pub fn place(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("", self.name))
    }

    /// The field in the hash `control`. Only settings of `fair` with a namesake in `leak` have their section in it.
    pub(crate) fn field(&self) -> &'static str {
        match self.name {
            "fair.rate" | "fair.burst" | "fair.tiers" | "fair.max_in_flight" => self.name,
            _ => self.place().1,
        }
    }

    /// Puts a value into a `PATCH` document.
    pub fn put(&self, document: &mut Json, value: Json) {
        match self.place() {
            ("", name) => document[name] = value,
            (section, name) => document[section][name] = value,
        }
    }
}

fn text(value: Option<impl ToString>) -> Json {
    value.map(|value| value.to_string()).into()
}
