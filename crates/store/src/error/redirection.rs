//! Redirections of a Redis Cluster.

use redis::RedisError;

use crate::url::HostPort;

/// How to retry a refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redirection {
    /// At this node, to which the slot has moved.
    To(HostPort),
    /// At this node with ASKING: the slot is being moved there, and the keys of the request have moved or don't exist
    /// yet.
    Ask(HostPort),
    /// After a pause, at the node that then serves the slot.
    Later,
}

impl Redirection {
    /// Returns how to retry a request that the node at `asked` refused with `code`, and so didn't execute.
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

/// Returns the address in `3999 127.0.0.1:6381`. An empty host means that of the asked node; `?` means an unknown one.
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
