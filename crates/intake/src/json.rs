//! A JSON body read into a type, or the place where it can't be.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::problem::{Code, Place, Problem};

pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let member = error.path().to_string();
        let member = (member != ".").then_some(member);
        problem(&error.into_inner(), member)
    })?;
    json.end().map_err(|error| problem(&error, None))?;
    Ok(read)
}

fn problem(error: &serde_json::Error, member: Option<String>) -> Problem {
    let code = match error.classify() {
        Category::Data => Code::BadMember,
        Category::Io | Category::Syntax | Category::Eof => Code::BadJson,
    };
    let place = Place { item: None, member, line: Some(error.line()), column: Some(error.column()) };
    Problem::new(code, without_place(error)).at(place)
}

/// What the parser says, less the place that it adds: problems have members for it.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map_or_else(|| text.clone(), str::to_owned)
}
