//! Names, counts, ratios and times in the sentences of an explanation.

use jiff::Timestamp;

/// A metric in a sentence.
pub(super) fn title(name: &str) -> String {
    match name.strip_prefix("cpu") {
        Some("") => "CPU".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("CPU of container {}", &rest[1..]),
        _ => name.to_owned(),
    }
}

pub(super) fn replicas(count: i32) -> String {
    format!(
        "{count} {}",
        if count == 1 { "replica" } else { "replicas" }
    )
}

pub(super) fn replicas_of(count: u32) -> String {
    replicas(i32::try_from(count).unwrap_or(i32::MAX))
}

/// Three decimals, without zeros at the end.
pub(super) fn short(ratio: f64) -> String {
    let text = format!("{ratio:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn clock(at: Timestamp) -> String {
    format!("{} UTC", at.strftime("%H:%M:%S"))
}
