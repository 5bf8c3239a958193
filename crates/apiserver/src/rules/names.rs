//! The names, labels and annotations that Kubernetes accepts.

use serde_json::Value;

use crate::error::Cause;
use crate::meta;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Checks name, labels and annotations of an object of `group`/`plural`.
pub(crate) fn check(group: &str, plural: &str, object: &Value, causes: &mut Vec<Cause>) {
    let name = meta::name(object);
    if name.is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
        return;
    }
    let (accepted, rule) = match (group, plural) {
        ("rbac.authorization.k8s.io", _) => (!name.contains(['/', '%']), SUBDOMAIN),
        ("", "namespaces" | "services") => (is_label(name), LABEL),
        _ => (is_subdomain(name), SUBDOMAIN),
    };
    if !accepted {
        causes.push(Cause::invalid("metadata.name", &name.into(), rule));
    }
    for (key, value) in meta::map(object, "/metadata/labels").into_iter().flatten() {
        if !is_qualified(key) {
            causes.push(Cause::invalid(
                "metadata.labels",
                &key.as_str().into(),
                QUALIFIED,
            ));
        }
        if !value.as_str().is_some_and(is_label_value) {
            causes.push(Cause::invalid("metadata.labels", value, VALUE));
        }
    }
    for (key, _) in meta::map(object, "/metadata/annotations")
        .into_iter()
        .flatten()
    {
        if !is_qualified(&key.to_lowercase()) {
            causes.push(Cause::invalid(
                "metadata.annotations",
                &key.as_str().into(),
                QUALIFIED,
            ));
        }
    }
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`, at most 63 characters.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    text.len() <= 63 && framed(text, inner, |c| inner(c) && c != b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|part| {
            let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
            framed(part, inner, |c| inner(c) && c != b'-')
        })
}

fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// With an optional DNS prefix: label and annotation keys, resource names.
pub(crate) fn is_qualified(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

fn is_name_part(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    text.len() <= 63 && framed(text, inner, |c| c.is_ascii_alphanumeric())
}

/// Not empty, `inner` throughout and `edge` at both ends.
fn framed(text: &str, inner: impl Fn(u8) -> bool, edge: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(|&c| edge(c))) && bytes.iter().all(|&c| inner(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_dns() {
        for (name, label, subdomain) in [
            ("web-1", true, true),
            ("a.b", false, true),
            ("Web", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                (is_label(name), is_subdomain(name)),
                (label, subdomain),
                "{name}"
            );
        }
    }

    #[test]
    fn keys_may_have_a_prefix() {
        for (key, accepted) in [
            ("app", true),
            ("example.dev/profile", true),
            ("a/b/c", false),
            ("/a", false),
            ("a b", false),
        ] {
            assert_eq!(is_qualified(key), accepted, "{key}");
        }
    }
}
