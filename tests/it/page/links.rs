use dripfeed_tests::service::Service;

use super::reader::Reader;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test]
async fn programs_get_the_list_of_links_at_the_root() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let links = intake.client().get("/").await.expect("an answer");
    assert!(String::from_utf8_lossy(&links.body).contains("API explorer</a></li>"), "{links:?}");
    let page = Reader::of(&intake).text("/").await;
    assert!(page.contains("<main"), "{page}");
}

#[tokio::test]
async fn the_page_may_have_another_address_or_none() {
    let service = Service::new(BUCKET).await;
    let off = service.role("intake", &["intake.dashboard=off"]).await;
    assert!(!Reader::of(&off).text("/").await.contains("<main"));
    assert_eq!(Reader::of(&off).get("/buckets/b").await.status, 404);

    let apart = service.role("intake", &["intake.dashboard=127.0.0.1:0"]).await;
    assert!(!Reader::of(&apart).text("/").await.contains("<main"));
    for path in ["/buckets/b", "/audit", "/live/buckets/b", "/assets/page.css", "/sign-in"] {
        assert_eq!(Reader::of(&apart).get(path).await.status, 404, "{path}");
    }
    let named = async || apart.log().contains("dashboard on http://");
    dripfeed_tests::service::until("the log names the page's address", named).await;
    let log = apart.log();
    let page = log.split("dashboard on http://").nth(1).and_then(|rest| rest.split('"').next()).expect("an address");
    let client = dripfeed_tests::client::Client::to(page.trim().parse().expect("an address"));
    for path in ["/", "/buckets/b", "/audit", "/assets/page.css"] {
        let request = client.request(http::Method::GET, path).header("accept", "text/html");
        let answer = client.call(request, "").await.expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(path.ends_with(".css") || String::from_utf8_lossy(&answer.body).contains("<main"), "{path}");
    }
    // The API stays where it is.
    assert_eq!(client.get("/v1/buckets").await.expect("an answer").status, 404);
}

#[tokio::test]
async fn a_browser_gets_a_page_for_each_error() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    for (path, status) in [
        ("/nope", 404),
        ("/assets/nope", 404),
        ("/buckets/b/nope", 404),
        ("/?q=a&q=b", 400),
        ("/buckets/b?count=abc", 400),
        ("/buckets/%FF", 400),
        ("/buckets/b/purge", 405),
    ] {
        let answer = reader.get(path).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8", "{path}");
        let has_policy = answer.headers.contains_key("content-security-policy");
        assert!(has_policy && answer.headers["x-content-type-options"] == "nosniff", "{path}: {answer:?}");
        assert!(String::from_utf8_lossy(&answer.body).contains("<main"), "{path}: {answer:?}");
        let of_program = intake.client().get(path).await.expect("an answer");
        let is_page = of_program.headers.get("content-type") == answer.headers.get("content-type");
        assert_eq!((of_program.status, is_page), (status, false), "{path}");
    }
    let of_api = reader.get("/v1/nope").await;
    assert_eq!(of_api.headers["content-type"], "application/problem+json", "{of_api:?}");
}

#[tokio::test]
async fn a_page_allows_browsers_our_own_files_alone() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    for path in ["/", "/buckets/b", "/buckets/b/jobs", "/buckets/b/dead", "/services", "/redis", "/buckets/nope"] {
        let page = reader.get(path).await;
        let policy = page.headers["content-security-policy"].to_str().expect("text");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{path}: {policy}");
        assert_eq!(
            (&page.headers["cache-control"], &page.headers["x-content-type-options"]),
            (&"no-store".parse().expect("a value"), &"nosniff".parse().expect("a value"))
        );
        let html = String::from_utf8(page.body.to_vec()).expect("text");
        for inline in ["<script>", "<style", " style=", " onclick=", "javascript:"] {
            assert!(!html.contains(inline), "{path}: {inline}");
        }
        let outside = html.split("=\"http").nth(1);
        assert_eq!(outside, None, "{path}");
    }
    let sheet = reader.get("/assets/page.css").await;
    let etag = sheet.headers["etag"].to_str().expect("text");
    let client = intake.client();
    let again = client.request(http::Method::GET, "/assets/page.css").header("if-none-match", etag);
    let again = client.call(again, "").await.expect("an answer");
    assert_eq!((again.status, again.body.len()), (304, 0));
}
