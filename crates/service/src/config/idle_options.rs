//! Options of components that are off. They have no effect, probably because their switch was
//! forgotten, and are refused. A switch of a stronger source than its options, such as a variable
//! over the file, is on purpose: then the options only cause a warning.

use serde_json::Value;

use super::check::Checker;
use super::error::ConfigProblem;
use super::file::{ConfigFile, changes, tree};
use super::layers::ConfigLayers;

/// The value of a switch while its options act on nothing.
enum SwitchOff {
    Is(&'static str),
    IsNot(&'static str),
}

/// A field that turns a component off.
struct Switch {
    path: &'static str,
    idle: SwitchOff,
    /// The fields, or the sections, that act on nothing then.
    options: &'static [&'static str],
}

const fn switch(path: &'static str, idle: SwitchOff, options: &'static [&'static str]) -> Switch {
    Switch {
        path,
        idle,
        options,
    }
}

const SWITCHES: [Switch; 8] = [
    switch(
        "scaling.checks.external",
        SwitchOff::Is("false"),
        &["scaling.checks.allowed"],
    ),
    switch(
        "scaling.externalAlgorithms",
        SwitchOff::Is("false"),
        &["scaling.externalJobsPerNamespace"],
    ),
    switch(
        "scheduling.overload.taint",
        SwitchOff::Is("off"),
        // Its key is looked for all the same: taints that stand are taken away.
        &["scheduling.overload.disk"],
    ),
    switch(
        "scheduling.scoreLabels",
        SwitchOff::Is("off"),
        &["scheduling.scoreLabelControllers"],
    ),
    switch(
        "metricsProvider.enabled",
        SwitchOff::Is("false"),
        &["metricsProvider"],
    ),
    switch(
        "metrics.disk",
        SwitchOff::IsNot("kubelet"),
        &["metrics.kubelet"],
    ),
    switch("tracing.endpoint", SwitchOff::Is("null"), &["tracing"]),
    // Limits that stand are taken away at each interval all the same.
    switch("agent.limits", SwitchOff::Is("off"), &["agent.leastLimit"]),
];

/// Refuses options of components that are off; returns those with a stronger source's switch.
pub(super) fn check(
    file: &ConfigFile,
    layered: &ConfigLayers,
    check: &mut Checker,
) -> Vec<ConfigProblem> {
    let values = tree(file);
    let set = changes(&ConfigFile::default(), file);
    let mut warned = Vec::new();
    for switch in &SWITCHES {
        let Some(off) = switch.off(&values) else {
            continue;
        };
        let by = layered.origin(switch.path);
        let options = set.iter().filter(|path| switch.covers(path));
        for path in options {
            let origin = layered.origin(path);
            if by.strength() > origin.strength() {
                warned.push(ConfigProblem {
                    origin,
                    path: path.clone(),
                    message: format!("has no effect while {off} by {by}"),
                });
            } else {
                let message = format_args!("has no effect while {off}: remove it, or change that");
                check.refuse(path, message);
            }
        }
    }
    warned
}

impl Switch {
    /// The state of the switch in words where its options act on nothing.
    fn off(&self, values: &Value) -> Option<String> {
        let mut steps = self.path.split('.');
        let value = steps.try_fold(values, |value, step| value.get(step))?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let path = self.path;
        match self.idle {
            SwitchOff::Is(off) => (text == off).then(|| format!("{path} is {off}")),
            SwitchOff::IsNot(on) => (text != on).then(|| format!("{path} is not {on}")),
        }
    }

    fn covers(&self, path: &str) -> bool {
        let is_below = |section: &&'static str| {
            let rest = path.strip_prefix(section);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        path != self.path && self.options.iter().any(is_below)
    }
}
