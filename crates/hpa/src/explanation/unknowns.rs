//! Facts of a decision that an outsider cannot know, in sentences.

use super::hpa_explanation::HpaExplanation;
use super::input::HpaDecisionInput;
use super::rescale_history::RescaleHistory;

pub(super) fn sentences(
    input: &HpaDecisionInput<'_>,
    explanation: &HpaExplanation,
    history: &RescaleHistory,
) -> Vec<String> {
    let mut unknown = Vec::new();
    if explanation.window.is_some() {
        unknown.push(
            "The controller keeps its past recommendations in memory only, so the end of the \
             window is known as a range."
                .to_owned(),
        );
    }
    if let Some(why) = history.fault() {
        unknown.push(format!(
            "Earlier changes of the count are unknown, because {why}."
        ));
    }
    let counting = explanation.directions.iter();
    let mut uncertain = counting.filter(|direction| !direction.is_certain);
    if uncertain.next().is_some() {
        unknown.push(
            "The Events do not show all changes that policies count, so a step may be smaller \
             than is shown."
                .to_owned(),
        );
    }
    let settings = &input.controller.settings;
    unknown.push(format!(
        "The flags of kube-controller-manager are not visible. Assumed: tolerance {}, downscale \
         stabilization {} s, cpu initialization period {} s, initial readiness delay {} s.",
        settings.tolerance,
        settings.downscale_stabilization.as_secs(),
        settings.cpu_initialization_period.as_secs(),
        settings.initial_readiness_delay.as_secs(),
    ));
    unknown
}
