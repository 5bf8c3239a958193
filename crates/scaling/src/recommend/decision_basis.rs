//! The steps by which decisions fall back as less is known.

use evenkeel_units::words;

words! {
    /// The extent of what is known when a decision is taken, from the most to the least.
    pub enum DecisionBasis {
        /// A trusted forecast of the load.
        Forecast = "forecast",
        /// The need of the traffic, by the model that turns it into replicas.
        Traffic = "traffic",
        /// The lowered target of D-HPA (`DS-HPA`).
        DynamicThreshold = "d-hpa",
        /// The load as it is now; prediction has nothing to add.
        Reaction = "reaction",
        /// A portrait that is made of no load here: one count, the calendar, or what others have
        /// computed.
        Portrait = "portrait",
        /// Only what was known before, since no measurement is fresh.
        LastKnown = "last-known",
        /// Nothing is decided.
        Nothing = "nothing",
    }
}
