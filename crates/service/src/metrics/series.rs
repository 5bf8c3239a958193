//! Labels of time series, as Prometheus names what it reads from.

use std::collections::BTreeMap;

pub type LabelSet = BTreeMap<String, String>;

/// The host of `host:port`, `[v6]:port` or `host`.
pub(in crate::metrics) fn without_port(instance: &str) -> &str {
    let host = match instance.rsplit_once(':') {
        Some((host, port)) if is_port(port) && (!host.contains(':') || host.ends_with(']')) => host,
        _ => instance,
    };
    host.strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(host)
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_cut_off_and_addresses_left_whole() {
        for (instance, host) in [
            ("10.0.0.1:9100", "10.0.0.1"),
            ("[fd00::1]:9100", "fd00::1"),
            ("fd00::1", "fd00::1"),
            ("node-1", "node-1"),
            ("node:x", "node:x"),
        ] {
            assert_eq!(without_port(instance), host);
        }
    }
}
