//! The steps by which decisions fall back as less is known.

/// The extent of what is known when a decision is taken, from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecisionBasis {
    /// A trusted forecast of the load.
    Forecast,
    /// The need of the traffic, by the model that turns it into replicas.
    Traffic,
    /// The lowered target of D-HPA (`DS-HPA`).
    DynamicThreshold,
    /// The load as it is now; prediction has nothing to add.
    Reaction,
    /// A portrait that is made of no load here: one count, the calendar, or what others have computed.
    Portrait,
    /// Only what was known before, since no measurement is fresh.
    LastKnown,
    /// Nothing is decided.
    Nothing,
}

impl DecisionBasis {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::Forecast,
        Self::Traffic,
        Self::DynamicThreshold,
        Self::Reaction,
        Self::Portrait,
        Self::LastKnown,
        Self::Nothing,
    ];

    /// The name in metrics and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forecast => "forecast",
            Self::Traffic => "traffic",
            Self::DynamicThreshold => "d-hpa",
            Self::Reaction => "reaction",
            Self::Portrait => "portrait",
            Self::LastKnown => "last-known",
            Self::Nothing => "nothing",
        }
    }
}
