//! The scripts that only processors run, so that an intake knows their hashes, too.

use crate::deliver::settle::refund;
use crate::deliver::{join, orphaned_claims, recover, settle, standby, take};
use crate::ended::retention;
use crate::history::sample;

/// Computes the hashes of these scripts, by which this process then knows them.
pub fn know_scripts_of_processors() {
    take::SCRIPTS.know();
    refund::SCRIPT.sha1();
    let of_members = [&recover::BEAT, &recover::RECOVER, &join::SCRIPT, &standby::SCRIPT, &orphaned_claims::SCRIPTS];
    let of_jobs = [&settle::SCRIPTS, &retention::SCRIPTS, &sample::SCRIPTS];
    of_members.into_iter().chain(of_jobs).for_each(|scripts| scripts.know());
}
