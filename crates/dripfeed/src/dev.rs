//! `dripfeed dev`: runs all parts on one machine, without configuration.
//!
//! This process runs the intake and the echo upstream; Redis and the processors are child processes. At shutdown,
//! intake and processors drain first, then the echo upstream stops, then Redis. Signals are sent only to child
//! processes. A Redis that a killed `dripfeed dev` left running in the same folder is shut down with a command.

mod browser;
mod echo;
mod echo_mode;
mod playground;
mod processors;
mod redis;
mod settings_file;
mod shell_word;
mod welcome;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::echo::Echo;
use self::echo_mode::EchoModes;
use self::processors::Processors;
use self::redis::PrivateRedis;
use self::settings_file::{Draft, SettingsFile};
use self::welcome::Welcome;
use crate::background;
use crate::exit::Failure;
use crate::role::intake::IntakeRole;
use crate::role::settings_metrics::SettingsMetrics;
use crate::settings::{Layers, Settings};
use crate::signals;
use crate::telemetry::Log;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Redis to use instead of a private one
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Port of the intake on 127.0.0.1; 0 selects a free port [default: that of intake.listen, 7180]
    #[arg(long)]
    port: Option<u16>,
    /// Port of the echo upstream on 127.0.0.1; if it is in use, a free port is selected
    #[arg(long, value_name = "PORT", default_value_t = 7182)]
    echo_port: u16,
    /// Number of processors
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    processors: usize,
    /// Directory for the data of Redis
    #[arg(long, value_name = "FOLDER", default_value = ".dripfeed")]
    data: PathBuf,
    /// Don't open the dashboard in a browser
    #[arg(long)]
    no_open: bool,
}

/// Runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// When a part can't start, or fails and can't be restarted.
pub(crate) async fn run(arguments: Arguments, mut layers: Layers) -> Result<(), Failure> {
    let stop = signals::stop_with_terminal()?;
    let echo = Echo::bind(arguments.echo_port).await?;
    let draft = layers.files.is_empty().then(|| Draft::write(&arguments.data, echo.address())).transpose()?;
    if let Some(port) = arguments.port {
        layers.arguments.push(format!("intake.listen={}", SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
    }
    // Reports invalid settings before anything starts.
    let mut checked = layers.clone();
    checked.files.extend(draft.as_ref().map(|draft| draft.path().to_owned()));
    Log::start(&Settings::load(&checked)?.log);
    match &arguments.redis {
        Some(url) => {
            let _file = publish(draft, None, &mut layers)?;
            run_with_redis(url, &arguments, layers, echo, &stop).await
        }
        None => run_with_private_redis(&arguments, layers, draft, echo, &stop).await,
    }
}

/// Publishes the settings file, which may be removed when the result is dropped.
fn publish(draft: Option<Draft>, redis: Option<&str>, layers: &mut Layers) -> Result<Option<SettingsFile>, Failure> {
    let file = draft.map(|draft| draft.publish(redis)).transpose()?;
    layers.files.extend(file.as_ref().map(|file| file.path.clone()));
    Ok(file)
}

async fn run_with_private_redis(
    arguments: &Arguments,
    mut layers: Layers,
    draft: Option<Draft>,
    echo: Echo,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let redis = tokio::select! {
        redis = PrivateRedis::start(&arguments.data) => redis?,
        () = stop.cancelled() => return Ok(()),
    };
    let url = redis.url();
    // After the start of Redis, which fails if another `dripfeed dev` uses this folder and its settings file.
    let _file = publish(draft, Some(&url), &mut layers)?;
    let stop_redis = CancellationToken::new();
    let redis = background::spawn(redis.keep(stop_redis.clone()));
    let result = run_with_redis(&url, arguments, layers, echo, stop).await;
    stop_redis.cancel();
    let stopped = redis.await.map_err(anyhow::Error::from)?;
    result.and(stopped.map_err(Failure::from))
}

/// Runs all parts except Redis, with the Redis at `url`.
async fn run_with_redis(
    url: &str,
    arguments: &Arguments,
    mut layers: Layers,
    echo: Echo,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    layers.arguments.extend([format!("redis.url={url}"), "redis.url_file=".to_owned()]);
    let address = echo.address();
    let stop_echo = CancellationToken::new();
    let modes = EchoModes::default();
    let echo = background::spawn(echo.serve(modes.clone(), stop_echo.clone()));
    let result = run_roles(arguments, &layers, address, modes, stop).await;
    stop_echo.cancel();
    let stopped = echo.await.map_err(anyhow::Error::from)?;
    result.and(stopped.map_err(Failure::from))
}

/// Runs intake and processors until `stop`, or until one of them fails.
async fn run_roles(
    arguments: &Arguments,
    layers: &Layers,
    echo: SocketAddr,
    modes: EchoModes,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let (settings, checksum) = Settings::load_with_checksum(layers)?;
    let Some((mut intake, ports)) = IntakeRole::open(&settings, &SettingsMetrics::of(checksum), stop).await? else {
        return Ok(());
    };
    intake.add_playground(|intake| playground::router(intake, modes), playground::description());
    let page = ports.page(settings.intake.dashboard)?;
    let welcome = Welcome { intake: ports.http.local_addr()?, page, echo, settings: &settings, files: &layers.files };
    welcome.print();
    if !arguments.no_open {
        welcome.open();
    }
    let processors = Processors::new(layers, &settings)?;
    let mut roles = JoinSet::new();
    for number in 1..=arguments.processors {
        roles.spawn(processors.clone().keep(number, stop.clone()));
    }
    let intake_stop = stop.clone();
    roles.spawn(async move { intake.serve(ports, intake_stop).await });
    let mut result = Ok(());
    while let Some(one) = roles.join_next().await {
        // When one ends, stop the others.
        stop.cancel();
        result = result.and(one.map_err(|panicked| Failure::from(anyhow::Error::from(panicked))).flatten());
    }
    result
}
