//! Rows of `bench growth`: many callers, buckets and schedules.

mod behind;
mod bounds;
mod busy;
mod bytes;
mod define;
mod depth;
mod fair;
mod first;
mod flood;
mod idle;
mod keda;
mod ticks;

use super::Row;

rows! { GROWTH:
    "flood", "nine callers at 45 % load, while a tenth has posted 10,000 jobs", flood::measure;
    "behind", "calls before one job that is posted behind 10,000", behind::measure;
    "fair", "time of Redis per job, with and without fair queuing", fair::measure;
    "bounds", "time of Redis per job, callers with rate and concurrency limits", bounds::measure;
    "bytes", "memory of Redis that fair queuing adds per job", bytes::measure;
    "depth", "time of Redis per job of ten callers, few and many jobs waiting", depth::measure;
    "idle", "four processors and an intake of 10,000 buckets without jobs", idle::measure;
    "first", "the first job of a bucket, among 10,000", first::measure;
    "busy", "100 busy buckets, alone and among 10,000", busy::measure;
    "define", "1,000 buckets created over the API", define::measure;
    "ticks", "10,000 schedules, all due in one second", ticks::measure;
    "keda", "the first job of an empty bucket, until KEDA knows it", keda::measure;
}
