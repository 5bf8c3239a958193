//! Cron expressions as users write them: those that robfig/cron v3 accepts, with its meaning, and the
//! extensions of `croner` (`L`, `W`, `#`, a `+` before the day of week). The module `field` writes each field in the
//! form that `croner` reads alike.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use super::field::{FIELDS, normalized};
use super::zone::UnknownZone;

/// The most characters of a schedule: each field could list all of its values in fewer.
const LONGEST: usize = 512;

/// The names of schedules, and the fields that they stand for.
const NAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A schedule that is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Its time zone is none.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    /// It has a time zone of its own beside one that stands apart.
    #[error("{0:?} names a time zone, and timeZone names another; accepted: one of the two")]
    TwoZones(String),
    /// It is no cron expression.
    #[error(
        "{text:?} is not a schedule: {message}; accepted: five fields (minute, hour, day of month, \
         month, day of week), six with seconds before them, or a name such as @daily"
    )]
    Expression {
        /// The schedule as it was given.
        text: String,
        /// The error in words.
        message: String,
    },
    /// No day meets it, such as 30 February.
    #[error("{0:?} never runs; accepted: a schedule with at least one run")]
    Never(String),
}

impl ScheduleError {
    /// The kind of error, for conditions, Events and metrics.
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
pub(crate) fn parse_expression(text: &str) -> Result<Cron, ScheduleError> {
    let refused = |message: String| ScheduleError::Expression {
        text: text.chars().take(LONGEST).collect(),
        message,
    };
    if text.len() > LONGEST {
        let message = format!("it is longer than {LONGEST} characters");
        return Err(refused(message));
    }
    let fields = named(text).map_err(refused)?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let rows = match fields.len() {
        5 => &FIELDS[1..],
        6 => &FIELDS[..],
        count => return Err(refused(format!("it has {count} fields"))),
    };
    let fields = rows.iter().zip(fields);
    let fields = fields.map(|(row, field)| normalized(row, field));
    let fields: Vec<String> = fields.collect::<Result<_, _>>().map_err(refused)?;
    let parser = CronParser::builder()
        .seconds(Seconds::Optional)
        .year(Year::Disallowed)
        .build();
    let parsed = parser.parse(&fields.join(" "));
    parsed.map_err(|error| refused(error.to_string().trim_end_matches('.').to_owned()))
}

/// The fields that a name such as `@daily` stands for; any other text is returned as it is.
fn named(text: &str) -> Result<&str, String> {
    if !text.starts_with('@') {
        return Ok(text);
    }
    let name = text.split_whitespace().next().unwrap_or_default();
    if name == "@every" {
        return Err(
            "@every counts from the start of a process, which a schedule here does not have"
                .to_owned(),
        );
    }
    let known = NAMES
        .iter()
        .find(|(known, _)| text.eq_ignore_ascii_case(known));
    let accepted = || {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("the names are {}", names.join(", "))
    };
    known.map(|(_, fields)| *fields).ok_or_else(accepted)
}
