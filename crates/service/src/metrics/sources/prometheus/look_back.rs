//! How far a query looks back from its moment, by the ranges in its text: the longest range of a
//! selector, all of (nested) subqueries, and the longest offset. It is never too short; subqueries
//! side by side make it too long.

use jiff::SignedDuration;

use super::selectors::quoted;

/// The span before its moment that a query takes values from, where `$window` stands for `window`.
pub(super) fn look_back(promql: &str, window: SignedDuration) -> SignedDuration {
    let (mut ranges, mut subqueries, mut offsets) = (
        SignedDuration::ZERO,
        SignedDuration::ZERO,
        SignedDuration::ZERO,
    );
    let mut rest = promql;
    while let Some(next) = rest.find(['"', '\'', '`', '#', '[', 'o']) {
        let (found, after) = (rest.as_bytes()[next], &rest[next + 1..]);
        rest = match found {
            b'[' => {
                let end = after.find(']').unwrap_or(after.len());
                let (range, after) = after.split_at(end);
                match range.split_once(':') {
                    Some((range, _)) => {
                        subqueries = subqueries.saturating_add(duration(range, window));
                    }
                    None => ranges = ranges.max(duration(range, window)),
                }
                after
            }
            b'o' => {
                let is_word = !rest[..next].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if let Some(by) = after.strip_prefix("ffset").filter(|_| is_word) {
                    offsets = offsets.max(duration(by, window));
                }
                after
            }
            b'#' => after.find('\n').map_or("", |end| &after[end..]),
            quote => {
                let string = &rest[next..];
                &string[quoted(string, char::from(quote))..]
            }
        };
    }
    ranges.saturating_add(subqueries).saturating_add(offsets)
}

/// The duration at the beginning of a text, such as `1h30m`, `$window`, or `90` (seconds); zero if
/// there is none, as for an offset into the future.
fn duration(text: &str, window: SignedDuration) -> SignedDuration {
    let mut rest = text.trim_start();
    if rest.starts_with("$window") {
        return window;
    }
    let mut sum = SignedDuration::ZERO;
    loop {
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, unit) = rest.split_at(end);
        let Ok(number) = number.parse::<i64>() else {
            return sum;
        };
        let (milli, length) = unit_of(unit);
        sum = sum.saturating_add(SignedDuration::from_millis(number.saturating_mul(milli)));
        rest = &unit[length..];
    }
}

/// The milliseconds of the unit that a text begins with, and its length.
fn unit_of(text: &str) -> (i64, usize) {
    const SECOND: i64 = 1000;
    const DAY: i64 = 24 * 60 * 60 * SECOND;
    match text.as_bytes() {
        [b'm', b's', ..] => (1, 2),
        [b's', ..] => (SECOND, 1),
        [b'm', ..] => (60 * SECOND, 1),
        [b'h', ..] => (60 * 60 * SECOND, 1),
        [b'd', ..] => (DAY, 1),
        [b'w', ..] => (7 * DAY, 1),
        [b'y', ..] => (365 * DAY, 1),
        _ => (SECOND, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_looks_back_as_far_as_its_ranges_and_offsets() {
        for (promql, seconds) in [
            ("up", 0),
            ("sum(rate(a[5m])) / sum(rate(b[1m]))", 300),
            ("rate(a{x=\"[9h]\",y='\\'[9h]'}[$window])", 120),
            ("rate(a{x=`\\`}[1h30m])", 5400),
            ("max_over_time(rate(a[5m])[30m:1m])", 2100),
            ("rate(a[1m] offset 10m) # [9h]\n + b[90]", 690),
            ("foffset[2m] + offsets", 120),
            ("a offset -5m", 0),
            ("rate(a[500ms])", 0),
            ("rate(a[", 0),
        ] {
            let found = look_back(promql, SignedDuration::from_mins(2));
            assert_eq!(found.as_secs(), seconds, "{promql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = look_back(&text, SignedDuration::from_mins(2));
        }
    }
}
