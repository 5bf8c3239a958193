//! Lays flags over the environment over the file, and remembers the source of each value. The
//! variable of a field is its path: `scheduling.noHeadroom` is `EVENKEEL_SCHEDULING_NO_HEADROOM`.
//! Names derive from the default configuration, so a new field has a variable at once.

use std::path::{Path, PathBuf};

use evenkeel_objects::suggestion::did_you_mean;
use serde_json::{Map, Value};

use super::error::{ConfigError, ConfigProblem, Origin};
use super::yaml;

/// The prefix of all environment variables that are read.
pub(super) const ENVIRONMENT_PREFIX: &str = "EVENKEEL_";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The flag as the user wrote it, such as `--headroom`.
    pub flag: String,
    pub path: String,
    pub value: String,
}

/// Everything a configuration is made of, besides the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigSources {
    pub file: Option<PathBuf>,
    /// The environment; variables without the prefix are not looked at.
    pub environment: Vec<(String, String)>,
    /// Flags, later ones over earlier ones.
    pub flags: Vec<Override>,
}

impl ConfigSources {
    /// True where a variable or a flag brings the value at `path`.
    pub fn names(&self, path: &str) -> bool {
        let Self {
            file: _,
            environment,
            flags,
        } = self;
        let variable = variable(path);
        flags.iter().any(|flag| flag.path == path)
            || environment.iter().any(|(name, _)| *name == variable)
    }
}

#[derive(Debug, Default)]
pub(crate) struct ConfigLayers {
    pub(crate) tree: Map<String, Value>,
    /// By path, for values that do not come from the file.
    origins: Vec<(String, Origin)>,
    file: Option<PathBuf>,
    /// Variables with our prefix that name no field.
    pub(crate) unknown_variables: Vec<String>,
}

impl ConfigLayers {
    /// Reads the file and lays environment and flags over it.
    pub(crate) fn read(sources: &ConfigSources, defaults: &Value) -> Result<Self, ConfigError> {
        let tree = sources.file.as_ref().map_or(Ok(Map::new()), read_file)?;
        Self::over(tree, sources, defaults)
    }

    /// Lays environment and flags over the text of a file that lies elsewhere; `sources` name it.
    pub(crate) fn parse(
        text: &str,
        sources: &ConfigSources,
        defaults: &Value,
    ) -> Result<Self, ConfigError> {
        let path = sources.file.clone().unwrap_or_default();
        Self::over(parse_file(&path, text)?, sources, defaults)
    }

    /// Lays environment and flags over a file that has been read.
    fn over(
        tree: Map<String, Value>,
        sources: &ConfigSources,
        defaults: &Value,
    ) -> Result<Self, ConfigError> {
        let ConfigSources {
            file,
            environment,
            flags,
        } = sources;
        let mut layered = Self {
            tree,
            file: file.clone(),
            ..Self::default()
        };
        let leaves = leaves(defaults);
        let mut problems = Vec::new();
        for (name, text) in environment {
            if !name.starts_with(ENVIRONMENT_PREFIX) || is_service_link(name) {
                continue;
            }
            let origin = Origin::Environment(name.clone());
            match leaves.iter().find(|leaf| leaf.variable() == *name) {
                Some(leaf) => layered.lay(leaf, text, origin, &mut problems),
                None => layered.unknown_variables.push(name.clone()),
            }
        }
        for Override { flag, path, value } in flags {
            let origin = Origin::Flag(flag.clone());
            match leaves.iter().find(|leaf| leaf.path == *path) {
                Some(leaf) => layered.lay(leaf, value, origin, &mut problems),
                None => problems.push(ConfigProblem {
                    origin,
                    path: path.clone(),
                    message: format!(
                        "no such field{}; `evenkeel serve --check` prints all",
                        did_you_mean(path, leaves.iter().map(|leaf| &*leaf.path))
                    ),
                }),
            }
        }
        if problems.is_empty() {
            Ok(layered)
        } else {
            Err(ConfigError { problems })
        }
    }

    /// The layer that brought the value at `path`.
    pub(crate) fn origin(&self, path: &str) -> Origin {
        let covers = |field: &str| {
            path.strip_prefix(field)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let laid = self.origins.iter().rev().find(|(field, _)| covers(field));
        match (laid, &self.file) {
            (Some((_, origin)), _) => origin.clone(),
            (None, Some(file)) => Origin::File(file.clone()),
            (None, None) => Origin::Default,
        }
    }

    fn lay(&mut self, leaf: &Leaf, text: &str, origin: Origin, problems: &mut Vec<ConfigProblem>) {
        let value = match leaf.parse(text) {
            Ok(value) => value,
            Err(message) => {
                problems.push(ConfigProblem {
                    origin,
                    path: leaf.path.clone(),
                    message,
                });
                return;
            }
        };
        if insert(&mut self.tree, &leaf.path, value) {
            self.origins.push((leaf.path.clone(), origin));
        }
    }
}

/// Conversion of the text of a variable or flag into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OverrideSyntax {
    /// It stands for itself.
    Text,
    /// It stands for itself, and an empty one for no value.
    OptionalText,
    /// Numbers, lists and mappings are YAML.
    Yaml,
}

/// A field that can be set by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) path: String,
    form: OverrideSyntax,
}

impl Leaf {
    pub(crate) fn variable(&self) -> String {
        variable(&self.path)
    }

