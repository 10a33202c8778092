//! What a newcomer is told when everything runs.

use std::net::SocketAddr;
use std::path::PathBuf;

use dripfeed_job::BucketName;

pub(super) struct Welcome {
    pub(super) intake: SocketAddr,
    pub(super) echo: SocketAddr,
    /// As `redis.url` writes it, without a password.
    pub(super) redis: String,
    pub(super) buckets: Vec<BucketName>,
    pub(super) files: Vec<PathBuf>,
}

impl Welcome {
    /// On standard error: standard output has the lines of the echo.
    pub(super) fn print(&self) {
        let Self { intake, echo, buckets, files, .. } = self;
        let names: Vec<&str> = buckets.iter().map(BucketName::as_str).collect();
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let redis_cli = self.redis_cli();
        let bucket = names.first().copied().unwrap_or("NAME");
        eprintln!(
            "\n  intake    http://{intake}          /docs to try the API\n  \
             upstream  http://{echo}/echo     ?status=500&delay=2s&retry_after=5\n  \
             Redis     {redis_cli}\n  \
             buckets   {}     from {}\n\n  \
             Hand in a job, and see it arrive here:\n    \
             curl -i http://{intake}/v1/buckets/{bucket}/jobs --json '{{\"hello\":\"world\"}}'\n  \
             Many, and look how they leak:\n    \
             for n in $(seq 40); do echo \"{{\\\"body\\\":$n}}\"; done | dripfeed push {bucket} --ndjson -\n    \
             {redis_cli} XPENDING 'dripfeed:{{{bucket}}}:jobs' processors\n  \
             Ctrl-C drains and ends everything.\n",
            names.join(", "),
            files.join(", "),
        );
    }

    fn redis_cli(&self) -> String {
        match self.redis.strip_prefix("unix://") {
            Some(socket) => format!("redis-cli -s {}", socket.split('?').next().unwrap_or(socket)),
            None => format!("redis-cli -u {}", self.redis),
        }
    }
}
