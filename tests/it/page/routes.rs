//! The routes of the dashboard, as its router lists them, of the bucket `b` and the service `s`.

const ROUTER: &str = include_str!("../../../crates/dashboard/src/router.rs");

/// The paths with this method; `id` is that of a job, replay or schedule.
fn routes(method: &str, id: &str) -> Vec<String> {
    let routes = ROUTER.split(".route(\"").skip(1).filter_map(|route| route.split_once('"'));
    let paths = routes.filter(|(_, handlers)| handlers.contains(&format!("{method}(")));
    let paths = paths.map(|(path, _)| path.replace("{bucket}", "b").replace("{service}", "s").replace("{id}", id));
    let paths: Vec<String> = paths.map(|path| path.replace("{verb}", "pause")).collect();
    assert!(paths.len() > 15, "{method}: {paths:?}");
    paths
}

pub(super) fn pages(id: &str) -> Vec<String> {
    routes("get", id).into_iter().filter(|path| !path.starts_with("/live")).collect()
}

/// The streams that pages follow.
pub(super) fn streams(id: &str) -> Vec<String> {
    routes("get", id).into_iter().filter(|path| path.starts_with("/live")).collect()
}

/// What forms are submitted to.
pub(super) fn actions(id: &str) -> Vec<String> {
    routes("post", id)
}
