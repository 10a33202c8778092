//! The settings of a bucket's upstream.

pub(super) mod headers;
pub(super) mod signing;

use std::path::{Path, PathBuf};
use std::time::Duration;

use dripfeed_processor::{RootCerts, Upstream, UpstreamFault, UpstreamSettings};
use http::Method;
use secrecy::ExposeSecret as _;

use self::headers::SecretHeaders;
use self::signing::SigningSecrets;
use super::read::{Reader, SectionPath};
use super::secret;

/// The keys of an upstream, as read from a section.
pub(super) struct UpstreamKeys {
    pub(super) upstream: Option<String>,
    pub(super) upstream_ca_file: PathBuf,
    pub(super) method: String,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) headers: SecretHeaders,
    pub(super) headers_file: PathBuf,
    pub(super) signing_secret: SigningSecrets,
    pub(super) signing_secret_file: PathBuf,
    pub(super) allow_private: bool,
    pub(super) max_answer: u64,
}

pub(super) fn read(reader: &mut Reader<'_>, place: &SectionPath<'_>, keys: UpstreamKeys) -> Option<Upstream> {
    let in_file = !keys.headers_file.as_os_str().is_empty();
    let headers_key = if in_file { "headers_file" } else { "headers" };
    let path = place.key(reader.tree, "upstream");
    // A URL that isn't a text was reported before.
    let is_reported = keys.upstream.is_none() && reader.has_errors_in(&path);
    let url = if is_reported { None } else { reader.accept(&path, keys.upstream.ok_or(MISSING)) };
    let root_certs =
        reader.accept(&place.key(reader.tree, "upstream_ca_file"), root_certs_of_file(&keys.upstream_ca_file));
    let method = reader.accept(&place.key(reader.tree, "method"), parse_method(&keys.method));
    let headers = if in_file { headers_of_file(&keys.headers_file, &keys.headers) } else { Ok(keys.headers) };
    let headers = reader.accept_or_all(&place.key(reader.tree, headers_key), headers);
    let signing_secrets = if keys.signing_secret_file.as_os_str().is_empty() {
        Some(keys.signing_secret)
    } else {
        let secrets = signing_secrets_of_file(&keys.signing_secret_file, &keys.signing_secret);
        reader.accept_or_all(&place.key(reader.tree, "signing_secret_file"), secrets)
    };
    let is_read =
        url.is_some() && method.is_some() && headers.is_some() && signing_secrets.is_some() && root_certs.is_some();
    // Created even if some values couldn't be read, so that other errors are reported, too.
    let upstream = Upstream::new(UpstreamSettings {
        url: url.unwrap_or_else(|| UNREAD.to_owned()),
        method: method.unwrap_or(Method::POST),
        timeout: keys.timeout,
        connect_timeout: keys.connect_timeout,
        headers: headers.unwrap_or_default().0,
        signing_secrets: signing_secrets.unwrap_or_default().0,
        allow_private: keys.allow_private,
        root_certs: root_certs.unwrap_or_default(),
        max_answer: keys.max_answer,
    });
    let bad = match upstream {
        Ok(upstream) => return Some(upstream).filter(|_| is_read),
        Err(bad) => bad,
    };
    for fault in bad.into_faults() {
        let key = match &fault {
            UpstreamFault::Method(_) => "method",
            UpstreamFault::NoTime(key) => key,
            UpstreamFault::Header(_) => headers_key,
            _ => "upstream",
        };
        reader.error(&place.key(reader.tree, key), fault.to_string());
    }
    None
}

/// Replaces a missing URL.
const UNREAD: &str = "https://unread.invalid";
const MISSING: &str = "is missing: set the URL to call, such as https://api.example.com/v1/mail";

fn parse_method(text: &str) -> Result<Method, String> {
    let methods =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
    methods.into_iter().find(|method| method.as_str() == text).ok_or_else(|| {
        format!(
            "`{}` is not a supported method: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
            text.escape_debug()
        )
    })
}

fn root_certs_of_file(file: &Path) -> Result<RootCerts, String> {
    if file.as_os_str().is_empty() {
        return Ok(RootCerts::default());
    }
    RootCerts::only(&secret::read_public(file)?).map_err(|error| format!("{} {error}", file.display()))
}

fn headers_of_file(file: &Path, beside: &SecretHeaders) -> Result<SecretHeaders, Vec<String>> {
    if !beside.0.is_empty() {
        return Err(vec!["headers is also set: remove one of them".to_owned()]);
    }
    read_lines(file, headers::from_line).map(SecretHeaders)
}

fn signing_secrets_of_file(file: &Path, beside: &SigningSecrets) -> Result<SigningSecrets, Vec<String>> {
    if !beside.0.is_empty() {
        return Err(vec!["signing_secret is also set: remove one of them".to_owned()]);
    }
    read_lines(file, signing::from_line).map(SigningSecrets)
}

/// Reads a secret file line by line. Ignores empty lines.
///
/// # Errors
/// An error for each invalid line, with its number.
fn read_lines<T>(file: &Path, read: impl Fn(&str) -> Result<Option<T>, String>) -> Result<Vec<T>, Vec<String>> {
    let text = secret::read_secret(file).map_err(|message| vec![message])?;
    let (mut values, mut faults) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.expose_secret().lines()) {
        match read(line.trim()) {
            _ if line.trim().is_empty() => {}
            Ok(value) => values.extend(value),
            Err(message) => faults.push(format!("{}: line {number} {message}", file.display())),
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}
