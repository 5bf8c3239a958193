//! The status of a HorizontalPortrait with a portrait that a job makes.

use evenkeel_api::horizontal_portrait::status::{HorizontalPortraitStatus, PORTRAIT_GENERATED};
use evenkeel_api::portrait_data::{PortraitData, read_result};
use evenkeel_objects::condition::Condition;
use evenkeel_objects::plan::Write;
use jiff::Timestamp;

use super::jobs::JobProblem;
use super::portrait_objects::{FoundResult, result_name};
use super::portrait_status::write_status;
use crate::specs::horizontal_portrait::CheckedHorizontalPortrait;
use crate::specs::portrait::check;

/// The data that there are, and what is wrong with what was found.
struct JobResult {
    data: Option<PortraitData>,
    condition: Condition,
}

/// The write that tells what came of the job of a HorizontalPortrait: what was found of its result, or the problem for which it
/// does not run. One result is read at a time, since each may be of a megabyte.
pub fn result(
    portrait: &CheckedHorizontalPortrait,
    found: Result<Option<&FoundResult>, &JobProblem>,
    now: Timestamp,
) -> Option<Write> {
    let object = &portrait.object;
    let name = object.metadata.name.as_deref()?;
    let default = HorizontalPortraitStatus::default();
    let before = object.status.as_ref().unwrap_or(&default);
    let JobResult { data, condition } = read(name, found, before, now);
    let after = HorizontalPortraitStatus {
        portrait_data: data,
        hours_ahead: None,
        ..before.clone()
    };
    write_status(object, after, condition, now)
}

fn read(
    name: &str,
    found: Result<Option<&FoundResult>, &JobProblem>,
    before: &HorizontalPortraitStatus,
    now: Timestamp,
) -> JobResult {
    let kept = |reason: &str, message: String| JobResult {
        data: before.portrait_data.clone(),
        condition: Condition::new(PORTRAIT_GENERATED, false, reason, message),
    };
    let found = match found {
        Ok(found) => found,
        Err(problem) => return kept(problem.reason(), problem.to_string()),
    };
    let config_map = result_name(name);
    let Some(FoundResult { data: result }) = found else {
        let message = format!("the job has not written its result to ConfigMap {config_map} yet");
        return kept("NoResult", message);
    };
    let data = match read_result(result) {
        Ok(data) => data,
        Err(error) => return kept(error.reason(), format!("ConfigMap {config_map}: {error}")),
    };
    if let Err(error) = check::portrait(&data, "data") {
        return kept(error.reason(), format!("ConfigMap {config_map}: {error}"));
    }
    let condition = if let Some(end) = data.expire_time.filter(|end| *end <= now) {
        let message = format!("the result in ConfigMap {config_map} has expired at {end:.0}");
        Condition::new(PORTRAIT_GENERATED, false, "Expired", message)
    } else {
        let message = format!("the portrait comes from ConfigMap {config_map}");
        Condition::new(PORTRAIT_GENERATED, true, "ResultRead", message)
    };
    JobResult {
        data: Some(data),
        condition,
    }
}
