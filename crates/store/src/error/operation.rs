//! The operation that failed.

use std::{borrow::Cow, fmt};

use redis::{Arg, Cmd, Pipeline};

/// What was being done: it decides what a failure means.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation<'a> {
    Command(&'a Cmd),
    /// A script, by its name.
    Script(&'a str),
    /// A script, and WAIT behind it: when WAIT fails, the script was carried out.
    ScriptAndWait(&'a str),
    /// The same, where ASKING comes before the script.
    AskingScriptAndWait(&'a str),
    /// Several commands at once: others than the failed one may have been carried out.
    Pipeline(&'a Pipeline),
}

impl Operation<'_> {
    pub(super) fn is_script(self) -> bool {
        matches!(self, Self::Script(_) | Self::ScriptAndWait(_) | Self::AskingScriptAndWait(_))
    }

    /// The place of a script among commands of one request, the others of which don't matter to what it has done.
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

/// The first word of a command: never an argument, which may be a secret.
fn name_of(cmd: &Cmd) -> Cow<'_, str> {
    match cmd.args_iter().next() {
        Some(Arg::Simple(name)) => String::from_utf8_lossy(name),
        _ => Cow::Borrowed("(empty)"),
    }
}
