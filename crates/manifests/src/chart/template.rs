//! Objects as Helm templates: a condition becomes an `if` around its part.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::condition::ComponentCondition;
use crate::conditional_part::{ConditionalPart, ManifestPart};
use crate::kustomization::ManifestObject;
use crate::{
    CHECKSUM, COMPONENTS, CONFIGURATION, IMAGE, Manifests, NAMESPACE, READERS, SCHEDULER_IMAGE,
};

/// Texts in templates that chart values set. A whole value is quoted: a namespace may be called
/// 123, which YAML reads as a number.
const SETTINGS: [(&str, &str); 2] = [
    (NAMESPACE, ".Release.Namespace"),
    (IMAGE, "include \"evenkeel.image\" ."),
];

/// Marks that are replaced in the text.
const REPLICAS: &str = "VALUE_REPLICAS";
const EGRESS: &str = "VALUE_EGRESS";
const CONFIG: &str = "VALUE_CONFIG";
const KEEP: &str = "VALUE_KEEP";
const CONFIG_HASH: &str = "VALUE_HASH";

/// The rule of further ports, indented like the other rules.
fn egress_rule(before: &str) -> String {
    format!(
        "{{{{- with .Values.egressPorts }}}}\n{before}- ports:\n{{{{- range . }}}}\n\
         {before}    - port: {{{{ . }}}}\n{before}      protocol: TCP\n{{{{- end }}}}\n{{{{- end }}}}"
    )
}

pub(super) struct Template {
    /// By component, true where it is on.
    expressions: BTreeMap<&'static str, String>,
}

impl Template {
    pub(super) fn new(manifests: &Manifests) -> Self {
        let mut flags: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for overlay in &COMPONENTS {
            for component in &manifests.overlays[overlay.name] {
                let flags = flags.entry(component).or_default();
                flags.push(format!(".Values.components.{}", overlay.flag()));
            }
        }
        let expressions = flags.into_iter();
        let expressions = expressions.map(|(name, flags)| (name, joined("or", &flags)));
        Self {
            expressions: expressions.collect(),
        }
    }

    /// With the line before a document.
    pub(super) fn object(&self, object: &ManifestObject) -> Result<String, String> {
        let mut choice = object.choice.clone();
        mark(object, &mut choice.part);
        let ManifestPart::Map(fields) = &choice.part else {
            return Err(format!("{} holds no object", object.file));
        };
        let text = set_values(&format!("---\n{}", self.fields(fields)?));
        let expression = match object.kind.as_str() {
            "Namespace" => Some(".Values.namespace.create".to_owned()),
            "CustomResourceDefinition" => Some(".Values.crds.install".to_owned()),
            _ => self.expression(&choice.when),
        };
        Ok(guarded(&text, expression))
    }

    /// At the left margin.
    fn fields(&self, fields: &[(String, ConditionalPart)]) -> Result<String, String> {
        let mut parts = Vec::new();
        for (name, choice) in fields {
            let own = match (choice.part.plain(), &choice.part) {
                (Some(value), _) => yaml(&json!({name: value}))?,
                (None, ManifestPart::Map(fields)) => {
                    format!("{name}:\n{}", indented(&self.fields(fields)?, "  ", "  "))
                }
                (None, ManifestPart::List(items)) => {
                    format!("{name}:\n{}", indented(&self.items(items)?, "  ", "  "))
                }
                (None, ManifestPart::Scalar(_)) => return Err(format!("{name} is no plain value")),
            };
            parts.push((self.expression(&choice.when), own));
        }
        Ok(together(parts))
    }

    /// At the left margin.
    fn items(&self, items: &[ConditionalPart]) -> Result<String, String> {
        let mut parts = Vec::new();
        for item in items {
            let own = match (item.part.plain(), &item.part) {
                (Some(value), _) => yaml(&json!([value]))?,
                (None, ManifestPart::Map(fields)) => {
                    // The dash stands before a field that is always there.
                    let mut fields = fields.clone();
                    fields.sort_by_key(|(_, choice)| !choice.when.is_always());
                    let text = self.fields(&fields)?;
                    if text.starts_with("{{") {
                        return Err("an item without a field that is always there".to_owned());
                    }
                    indented(&text, "- ", "  ")
                }
                (None, _) => return Err("a list in a list".to_owned()),
            };
            parts.push((self.expression(&item.when), own));
        }
        Ok(together(parts))
    }

    /// `None` for what is always there.
    fn expression(&self, when: &ComponentCondition) -> Option<String> {
        if when.is_always() {
            return None;
        }
        let terms = when.terms().iter().map(|term| {
            let each = term.iter().map(|(name, is_on)| {
                let expression = &self.expressions[name];
                if *is_on {
                    expression.clone()
                } else {
                    format!("(not {expression})")
                }
            });
            joined("and", &each.collect::<Vec<_>>())
        });
        Some(joined("or", &terms.collect::<Vec<_>>()))
    }
}

