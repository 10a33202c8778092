//! Memory gauges of each Redis server that accepts writes, for alerts before `maxmemory` is reached.

use dripfeed_store::{ServerInfo, Store};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabels {
    server: String,
}

/// The gauges, as of the last check of Redis. Empty while Redis is unreachable. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct RedisMemory {
    used: Family<ServerLabels, Gauge>,
    max: Family<ServerLabels, Gauge>,
}

impl RedisMemory {
    pub(crate) fn register(&self, registry: &mut Registry) {
        for (name, help, family) in [
            ("redis_memory_used", "Memory used by a Redis server", &self.used),
            ("redis_memory_max", "maxmemory of a Redis server; 0: not set", &self.max),
        ] {
            registry.register_with_unit(name, help, Unit::Bytes, family.clone());
        }
    }

    pub(super) fn show(&self, servers: &[(Store, ServerInfo)]) {
        self.clear();
        for (server, info) in servers {
            let server = ServerLabels { server: server.address().to_string() };
            set(&self.used, &server, info.used_memory);
            set(&self.max, &server, info.max_memory);
        }
    }

    pub(super) fn clear(&self) {
        self.used.clear();
        self.max.clear();
    }
}

fn set(family: &Family<ServerLabels, Gauge>, server: &ServerLabels, bytes: u64) {
    family.get_or_create_owned(server).set(i64::try_from(bytes).unwrap_or(i64::MAX));
}
