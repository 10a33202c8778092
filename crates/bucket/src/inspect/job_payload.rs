//! What is to be sent to the upstream: the payload of a job, and what of the call isn't the bucket's own.

use bytes::Bytes;
use dripfeed_job::element;

use crate::error::BucketError;
use crate::script::reply::Reply;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPayload {
    pub content_type: Option<String>,
    pub method: Option<String>,
    pub path: Option<String>,
    /// That are forwarded to the upstream.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// Somebody else wrote more than is read.
    pub truncated: bool,
}

impl JobPayload {
    /// Of the fields of a job or a dead letter. Where somebody else had written it, what is no UTF-8 is replaced.
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

    /// Of what find.lua returned of it. None: it wasn't asked for.
    pub(crate) fn of_reply(reply: &mut Reply) -> Result<Option<Self>, BucketError> {
        if reply.is_empty() {
            return Ok(None);
        }
        let truncated = reply.count()? == 1;
        let fields = with_members(reply.array()?.pairs()?);
        Ok(Some(Self { truncated, ..Self::read(&fields) }))
    }
}

/// The job of a list is its element; one that isn't readable is shown unchanged.
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

/// None: it isn't there, or empty.
pub(crate) fn text_of(fields: &[(Bytes, Bytes)], name: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&value_of(fields, name)?).into_owned()).filter(|text| !text.is_empty())
}
