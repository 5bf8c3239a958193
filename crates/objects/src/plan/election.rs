//! Leader election by a Lease, as a function of what was seen and when. A contender trusts only its
//! own clock: a lease is over when its record has not changed for the lease's duration *as seen
//! here*. The holder stops earlier, at the renew deadline, counted from before its last successful
//! renewal was sent. So between two holders there is always a time with none.

use std::time::{Duration, Instant};

use crate::lease::LeaseRecord;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The time for which others wait for a silent holder.
    pub lease_duration: Duration,
    /// The time for which the holder acts after its last renewal.
    pub renew_deadline: Duration,
    /// The time between two looks of everyone.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(10),
            renew_deadline: Duration::from_secs(6),
            retry_period: Duration::from_secs(2),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectionStep {
    Create,
    /// Take the Lease over; the record with this resourceVersion must still stand.
    Take {
        resource_version: String,
        transitions: i32,
    },
    Renew {
        resource_version: String,
        transitions: i32,
    },
    Wait,
}

#[derive(Debug, Clone)]
pub struct Election {
    identity: String,
    timing: Timing,
    seen: Option<(String, Instant)>,
    renewed: Option<Instant>,
}

impl Election {
    /// A contender called `identity`, which must be its own among all replicas.
    pub const fn new(identity: String, timing: Timing) -> Self {
        Self {
            identity,
            timing,
            seen: None,
            renewed: None,
        }
    }

    /// Decides on the record as it stands at `now`; `None` when there is no Lease.
    pub fn decide(&mut self, record: Option<&LeaseRecord>, now: Instant) -> ElectionStep {
        let Some(record) = record else {
            return ElectionStep::Create;
        };
        if self
            .seen
            .as_ref()
            .is_none_or(|(version, _)| *version != record.resource_version)
        {
            self.seen = Some((record.resource_version.clone(), now));
        }
        let resource_version = record.resource_version.clone();
        match &record.holder {
            Some(holder) if *holder == self.identity => ElectionStep::Renew {
                resource_version,
                transitions: record.transitions,
            },
            Some(_) if !self.is_over(record, now) => ElectionStep::Wait,
            _ => ElectionStep::Take {
                resource_version,
                transitions: record.transitions.saturating_add(1),
            },
        }
    }

    /// A write that was sent at `sent` has succeeded: this contender leads.
    pub const fn won(&mut self, sent: Instant) {
        self.renewed = Some(sent);
    }

    /// Another contender holds the Lease, or this one gave it back.
    pub const fn lost(&mut self) {
        self.renewed = None;
    }

    /// The instant until which this contender may act; `None` when it may not.
    pub fn acts_until(&self) -> Option<Instant> {
        self.renewed.map(|sent| sent + self.timing.renew_deadline)
    }

