//! Ages in kubectl's form, coarser the longer they are.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Since an RFC 3339 timestamp.
pub(super) fn since(timestamp: &str, now: Timestamp) -> String {
    timestamp.parse::<Timestamp>().map_or_else(
        |_| "<unknown>".to_owned(),
        |then| human(now.as_second() - then.as_second()),
    )
}

pub(super) fn human(seconds: i64) -> String {
    let two = |whole: i64, unit: &str, rest: i64, smaller: &str| {
        if rest == 0 {
            format!("{whole}{unit}")
        } else {
            format!("{whole}{unit}{rest}{smaller}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s % HOUR / MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s % DAY / HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s % YEAR / DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_grow_coarser() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (30 * HOUR, "30h"),
            (3 * DAY + 2 * HOUR, "3d2h"),
            (100 * DAY, "100d"),
            (3 * YEAR + DAY, "3y1d"),
            (9 * YEAR, "9y"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }
}
