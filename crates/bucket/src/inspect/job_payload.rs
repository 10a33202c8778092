//! The payload of a job, and the details of its call that the caller has set.

use bytes::Bytes;
use dripfeed_job::element;

use crate::error::BucketError;
use crate::script::reply::Reply;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPayload {
    pub content_type: Option<String>,
    pub method: Option<String>,
    pub path: Option<String>,
    /// Headers that are forwarded to the upstream.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// The job was added by hand, and is larger than what is read of it.
    pub truncated: bool,
}

impl JobPayload {
    /// Reads the fields of a job or a dead letter. If it was added by hand, invalid UTF-8 is replaced.
    pub(crate) fn read(fields: &[(Bytes, Bytes)]) -> Self {
        let text = |name| text_of(fields, name);
        Self {
            content_type: text("content_type"),
            method: text("method"),
            path: text("path"),
            headers: text("headers").and_then(|headers| serde_json::from_str(&headers).ok()).unwrap_or_default(),
            body: value_of(fields, "body").or_else(|| value_of(fields, "request_details")).unwrap_or_default(),
            truncated: false,
        }
    }

    /// Reads the payload in a reply of find.lua. Returns `None` if it wasn't requested.
    pub(crate) fn of_reply(reply: &mut Reply) -> Result<Option<Self>, BucketError> {
        if reply.is_empty() {
            return Ok(None);
        }
        let truncated = reply.count()? == 1;
        let fields = with_members(reply.array()?.pairs()?);
        Ok(Some(Self { truncated, ..Self::read(&fields) }))
    }
}

/// Replaces the element of a list by the fields of its job. An unreadable element becomes the body.
pub(crate) fn with_members(mut fields: Vec<(Bytes, Bytes)>) -> Vec<(Bytes, Bytes)> {
    if let Some(at) = fields.iter().position(|(name, _)| name == "element") {
        let (_, element) = fields.swap_remove(at);
        let members = element::fields(&element).unwrap_or_else(|_| vec![(Bytes::from_static(b"body"), element)]);
        fields.extend(members);
    }
    fields
}

pub(crate) fn value_of(fields: &[(Bytes, Bytes)], name: &str) -> Option<Bytes> {
    fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone())
}

/// Returns `None` if the field is missing or empty.
pub(crate) fn text_of(fields: &[(Bytes, Bytes)], name: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&value_of(fields, name)?).into_owned()).filter(|text| !text.is_empty())
}
