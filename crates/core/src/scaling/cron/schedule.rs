//! A cron schedule in its time zone.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::{Timestamp, Zoned, civil};

use super::zone::{UnknownZone, Zone};

/// The most characters of a schedule: each field could list all of its values in fewer.
const LONGEST: usize = 512;

/// A schedule that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Its time zone is none.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    /// It has a time zone of its own beside one that stands apart.
    #[error("{0:?} names a time zone, and timeZone another; accepted: one of the two")]
    TwoZones(String),
    /// It is no cron expression.
    #[error(
        "{text:?} is no schedule: {message}; accepted: five fields (minute, hour, day of month, \
         month, day of week), six with seconds before them, or a name such as @daily"
    )]
    Expression {
        /// The schedule as it was given.
        text: String,
        /// What is wrong with it.
        message: String,
    },
    /// No day meets it, such as 30 February.
    #[error("{0:?} never comes; accepted: a schedule that some day meets")]
    Never(String),
}

impl ScheduleError {
    /// The kind of error, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Zone(error) => error.reason(),
            Self::TwoZones(_) => "TwoTimeZones",
            Self::Expression { .. } | Self::Never(_) => "Schedule",
        }
    }
}

/// The moments that a cron expression names in a time zone.
#[derive(Debug, Clone)]
pub struct Schedule {
    text: Box<str>,
    cron: Box<Cron>,
    zone: Zone,
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.zone) == (&other.text, &other.zone)
    }
}

impl Eq for Schedule {}

impl Schedule {
    /// The schedule in `text`, which may begin with its own zone, as in `CRON_TZ=Asia/Shanghai 0 8 * *
    /// *` or `TZ=…`. Its zone is otherwise `given`, which stands beside it, or the `default`.
    ///
    /// # Errors
    /// Text that is no schedule or never comes, a zone that is none, or two zones.
    pub fn parse(text: &str, given: Option<&Zone>, default: &Zone) -> Result<Self, ScheduleError> {
        let (own, expression) = split_zone(text);
        let zone = match (own, given) {
            (Some(_), Some(_)) => return Err(ScheduleError::TwoZones(text.to_owned())),
            (Some(own), None) => Zone::parse(own)?,
            (None, given) => given.unwrap_or(default).clone(),
        };
        let cron = parse_expression(expression)?;
        let begin = civil::date(2000, 1, 1).at(0, 0, 0, 0);
        if cron.find_next_occurrence(&begin, true).is_err() {
            return Err(ScheduleError::Never(expression.to_owned()));
        }
        Ok(Self {
            text: expression.into(),
            cron: Box::new(cron),
            zone,
        })
    }

    /// The expression, without its zone.
    #[must_use]
    pub fn expression(&self) -> &str {
        &self.text
    }

    /// The zone in which the expression is read.
    #[must_use]
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// A moment in the schedule's zone.
    #[must_use]
    pub fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.rules().clone())
    }

    /// The first moment of the schedule after `at`; `None` beyond the years that are looked through.
    #[must_use]
    pub fn next_after(&self, at: Timestamp) -> Option<Zoned> {
        let at = self.local(whole_seconds(at));
        self.cron.find_next_occurrence(&at, false).ok()
    }

    /// The last moment of the schedule that is not after `at`; `None` where there was none.
    #[must_use]
    pub fn latest_until(&self, at: Timestamp) -> Option<Zoned> {
        let at = self.local(whole_seconds(at));
        self.cron.find_previous_occurrence(&at, true).ok()
    }
}

/// The moment without its fraction of a second, which no schedule has.
fn whole_seconds(at: Timestamp) -> Timestamp {
    // From the epoch on, seconds are counted downwards to the whole one.
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// The zone before an expression, and the expression.
fn split_zone(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let zoned = ["CRON_TZ=", "TZ="]
        .into_iter()
        .find_map(|prefix| text.strip_prefix(prefix));
    match zoned {
        None => (None, text),
        Some(zoned) => {
            let (zone, expression) = zoned.split_once(char::is_whitespace).unwrap_or((zoned, ""));
            (Some(zone), expression.trim_start())
        }
    }
}

/// The cron expression in `text`.
///
/// # Errors
/// Text that is none.
pub(super) fn parse_expression(text: &str) -> Result<Cron, ScheduleError> {
    let refused = |message: String| ScheduleError::Expression {
        text: text.chars().take(LONGEST).collect(),
        message,
    };
    if text.len() > LONGEST {
        let message = format!("it is longer than {LONGEST} characters");
        return Err(refused(message));
    }
    let parser = CronParser::builder()
        .seconds(Seconds::Optional)
        .year(Year::Disallowed)
        .build();
    let parsed = parser.parse(text);
    parsed.map_err(|error| refused(error.to_string().trim_end_matches('.').to_owned()))
}
