//! A browser of one visitor.

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::processes::Process;
use http::Method;
use sha2::{Digest as _, Sha256};

pub(super) struct Reader {
    client: Client,
    host: String,
    cookie: Option<String>,
}

/// The section of a key whose secret is its id.
pub(super) fn key(id: &str, scopes: &[&str]) -> String {
    let sha256: String = Sha256::digest(id).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{sha256}\"\nscopes = {scopes:?}\n")
}

impl Reader {
    pub(super) fn of(intake: &Process) -> Self {
        let host = intake.url().trim_start_matches("http://").to_owned();
        Self { client: intake.client(), host, cookie: None }
    }

    /// The same visitor at another intake.
    pub(super) fn at(&self, intake: &Process) -> Self {
        Self { cookie: self.cookie.clone(), ..Self::of(intake) }
    }

    fn request(&self, path: &str) -> http::request::Builder {
        let request = self.client.request(Method::GET, path).header("accept", "text/html,*/*");
        self.cookie.iter().fold(request, |request, cookie| request.header("cookie", cookie))
    }

    pub(super) async fn get(&self, path: &str) -> ClientResponse {
        self.client.call(self.request(path), "").await.expect("an answer")
    }

    /// The first event of what a page follows.
    pub(super) async fn event(&self, path: &str) -> String {
        self.client.event(self.request(path)).await.expect("an event")
    }

    pub(super) async fn text(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        String::from_utf8(answer.body.to_vec()).expect("text")
    }

    /// Submits a form as a page of this origin does.
    pub(super) async fn post(&self, path: &str, fields: &str) -> ClientResponse {
        let origin = format!("http://{}", self.host);
        self.post_from(path, fields, &[("origin", &origin), ("sec-fetch-site", "same-origin")]).await
    }

    pub(super) async fn post_from(&self, path: &str, fields: &str, headers: &[(&str, &str)]) -> ClientResponse {
        let request = self.client.request(Method::POST, path).header("host", &self.host);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = self.cookie.iter().fold(request, |request, cookie| request.header("cookie", cookie));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.client.call(request, fields.to_owned()).await.expect("an answer")
    }

    /// Over the API.
    pub(super) async fn patch(&self, path: &str, change: &serde_json::Value) -> ClientResponse {
        let request = self.client.request(Method::PATCH, path).header("content-type", "application/json");
        self.client.call(request, change.to_string()).await.expect("an answer")
    }

    /// As `form_token=…&`, from a page that this visitor sees.
    pub(super) async fn token(&self, path: &str) -> String {
        let page = self.text(path).await;
        let token = page.split("name=\"form_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        format!("form_token={}&", token.unwrap_or_else(|| panic!("no form: {page}")))
    }

    pub(super) async fn sign_in(&mut self, key: &str) {
        let answer = self.post("/sign-in", &format!("key={key}")).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let cookie = answer.headers["set-cookie"].to_str().expect("text");
        self.cookie = cookie.split(';').next().map(str::to_owned);
    }
}
