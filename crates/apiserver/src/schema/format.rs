//! `format` of strings and numbers, as far as it is checked.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Formats that a real server checks and this one does not. Neither server checks unknown formats.
const LEFT_OUT: [&str; 14] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "cidr",
    "mac",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "hexcolor",
];

/// A real server checks the format and this one does not.
pub(super) fn is_left_out(format: &str) -> bool {
    LEFT_OUT.contains(&format)
}

/// Also true for unchecked formats.
pub(super) fn fits(format: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text_fits(format, text),
        Value::Number(number) => match format {
            "int32" => number.as_i64().is_none_or(|n| i32::try_from(n).is_ok()),
            "int64" => number.as_i64().is_some() || number.is_f64(),
            _ => true,
        },
        _ => true,
    }
}

fn text_fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" => text.contains(['T', 't']) && text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => text.parse::<jiff::SignedDuration>().is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "byte" => STANDARD.decode(text).is_ok(),
        "uuid" => is_uuid(text),
        _ => true,
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths = groups.iter().map(|group| group.len());
    let hex = |group: &&str| group.chars().all(|c| c.is_ascii_hexdigit());
    lengths.eq([8, 4, 4, 4, 12]) && groups.iter().all(hex)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_are_told_apart() {
        for (format, value, expected) in [
            ("date-time", json!("2026-01-02T03:04:05Z"), true),
            ("date-time", json!("2026-01-02"), false),
            ("date", json!("2026-01-02"), true),
            ("duration", json!("1h30m"), true),
            ("duration", json!("soon"), false),
            ("ipv4", json!("10.0.0.1"), true),
            ("ipv6", json!("10.0.0.1"), false),
            ("byte", json!("aGk="), true),
            ("byte", json!("%"), false),
            ("uuid", json!("0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"), true),
            ("int32", json!(3_000_000_000_i64), false),
            ("int64", json!(3_000_000_000_i64), true),
            ("my-own", json!("anything"), true),
        ] {
            assert_eq!(fits(format, &value), expected, "{format} {value}");
        }
    }
}
