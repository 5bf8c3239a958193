//! Durations in annotations and files: `90s`, `5m`, `1h30m`, `500ms`, `1.5h`, and `0`.

use jiff::SignedDuration;

pub const ACCEPTED: &str = "a duration such as 90s, 5m or 1h30m, or 0 for never";

/// The duration in `text`, if it is one and not below zero.
pub fn parse(text: &str) -> Option<SignedDuration> {
    if text == "0" {
        return Some(SignedDuration::ZERO);
    }
    let duration = text.parse::<SignedDuration>().ok();
    duration.filter(|duration| !duration.is_negative())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_go_writes_are_read() {
        for (text, seconds) in [
            ("0", Some(0)),
            ("0s", Some(0)),
            ("90s", Some(90)),
            ("5m", Some(300)),
            ("5m0s", Some(300)),
            ("1h30m", Some(5400)),
            ("2000ms", Some(2)),
            ("", None),
            ("5", None),
            ("m", None),
            ("-5m", None),
            ("5d", None),
            ("1.5h", Some(5400)),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(
                parse(text),
                seconds.map(SignedDuration::from_secs),
                "{text:?}"
            );
        }
    }
}
