use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use tokio::process::Command;

use crate::load::{self, End, per_s};
use crate::peers;
use crate::role::{Ready, Role};
use crate::testbed::Testbed;
use crate::trials::jobs;
use crate::upstream::Detail;

/// The path whose POSTs are forwarded to the upstream.
pub(super) const PASSED_ON: &str = "/jobs";
/// The path whose POSTs get 429.
pub(super) const REFUSED: &str = "/full";

const CONFIGURATION: &str = include_str!("../../../peers/nginx.conf");

pub(super) async fn answered_per_s(bed: &Testbed, path: &str) -> anyhow::Result<f64> {
    bed.upstream.note(Detail::Counts, u64::MAX);
    let address = free_address()?;
    let nginx = Role::start(command(bed, address)?, Ready::At(address)).await?;
    let body = jobs::body(0, jobs::BYTES);
    let requests = Arc::new(vec![jobs::post_to(address, path, &body)]);
    load::run(address, &requests, End::After(bed.volume.window / 4)).await?;
    let answers = load::run(address, &requests, End::After(bed.volume.window)).await?;
    nginx.stop().await?;
    Ok(per_s(answers.accepted + answers.refused, answers.elapsed))
}

fn command(bed: &Testbed, address: SocketAddr) -> anyhow::Result<Command> {
    let folder = bed.redis.folder();
    let file = folder.join("nginx.conf");
    let configuration = CONFIGURATION.replace("{folder}", &folder.display().to_string());
    let configuration = configuration.replace("{listen}", &address.to_string());
    std::fs::write(&file, configuration.replace("{upstream}", &bed.upstream.address().to_string()))?;
    let mut command = Command::new(peers::nginx()?);
    command.arg("-e").arg("stderr").arg("-p").arg(folder).arg("-c").arg(file);
    Ok(command)
}

/// An address with a free port, because nginx can't choose one.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
