//! Redirections of a Redis Cluster.

use redis::RedisError;

use crate::url::HostPort;

/// Where a refused request is to be made instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redirection {
    /// The slot has moved.
    To(HostPort),
    /// The slot is moving, and the keys of the request aren't where it was made, or not any more: this request is to be
    /// made there, with ASKING.
    Ask(HostPort),
    /// Where it was, or wherever the slots are a little later.
    Later,
}

impl Redirection {
    /// What to do about a request that the node at `asked` refused with `code`. Nothing of it was carried out.
    pub(super) fn of(code: &str, source: Option<&RedisError>, asked: Option<&HostPort>) -> Option<Self> {
        let named = || source.and_then(detail_of).and_then(|detail| node_in(&detail, asked));
        match code {
            "MOVED" => Some(named().map_or(Self::Later, Self::To)),
            "ASK" => Some(named().map_or(Self::Later, Self::Ask)),
            "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "READONLY" | "LOADING" => Some(Self::Later),
            _ => None,
        }
    }
}

fn detail_of(source: &RedisError) -> Option<String> {
    match source.detail() {
        Some(detail) => Some(detail.to_owned()),
        None => Some(source.clone().into_server_errors()?.first()?.1.details()?.to_owned()),
    }
}

/// The address in `3999 127.0.0.1:6381`. Without a host it is that of the node that was asked; `?` is one that the node
/// doesn't know.
fn node_in(detail: &str, asked: Option<&HostPort>) -> Option<HostPort> {
    let (host, port) = detail.split_whitespace().nth(1)?.rsplit_once(':')?;
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "?" => return None,
        "" => &asked?.host,
        host => host,
    };
    Some(HostPort { host: host.to_owned(), port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_in_each_form() {
        let asked = HostPort { host: "asked".to_owned(), port: 1 };
        for (detail, host) in [
            ("3999 127.0.0.1:6381", Some("127.0.0.1")),
            ("3999 redis-2.example:6381", Some("redis-2.example")),
            ("3999 ::1:6381", Some("::1")),
            ("3999 [::1]:6381", Some("::1")),
            ("3999 :6381", Some("asked")),
            ("3999 ?:6381", None),
            ("3999 127.0.0.1:", None),
            ("3999", None),
        ] {
            let node = host.map(|host| HostPort { host: host.to_owned(), port: 6381 });
            assert_eq!(node_in(detail, Some(&asked)), node, "{detail}");
        }
    }
}
