use std::ffi::OsString;

use crate::durability::append_fsync::AppendFsync;

/// Options of a private server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Whether each write goes to the append-only file.
    pub append_only: bool,
    /// When the append-only file is flushed to disk.
    pub append_fsync: AppendFsync,
    /// A port of 127.0.0.1 to listen on, besides the socket.
    pub tcp_port: Option<u16>,
    /// Further arguments for the server, such as `--maxmemory 2mb`, which override the others.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Default for ServerOptions {
    /// The options of `dripfeed dev`: append-only, flushed every second, no port.
    fn default() -> Self {
        Self {
            append_only: true,
            append_fsync: AppendFsync::Everysec,
            tcp_port: None,
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }
}

impl ServerOptions {
    pub(super) fn arguments(&self) -> Vec<String> {
        let append_only = if self.append_only { "yes" } else { "no" };
        let port = self.tcp_port.unwrap_or(0).to_string();
        let append_fsync = self.append_fsync.to_string();
        let ours = [
            ("--port", port.as_str()),
            ("--bind", "127.0.0.1"),
            ("--appendonly", append_only),
            ("--appendfsync", append_fsync.as_str()),
            ("--save", ""),
            ("--maxmemory-policy", "noeviction"),
            ("--loglevel", "warning"),
            ("--daemonize", "no"),
        ];
        let ours = ours.into_iter().flat_map(|(name, value)| [name, value]);
        ours.map(str::to_owned).chain(self.arguments.iter().cloned()).collect()
    }
}
