//! ASKING: lets a node to which a slot is being moved serve a request for keys that have moved already.

use redis::{Cmd, Pipeline};

/// Returns a pipeline with ASKING before each command, as it applies to one command. Its replies are ignored.
pub(crate) fn each_asking<'a>(commands: impl IntoIterator<Item = &'a Cmd>) -> Pipeline {
    let mut pipeline = Pipeline::new();
    for command in commands {
        add(&mut pipeline, command.clone(), true);
    }
    pipeline
}

/// Adds the command, after ASKING if `asking`.
pub(crate) fn add(pipeline: &mut Pipeline, command: Cmd, asking: bool) {
    if asking {
        pipeline.cmd("ASKING").ignore();
    }
    pipeline.add_command(command);
}
