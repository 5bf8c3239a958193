//! A rotation of all keys that an operator requests, as stored on the signer's Secret. The signer
//! removes the request's annotation when it begins and stores the rotation in a second one, with
//! times of its own clock. New authorities are published at once and sign after half of the
//! overlap; the old ones leave at its end. A request to finish brings both times forward, but
//! leaves clients time to follow ([`SETTLE`]).

use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

/// On the signer's Secret, an operator's request for a rotation: the overlap, or [`FINISH`].
pub const REQUEST: &str = "evenkeel.dev/rotate-keys";
/// On the signer's Secret, written: the rotation that goes by it, as `<began>/<signs>/<ends>`.
pub const ROTATION: &str = "evenkeel.dev/key-rotation";
/// The request to end a rotation as soon as no client depends on the old keys.
pub const FINISH: &str = "finish";

/// The time in which every client follows a change of certificates: replicas look every ten
/// seconds, API servers watch.
pub const SETTLE: SignedDuration = SignedDuration::from_mins(2);

/// The shortest overlap: time to publish the authorities and to serve the certificate, with as much
/// to spare.
pub const LEAST_OVERLAP: SignedDuration = SignedDuration::from_mins(5);

/// The longest overlap, which is as long as that of a renewal by itself.
pub const MOST_OVERLAP: SignedDuration = SignedDuration::from_hours(182 * 24);

const ACCEPTED: &str = "an overlap from 5m to 4368h, such as 24h, or finish";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRotationRequest {
    /// New keys, with the old ones trusted for so long.
    Begin { overlap: SignedDuration },
    /// The end of the rotation that goes on.
    Finish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRotation {
    /// The moment of the request: keys that were made before it go, and all others stay.
    pub began: Timestamp,
    /// From this moment the new authority signs, and a client that trusts only the old one refuses
    /// the certificate.
    pub signs: Timestamp,
    /// The moment from which the old keys may leave.
    pub ends: Timestamp,
}

/// An annotation about keys that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation {key}: {value:?} is not accepted; accepted: {accepted}")]
pub struct KeyRotationError {
    pub key: &'static str,
    pub value: String,
    pub accepted: &'static str,
}

impl KeyRotationError {
    fn new(key: &'static str, value: &str, accepted: &'static str) -> Self {
        Self {
            key,
            value: value.chars().take(60).collect(),
            accepted,
        }
    }
}

impl KeyRotationRequest {
    /// New keys after `overlap`.
    ///
    /// # Errors
    /// An overlap that is too short for clients to follow, or longer than that of any renewal.
    pub fn begin(overlap: SignedDuration) -> Result<Self, KeyRotationError> {
        if (LEAST_OVERLAP..=MOST_OVERLAP).contains(&overlap) {
            return Ok(Self::Begin { overlap });
        }
        let value = format!("{overlap:#}");
        Err(KeyRotationError::new(REQUEST, &value, ACCEPTED))
    }
}

impl FromStr for KeyRotationRequest {
    type Err = KeyRotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == FINISH {
            return Ok(Self::Finish);
        }
        evenkeel_objects::duration::parse(text)
            .and_then(|overlap| Self::begin(overlap).ok())
            .ok_or_else(|| KeyRotationError::new(REQUEST, text, ACCEPTED))
    }
}

impl fmt::Display for KeyRotationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin { overlap } => write!(f, "{overlap:#}"),
            Self::Finish => f.write_str(FINISH),
        }
    }
}

impl KeyRotation {
    /// The rotation that starts at `now` in whole seconds, and later than `newest`, when the last
    /// of the old authorities was made. The new authority signs from the middle of the overlap.
    pub fn starting(now: Timestamp, newest: Timestamp, overlap: SignedDuration) -> Self {
        let seconds = now.as_second().max(newest.as_second().saturating_add(1));
        let began = Timestamp::from_second(seconds).unwrap_or(now);
        let ends = later(began, overlap);
        Self {
            began,
            signs: middle(began, ends),
            ends,
        }
    }

    /// The same rotation, ended as soon after `now` as clients can follow. `signed` is when a new
    /// authority issued the certificate in use, if one did.
    pub fn finished(self, now: Timestamp, signed: Option<Timestamp>) -> Self {
        let now = whole(now);
        let known = later(self.began, SETTLE);
        let signs = signed.map_or_else(|| now.max(known), whole);
        Self {
            began: self.began,
            signs,
            ends: self.ends.min(now).max(later(signs, SETTLE)),
        }
    }

    /// True of an authority that goes, by the moment at which it was made.
    pub fn replaces(&self, published: Timestamp) -> bool {
        published < self.began
    }
}

fn whole(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}

fn later(moment: Timestamp, time: SignedDuration) -> Timestamp {
    moment.saturating_add(time).unwrap_or(Timestamp::MAX)
}

/// The middle of an overlap, but not before clients know the authority ([`SETTLE`] after start).
fn middle(began: Timestamp, ends: Timestamp) -> Timestamp {
    let half = ends.duration_since(began) / 2;
    later(began, half.max(SETTLE))
}

