//! Durations as Kubernetes writes them: `90s`, `5m`, `1h30m`, `500ms`, `0`.

use jiff::SignedDuration;

/// The accepted values, for messages.
pub(super) const ACCEPTED: &str = "a duration such as 90s, 5m or 1h30m, or 0 for never";

/// The duration in `text`, if it is one.
pub(super) fn parse(text: &str) -> Option<SignedDuration> {
    if text == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut rest = text;
    let mut total = SignedDuration::ZERO;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let unit_ends = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_ends);
        let number: i32 = number.parse().ok()?;
        let one = match unit {
            "h" => SignedDuration::from_hours(1),
            "m" => SignedDuration::from_mins(1),
            "s" => SignedDuration::from_secs(1),
            "ms" => SignedDuration::from_millis(1),
            _ => return None,
        };
        total = total.checked_add(one.checked_mul(number)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
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
            ("5 m", None),
            ("5d", None),
            ("1.5h", None),
            ("99999999999h", None),
        ] {
            assert_eq!(
                parse(text),
                seconds.map(SignedDuration::from_secs),
                "{text:?}"
            );
        }
    }
}
