/// What a heartbeat brought to light.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// This replica was itself declared dead.
    pub fenced: bool,
    /// Jobs of dead replicas that are due again for all.
    pub recovered: u64,
    /// Jobs that were handed out too often without an end.
    pub poisoned: u64,
}
