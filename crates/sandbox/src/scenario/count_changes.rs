//! The file form of recorded counts: later replicas of a workload that nothing scales.

use evenkeel_objects::yaml_values::YamlText;
use jiff::SignedDuration;
use serde::Deserialize;

use super::error::ScenarioError;
use super::values::{duration, refused};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CountChangeFile {
    at: YamlText,
    replicas: u32,
}

/// Times and counts, in the order of time; none for a workload with `scale`, which its HPA counts.
pub(super) fn check(
    files: Vec<CountChangeFile>,
    path: &str,
    is_scaled: bool,
) -> Result<Vec<(SignedDuration, u32)>, ScenarioError> {
    if is_scaled && !files.is_empty() {
        let accepted = "either scale or changes: an HPA decides the count by itself";
        return Err(refused(path, "scale and changes", accepted));
    }
    let mut changes: Vec<(SignedDuration, u32)> = Vec::with_capacity(files.len());
    for (number, CountChangeFile { at, replicas }) in files.into_iter().enumerate() {
        let path = format!("{path}[{number}].at");
        let time = duration(&path, &at)?;
        if changes.last().is_some_and(|(last, _)| *last >= time) {
            return Err(refused(
                &path,
                at.as_ref(),
                "a later time than the one before",
            ));
        }
        changes.push((time, replicas));
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn read(more: &str) -> Result<Scenario, ScenarioError> {
        format!(
            "
name: counted
nodes:
  - {{name: a, capacity: {{cpu: 4, memory: 8Gi, networkIo: 1Gbps, diskIo: 100MB/s, disk: 50Gi}}}}
workloads:
  - name: worker
    namespace: shop
    replicas: 2
    demand: {{cpu: 250m}}
    usage: {{idle: {{cpu: 50m}}}}
    startup: {{pull: 5s, start: 1s, warmUp: 0s}}
{more}"
        )
        .parse()
    }

    #[test]
    fn counts_follow_in_the_order_of_time() {
        let scenario =
            read("    changes: [{at: 1m, replicas: 5}, {at: 10m, replicas: 0}]\n").unwrap();
        let minute = SignedDuration::from_mins;
        assert_eq!(
            scenario.workloads[0].changes,
            [(minute(1), 5), (minute(10), 0)]
        );
    }

    #[test]
    fn what_is_no_course_of_counts_is_refused_with_its_place() {
        for (more, part) in [
            (
                "    changes: [{at: 2m, replicas: 5}, {at: 2m, replicas: 0}]\n",
                "workloads[0].changes[1].at",
            ),
            (
                "    changes: [{at: 2m, replicas: 5}]\n    scale: {min: 1, max: 4, cpu: 60%}\n",
                "either scale or changes",
            ),
        ] {
            let error = read(more).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
