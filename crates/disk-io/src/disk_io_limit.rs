//! `evenkeel.dev/disk-io-limit`: the most that a Pod may read from and write to each disk. Each
//! direction has its own rate, because the kernel limits them apart. A filesystem is shared: a
//! commit of its journal waits for data of a limited Pod, even for Pods that write next to nothing.
//! So rates below the cluster's minimum are refused; they are not raised, because no user asked for
//! a higher rate.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use evenkeel_objects::annotations::{AnnotationParser, DISK_IO_LIMIT, InvalidAnnotation, SKIP};
use evenkeel_units::BytesPerSecond;

use super::node_pod::NodePod;

/// The most bytes a second in each direction; at least one of them is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskIoLimit {
    pub read: Option<BytesPerSecond>,
    pub write: Option<BytesPerSecond>,
    /// The limit follows the use, up to these rates.
    pub is_tuned: bool,
}

/// The last part of the annotation of a limit that follows the use.
const TUNED: &str = "tuned";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("accepted: {}", DiskIoLimitError::ACCEPTED)]
pub struct DiskIoLimitError;

impl DiskIoLimitError {
    pub const ACCEPTED: &'static str = "a rate for each direction such as 10MiB/s, or read=20MiB/s, \
         or write=5MB/s, or both with a comma between them; rates as 5Mbps (bits), 10MB/s, 10MiB/s, or a \
         number of bytes per second; and ,tuned after them for a limit that follows the use";
}

impl FromStr for DiskIoLimit {
    type Err = DiskIoLimitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (text, is_tuned) = match text.rsplit_once(',') {
            Some((rates, last)) if last.trim() == TUNED => (rates, true),
            _ => (text, false),
        };
        if !text.contains('=') {
            let rate = text.parse().map_err(|_| DiskIoLimitError)?;
            return Ok(Self {
                read: Some(rate),
                write: Some(rate),
                is_tuned,
            });
        }
        let mut limit = Self {
            read: None,
            write: None,
            is_tuned,
        };
        for part in text.split(',') {
            let (direction, rate) = part.split_once('=').ok_or(DiskIoLimitError)?;
            let place = match direction.trim() {
                "read" => &mut limit.read,
                "write" => &mut limit.write,
                _ => return Err(DiskIoLimitError),
            };
            let rate = rate.parse().map_err(|_| DiskIoLimitError)?;
            if place.replace(rate).is_some() {
                return Err(DiskIoLimitError);
            }
        }
        Ok(limit)
    }
}

impl fmt::Display for DiskIoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.read, self.write) {
            (Some(read), Some(write)) if read == write => read.fmt(f)?,
            (Some(read), Some(write)) => write!(f, "read={read},write={write}")?,
            (Some(read), None) => write!(f, "read={read}")?,
            (None, Some(write)) => write!(f, "write={write}")?,
            (None, None) => {}
        }
        if self.is_tuned {
            write!(f, ",{TUNED}")?;
        }
        Ok(())
    }
}

const LIMIT: AnnotationParser<DiskIoLimit> = AnnotationParser {
    key: DISK_IO_LIMIT,
    accepted: DiskIoLimitError::ACCEPTED,
    parse: |text| text.parse().ok(),
};

/// The limit in a Pod's annotations; `None` where it is absent or refused.
pub fn annotated(
    annotations: &BTreeMap<String, String>,
    invalid: &mut Vec<InvalidAnnotation>,
) -> Option<DiskIoLimit> {
    LIMIT.read(annotations, invalid)
}

/// Cause for which a Pod's annotation sets no limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitRefusal {
    #[error("{0}")]
    Invalid(InvalidAnnotation),
    /// A static Pod is the node's, and that a Pod is one is its own word.
    #[error("annotation {DISK_IO_LIMIT}: a static Pod gets no limit")]
    Static,
    /// Containers would hardly start, and others that share the filesystem would wait for them.
    #[error(
        "annotation {DISK_IO_LIMIT}: {limit} is below agent.leastLimit, which is {least}: no limit \
         is set"
    )]
    TooLow {
        limit: DiskIoLimit,
        least: BytesPerSecond,
    },
}

impl LimitRefusal {
    /// The kind of refusal, for Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "DiskIoLimitInvalid",
            Self::Static => "DiskIoLimitStatic",
            Self::TooLow { .. } => "DiskIoLimitTooLow",
        }
    }
}

