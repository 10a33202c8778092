use std::path::Path;
use std::time::Duration;

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{PATIENCE, Service};
use tokio::net::UnixDatagram;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
const WATCHDOG: Duration = Duration::from_millis(100);

/// The socket of a service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn at(path: &Path) -> Self {
        Self(UnixDatagram::bind(path).unwrap())
    }

    async fn hears(&self) -> String {
        let mut message = [0; 256];
        let received = tokio::time::timeout(PATIENCE, self.0.recv(&mut message)).await;
        let length = received.expect("a message").expect("a socket");
        String::from_utf8_lossy(&message[..length]).into_owned()
    }

    /// What comes next besides the watchdog's messages.
    async fn hears_of(&self) -> String {
        loop {
            let message = self.hears().await;
            if message != "WATCHDOG=1\n" {
                return message;
            }
        }
    }
}

#[tokio::test]
async fn the_service_manager_learns_when_a_role_is_ready_awake_reloading_and_stopping() {
    let service = Service::new(BUCKET).await;
    let folder = tempfile::tempdir().unwrap();
    for role in ["intake", "processor"] {
        let path = folder.path().join(role);
        let manager = Manager::at(&path);
        let mut command = service.command(&[]);
        command.arg(role).env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string());
        let mut process = Process::spawn(role, command);

        assert_eq!(manager.hears().await, "READY=1\n");
        process.address().wait_for(Option::is_some).await.unwrap();
        assert_eq!(process.client().get("/readyz").await.unwrap().status, 200);
        assert_eq!(manager.hears().await, "WATCHDOG=1\n");
        assert_eq!(manager.hears().await, "WATCHDOG=1\n");

        process.hang_up();
        let reloading = manager.hears_of().await;
        assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
        assert_eq!(manager.hears_of().await, "READY=1\nSTATUS=settings reloaded\n");
        service.configure(&BUCKET.replace("upstream", "downstream"));
        process.hang_up();
        assert!(manager.hears_of().await.starts_with("RELOADING=1\n"));
        let failed = "READY=1\nSTATUS=reload failed; settings unchanged; the log names the errors\n";
        assert_eq!(manager.hears_of().await, failed);
        service.configure(BUCKET);

        process.terminate();
        assert_eq!(manager.hears_of().await, "STOPPING=1\n");
        assert_eq!(process.ended().await.code(), Some(0));
    }
}
