use super::drawing::drawn;
use super::*;

#[test]
fn before_the_first_frame_nothing_is_said_of_buckets() {
    for names in [Vec::new(), vec!["mail".to_owned()]] {
        let mut app = App::new("http://127.0.0.1:7180".to_owned(), names, operator());
        let now = Instant::now();
        let starting = drawn(&app, now, 80, 8);
        assert!(starting.contains("◌ connecting") && starting.contains("Waiting for the first frame."), "{starting}");
        app.receive(lost("connection refused", false), now);
        let lost = drawn(&app, now, 80, 8);
        assert!(lost.contains("✕ gone") && lost.contains("connection refused"), "{lost}");
        for screen in [starting, lost] {
            for untrue in ["live", "All clear", "of 0 jobs", "no such bucket"] {
                assert!(!screen.contains(untrue), "{untrue}: {screen}");
            }
        }
    }
}
