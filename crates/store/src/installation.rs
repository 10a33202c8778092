//! Data that all processes of an installation share, which is one Redis with one prefix: the layout version of keys,
//! and a salt for hashed keys.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use redis::cmd;
use thiserror::Error;

use crate::error::StoreError;
use crate::salt::Salt;
use crate::script::Script;
use crate::store::Store;

/// The version of the keys and values that this program writes. It grows with each change that an older program would
/// misread. A program reads all versions up to its own.
pub const LAYOUT: u64 = 1;

static SCRIPT: Script = Script::new("installation", &[], include_str!("installation.lua"));

/// The keys of an installation. Their hash tag is that of no bucket and no service, as names can't contain `@`.
#[derive(Clone, Debug)]
pub struct InstallationKeys {
    /// Hash: `layout`; `salt`, in hexadecimal digits.
    pub state: String,
    /// Hash: a bucket's place (`name kind key`) → when a process last had it among its settings, ms.
    pub buckets: String,
    /// Hash: a bucket's name → the number of the last change of its schedules, if it has or had some; `@` → of all
    /// buckets.
    pub schedules: String,
    /// The prefix of the keys of sets of buckets.
    sets: String,
}

impl InstallationKeys {
    /// Creates the keys with this prefix.
    pub fn new(prefix: &str) -> Self {
        let key = |what: &str| format!("{prefix}:{{@installation}}:{what}");
        Self { state: key("state"), buckets: key("buckets"), schedules: key("schedules"), sets: key("") }
    }

    /// Returns the key of a string with a TTL of seconds: the process that sweeps the buckets of a set, for all that
    /// serve the same set.
    #[must_use]
    pub fn sweeper(&self, buckets: impl IntoIterator<Item: Hash>) -> String {
        self.set_key("sweeper", buckets)
    }

    /// Returns the key of a string with a TTL of seconds: a process with this set of buckets has just noted that in
    /// `buckets`.
    #[must_use]
    pub fn noting(&self, buckets: impl IntoIterator<Item: Hash>) -> String {
        self.set_key("noting", buckets)
    }

    /// The key of a set of buckets. Builds with different hash functions don't share these keys, and work
    /// independently.
    fn set_key(&self, what: &str, buckets: impl IntoIterator<Item: Hash>) -> String {
        let mut set = DefaultHasher::new();
        buckets.into_iter().for_each(|bucket| bucket.hash(&mut set));
        format!("{}{what}:{:016x}", self.sets, set.finish())
    }
}

/// The keys have a layout that this version doesn't support.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "the keys with the prefix `{prefix}` in Redis have the layout `{found}`, and this version supports layouts up to \
        {LAYOUT}: use the version that wrote them or a newer one, or another redis.prefix"
)]
pub struct UnknownLayout {
    prefix: String,
    found: String,
}

/// Why an installation can't be opened.
#[derive(Debug, Error)]
pub enum InstallationError {
    /// A newer program has written it.
    #[error(transparent)]
    Layout(#[from] UnknownLayout),
    /// A call to Redis failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The salt in Redis is invalid.
    #[error(
        "the field `salt` of the Redis key `{0}` isn't 32 hexadecimal digits; delete it, which resets the counters \
        of limits"
    )]
    Salt(String),
    /// No salt could be generated.
    #[error("the operating system's random number generator failed: {0}")]
    Random(getrandom::Error),
}

/// The salt in use, or a random one if none exists yet, in hexadecimal digits.
fn or_random(salt: &Salt) -> Result<String, InstallationError> {
    let mut bytes = salt.bytes();
    if bytes == [0; 16] {
        getrandom::fill(&mut bytes).map_err(InstallationError::Random)?;
    }
    Ok(bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn parse(salt: &str) -> Option<[u8; 16]> {
    u128::from_str_radix(salt, 16).ok().filter(|_| salt.len() == 32).map(u128::to_be_bytes)
}

/// The state of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedInstallation {
    /// Whether Redis was emptied or replaced: it doesn't have the data of the installation that this process knew.
    pub is_emptied: bool,
    /// When a process last opened it, in ms of the Redis clock.
    pub seen_ms: u64,
    /// If Redis has lost its latest writes: from about when on, in ms of its clock.
    pub rolled_back_to_ms: Option<u64>,
}

/// Opens the installation with the prefix of `store`, or creates it, and sets [`Store::salt`]. Must be called
/// periodically, to create it again in an emptied Redis. `seen_ms`: that of the previous call, or 0. Only the first
/// process that notices a loss of writes gets [`OpenedInstallation::rolled_back_to_ms`].
///
/// # Errors
/// When its layout is newer than [`LAYOUT`], and as for any script.
pub async fn open_installation(store: &Store, seen_ms: u64) -> Result<OpenedInstallation, InstallationError> {
    let keys = InstallationKeys::new(store.prefix());
    let mut call = SCRIPT.on(&[&keys.state]);
    call.arg(LAYOUT).arg(or_random(store.salt())?).arg(seen_ms);
    let (layout, salt, is_new, seen_ms, back_to): (String, String, bool, u64, i64) = store.run(&call).await?;
    known(store.prefix(), layout)?;
    let salt = parse(&salt).ok_or(InstallationError::Salt(keys.state))?;
    let before = store.salt().bytes();
    store.salt().set(salt);
    let is_emptied = before != [0; 16] && (is_new || before != salt);
    let rolled_back_to_ms = u64::try_from(back_to).ok().filter(|_| !is_emptied);
    Ok(OpenedInstallation { is_emptied, seen_ms, rolled_back_to_ms })
}

/// Returns the layout of the installation with the prefix of `store`, or `None` if it doesn't exist. Writes nothing.
///
/// # Errors
/// As [`open_installation`].
pub async fn installed_layout(store: &Store) -> Result<Option<u64>, InstallationError> {
    let mut ask = cmd("HGET");
    ask.arg(InstallationKeys::new(store.prefix()).state).arg("layout");
    let layout: Option<String> = store.command(&ask).await?;
    layout.map(|layout| Ok(known(store.prefix(), layout)?)).transpose()
}

fn known(prefix: &str, found: String) -> Result<u64, UnknownLayout> {
    let number = found.parse().ok().filter(|layout| (1..=LAYOUT).contains(layout));
    number.ok_or_else(|| UnknownLayout { prefix: prefix.to_owned(), found })
}
