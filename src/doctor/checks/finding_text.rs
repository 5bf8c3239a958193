//! Words and figures that findings share.

/// Names that a finding lists before it counts the rest.
const NAMED: usize = 5;

/// The first of `names`, and how many more there are.
pub(super) fn named<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

pub(super) fn about(duration: jiff::SignedDuration) -> String {
    let seconds = duration.as_secs();
    match seconds.unsigned_abs() {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_times_are_rounded() {
        assert_eq!(named(&["a", "b"]), "a, b");
        assert_eq!(named(&["a"; 7]), "a, a, a, a, a and 2 more");
        for (seconds, text) in [
            (119, "119 s"),
            (-30, "-30 s"),
            (120, "2 min"),
            (7_200, "2 h"),
            (864_000, "10 days"),
        ] {
            assert_eq!(about(jiff::SignedDuration::from_secs(seconds)), text);
        }
    }
}
