//! All operations of the API, listed once for routes and description.

use axum::Router;
use axum::routing::{MethodFilter, on};
use dripfeed_http::AnyHandler;
use pastey::paste;
use utoipa::Path;
use utoipa::openapi::{HttpMethod, OpenApi};

use crate::buckets::define::{delete as delete_bucket, put, shown};
use crate::buckets::{audit, change, doctor, flows, history, holders, list as buckets, pause, purge, scale, settings};
use crate::events;
use crate::installation::keys::{audit as key_audit, delete as delete_key, list as keys, put as put_key};
use crate::installation::{key, redis};
use crate::intake::Intake;
use crate::jobs::{
    cancel, cancel_many, dead_groups, dead_letters, delete_dead, job, list as jobs, outcomes, replay, replays, report,
};
use crate::probes;
use crate::schedules::{define, delete, list as schedules, run, switch};
use crate::services::{audit as rules_audit, check, history as service_history, list as services, rules};
use crate::submit::{batch, proxy, single};

/// Creates routes and description of the handlers' `utoipa::path`. Routes only use its method and path; the
/// description, which takes megabytes, is created on demand.
macro_rules! calls {
    ($($module:ident::$handler:ident),* $(,)?) => {
        /// The routes under `/v1`.
        pub(crate) fn routes() -> Router<Intake> {
            let routes = Router::new();
            $(
                let handler = AnyHandler::new($module::$handler);
                let routes = paste! { route::<$module::[<__path_ $handler>]>(routes, &handler) };
            )*
            routes
        }

        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($module::$handler,)* proxy::proxy, probes::livez, probes::readyz, probes::metrics))]
        struct Description;

        /// The description of these and all other operations.
        pub(crate) fn description() -> OpenApi {
            <Description as utoipa::OpenApi>::openapi()
        }
    };
}

calls! {
    single::submit, jobs::jobs,
    batch::batch,
    cancel_many::cancel_many,
    job::job, cancel::cancel,
    buckets::buckets,
    shown::bucket, put::define_bucket, delete_bucket::delete_bucket, change::change,
    audit::audit,
    doctor::doctor,
    flows::flows,
    history::history,
    holders::holders,
    events::events,
    key::key,
    keys::keys,
    keys::shown_key, put_key::put_key, delete_key::delete_key,
    key_audit::key_audit,
    redis::redis,
    scale::scale,
    settings::settings,
    pause::pause,
    pause::resume,
    purge::purge,
    dead_letters::dead_letters, delete_dead::delete_many,
    dead_groups::dead_groups,
    dead_letters::dead_letter, dead_letters::delete,
    replay::replay,
    replay::edit,
    replay::replay_many,
    replays::start, replays::replays,
    replays::replay, replays::cancel,
    outcomes::outcomes,
    report::report,
    schedules::schedules,
    define::define_schedule, schedules::schedule, delete::delete_schedule,
    switch::pause_schedule,
    switch::resume_schedule,
    run::run_schedule,
    services::services,
    rules_audit::rules_audit,
    service_history::history,
    rules::put, rules::get, rules::delete,
    check::check,
}

fn route<P: Path>(routes: Router<Intake>, handler: &AnyHandler<Intake>) -> Router<Intake> {
    let path = P::path();
    P::methods().iter().fold(routes, |routes, method| routes.route(&path, on(filter(method), handler.clone())))
}

const fn filter(method: &HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}
