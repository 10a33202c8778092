//! The operation during which a failure happened.

use std::{borrow::Cow, fmt};

use redis::{Arg, Cmd, Pipeline};

/// The operation: the meaning of a failure depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation<'a> {
    Command(&'a Cmd),
    /// A script, by its name.
    Script(&'a str),
    /// A script followed by WAIT. If WAIT fails, the script was executed.
    ScriptAndWait(&'a str),
    /// ASKING, a script, and WAIT.
    AskingScriptAndWait(&'a str),
    /// Several commands: others than the failed one may have been executed.
    Pipeline(&'a Pipeline),
}

impl Operation<'_> {
    pub(super) fn is_script(self) -> bool {
        matches!(self, Self::Script(_) | Self::ScriptAndWait(_) | Self::AskingScriptAndWait(_))
    }

    /// Returns the index of a script in a pipeline of which the other commands write nothing.
    pub(super) fn place_of_script(self) -> Option<usize> {
        match self {
            Self::ScriptAndWait(_) => Some(0),
            Self::AskingScriptAndWait(_) => Some(1),
            Self::Command(_) | Self::Script(_) | Self::Pipeline(_) => None,
        }
    }
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(cmd) => write!(f, "command {}", name_of(cmd)),
            Self::Script(name) | Self::ScriptAndWait(name) | Self::AskingScriptAndWait(name) => {
                write!(f, "script {name}")
            }
            Self::Pipeline(pipeline) => match pipeline.cmd_iter().next() {
                Some(first) => write!(f, "pipeline of {} from {} on", pipeline.len(), name_of(first)),
                None => f.write_str("empty pipeline"),
            },
        }
    }
}

/// The name of a command, without arguments, which may be secrets.
fn name_of(cmd: &Cmd) -> Cow<'_, str> {
    match cmd.args_iter().next() {
        Some(Arg::Simple(name)) => String::from_utf8_lossy(name),
        _ => Cow::Borrowed("(empty)"),
    }
}
