//! Checks that the addresses on which one process listens are different.

use std::net::SocketAddr;

use super::grpc::GrpcPort;
use super::intake::{DashboardPlace, IntakeRole};
use super::read::Reader;
use super::tree::{self, Step};

/// Checks the addresses of an intake. A processor has only one.
pub(super) fn check(reader: &mut Reader<'_>, intake: &IntakeRole, grpc: Option<GrpcPort>) {
    let dashboard = match intake.dashboard {
        DashboardPlace::Apart(address) => Some(address),
        DashboardPlace::Intake | DashboardPlace::Off => None,
    };
    let all = [
        (["intake", "listen"], Some(intake.listen)),
        (["intake", "metrics_listen"], intake.metrics_listen),
        (["intake", "dashboard"], dashboard),
        (["grpc", "listen"], grpc.map(|grpc| grpc.listen)),
    ];
    let mut used: Vec<([Step; 2], SocketAddr)> = Vec::new();
    for (path, address) in all {
        let (path, Some(address)) = (path.map(Step::from), address) else { continue };
        match used.iter().find(|(_, other)| collide(address, *other)) {
            Some((other, _)) => {
                let message = format!("the same process listens there for {}: use another port", tree::shown(other));
                reader.error(&path, message);
            }
            None => used.push((path, address)),
        }
    }
}

/// `[::]` and an IPv4 address don't count as a collision: whether they collide depends on the machine.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let (ip, other_ip) = (one.ip(), other.ip());
    let overlap =
        ip == other_ip || ip.is_ipv4() == other_ip.is_ipv4() && (ip.is_unspecified() || other_ip.is_unspecified());
    one.port() != 0 && one.port() == other.port() && overlap
}
