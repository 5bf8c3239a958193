//! Flags and variables of another program, as its Pods carry them.

use k8s_openapi::api::core::v1::{Container, PodSpec};

/// The words of the command lines of all containers.
fn words(spec: &PodSpec) -> impl Iterator<Item = &str> {
    spec.containers.iter().flat_map(|container| {
        let command = container.command.iter().flatten();
        let words = command.chain(container.args.iter().flatten());
        words.map(String::as_str)
    })
}

/// The values of `--NAME`, in order: after `=`, or the next word if that is no flag. A flag alone
/// has the value `true`.
pub(super) fn flag<'a>(spec: &'a PodSpec, name: &str) -> Vec<&'a str> {
    let mut values = Vec::new();
    let mut words = words(spec).peekable();
    while let Some(word) = words.next() {
        let Some(rest) = word
            .strip_prefix("--")
            .and_then(|word| word.strip_prefix(name))
        else {
            continue;
        };
        match rest.strip_prefix('=') {
            Some(value) => values.push(value),
            None if rest.is_empty() => {
                let value = words.next_if(|next| !next.starts_with('-'));
                values.push(value.unwrap_or("true"));
            }
            None => {}
        }
    }
    values
}

/// The value of a variable that any container gets as plain text.
pub(super) fn variable<'a>(spec: &'a PodSpec, name: &str) -> Option<&'a str> {
    let variables = |container: &'a Container| container.env.iter().flatten();
    let mut variables = spec.containers.iter().flat_map(variables);
    let found = variables.find(|variable| variable.name == name);
    found.and_then(|variable| variable.value.as_deref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_flag_has_the_value_behind_it_or_stands_alone() {
        let spec: PodSpec = serde_json::from_value(json!({"containers": [
            {"name": "a", "command": ["./ca", "--balance", "--ignore=x"]},
            {"name": "b", "args": ["--ignore", "y", "--balance=false", "--ignored=z"],
             "env": [{"name": "POLICY", "value": "Ignore"}]},
        ]}))
        .unwrap();
        assert_eq!(flag(&spec, "balance"), ["true", "false"]);
        assert_eq!(flag(&spec, "ignore"), ["x", "y"]);
        assert!(flag(&spec, "bal").is_empty());
        assert_eq!(variable(&spec, "POLICY"), Some("Ignore"));
        assert_eq!(variable(&spec, "OTHER"), None);
    }
}
