//! YAML as its readers mean it. In Evenkeel's own files only `true` and `false` are booleans, so
//! that a namespace `n` or a log level `off` stays a text. Manifests are read as kubectl does, by
//! YAML 1.1: `010` is 8, `yes` and `off` are booleans, `1e3` and `1_000` are whole numbers.

use std::collections::VecDeque;

use evenkeel_units::{i64_as_f64, i64_nearest};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The whole numbers up to which a float is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads one document of Evenkeel's own.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })
}

/// Reads one of Evenkeel's own documents with amounts: numbers are as in a manifest.
pub fn parse_amounts(text: &str) -> Result<Value, serde_saphyr::Error> {
    let options = serde_saphyr::options! { strict_booleans: true, legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options).map(as_json)
}

pub fn parse_documents(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let options = serde_saphyr::options! { strict_booleans: false, legacy_octal_numbers: true };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)?;
    Ok(documents.into_iter().map(as_json).collect())
}

/// Reads the objects of all documents of a manifest, those in the `items` of lists one by one.
pub fn parse_objects(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let mut waiting: VecDeque<Value> = parse_documents(text)?.into();
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

/// A value as kubectl sends it: JSON has one kind of number, and `1e3` is written there as `1000`.
fn as_json(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(as_json).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(name, field)| (name, as_json(field))).collect()
        }
        Value::Number(number) => whole(&number).map_or(Value::Number(number), Value::from),
        other => other,
    }
}

fn whole(number: &serde_json::Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let whole = i64_nearest(float);
    let is_whole = float.abs() < EXACT && i64_as_f64(whole).total_cmp(&(float + 0.0)).is_eq();
    is_whole.then_some(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_of_evenkeels_own_files_stay_words() {
        let parsed: Value = parse("[n, off, yes, true, 1, 0.5, 1Gi, null]").unwrap();
        assert_eq!(
            parsed,
            json!(["n", "off", "yes", true, 1, 0.5, "1Gi", null])
        );
        let parsed = parse_amounts("[n, off, 010, '010', 1e3]").unwrap();
        assert_eq!(parsed, json!(["n", "off", 8, "010", 1000]));
    }

    /// The value that sigs.k8s.io/yaml, the reader of kubectl, makes of each.
    #[test]
    fn values_of_manifests_are_those_that_kubectl_reads() {
        for (text, value) in [
            ("010", json!(8)),
            ("-010", json!(-8)),
            ("0o10", json!(8)),
            ("0x1F", json!(31)),
            ("0b101", json!(5)),
            ("08", json!(8)),
            ("+5", json!(5)),
            ("1_000", json!(1000)),
            ("0_10", json!(8)),
            ("1e3", json!(1000)),
            ("2E+2", json!(200)),
            ("1.0", json!(1)),
            ("1.", json!(1)),
            (".5", json!(0.5)),
            ("-.5", json!(-0.5)),
            ("0.25", json!(0.25)),
            ("1e-1", json!(0.1)),
            ("12345678901234", json!(12_345_678_901_234_u64)),
            ("18446744073709551615", json!(u64::MAX)),
            // Numbers of base 60 are texts, and so are dates and versions.
            ("1:30", json!("1:30")),
            ("190:20:30", json!("190:20:30")),
            ("2026-12-25", json!("2026-12-25")),
            ("1.2.3", json!("1.2.3")),
            ("500m", json!("500m")),
            ("1Gi", json!("1Gi")),
            ("0xZ", json!("0xZ")),
            ("y", json!(true)),
            ("Yes", json!(true)),
            ("on", json!(true)),
            ("TRUE", json!(true)),
            ("n", json!(false)),
            ("NO", json!(false)),
            ("Off", json!(false)),
            ("false", json!(false)),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("'010'", json!("010")),
            ("\"yes\"", json!("yes")),
            ("!!str 010", json!("010")),
        ] {
            let parsed = parse_objects(&format!("value: {text}\n")).unwrap();
            assert_eq!(parsed, [json!({"value": value})], "{text}");
        }
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
