//! The setting for the tests of the residuals of an ARIMA fit.

use evenkeel_units::words;

words! {
    /// The consequence of a failed [`Diagnosis`](crate::arima::Diagnosis).
    #[derive(Default)]
    pub enum ResidualChecks {
        /// The verdict is reported.
        #[default]
        Report = "report",
        /// A model that fails a test is not trusted.
        Require = "require",
    }
    accepted: "report or require"
}