/// The limit that a Pod of an opted-in namespace asks for; `None` where it asks for none.
///
/// # Errors
/// A value that is not accepted, or below `least`.
pub fn wanted(pod: &NodePod, least: BytesPerSecond) -> Result<Option<DiskIoLimit>, LimitRefusal> {
    let annotations = &pod.metadata.annotations;
    if pod.metadata.annotation(SKIP) == Some("true") {
        return Ok(None);
    }
    let mut invalid = Vec::new();
    let limit = annotated(annotations, &mut invalid);
    if let Some(invalid) = invalid.pop() {
        return Err(LimitRefusal::Invalid(invalid));
    }
    let Some(limit) = limit else {
        return Ok(None);
    };
    if pod.is_mirror() {
        return Err(LimitRefusal::Static);
    }
    let mut rates = [limit.read, limit.write].into_iter().flatten();
    if rates.any(|rate| rate < least) {
        return Err(LimitRefusal::TooLow { limit, least });
    }
    Ok(Some(limit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn limit(read: Option<u64>, write: Option<u64>) -> DiskIoLimit {
        DiskIoLimit {
            read: read.map(BytesPerSecond),
            write: write.map(BytesPerSecond),
            is_tuned: false,
        }
    }

    #[test]
    fn one_rate_is_for_each_direction_or_each_has_its_own() {
        for (text, expected) in [
            ("10MiB/s", limit(Some(10 << 20), Some(10 << 20))),
            ("8Mbps", limit(Some(1_000_000), Some(1_000_000))),
            ("read=2MB/s", limit(Some(2_000_000), None)),
            ("write=5", limit(None, Some(5))),
            (
                "read=20MiB/s, write=5MiB/s",
                limit(Some(20 << 20), Some(5 << 20)),
            ),
            ("write=1,read=2", limit(Some(2), Some(1))),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text:?}");
        }
        for text in [
            "",
            "fast",
            "read=",
            "read=1,",
            "read=1,read=2",
            "read=1,5",
            "both=1",
            "=1",
            "10MiB/s,5MiB/s",
            "tuned",
            ",tuned",
            "10MiB/s,tuned,tuned",
        ] {
            assert_eq!(
                text.parse::<DiskIoLimit>(),
                Err(DiskIoLimitError),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(read: Option<u64>, write: Option<u64>, is_tuned: bool) {
            prop_assume!(read.is_some() || write.is_some());
            let limit = DiskIoLimit { is_tuned, ..limit(read, write) };
            prop_assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }

    fn asked(annotations: &serde_json::Value) -> Result<Option<DiskIoLimit>, LimitRefusal> {
        let pod = json!({"metadata": {"name": "a", "annotations": annotations}});
        wanted(
            &serde_json::from_value(pod).unwrap(),
            BytesPerSecond(1 << 20),
        )
    }

    #[test]
    fn a_limit_below_the_least_is_refused_and_none_is_set_in_its_place() {
        let given = |text: &str| asked(&json!({DISK_IO_LIMIT: text}));
        let least = limit(Some(1 << 20), Some(1 << 20));
        assert_eq!(given("1MiB/s"), Ok(Some(least)));
        for text in ["1MB/s", "0", "read=1GiB/s,write=1KiB/s", "write=1"] {
            let refusal = given(text).unwrap_err();
            assert_eq!(refusal.reason(), "DiskIoLimitTooLow", "{text}");
            assert!(
                refusal.to_string().contains("leastLimit, which is 1MiB/s"),
                "{refusal}"
            );
        }
        let refusal = given("slow").unwrap_err();
        assert_eq!(refusal.reason(), "DiskIoLimitInvalid");
        let told = refusal.to_string();
        assert!(
            told.contains(DISK_IO_LIMIT)
                && told.contains("\"slow\"")
                && told.contains("read=20MiB/s"),
            "{told}"
        );
    }

    /// It could say so of another's Pod, and limit that.
    #[test]
    fn a_pod_that_says_it_is_a_mirror_gets_none() {
        let mirror = json!({DISK_IO_LIMIT: "10MiB/s", "kubernetes.io/config.mirror": "c0ffee"});
        assert_eq!(asked(&mirror).unwrap_err().reason(), "DiskIoLimitStatic");
    }

    #[test]
    fn who_does_not_ask_or_is_left_alone_gets_none() {
        assert_eq!(asked(&json!({})), Ok(None));
        let skipped = json!({DISK_IO_LIMIT: "10MiB/s", SKIP: "true"});
        assert_eq!(asked(&skipped), Ok(None));
    }
}
