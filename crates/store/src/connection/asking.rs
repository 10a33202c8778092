//! ASKING: a node that a slot is moving to serves a request on keys that have moved already.

use redis::{Cmd, Pipeline};

/// Each of `commands` after an ASKING, which holds for one command, and whose reply is left out.
pub(crate) fn each_asking<'a>(commands: impl IntoIterator<Item = &'a Cmd>) -> Pipeline {
    let mut pipeline = Pipeline::new();
    for command in commands {
        add(&mut pipeline, command.clone(), true);
    }
    pipeline
}

/// Adds the command, after an ASKING where `asking`.
pub(crate) fn add(pipeline: &mut Pipeline, command: Cmd, asking: bool) {
    if asking {
        pipeline.cmd("ASKING").ignore();
    }
    pipeline.add_command(command);
}
