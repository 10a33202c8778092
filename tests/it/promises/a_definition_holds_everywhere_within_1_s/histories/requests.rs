use std::sync::Arc;

use dripfeed_bucket::*;
use serde_json::json;

use super::{History, Life};

const BOUNDS: DefinitionBounds = DefinitionBounds { most: 10_000, bytes: 1 << 50 };

/// A request with the definition that its intake knows.
#[derive(Clone, Debug)]
pub(super) struct Request {
    known: Option<Arc<Definition>>,
    purge: bool,
    next: Script,
}

/// The next script of a request, with what earlier ones have answered.
#[derive(Clone, Debug)]
enum Script {
    Put,
    Open { version: u64, incarnation: u64 },
    OpenToDelete,
    Suspend { is_decided: bool },
    BeginDeletion(LastJob),
    Purge(LastJob),
    Close,
    DeleteDefinition,
}

impl Request {
    pub(super) const fn definition(known: Option<Arc<Definition>>) -> Self {
        Self { known, purge: false, next: Script::Put }
    }

    pub(super) const fn deletion(known: Arc<Definition>, purge: bool) -> Self {
        Self { known: Some(known), purge, next: Script::OpenToDelete }
    }

    /// Whether it has suspended the bucket and not decided yet; then it may not do so much later.
    pub(super) const fn is_undecided(&self) -> bool {
        matches!(self.next, Script::BeginDeletion(_))
    }
}

impl History<'_> {
    /// Runs the next script of a request. Returns the rest of the request, `None` at its end.
    pub(super) async fn advance(&mut self, request: Request) -> Option<Request> {
        let next = match (&request.known, request.next) {
            (known, Script::Put) => self.put(known.as_deref()).await,
            (_, Script::Open { version, incarnation }) => {
                self.open(version, incarnation).await;
                None
            }
            (Some(known), script) => self.delete(known, request.purge, script).await,
            (None, script) => panic!("{script:?} without a definition"),
        };
        next.map(|next| Request { next, ..request })
    }

    async fn put(&mut self, known: Option<&Definition>) -> Option<Script> {
        let bucket = self.name.parse().expect("a name");
        let (definition, version) =
            (json!({ "upstream": "https://upstream.example/" }), known.map(|known| known.version));
        let (bucket, definition) = (&bucket, &definition);
        let new = NewDefinition { bucket, known: version, capacity_bytes: 1, by: None, definition, sealed: None };
        match new.put(&self.store, BOUNDS).await.expect("Redis answers") {
            PutDefinitionResult::Done { version, incarnation } => {
                if let Some(known) = known {
                    assert!(known.incarnation == incarnation && !self.life(incarnation).is_over);
                } else {
                    let are_over = self.lives.values().all(|life| life.is_over && life.jobs.is_empty());
                    assert!(are_over, "{incarnation} is created beside {:?}", self.lives);
                    assert!(self.lives.insert(incarnation, Life::default()).is_none());
                    self.suspended = None;
                }
                Some(Script::Open { version, incarnation })
            }
            // The deletion that another request has begun is completed first.
            PutDefinitionResult::Deleting => Some(Script::Suspend { is_decided: true }),
            PutDefinitionResult::Changed => None,
            unexpected => panic!("{unexpected:?}"),
        }
    }

    async fn open(&mut self, version: u64, incarnation: u64) {
        let opened = self.bucket(incarnation).open(version).await.expect("Redis answers");
        let life = self.life(incarnation);
        assert!(opened != OpenResult::Open || !life.is_over, "{life:?} is opened again");
        if opened == OpenResult::Open {
            self.opened(incarnation);
        }
    }

    async fn delete(&mut self, known: &Definition, purge: bool, script: Script) -> Option<Script> {
        let (bucket, incarnation) = (self.bucket(known.incarnation), known.incarnation);
        match script {
            Script::Put | Script::Open { .. } => panic!("{script:?} deletes nothing"),
            Script::OpenToDelete => {
                self.open(known.version, incarnation).await;
                Some(Script::Suspend { is_decided: false })
            }
            Script::Suspend { is_decided } => {
                match bucket.suspend(known.version, purge || is_decided).await.expect("Redis answers") {
                    SuspendResult::Done(last) => {
                        self.suspended = Some(known.version);
                        Some(if is_decided { Script::Purge(last) } else { Script::BeginDeletion(last) })
                    }
                    SuspendResult::Jobs(jobs, _) => {
                        assert_eq!(jobs, self.life(incarnation).jobs.len() as u64);
                        None
                    }
                    SuspendResult::Changed | SuspendResult::Gone => None,
                }
            }
            Script::BeginDeletion(last) => {
                if known.begin_deletion(&self.store).await.expect("Redis answers") != BeginDeletionResult::Begun {
                    return None;
                }
                let life = self.life(incarnation);
                assert!(purge || life.jobs.is_empty(), "a bucket with jobs is deleted: {life:?}");
                life.is_over = true;
                Some(Script::Purge(last))
            }
            Script::Purge(last) => {
                let (purged, life) = (bucket.purge_until(last).await.expect("Redis answers"), self.life(incarnation));
                assert_eq!(purged, life.jobs.len() as u64, "{life:?}");
                life.jobs.clear();
                Some(Script::Close)
            }
            Script::Close => match bucket.close().await.expect("Redis answers") {
                CloseResult::Done => Some(Script::DeleteDefinition),
                CloseResult::Jobs(jobs) => panic!("{jobs} jobs came after the deletion was decided"),
                CloseResult::Gone => None,
            },
            Script::DeleteDefinition => {
                known.delete(&self.store).await.expect("Redis answers");
                None
            }
        }
    }
}
