//! JSON paths of printer columns: fields, `\.` for a dot in a name, indices, and one kind of
//! filter, `[?(@.type=="Ready")]`.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath(Vec<JsonPathStep>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum JsonPathStep {
    Field(String),
    Index(usize),
    Where { field: String, value: String },
}

impl JsonPath {
    /// `None` for other forms.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let (name, tail) = field(after);
                if name.is_empty() {
                    return None;
                }
                steps.push(JsonPathStep::Field(name));
                rest = tail;
            } else {
                let (inside, tail) = rest.strip_prefix('[')?.split_once(']')?;
                steps.push(bracket(inside)?);
                rest = tail;
            }
        }
        Some(Self(steps))
    }

    /// The first value at the path.
    pub(crate) fn find<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(object, |value, step| match step {
            JsonPathStep::Field(name) => value.get(name),
            JsonPathStep::Index(index) => value.get(index),
            JsonPathStep::Where { field, value: is } => value
                .as_array()?
                .iter()
                .find(|item| item.get(field).and_then(Value::as_str) == Some(is)),
        })
    }
}

fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(c),
        }
    }
    (name, "")
}

fn bracket(inside: &str) -> Option<JsonPathStep> {
    if let Ok(index) = inside.parse() {
        return Some(JsonPathStep::Index(index));
    }
    let quoted = |text: &str| Some(text.trim().trim_matches(['"', '\'']).to_owned());
    if inside.starts_with(['"', '\'']) {
        return quoted(inside).map(JsonPathStep::Field);
    }
    let condition = inside.strip_prefix("?(@.")?.strip_suffix(')')?;
    let (field, value) = condition.split_once("==")?;
    Some(JsonPathStep::Where {
        field: field.trim().to_owned(),
        value: quoted(value)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_of_printer_columns_are_followed() {
        let object = json!({
            "metadata": {"annotations": {"a.b/c": "x"}},
            "status": {"conditions": [{"type": "A"}, {"type": "Ready", "status": "True"}]},
        });
        for (path, found) in [
            (".metadata.annotations.a\\.b/c", "\"x\""),
            (".metadata.annotations['a.b/c']", "\"x\""),
            (".status.conditions[0].type", "\"A\""),
            (
                ".status.conditions[?(@.type==\"Ready\")].status",
                "\"True\"",
            ),
        ] {
            let path = JsonPath::parse(path).expect(path);
            assert_eq!(
                path.find(&object).map(Value::to_string).as_deref(),
                Some(found)
            );
        }
        let missing = JsonPath::parse(".spec.none").expect("a path");
        assert_eq!(missing.find(&object), None);
        assert_eq!(JsonPath::parse("spec"), None);
        assert_eq!(JsonPath::parse(".a[*]"), None);
    }
}
