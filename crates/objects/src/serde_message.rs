//! serde's messages about an unacceptable value, reworded for its author: the fault, and the
//! accepted values.

use std::fmt::Write as _;

use crate::suggestion::nearest;

/// The message in plain words. Messages of unknown forms, such as Evenkeel's own, stay.
pub fn reworded(message: &str) -> String {
    let (message, place) = without_place(message);
    let plain = unknown(message, "unknown field ", |name| {
        format!("there is no field {name}")
    })
    .or_else(|| {
        unknown(message, "unknown variant ", |name| {
            format!("{name} is not accepted")
        })
    })
    .or_else(|| unexpected(message))
    .or_else(|| field(message, "missing field ", "is missing"))
    .or_else(|| field(message, "duplicate field ", "is given twice"));
    let mut text = plain.unwrap_or_else(|| message.to_owned());
    if let Some((line, column)) = place {
        let _ = write!(text, " (line {line}, column {column})");
    }
    text
}

/// Splits off the place in the text that serde_json appends.
fn without_place(message: &str) -> (&str, Option<(&str, &str)>) {
    let found = message
        .rsplit_once(" at line ")
        .and_then(|(before, place)| {
            let (line, column) = place.split_once(" column ")?;
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            (is_number(line) && is_number(column)).then_some((before, Some((line, column))))
        });
    found.unwrap_or((message, None))
}

fn unknown(message: &str, form: &str, words: impl Fn(&str) -> String) -> Option<String> {
    let rest = message.strip_prefix(form)?;
    let (name, expected) = quoted(rest)?;
    let expected = expected.strip_prefix(", ")?;
    let list = expected.strip_prefix("expected ");
    let known: Vec<&str> = list.map(names).unwrap_or_default();
    let meant = nearest(name, known.iter().copied());
    let meant = meant.map_or_else(String::new, |word| format!("; did you mean `{word}`?"));
    let accepted = list.map_or_else(String::new, |list| format!("; accepted: {list}"));
    Some(format!("{}{meant}{accepted}", words(&format!("`{name}`"))))
}

/// The text between the first two backticks, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('`')?.split_once('`')
}

fn names(mut list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    while let Some((_, rest)) = list.split_once('`') {
        let Some((name, rest)) = rest.split_once('`') else {
            break;
        };
        found.push(name);
        list = rest;
    }
    found
}

/// A value of another type or range than is expected.
fn unexpected(message: &str) -> Option<String> {
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    // The value may hold any text, what is expected none of ours.
    let (value, expected) = rest.rsplit_once(", expected ")?;
    Some(format!(
        "{} is not accepted; accepted: {}",
        given(value),
        type_words(expected)
    ))
}

/// A value as serde shows it, as its author wrote it.
fn given(value: &str) -> String {
    let bare = |form: &str| {
        let text = value.strip_prefix(form)?.strip_prefix('`')?;
        text.strip_suffix('`')
    };
    if let Some(text) = value.strip_prefix("string ") {
        return format!("the text {text}");
    }
    let mut number = ["integer ", "floating point ", "boolean "].into_iter();
    let known = match value {
        "sequence" => Some("a list"),
        "map" => Some("a mapping"),
        "null" | "unit value" => Some("an empty value"),
        _ => number.find_map(bare),
    };
    known.unwrap_or(value).to_owned()
}

/// A type of Rust as a reader of YAML knows it.
fn type_words(expected: &str) -> &str {
    match expected {
        "a boolean" => "true or false",
        "a string" | "a borrowed string" => "a text",
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a sequence" => "a list",
        "a map" => "a mapping of fields",
        _ if expected.starts_with("struct ") => "a mapping of fields",
        _ => expected,
    }
}

fn field(message: &str, form: &str, what: &str) -> Option<String> {
    let (name, rest) = quoted(message.strip_prefix(form)?)?;
    rest.is_empty()
        .then(|| format!("the field `{name}` {what}"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only the errors are looked at")]
    struct Section {
        mode: Mode,
        #[serde(default)]
        count: u32,
        #[serde(default)]
        ratio: f64,
        #[serde(default)]
        is_on: bool,
        #[serde(default)]
        list: Vec<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Off,
        Recommend,
        Floor,
    }

    #[test]
    fn each_form_of_serde_says_what_is_wrong_and_what_is_accepted() {
        for (value, expected) in [
            (
                json!({"mode": "flor"}),
                "`flor` is not accepted; did you mean `floor`?; accepted: one of `off`, `recommend`, `floor`",
            ),
            (
                json!({"mode": "auto"}),
                "`auto` is not accepted; accepted: one of `off`, `recommend`, `floor`",
            ),
            (
                json!({"mode": "off", "cont": 1}),
                "there is no field `cont`; did you mean `count`?; accepted: one of `mode`, `count`, \
                 `ratio`, `isOn`, `list`",
            ),
            (json!({}), "the field `mode` is missing"),
            (
                json!({"mode": "off", "count": "many, expected few"}),
                "the text \"many, expected few\" is not accepted; accepted: a whole number from 0",
            ),
            (
                json!({"mode": "off", "count": -1}),
                "-1 is not accepted; accepted: a whole number from 0",
            ),
            (
                json!({"mode": "off", "ratio": "high"}),
                "the text \"high\" is not accepted; accepted: a number",
            ),
            (
                json!({"mode": "off", "isOn": "yes"}),
                "the text \"yes\" is not accepted; accepted: true or false",
            ),
            (
                json!({"mode": "off", "list": {"a": 1}}),
                "a mapping is not accepted; accepted: a list",
            ),
            (
                json!({"mode": "off", "list": null}),
                "an empty value is not accepted; accepted: a list",
            ),
            (json!(5), "5 is not accepted; accepted: a mapping of fields"),
        ] {
            let error = serde_json::from_value::<Section>(value.clone()).unwrap_err();
            assert_eq!(reworded(&error.to_string()), expected, "{value}");
        }
        let error = serde_json::from_str::<Section>("{\"mode\": 5}").unwrap_err();
        let told = reworded(&error.to_string());
        assert!(told.ends_with("(line 1, column 10)"), "{error}: {told}");
    }

    #[test]
    fn words_of_our_own_stay_as_they_are() {
        for own in [
            "\"1 core\" is not accepted; accepted: a quantity",
            "EOF while parsing",
            "",
        ] {
            assert_eq!(reworded(own), own);
        }
    }
}
