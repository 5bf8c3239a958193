//! The file form of a workload's scaling.

use std::collections::BTreeMap;

use evenkeel_objects::yaml_values::YamlText;
use serde::Deserialize;
use serde_json::Value;

use super::error::ScenarioError;
use super::model::{ScaleBy, ScenarioHpa};
use super::values::{percentage, refused};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScaleFile {
    pub(super) min: u32,
    pub(super) max: u32,
    #[serde(default)]
    pub(super) cpu: Option<YamlText>,
    #[serde(default)]
    pub(super) requests_per_second: Option<u32>,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) portrait_providers: Vec<Value>,
    #[serde(default)]
    pub(super) behavior: Option<Value>,
}

impl ScaleFile {
    pub(super) fn check(self, path: &str) -> Result<ScenarioHpa, ScenarioError> {
        let Self {
            min,
            max,
            cpu,
            requests_per_second,
            annotations: _,
            portrait_providers: _,
            behavior: _,
        } = self;
        if min == 0 || max < min {
            let accepted = "at least 1, and max at least min";
            return Err(refused(path, format!("{min}..{max}"), accepted));
        }
        let by = match (cpu, requests_per_second) {
            (Some(YamlText(cpu)), None) => ScaleBy::Cpu(percentage(&format!("{path}.cpu"), &cpu)?),
            (None, Some(requests)) if requests > 0 => ScaleBy::Requests(requests),
            (cpu, requests) => {
                let cpu =
                    cpu.map_or_else(|| "no cpu".to_owned(), |YamlText(cpu)| format!("cpu {cpu}"));
                let requests = requests.map(|rate| format!("requestsPerSecond {rate}"));
                let given = format!("{cpu}, {}", requests.as_deref().unwrap_or("no requests"));
                let accepted = "either cpu, such as 60%, or requestsPerSecond above zero";
                return Err(refused(path, given, accepted));
            }
        };
        Ok(ScenarioHpa { min, max, by })
    }
}
