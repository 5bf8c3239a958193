//! YAML as people mean it: only `true` and `false` are booleans, so that a namespace `n` or a log
//! level `off` stays a text.

use serde::de::DeserializeOwned;

/// Reads one document.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })
}

/// Reads all documents.
pub(crate) fn parse_all<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, serde_saphyr::Error> {
    serde_saphyr::from_multiple_with_options(text, serde_saphyr::options! { strict_booleans: true })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn words_stay_words() {
        let parsed: Value = parse("[n, off, yes, true, 1, 0.5, 1Gi, null]").unwrap();
        assert_eq!(
            parsed,
            json!(["n", "off", "yes", true, 1, 0.5, "1Gi", null])
        );
        let parsed: Vec<Value> = parse_all("a: n\n---\nb: off\n").unwrap();
        assert_eq!(parsed, [json!({"a": "n"}), json!({"b": "off"})]);
    }
}
