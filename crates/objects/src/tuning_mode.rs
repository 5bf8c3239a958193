//! How far tuning goes.

use evenkeel_units::words;

words! {
    /// Mode of a workload, by its annotation, its namespace's, or the configuration.
    #[derive(Default)]
    pub enum TuningMode {
        /// Nothing is decided, and earlier changes are reverted.
        Off = "off",
        /// Recommendations are reported, and earlier changes are reverted.
        #[default]
        Recommend = "recommend",
        On = "on",
    }
    accepted: "off, recommend or on"
}
