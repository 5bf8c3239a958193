//! What a decision rests on: the steps by which it falls back as less is known.

use super::ds_hpa::{Basis, Proposal};

/// What a decision rests on, from the most that can be known to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grounds {
    /// A trusted forecast.
    Forecast,
    /// D-HPA's target.
    DynamicThreshold,
    /// What reacts to the load now; prediction has nothing to add.
    Reaction,
    /// What was known before, since no measurement is fresh.
    LastKnown,
    /// Nothing, since nothing is to be decided.
    Nothing,
}

impl Grounds {
    /// All of them, in their order.
    pub const ALL: [Self; 5] = [
        Self::Forecast,
        Self::DynamicThreshold,
        Self::Reaction,
        Self::LastKnown,
        Self::Nothing,
    ];

    /// The name in metrics and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forecast => "forecast",
            Self::DynamicThreshold => "d-hpa",
            Self::Reaction => "reaction",
            Self::LastKnown => "last-known",
            Self::Nothing => "nothing",
        }
    }

    pub(super) const fn of(proposal: Option<Proposal>) -> Self {
        match proposal {
            None => Self::Reaction,
            Some(proposal) => match proposal.basis {
                Basis::Forecast(_) => Self::Forecast,
                Basis::DynamicThreshold(..) => Self::DynamicThreshold,
            },
        }
    }
}
