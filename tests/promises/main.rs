//! The promises of the design, a module each, over real Redis; those about death and pauses with real processes.

mod the_bound_is_exact;
mod the_pace_is_a_ceiling;
