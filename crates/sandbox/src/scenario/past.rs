//! The past of a scenario, which is the part of its traces before the run.

use jiff::SignedDuration;

use super::error::ScenarioError;

/// A past that its traces have.
pub(super) fn within(
    trace_offset: SignedDuration,
    past: SignedDuration,
) -> Result<SignedDuration, ScenarioError> {
    if past > trace_offset {
        return Err(ScenarioError::Value {
            path: "past".to_owned(),
            given: format!("{past:#}"),
            accepted: "at most the traceOffset: a past is the part of the traces before it"
                .to_owned(),
        });
    }
    Ok(past)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_is_no_longer_than_the_traces_before_the_run() {
        let hours = SignedDuration::from_hours;
        assert!(within(hours(3), hours(3)).is_ok());
        let refused = within(hours(3), hours(4)).unwrap_err().to_string();
        assert!(
            refused.contains("4h") && refused.contains("traceOffset"),
            "{refused}"
        );
    }
}
