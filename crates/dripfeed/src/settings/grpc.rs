//! `[grpc]`

use std::net::SocketAddr;

use serde::Deserialize;

use super::deserialize;
use super::intake;
use super::read::Reader;

#[derive(Clone, Copy, Debug)]
pub(crate) struct GrpcPort {
    pub(crate) listen: SocketAddr,
    pub(crate) max_connections: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    #[serde(deserialize_with = "deserialize::address_or_none")]
    listen: Option<SocketAddr>,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_connections: usize,
}

/// The inner `Option` is `None` if gRPC is off.
pub(super) fn read(reader: &mut Reader<'_>, anyone_may_call: bool) -> Option<Option<GrpcPort>> {
    let Section { listen, max_connections } = reader.section("grpc")?;
    let Some(listen) = listen else { return Some(None) };
    intake::require_keys_beyond_loopback(reader, &["grpc".into(), "listen".into()], listen, anyone_may_call);
    Some(Some(GrpcPort { listen, max_connections }))
}