    fn is_over(&self, record: &LeaseRecord, now: Instant) -> bool {
        self.seen
            .as_ref()
            .is_some_and(|(_, since)| now.duration_since(*since) >= record.duration)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // any instant will do as the origin of a simulated clock
mod tests {
    use proptest::prelude::*;

    use jiff::Timestamp;

    use super::*;

    fn record(holder: Option<&str>, version: u32) -> LeaseRecord {
        LeaseRecord {
            holder: holder.map(str::to_owned),
            resource_version: version.to_string(),
            duration: Duration::from_secs(10),
            renewed: None,
            transitions: 3,
        }
    }

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn each_record_has_one_answer() {
        let start = Instant::now();
        let mut election = Election::new("me".to_owned(), Timing::default());
        assert_eq!(election.decide(None, start), ElectionStep::Create);
        assert_eq!(
            election.decide(Some(&record(Some("other"), 1)), start),
            ElectionStep::Wait
        );
        assert_eq!(
            election.decide(Some(&record(Some("me"), 2)), start),
            ElectionStep::Renew {
                resource_version: "2".to_owned(),
                transitions: 3
            }
        );
        assert_eq!(
            election.decide(Some(&record(None, 3)), start),
            ElectionStep::Take {
                resource_version: "3".to_owned(),
                transitions: 4
            },
            "a lease that was given back is free at once"
        );
    }

    #[test]
    fn a_lease_is_read_as_its_holder_wrote_it() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let lease = |spec: serde_json::Value| {
            let lease = serde_json::json!({"metadata": {"resourceVersion": "7"}, "spec": spec});
            LeaseRecord::of(&serde_json::from_value(lease).unwrap())
        };
        let held = lease(serde_json::json!({
            "holderIdentity": "a", "leaseDurationSeconds": 10, "leaseTransitions": 2,
            "renewTime": "1970-01-01T00:01:00.000000Z",
        }));
        let expected = LeaseRecord {
            holder: Some("a".to_owned()),
            resource_version: "7".to_owned(),
            duration: seconds(10),
            renewed: Some(at(60)),
            transitions: 2,
        };
        assert_eq!(held, expected);
        let abandoned = [50, 60, 70, 71].map(|second| held.looks_abandoned(at(second)));
        assert_eq!(abandoned, [false, false, false, true]);
        let given_back = lease(serde_json::json!({"holderIdentity": ""}));
        assert_eq!(
            (given_back.holder, given_back.duration),
            (None, Duration::ZERO)
        );
    }

    #[test]
    fn a_silent_holder_is_waited_for_as_long_as_it_promised() {
        let start = Instant::now();
        let mut election = Election::new("me".to_owned(), Timing::default());
        let silent = record(Some("other"), 1);
        assert_eq!(election.decide(Some(&silent), start), ElectionStep::Wait);
        assert_eq!(
            election.decide(Some(&silent), start + seconds(9)),
            ElectionStep::Wait
        );
        assert!(matches!(
            election.decide(Some(&silent), start + seconds(10)),
            ElectionStep::Take { .. }
        ));
        let renewed = record(Some("other"), 2);
        assert_eq!(
            election.decide(Some(&renewed), start + seconds(11)),
            ElectionStep::Wait,
            "a change starts the wait anew"
        );
    }

    #[test]
    fn the_holder_stops_before_anyone_may_take_over() {
        let start = Instant::now();
        let mut election = Election::new("me".to_owned(), Timing::default());
        assert_eq!(election.acts_until(), None);
        election.won(start);
        assert_eq!(election.acts_until(), Some(start + seconds(6)));
        election.lost();
        assert_eq!(election.acts_until(), None);
    }

    /// A Lease as an API server keeps it: writes succeed only on the version they name.
    struct Server {
        record: Option<LeaseRecord>,
        version: u32,
    }

    impl Server {
        fn write(&mut self, holder: &str, step: &ElectionStep) -> bool {
            let expected = match step {
                ElectionStep::Create => None,
                ElectionStep::Take {
                    resource_version, ..
                }
                | ElectionStep::Renew {
                    resource_version, ..
                } => Some(resource_version.clone()),
                ElectionStep::Wait => return false,
            };
            let current = self
                .record
                .as_ref()
                .map(|record| record.resource_version.clone());
            if expected != current {
                return false;
            }
            self.version += 1;
            self.record = Some(record(Some(holder), self.version));
            true
        }
    }

    proptest! {
        /// However contenders are delayed or cut off, no two may act at one time.
        #[test]
        fn never_two_leaders(rounds in prop::collection::vec((0..3_usize, 0..5000_u64, 0..9000_u64, any::<bool>()), 1..200)) {
            let start = Instant::now();
            let mut server = Server { record: None, version: 0 };
            let names = ["a", "b", "c"];
            let mut contenders = names.map(|name| Election::new(name.to_owned(), Timing::default()));
            let mut now = start;
            for (who, wait, delay, cut_off) in rounds {
                now += Duration::from_millis(wait);
                if cut_off {
                    continue;
                }
                let seen = server.record.clone();
                let step = contenders[who].decide(seen.as_ref(), now);
                // The answer may take long: what counts is when the request was sent.
                let sent = now;
                let written = server.write(names[who], &step);
                now += Duration::from_millis(delay);
                if written {
                    contenders[who].won(sent);
                } else if step == ElectionStep::Wait {
                    contenders[who].lost();
                }
                let acting = contenders
                    .iter()
                    .filter(|contender| contender.acts_until().is_some_and(|until| until > now))
                    .count();
                prop_assert!(acting <= 1);
            }
        }
    }
}
