//! The message that is printed once all parts run: addresses, and commands to try.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::browser;
use super::shell_word::shell_word;
use crate::output;
use crate::settings::Settings;

pub(super) struct Welcome<'a> {
    pub(super) intake: SocketAddr,
    /// The address of the dashboard, or `None` if it is off.
    pub(super) page: Option<SocketAddr>,
    pub(super) echo: SocketAddr,
    pub(super) settings: &'a Settings,
    /// The configuration files with the buckets.
    pub(super) files: &'a [PathBuf],
}

impl Welcome<'_> {
    /// Prints to standard error, because standard output has the lines of the echo upstream.
    pub(super) fn print(&self) {
        let Self { intake, echo, settings, files, .. } = self;
        let intake = self.url(*intake);
        let page = self.page.map(|page| self.url(page));
        let page = page.map(|page| format!("  page      {page}/         see the buckets fill and leak\n"));
        let page = page.unwrap_or_default();
        let names: Vec<&str> = settings.buckets.keys().map(|name| name.as_str()).collect();
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let redis_cli = self.redis_cli();
        // The path by which this executable was started, as it may not be on `PATH`.
        let program = shell_word(&std::env::args().next().unwrap_or_else(|| "dripfeed".to_owned()));
        let bucket = names.first().copied().unwrap_or("NAME");
        output::say(format_args!(
            "\n{page}  intake    {intake}          /docs to try the API\n  \
             upstream  http://{echo}/echo     ?status=500&delay=2s&retry_after=5\n  \
             Redis     {redis_cli}\n  \
             buckets   {}     from {}\n\n  \
             Submit a job; the upstream logs it here:\n    \
             curl -i {intake}/v1/buckets/{bucket}/jobs --json '{{\"hello\":\"world\"}}'\n  \
             Submit many, and see them delivered at the bucket's rate:\n    \
             for n in $(seq 40); do echo \"{{\\\"body\\\":$n}}\"; done | \
             {program} push {bucket} --ndjson - --server {intake}\n    \
             {redis_cli} XPENDING '{}:{{{bucket}}}:jobs' processors\n  \
             Ctrl-C stops everything after running calls have ended.\n",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            files.join(", "),
            settings.redis.prefix,
        ));
    }

    /// Opens the dashboard in a browser if there is a display.
    pub(super) fn open(&self) {
        if let Some(page) = self.page {
            browser::open(&self.url(page));
        }
    }

    fn url(&self, address: SocketAddr) -> String {
        format!("{}://{address}", if self.settings.intake.tls.is_some() { "https" } else { "http" })
    }

    fn redis_cli(&self) -> String {
        let url = self.settings.redis.url.to_string();
        match url.strip_prefix("unix://") {
            Some(socket) => {
                let (socket, db) = socket.rsplit_once("?db=").unwrap_or((socket, "0"));
                let db = if db == "0" { String::new() } else { format!(" -n {db}") };
                format!("redis-cli -s {}{db}", shell_word(socket))
            }
            None => format!("redis-cli -u {}", shell_word(&url)),
        }
    }
}