    fn parse(&self, text: &str) -> Result<Value, String> {
        match self.form {
            OverrideSyntax::OptionalText if text.is_empty() => Ok(Value::Null),
            OverrideSyntax::Text | OverrideSyntax::OptionalText => Ok(Value::from(text)),
            OverrideSyntax::Yaml => {
                yaml::parse(text).map_err(|error| format!("{text:?} is not YAML: {error}"))
            }
        }
    }
}

/// All fields of the default configuration that can be set by themselves.
pub(crate) fn leaves(defaults: &Value) -> Vec<Leaf> {
    fn walk(value: &Value, path: &str, found: &mut Vec<Leaf>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, field) in fields {
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    walk(field, &path, found);
                }
            }
            leaf => found.push(Leaf {
                path: path.to_owned(),
                form: match leaf {
                    Value::String(_) => OverrideSyntax::Text,
                    Value::Null => OverrideSyntax::OptionalText,
                    _ => OverrideSyntax::Yaml,
                },
            }),
        }
    }
    let mut found = Vec::new();
    walk(defaults, "", &mut found);
    found.retain(|leaf| !matches!(leaf.path.as_str(), "apiVersion" | "kind"));
    found
}

fn read_file(path: &PathBuf) -> Result<Map<String, Value>, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        ConfigError::whole(
            Origin::File(path.clone()),
            format!("cannot be read: {error}"),
        )
    })?;
    parse_file(path, &text)
}

/// The fields in the text of the file at `path`.
fn parse_file(path: &Path, text: &str) -> Result<Map<String, Value>, ConfigError> {
    let refuse = |message: String| ConfigError::whole(Origin::File(path.to_owned()), message);
    match yaml::parse(text) {
        Ok(Value::Object(tree)) => Ok(tree),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(refuse(
            "is not accepted; accepted: a YAML mapping with the fields of EvenkeelConfiguration"
                .to_owned(),
        )),
        Err(error) => Err(refuse(format!("is not YAML: {error}"))),
    }
}

/// The name of the environment variable of the field at `path`.
fn variable(path: &str) -> String {
    let mut name = ENVIRONMENT_PREFIX.to_owned();
    for letter in path.chars() {
        match letter {
            '.' => name.push('_'),
            upper if upper.is_ascii_uppercase() => name.extend(['_', upper]),
            other => name.push(other.to_ascii_uppercase()),
        }
    }
    name
}

/// Sets the value at `path`; false if something other than a mapping is in the way, which the shape
/// check then reports.
fn insert(tree: &mut Map<String, Value>, path: &str, value: Value) -> bool {
    let Some((head, rest)) = path.split_once('.') else {
        tree.insert(path.to_owned(), value);
        return true;
    };
    let branch = tree
        .entry(head)
        .or_insert_with(|| Value::Object(Map::new()));
    match branch {
        Value::Object(fields) => insert(fields, rest, value),
        _ => false,
    }
}

/// Kubernetes describes Services to Pods in variables like `EVENKEEL_SERVICE_HOST` and
/// `EVENKEEL_METRICS_PORT_8080_TCP`; these are not Evenkeel's.
fn is_service_link(name: &str) -> bool {
    let port = name.find("_PORT").map(|at| &name[at + "_PORT".len()..]);
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || port.is_some_and(|rest| {
            let number = rest.strip_prefix('_');
            rest.is_empty()
                || number.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_named_after_paths() {
        let leaves =
            leaves(&json!({"a": {"bodyLimit": "3Mi", "on": true}, "kind": "X", "list": {}}));
        let named: Vec<_> = leaves
            .iter()
            .map(|leaf| (leaf.variable(), leaf.form))
            .collect();
        assert_eq!(
            named,
            [
                ("EVENKEEL_A_BODY_LIMIT".to_owned(), OverrideSyntax::Text),
                ("EVENKEEL_A_ON".to_owned(), OverrideSyntax::Yaml),
                ("EVENKEEL_LIST".to_owned(), OverrideSyntax::Yaml),
            ]
        );
    }

    #[test]
    fn variables_of_service_links_are_left_alone() {
        for name in [
            "EVENKEEL_SERVICE_HOST",
            "EVENKEEL_SERVICE_PORT_HTTPS",
            "EVENKEEL_PORT",
            "EVENKEEL_METRICS_PORT_8080_TCP_ADDR",
        ] {
            assert!(is_service_link(name), "{name}");
        }
        assert!(!is_service_link("EVENKEEL_SCHEDULING_HEADROOM"));
    }

    #[test]
    fn a_later_layer_wins_and_is_named_as_the_origin() {
        let sources = ConfigSources {
            file: None,
            environment: vec![
                ("EVENKEEL_A_B".to_owned(), "from the environment".to_owned()),
                ("EVENKEEL_A_C".to_owned(), "kept".to_owned()),
                ("EVENKEEL_TYPO".to_owned(), "1".to_owned()),
                ("PATH".to_owned(), "/bin".to_owned()),
            ],
            flags: vec![Override {
                flag: "--b".to_owned(),
                path: "a.b".to_owned(),
                value: "from the flag".to_owned(),
            }],
        };
        let layered = ConfigLayers::read(&sources, &json!({"a": {"b": "", "c": ""}})).unwrap();
        assert_eq!(
            Value::Object(layered.tree.clone()),
            json!({"a": {"b": "from the flag", "c": "kept"}})
        );
        assert_eq!(layered.origin("a.b"), Origin::Flag("--b".to_owned()));
        assert_eq!(
            layered.origin("a.c[0]"),
            Origin::Environment("EVENKEEL_A_C".to_owned())
        );
        assert_eq!(layered.origin("a.d"), Origin::Default);
        assert_eq!(layered.unknown_variables, ["EVENKEEL_TYPO"]);
    }
}
