//! Cron expressions as people write them, read by `croner`.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use super::zone::UnknownZone;

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
