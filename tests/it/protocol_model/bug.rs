//! Mistakes that the protocol could have: each one, planted, must be found.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Room is looked for in one script, the job appended in another.
    RoomBeforeAppend,
    /// 202 is sent before the job is written.
    AcceptedBeforeWritten,
    /// A batch of unknown outcome is admitted again without asking for its token.
    NoToken,
    /// The first call for a batch doesn't ask for the token: should it come after the second one, it admits again.
    TokenOnlyWhenRepeated,
    /// A repeated batch that is refused leaves no token: its first call, coming late, finds room.
    RefusalWithoutToken,
    /// A job is acknowledged before its call goes out.
    AckBeforeSend,
    /// XACK and the outcome in one script, XDEL in another.
    AckAndDeleteApart,
    /// Settle doesn't look at the replica's membership.
    OwnerCheckDropped,
    /// Settle recognises the batch before this one alone, not those before that.
    OnlyTheLastBatch,
    /// Nobody takes over what the dead hold.
    RecoveryOff,
    /// Who is taken for dead stays a member.
    DeadStaysMember,
    /// A replica that was stopped still spends its old permits.
    OldPermitsSpent,
    /// After a take without an answer nothing is returned.
    StraysKept,
    /// A replica returns what it knows it holds, too.
    ClaimsGivenBack,
    /// A question for strays has no separate number: one that comes late returns what was taken since.
    StraysUnnumbered,
    /// The job of an unanswered batch counts as known, also when that batch has parked it and it is a stray again.
    SettlingIsKnown,
    /// A take that comes late hands out all the same.
    LateTakeServed,
}
