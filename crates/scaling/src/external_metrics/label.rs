//! Names as values of labels that people can type into a selector.

use sha2::{Digest, Sha256};

/// The longest value of a label, in bytes.
const LONGEST: usize = 63;

/// Characters of the hash at the end of a name that is no value of a label.
const HASH: usize = 8;

/// A name, such as that of a signal, as a label value: `pods/rps` is `pods.rps`. If a name is too
/// long or has invalid characters, it ends in a hash of the whole, so that no two names share a
/// value.
pub fn label_value(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    // A dot of its own and one for a slash would be one.
    let dotted = name.contains('/') && name.contains('.');
    let fits = |c: char| is_plain(c) || matches!(c, '/' | '.');
    let ends = |name: &str| {
        let bytes = name.as_bytes();
        let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        alphanumeric(bytes.first()) && alphanumeric(bytes.last())
    };
    if name.len() <= LONGEST && !dotted && ends(name) && name.chars().all(fits) {
        return name.replace('/', ".");
    }
    let kept = name.chars().map(|c| if is_plain(c) { c } else { '.' });
    let kept = kept.skip_while(|c| !c.is_ascii_alphanumeric());
    let kept: String = kept.take(LONGEST - HASH - 1).collect();
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(name));
    let hash = format!("{a:02x}{b:02x}{c:02x}{d:02x}");
    if kept.is_empty() {
        hash
    } else {
        format!("{kept}-{hash}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use evenkeel_label_selector::Selector;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_people_type_stay_as_they_are() {
        for (name, value) in [
            ("cpu", "cpu"),
            ("cpu/app", "cpu.app"),
            ("pods/requests_per_second", "pods.requests_per_second"),
            ("promql/query", "promql.query"),
            ("external/queue", "external.queue"),
            ("web.v1", "web.v1"),
            ("object/Ingress/web/rps", "object.Ingress.web.rps"),
        ] {
            assert_eq!(label_value(name), value);
        }
        let queue = label_value("external/queue{name=orders}");
        assert!(queue.starts_with("external.queue.name.orders.-"), "{queue}");
        let signals = [
            "pods/a.b", "pods/a/b", "pods.a.b", "a", "/a", "a/", "é", "", ".",
        ];
        let values: BTreeSet<_> = signals.map(label_value).into_iter().collect();
        // Only names with slashes and with dots in the same places share a value, and no signal has
        // dots alone.
        assert_eq!(values.len(), signals.len() - 1, "{values:?}");
    }

    proptest! {
        #[test]
        fn every_value_can_be_selected_by(name in ".{0,200}") {
            let value = label_value(&name);
            let selector = Selector::parse(&format!("signal={value}"));
            prop_assert!(selector.is_ok() && !value.is_empty(), "{value}: {selector:?}");
        }
    }
}
