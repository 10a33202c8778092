use redis::{Cmd, Pipeline};

use crate::error::Operation;
use crate::script::Call;

/// What is asked of a server.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    Script(&'a Call<'a>),
    /// A script whose writes must be as durable as the settings say.
    Durable(&'a Call<'a>),
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
}

impl<'a> Request<'a> {
    pub(crate) fn during(self) -> Operation<'a> {
        match self {
            Self::Script(call) | Self::Durable(call) => Operation::Script(call.name()),
            Self::Command(cmd) => Operation::Command(cmd),
            Self::Pipeline(pipeline) => Operation::Pipeline(pipeline),
        }
    }

    /// A key that it works on, where it is known by its place: of a script, whose keys all share a slot.
    pub(crate) fn key(self) -> Option<&'a [u8]> {
        match self {
            Self::Script(call) | Self::Durable(call) => call.first_key(),
            Self::Command(_) | Self::Pipeline(_) => None,
        }
    }
}
