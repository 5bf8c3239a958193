//! The objects of portraits that others make: the HorizontalPortraits that autoscalers name, the CronJobs of
//! external algorithms, and what these leave, in the status of the HorizontalPortrait.
//!
//! What is made belongs to what it was made for and goes with it: a HorizontalPortrait to its autoscaler, a CronJob to
//! its HorizontalPortrait. An object of the same name that somebody else has made is never changed. A result that is
//! damaged leaves the one before standing until it expires, and a condition says what is wrong.

mod jobs;
mod observed;
mod portraits;
mod results;

use std::collections::HashMap;

use jiff::Timestamp;

use super::Write;

pub use self::observed::{Found, Observed, Settings, result_name};

/// The writes that bring all of it in line.
#[must_use]
pub fn plan(observed: &Observed<'_>, settings: &Settings, now: Timestamp) -> Vec<Write> {
    let mut writes = portraits::plan(observed);
    let mut jobs: HashMap<&str, usize> = HashMap::new();
    for portrait in observed.portraits {
        let metadata = &portrait.object.metadata;
        let (Some(namespace), Some(name)) = (&metadata.namespace, &metadata.name) else {
            continue;
        };
        let key = (namespace.clone(), name.clone());
        let is_asked_for = portraits::is_asked_for(portrait, observed.ihpas);
        let Some(found) = observed.found.get(&key) else {
            continue;
        };
        if portrait.object.spec.portrait.external_job().is_none() {
            continue;
        }
        let count = jobs.entry(namespace).or_default();
        let room = jobs::Room {
            settings,
            count,
            is_asked_for,
        };
        let problem = match jobs::plan(portrait, found, room) {
            Ok(write) => {
                writes.extend(write);
                None
            }
            Err(problem) => Some(problem),
        };
        writes.extend(results::plan(portrait, found, problem.as_ref(), now));
    }
    writes
}

#[cfg(test)]
mod tests;