/// Marks the places that chart values set.
fn mark(object: &ManifestObject, part: &mut ManifestPart) {
    let set = |part: Option<&mut ManifestPart>, mark: &str| {
        *part.expect("the manifests have the field") = ManifestPart::Scalar(Value::from(mark));
    };
    let add = |part: Option<&mut ManifestPart>, mark: &str| {
        if let Some(ManifestPart::Map(fields)) = part {
            fields.push((mark.to_owned(), ConditionalPart::new(&Value::Null, None)));
        }
    };
    if READERS.contains(&(object.kind.as_str(), object.name.as_str())) {
        add(part.at_mut(&["spec", "template", "metadata"]), CONFIG_HASH);
    }
    let (_, key) = CONFIGURATION;
    match (object.kind.as_str(), object.name.as_str()) {
        ("Deployment", "evenkeel") => set(part.at_mut(&["spec", "replicas"]), REPLICAS),
        ("ConfigMap", "evenkeel") => set(part.at_mut(&["data", key]), CONFIG),
        ("NetworkPolicy", "evenkeel") => {
            if let Some(ManifestPart::List(rules)) = part.at_mut(&["spec", "egress"]) {
                rules.push(ConditionalPart::new(&Value::from(EGRESS), None));
            }
        }
        ("CustomResourceDefinition", _) => add(part.at_mut(&["metadata"]), KEEP),
        _ => {}
    }
}

/// Replaces the marks.
fn set_values(text: &str) -> String {
    let (_, key) = CONFIGURATION;
    let scheduler = format!("image: {SCHEDULER_IMAGE}");
    let mut text = text.replace(REPLICAS, "{{ .Values.replicas }}");
    for (from, to) in SETTINGS {
        let whole = format!("{{{{ {to} | quote }}}}");
        for before in [": ", "- "] {
            let end = |value: &str| format!("{before}{value}\n");
            text = text.replace(&end(from), &end(&whole));
        }
        text = text.replace(from, &format!("{{{{ {to} }}}}"));
    }
    text = replace_line(&text, &format!("- {EGRESS}"), egress_rule);
    text = replace_line(&text, &scheduler, |before| {
        format!("{before}image: {{{{ include \"evenkeel.schedulerImage\" . | quote }}}}")
    });
    text = replace_line(&text, CONFIG, |_| {
        format!("  {key}: |\n{{{{ include \"evenkeel.config\" . | indent 4 }}}}")
    });
    text = replace_line(&text, CONFIG_HASH, |before| {
        format!(
            "{{{{- if .Values.config }}}}\n{before}annotations:\n{before}  {CHECKSUM}: \
             {{{{ include \"evenkeel.config\" . | sha256sum | quote }}}}\n{{{{- end }}}}"
        )
    });
    replace_line(&text, KEEP, |_| {
        "{{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n{{- end }}"
            .to_owned()
    })
}

/// Replaces each line with a mark; `line` gets the text before it.
fn replace_line(text: &str, mark: &str, line: impl Fn(&str) -> String) -> String {
    let mut replaced = String::new();
    for before in text.lines() {
        match before.split_once(mark) {
            Some((start, _)) => replaced.push_str(&line(start)),
            None => replaced.push_str(before),
        }
        replaced.push('\n');
    }
    replaced
}

fn joined(operator: &str, expressions: &[String]) -> String {
    match expressions {
        [only] => only.clone(),
        several => format!("({operator} {})", several.join(" ")),
    }
}

/// Within an `if`, if there is an expression.
fn guarded(text: &str, expression: Option<String>) -> String {
    match expression {
        None => text.to_owned(),
        Some(expression) => format!("{{{{- if {expression} }}}}\n{text}{{{{- end }}}}\n"),
    }
}

/// Neighbours with one expression share its `if`.
fn together(parts: Vec<(Option<String>, String)>) -> String {
    let mut parts = parts.into_iter().peekable();
    let mut text = String::new();
    while let Some((expression, mut part)) = parts.next() {
        while let Some((_, next)) = parts.next_if(|(next, _)| *next == expression) {
            part.push_str(&next);
        }
        text.push_str(&guarded(&part, expression));
    }
    text
}

/// The lines behind `first` or `other`; template instructions stay at the margin.
fn indented(text: &str, first: &str, other: &str) -> String {
    let mut indented = String::new();
    for (at, line) in text.lines().enumerate() {
        if !line.is_empty() && !line.starts_with("{{-") {
            indented.push_str(if at == 0 { first } else { other });
        }
        indented.push_str(line);
        indented.push('\n');
    }
    indented
}

/// With a line end.
fn yaml(value: &Value) -> Result<String, String> {
    let text = serde_saphyr::to_string(value).map_err(|error| error.to_string())?;
    if text.contains("{{") {
        return Err("braces, which a template would read".to_owned());
    }
    Ok(format!("{}\n", text.trim_end()))
}
