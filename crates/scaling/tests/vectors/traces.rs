//! Recorded loads beside the tests.

use std::fs;
use std::path::Path;

use jiff::Timestamp;

/// The samples of one of them; `None` where there is none of that name.
pub(super) fn samples(name: &str) -> Option<Vec<(Timestamp, f64)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/traces");
    let text = fs::read_to_string(folder.join(format!("{name}.csv"))).ok()?;
    let sample = |line: &str| {
        let (second, value) = line.split_once(',').expect("a time and a value");
        let at = Timestamp::from_second(second.parse().expect("a second"));
        (at.expect("a time"), value.parse().expect("a number"))
    };
    Some(text.lines().skip(1).map(sample).collect())
}
