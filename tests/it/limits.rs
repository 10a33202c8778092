//! A bucket's limits: decided in the script that appends, all or nothing.

mod answers;
mod judging;
mod three_intakes;
mod waits;
