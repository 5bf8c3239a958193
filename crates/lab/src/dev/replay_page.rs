//! The comparison of a replayed record on the page. It is computed in virtual time beside the run, by
//! one thread, because the run needs the other cores to keep its pace.

use std::num::NonZeroUsize;
use std::panic::catch_unwind;
use std::thread;

use evenkeel_service::api::replay::ReplayComparison;
use evenkeel_service::dashboard::ReplayBoard;

use super::settings::DevServiceConfig;
use crate::replay::ReplayInput;
use crate::replay::difference::{ReplayDifference, ReplaySettings};

const FAILED: &str = "The replays failed. The output of evenkeel dev has the cause.";

/// A board that shows the gaps of the record at once, and later the comparison; it stays empty without
/// a record.
///
/// # Errors
/// The thread cannot be started.
pub(super) fn begin(
    input: &ReplayInput,
    given: &DevServiceConfig,
    seed: u64,
) -> std::io::Result<ReplayBoard> {
    let board = ReplayBoard::default();
    if input.record.is_none() {
        return Ok(board);
    }
    let missing = input.missing();
    board.put(ReplayComparison {
        missing: missing.clone(),
        ..ReplayComparison::default()
    });
    let (shown, input, given) = (board.clone(), input.clone(), given.clone());
    // Nothing waits for it: it ends with the program.
    thread::Builder::new()
        .name("replays".to_owned())
        .spawn(move || {
            let settings = ReplaySettings {
                set: (given.own != given.shipped).then_some(given.own),
                shipped: given.shipped,
                seeds: &[seed],
                workers: NonZeroUsize::MIN,
            };
            let compared = catch_unwind(|| ReplayDifference::of(&input, &settings));
            let comparison = match compared {
                Ok(difference) => difference.map(|found| found.with_gaps(missing)),
                Err(_) => Some(ReplayComparison {
                    missing,
                    sentences: vec![FAILED.to_owned()],
                    ..ReplayComparison::default()
                }),
            };
            if let Some(found) = comparison {
                shown.put(found);
            }
        })?;
    Ok(board)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evenkeel_clock as clock;
    use evenkeel_terminal::settings::ConfigArgs;

    use super::*;
    use crate::dev::settings;
    use crate::replay::tests::{bytes, load};

    #[tokio::test]
    async fn the_page_gets_the_gaps_at_once_and_the_comparison_later() {
        let record = bytes(|_| ());
        let input = load(&[("r.tar", &record)], &["--replay", "@r.tar"], false).unwrap();
        let given = settings::read(ConfigArgs::default()).unwrap();
        let board = begin(&input, &given, 1).unwrap();
        let first = board.newest().unwrap();
        assert_eq!(first.missing, input.missing());
        let end = clock::instant() + Duration::from_mins(5);
        let comparison = loop {
            let newest = board.newest().unwrap();
            if !newest.rows.is_empty() {
                break newest;
            }
            assert!(clock::instant() < end, "no comparison");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let names = comparison.rows.iter().map(|row| row.name.as_str());
        let expected = [
            "as it was",
            "recorded HPAs, replayed",
            "with floors",
            "with floors and placement",
        ];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        assert_eq!(comparison.sentences.len(), 2);
        assert_eq!(comparison.missing, input.missing());
    }

    #[test]
    fn a_scenario_has_no_comparison() {
        let input = load(&[("scenario.yaml", b"name: empty\n")], &[], false).unwrap();
        let given = settings::read(ConfigArgs::default()).unwrap();
        assert_eq!(begin(&input, &given, 1).unwrap().newest(), None);
    }
}
