//! The session cookie: the visitor's key, encrypted, and valid at every intake of the installation.
//!
//! It contains the key, not an id of a session. So anyone who knows the salt can decrypt a cookie, but can't create one
//! without a key; and revoking a key ends its sessions at once.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dripfeed_job::forward::{SECURE_COOKIE, SESSION_COOKIE};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderValue, header};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::Sha256;

/// The lifetime of a session, from the sign-in.
const LIFETIME: Duration = Duration::from_hours(12);
/// Longer cookies aren't decrypted.
const LONGEST_COOKIE: usize = 4096;

/// Returns the installation's salt, which all of its intakes know.
pub struct SessionSecret(Box<dyn Fn() -> Vec<u8> + Send + Sync>);

impl SessionSecret {
    /// `salt` is called each time, because the salt may change at run time.
    pub fn new(salt: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self(Box::new(salt))
    }

    fn salt(&self) -> Vec<u8> {
        (self.0)()
    }
}

/// A decrypted session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) key: String,
    pub(crate) end: SessionEnd,
}

/// The end of a session, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionEnd(pub(crate) u64);

impl SessionEnd {
    pub(crate) fn has_passed(self) -> bool {
        self.is_before(now_s())
    }

    fn is_before(self, now_s: u64) -> bool {
        self.0 <= now_s
    }
}

/// Encrypts and decrypts sessions.
pub(crate) struct Sessions {
    secret: SessionSecret,
    /// Whether the cookie is sent only over TLS.
    secure: bool,
}

impl Sessions {
    pub(crate) fn new(secret: SessionSecret, secure: bool) -> Self {
        Self { secret, secure }
    }

    /// The session in the request's cookie.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<Session> {
        self.open(self.cookie(headers)?, now_s())
    }

    /// `Set-Cookie` of a new session. `None` if the system has no random numbers.
    pub(crate) fn begin(&self, key: &str) -> Option<HeaderValue> {
        let sealed = self.seal(key, now_s())?;
        self.set_cookie(&sealed, "")
    }

    /// `Set-Cookie` that removes the session.
    pub(crate) fn end(&self) -> Option<HeaderValue> {
        self.set_cookie("", "; Max-Age=0")
    }

    /// The token in each form of this visitor, which only a reader of the page knows.
    pub(crate) fn form_token(&self, headers: &HeaderMap) -> String {
        let session = self.cookie(headers).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(self.derived("form token", session.as_bytes()))
    }

    pub(crate) fn is_form_token(&self, headers: &HeaderMap, token: &str) -> bool {
        let Ok(token) = URL_SAFE_NO_PAD.decode(token) else { return false };
        let session = self.cookie(headers).unwrap_or_default();
        self.mac("form token", session.as_bytes()).is_some_and(|mac| mac.verify_slice(&token).is_ok())
    }

    fn seal(&self, key: &str, now_s: u64) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut sealed = [&now_s.to_be_bytes()[..], key.as_bytes()].concat();
        let nonce_of = Nonce::assume_unique_for_key(nonce);
        self.cipher()?.seal_in_place_append_tag(nonce_of, Aad::empty(), &mut sealed).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    fn open(&self, cookie: &str, now_s: u64) -> Option<Session> {
        let mut sealed = URL_SAFE_NO_PAD.decode(cookie).ok()?;
        let (nonce, sealed) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.cipher()?.open_in_place(nonce, Aad::empty(), sealed).ok()?;
        let (begun_s, key) = opened.split_first_chunk::<8>()?;
        let end = SessionEnd(u64::from_be_bytes(*begun_s).saturating_add(LIFETIME.as_secs()));
        let key = String::from_utf8(key.to_vec()).ok()?;
        (!end.is_before(now_s)).then_some(Session { key, end })
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &self.derived("session", &[])).ok().map(LessSafeKey::new)
    }

    fn cookie<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        // Without cookies, the name needn't be derived.
        let name = headers.contains_key(header::COOKIE).then(|| self.name())?;
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(found, value)| *found == name && value.len() <= LONGEST_COOKIE).map(|(_, value)| value)
    }

    /// Derived from the salt, because cookies ignore ports, so two installations on one host need different names.
    fn name(&self) -> String {
        let prefix = if self.secure { SECURE_COOKIE } else { "" };
        let [a, b, c, d, ..] = self.derived("cookie name", &[]);
        format!("{prefix}{SESSION_COOKIE}{a:02x}{b:02x}{c:02x}{d:02x}")
    }

    fn set_cookie(&self, value: &str, more: &str) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        let cookie = format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}", self.name());
        HeaderValue::try_from(cookie).ok()
    }

    fn derived(&self, purpose: &str, of: &[u8]) -> [u8; 32] {
        self.mac(purpose, of).map_or([0; 32], |mac| mac.finalize().into_bytes().into())
    }

    /// A separate secret for each purpose.
    fn mac(&self, purpose: &str, of: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret.salt()).ok()?;
        mac.update(b"dripfeed page: ");
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(of);
        Some(mac)
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn sessions(salt: u8, secure: bool) -> Sessions {
        Sessions::new(SessionSecret::new(move || vec![salt; 16]), secure)
    }

    fn sent(set: &HeaderValue) -> HeaderMap {
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(header::COOKIE, format!("other=1; {pair}").parse().unwrap())])
    }

    #[test]
    fn a_session_is_opened_by_every_intake_of_its_installation_alone() {
        let cookie = sessions(1, false).begin("secret").unwrap();
        assert!(!cookie.to_str().unwrap().contains("secret"));
        let opened = sessions(1, false).session(&sent(&cookie)).unwrap();
        assert_eq!((opened.key.as_str(), opened.end.has_passed()), ("secret", false));
        assert_eq!(sessions(2, false).session(&sent(&cookie)), None);
    }

    #[test]
    fn a_session_that_was_changed_or_is_old_is_none() {
        let sessions = sessions(1, false);
        let sealed = sessions.seal("secret", 1000).unwrap();
        let opened = sessions.open(&sealed, 1000 + LIFETIME.as_secs() - 1).unwrap();
        assert_eq!(opened, Session { key: "secret".to_owned(), end: SessionEnd(1000 + LIFETIME.as_secs()) });
        assert_eq!(sessions.open(&sealed, 1000 + LIFETIME.as_secs()), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(sessions.open(&String::from_utf8(changed).unwrap(), 1000), None, "{at}");
        }
        for broken in ["", "A", "AAAAAAAAAAAAAAAA", "$"] {
            assert_eq!(sessions.open(broken, 1000), None, "{broken}");
        }
    }

    #[test]
    fn a_cookie_is_kept_from_scripts_other_sites_and_clear_text() {
        let cookie = sessions(1, true).begin("secret").unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("__Host-dripfeed_"), "{cookie}");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    }

    #[test]
    fn a_form_token_is_of_one_session() {
        let sessions = sessions(1, false);
        let (one, other) = (sent(&sessions.begin("a").unwrap()), sent(&sessions.begin("a").unwrap()));
        let token = sessions.form_token(&one);
        assert!(sessions.is_form_token(&one, &token));
        assert!(!sessions.is_form_token(&other, &token) && !sessions.is_form_token(&HeaderMap::new(), &token));
        assert!(!sessions.is_form_token(&one, "") && !sessions.is_form_token(&one, "$"));
    }
}