impl FromStr for KeyRotation {
    type Err = KeyRotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let moments: Result<Vec<Timestamp>, _> = text.split('/').map(str::parse).collect();
            let (began, signs, ends) = match *moments.ok()? {
                [began, signs, ends] => (began, signs, ends),
                // As it was written before the moment in between was.
                [began, ends] => (began, middle(began, ends), ends),
                _ => return None,
            };
            (began <= ends && began <= signs).then_some(Self { began, signs, ends })
        };
        read().ok_or_else(|| {
            KeyRotationError::new(ROTATION, text, "three moments, as the signer writes them")
        })
    }
}

impl fmt::Display for KeyRotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.began, self.signs, self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn requests_are_read_as_they_are_written() {
        for text in ["24h", "5m", "4368h", "finish", "1h30m"] {
            let request: KeyRotationRequest = text.parse().unwrap();
            assert_eq!(request.to_string().parse(), Ok(request), "{text}");
        }
        for text in ["", "0", "4m59s", "4369h", "-1h", "now", "soon", "1d"] {
            let error = text.parse::<KeyRotationRequest>().unwrap_err().to_string();
            assert!(
                error.contains(REQUEST) && error.contains("finish"),
                "{error}"
            );
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn a_rotation_reads_back_and_nonsense_is_named() {
        let began = moment("2026-03-01T12:00:00.7Z");
        let rotation = KeyRotation::starting(began, Timestamp::MIN, HOUR * 24);
        assert_eq!(
            rotation.to_string(),
            "2026-03-01T12:00:00Z/2026-03-02T00:00:00Z/2026-03-02T12:00:00Z"
        );
        assert_eq!(
            "2026-03-01T12:00:00Z/2026-03-02T12:00:00Z".parse(),
            Ok(rotation),
            "as it was written before"
        );
        assert_eq!(rotation.to_string().parse(), Ok(rotation));
        for text in [
            "",
            "2026-03-01T12:00:00Z",
            "a/b",
            "2026-03-02T12:00:00Z/2026-03-01T12:00:00Z",
            "2026-03-02T12:00:00Z/2026-03-01T12:00:00Z/2026-03-03T12:00:00Z",
            "2026-03-01T12:00:00Z/2026-03-01T13:00:00Z/2026-03-01T14:00:00Z/",
        ] {
            let error = text.parse::<KeyRotation>().unwrap_err().to_string();
            assert!(error.contains(ROTATION), "{error}");
        }
    }

    #[test]
    fn what_was_made_in_the_same_second_or_by_a_faster_clock_is_old_all_the_same() {
        let now = moment("2026-03-01T12:00:00.9Z");
        for newest in [
            "2026-03-01T12:00:00Z",
            "2026-03-01T12:05:00Z",
            "2026-02-01T00:00:00Z",
        ] {
            let newest = moment(newest);
            let rotation = KeyRotation::starting(now, newest, HOUR);
            assert!(rotation.replaces(newest), "{newest}");
            assert!(!rotation.replaces(rotation.began));
            assert_eq!(rotation.ends - HOUR, rotation.began);
        }
    }

    #[test]
    fn the_new_authority_signs_from_the_middle_and_never_before_it_is_known() {
        let began = moment("2026-03-01T12:00:00Z");
        let of = |overlap| KeyRotation::starting(began, Timestamp::MIN, overlap);
        assert_eq!(of(HOUR * 24).signs, began + HOUR * 12);
        assert_eq!(of(LEAST_OVERLAP).signs, began + LEAST_OVERLAP / 2);
    }

    #[test]
    fn a_finished_rotation_leaves_time_to_follow_before_and_after_the_new_authority_signs() {
        let began = moment("2026-03-01T12:00:00Z");
        let rotation = KeyRotation::starting(began, Timestamp::MIN, HOUR * 24);
        let minute = SignedDuration::from_mins(1);
        for (asked, signed, signs, ends) in [
            // At once: the new authority is not known yet.
            (SignedDuration::ZERO, None, SETTLE, SETTLE * 2),
            (minute, None, SETTLE, SETTLE * 2),
            (HOUR, None, HOUR, HOUR + SETTLE),
            // It signs already, since long ago or just now.
            (HOUR * 13, Some(HOUR * 12), HOUR * 12, HOUR * 13),
            (
                HOUR * 12 + minute,
                Some(HOUR * 12),
                HOUR * 12,
                HOUR * 12 + SETTLE,
            ),
            // The end is past, and the signer was away when the new authority was to sign.
            (HOUR * 30, None, HOUR * 30, HOUR * 30 + SETTLE),
            (HOUR * 31, Some(HOUR * 30), HOUR * 30, HOUR * 30 + SETTLE),
        ] {
            let finished = rotation.finished(began + asked, signed.map(|after| began + after));
            let expected = (began + signs, began + ends);
            assert_eq!((finished.signs, finished.ends), expected, "{asked:#}");
            assert_eq!(finished.began, began);
        }
    }
}
