//! A target of a running service: its load, forecasts and replicas of the last half hour, from the
//! dashboard's API. Requests only read, past any proxy of the environment. The replicas of a plain
//! HPA are simulated from the same load.

mod history_plot;
mod target_query;

pub(super) use target_query::TargetHistoryQuery;

use super::report::Plot;
use crate::cli::output::CliFailure;
use evenkeel_sandbox::target::GRID;

pub(super) fn plot(query: &TargetHistoryQuery<'_>) -> Result<Plot, CliFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let answer = runtime.block_on(target_query::ask(query))?;
    if answer.history.step != GRID.as_secs() {
        return Err(CliFailure::work(format_args!(
            "{}: steps of {} s are not supported by this version; accepted: {} s",
            query.url,
            answer.history.step,
            GRID.as_secs()
        )));
    }
    let composed = history_plot::compose(query, answer);
    composed.map_err(|error| CliFailure::work(format_args!("{}: {error}", query.url)))
}
