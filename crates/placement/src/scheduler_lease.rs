//! The Lease of a second scheduler, and whether it is alive. A Pod of a dead scheduler waits for
//! ever, so it gets one only while that one renews its Lease. As in [`evenkeel_objects::plan::election`], only
//! the own clock counts: a renewal is a change of the record, when seen. One change alone may be
//! old (after a list or an interrupted watch), so it shows nothing.

use std::time::Duration;

use evenkeel_objects::lease::LeaseRecord;
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerLease {
    holder: Option<String>,
    renewed: Option<Timestamp>,
    changed: Timestamp,
    fresh_until: Option<Timestamp>,
}

impl SchedulerLease {
    /// The Lease as it is seen at `now`, after it was seen as `before`.
    pub fn seen(before: Option<&Self>, record: &LeaseRecord, now: Timestamp) -> Self {
        let LeaseRecord {
            holder,
            resource_version: _,
            duration,
            renewed,
            transitions: _,
        } = record;
        let same = |before: &&Self| before.holder == *holder && before.renewed == *renewed;
        if let Some(before) = before.filter(same) {
            return before.clone();
        }
        let lasts = signed(*duration);
        let renews = before.is_some_and(|before| {
            before.holder == *holder && now.duration_since(before.changed) < lasts
        });
        Self {
            holder: holder.clone(),
            renewed: *renewed,
            changed: now,
            fresh_until: now
                .checked_add(lasts)
                .ok()
                .filter(|_| renews && holder.is_some()),
        }
    }

    /// True while its holder keeps its promise to renew it.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        // A clock that was set back must not make it last.
        let seen = now.duration_since(self.changed) >= SignedDuration::ZERO;
        seen && self.fresh_until.is_some_and(|until| now < until)
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn record(holder: Option<&str>, renewed: i64) -> LeaseRecord {
        LeaseRecord {
            holder: holder.map(str::to_owned),
            resource_version: "1".to_owned(),
            duration: Duration::from_secs(15),
            renewed: Some(second(renewed)),
            transitions: 0,
        }
    }

    /// Each row: the second seen, the holder and its second; then the second until which it is
    /// fresh, if it is.
    #[test]
    fn a_lease_is_fresh_while_its_holder_is_seen_to_renew_it() {
        const A: Option<&str> = Some("a");
        type Sight = (i64, Option<&'static str>, i64, Option<i64>);
        let sights: &[&[Sight]] = &[
            &[
                (100, A, 99, None),
                (102, A, 101, Some(117)),
                (104, A, 103, Some(119)),
            ],
            // Found as a dead scheduler has left it, whatever its clock said.
            &[(100, A, 5000, None), (110, A, 5000, None)],
            // A list after a watch that was away brings a change, which may be old.
            &[
                (100, A, 99, None),
                (102, A, 101, Some(117)),
                (400, A, 150, None),
            ],
            &[
                (100, A, 99, None),
                (114, A, 113, Some(129)),
                (129, A, 128, None),
            ],
            // Given back, and taken by another one, which has to renew it once.
            &[
                (100, A, 99, None),
                (102, A, 101, Some(117)),
                (103, None, 102, None),
            ],
            &[
                (100, A, 99, None),
                (102, A, 101, Some(117)),
                (103, Some("b"), 102, None),
                (105, Some("b"), 104, Some(120)),
            ],
        ];
        for sights in sights {
            let mut lease: Option<SchedulerLease> = None;
            for &(at, holder, renewed, until) in *sights {
                let record = record(holder, renewed);
                let seen = SchedulerLease::seen(lease.as_ref(), &record, second(at));
                assert_eq!(
                    seen.is_fresh(second(at)),
                    until.is_some(),
                    "{sights:?} at {at}"
                );
                if let Some(until) = until {
                    assert!(seen.is_fresh(second(until - 1)) && !seen.is_fresh(second(until)));
                    assert!(!seen.is_fresh(second(at - 1)), "a clock that was set back");
                }
                lease = Some(seen);
            }
        }
    }
}
