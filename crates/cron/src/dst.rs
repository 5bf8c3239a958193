//! The clocks of a zone: when a local time comes, where they go forward over it or back across it.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// When a local time comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalTimeMatch {
    Once(Timestamp),
    /// Before clocks went back, and once more thereafter.
    Twice(Timestamp, Timestamp),
    /// Never: clocks go forward over it, in this change.
    Never(TimeZoneTransition),
}

/// A change of the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeZoneTransition {
    pub(crate) at: Timestamp,
    /// The local time at `at` by the offset until then.
    pub(crate) before: DateTime,
    /// The local time at `at` by the offset from then on.
    pub(crate) after: DateTime,
}

/// When a local time comes; `None` outside of the years that have times.
pub(crate) fn comes(zone: &TimeZone, local: DateTime) -> Option<LocalTimeMatch> {
    let at = |offset: Offset| offset.to_timestamp(local).ok();
    Some(match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => LocalTimeMatch::Once(at(offset)?),
        AmbiguousOffset::Fold { before, after } => LocalTimeMatch::Twice(at(before)?, at(after)?),
        AmbiguousOffset::Gap { before, after } => {
            LocalTimeMatch::Never(change(zone, at(after)?, (before, after))?)
        }
    })
}

/// The change of the clocks by which the local time of a moment comes twice; `None` for one that comes
/// once.
pub(crate) fn repeating(zone: &TimeZone, moment: Timestamp) -> Option<TimeZoneTransition> {
    let local = zone.to_datetime(moment);
    let AmbiguousOffset::Fold { before, after } = zone.to_ambiguous_timestamp(local).offset()
    else {
        return None;
    };
    change(zone, before.to_timestamp(local).ok()?, (before, after))
}

/// The change between two offsets that comes next after a moment.
fn change(
    zone: &TimeZone,
    moment: Timestamp,
    (before, after): (Offset, Offset),
) -> Option<TimeZoneTransition> {
    // A change of the zone's name alone moves no clock.
    let mut changes = zone.following(moment);
    let at = changes.find(|change| change.offset() == after)?.timestamp();
    Some(TimeZoneTransition {
        at,
        before: before.to_datetime(at),
        after: after.to_datetime(at),
    })
}

/// The second after a local time.
pub(crate) fn second_after(local: DateTime) -> Option<DateTime> {
    local.checked_add(SignedDuration::from_secs(1)).ok()
}

/// The second before a local time.
pub(crate) fn second_before(local: DateTime) -> Option<DateTime> {
    local.checked_sub(SignedDuration::from_secs(1)).ok()
}
