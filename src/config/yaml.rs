//! YAML as people mean it: only `true` and `false` are booleans, so that a namespace `n` or a log
//! level `off` stays a text.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads one document.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })
}

/// Reads all documents.
pub(crate) fn parse_all<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, serde_saphyr::Error> {
    serde_saphyr::from_multiple_with_options(text, serde_saphyr::options! { strict_booleans: true })
}

/// Reads the objects of all documents, those in the `items` of lists one by one.
pub(crate) fn parse_objects(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let mut waiting: VecDeque<Value> = parse_all(text)?.into();
    let mut objects = Vec::new();
    while let Some(mut object) = waiting.pop_front() {
        match object.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => {
                for item in items.into_iter().rev() {
                    waiting.push_front(item);
                }
            }
            Some(_) | None => objects.push(object),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    #[test]
    fn lists_are_what_is_in_them() {
        let text = "a: 1\n---\nitems: [{b: 2}, {items: [{c: 3}]}, {d: 4}]\n---\ne: 5\n";
        let objects = parse_objects(text).unwrap();
        let expected = json!([{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}, {"e": 5}]);
        assert_eq!(Value::Array(objects), expected);
        assert_eq!(parse_objects("items: 5").unwrap().len(), 1);
    }
}
