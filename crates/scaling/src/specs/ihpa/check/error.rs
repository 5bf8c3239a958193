//! The faults of a spec, each with its path.

use evenkeel_api::replica_profile::ProfileBehaviorError;
use evenkeel_objects::bounds::BoundsError;
use evenkeel_objects::truncate::{OF_VALUE, excerpt};

use crate::specs::cron_hpa::CronHpaError;
use crate::specs::portrait::check::PortraitDataError;

/// A spec that is not accepted, with the path of what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IhpaError {
    /// Windows that are not accepted; their error has its own path.
    #[error(transparent)]
    Cron(#[from] CronHpaError),
    /// A count that is not accepted; its error has its own path.
    #[error(transparent)]
    Data(#[from] PortraitDataError),
    /// Anything else.
    #[error("{path}: {problem}")]
    At {
        path: String,
        problem: IhpaSpecFault,
    },
}

/// The fault at one path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IhpaSpecFault {
    #[error(transparent)]
    Bounds(#[from] BoundsError),
    /// A text that is not accepted.
    #[error("{given:?} is not accepted; accepted: {accepted}")]
    Word {
        given: String,
        accepted: &'static str,
    },
    /// Something that has to be there is not.
    #[error("is missing; accepted: {0}")]
    Missing(&'static str),
    /// Too few or too many.
    #[error("there are {count}; accepted: {least} to {most}")]
    Count {
        count: usize,
        least: usize,
        most: usize,
    },
    /// Two have one name.
    #[error("{0:?} is listed twice; accepted: each once")]
    Twice(String),
    /// A number outside of its range.
    #[error("{given} is not accepted; accepted: {least} to {most}")]
    Number { given: i64, least: i64, most: i64 },
    /// A metric that is not accepted.
    #[error("accepted: {0}")]
    Metric(&'static str),
    /// The forecast is of other metrics than the reactive portrait.
    #[error(
        "differ from those of the reactive portrait; accepted: none, which forecasts the same \
         metrics"
    )]
    OtherMetrics,
    /// The behavior for Pods out of traffic is not accepted.
    #[error(transparent)]
    Profile(#[from] ProfileBehaviorError),
}

impl IhpaSpecFault {
    pub(super) fn word(given: &str, accepted: &'static str) -> Self {
        Self::Word {
            given: excerpt(given, OF_VALUE),
            accepted,
        }
    }

    pub(super) const fn within(count: usize, least: usize, most: usize) -> Result<(), Self> {
        if count < least || count > most {
            return Err(Self::Count { count, least, most });
        }
        Ok(())
    }

    /// A number that lies in its range.
    pub(super) fn number(given: i64, least: i64, most: i64) -> Result<i64, Self> {
        if given < least || given > most {
            return Err(Self::Number { given, least, most });
        }
        Ok(given)
    }
}

impl IhpaError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Cron(error) => error.reason(),
            Self::Data(error) => error.reason(),
            Self::At { problem, .. } => match problem {
                IhpaSpecFault::Bounds(error) => error.reason(),
                IhpaSpecFault::Word { .. } => "NotAccepted",
                IhpaSpecFault::Missing(_) => "Missing",
                IhpaSpecFault::Count { .. } => "TooMany",
                IhpaSpecFault::Twice(_) => "SameName",
                IhpaSpecFault::Number { .. } => "Number",
                IhpaSpecFault::Metric(_) | IhpaSpecFault::OtherMetrics => "Metric",
                IhpaSpecFault::Profile(error) => error.reason(),
            },
        }
    }
}

/// Adds the path to what is wrong there.
pub(super) fn at<T>(
    path: impl Into<String>,
    result: Result<T, IhpaSpecFault>,
) -> Result<T, IhpaError> {
    result.map_err(|problem| IhpaError::At {
        path: path.into(),
        problem,
    })
}
