//! Refusals of the playground, as problems of the same form as those of the API, because the dashboard shows them.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::json;

pub(super) enum Refusal {
    Unauthenticated,
    Forbidden(String),
    BadMember(String),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code, title, detail) = match self {
            Self::Unauthenticated => {
                let detail = "send a valid key as `Authorization: Bearer …` or `Dripfeed-Key: …`".to_owned();
                (StatusCode::UNAUTHORIZED, "unauthenticated", "A valid API key is required", detail)
            }
            Self::Forbidden(detail) => (StatusCode::FORBIDDEN, "forbidden", "Forbidden", detail),
            Self::BadMember(detail) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "bad_member", "Invalid member of the body", detail)
            }
        };
        let problem = json!({
            "type": format!("/problems/{code}"), "title": title, "status": status.as_u16(), "detail": detail,
            "code": code,
        });
        let content_type = [(header::CONTENT_TYPE, "application/problem+json")];
        (status, content_type, problem.to_string()).into_response()
    }
}
