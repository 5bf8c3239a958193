//! Validates a value against its schema and reports every mistake at its field.

use serde_json::{Map, Value};

use crate::error::Cause;
use crate::meta;
use crate::schema::format;
use crate::schema::patterns::Patterns;

const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

pub(super) fn child_path(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

/// With its path in the object.
#[derive(Clone, Copy)]
struct SchemaValue<'a> {
    schema: &'a Value,
    value: &'a Value,
    path: &'a str,
}

pub(super) struct Validation<'a> {
    pub(super) patterns: &'a Patterns,
    pub(super) causes: &'a mut Vec<Cause>,
}

impl Validation<'_> {
    pub(super) fn check(&mut self, schema: &Value, value: &Value, path: &str) {
        if value.is_null() && schema["nullable"] == true {
            return;
        }
        if !has_type(schema, value) {
            let wanted = meta::text(schema, "/type");
            let why = format!("must be of type {wanted}: {path} in body must be of type {wanted}");
            self.causes.push(Cause::invalid(path, value, &why));
            return;
        }
        let accepted = meta::list(schema, "/enum");
        if !accepted.is_empty() && !accepted.contains(value) {
            let accepted: Vec<String> = accepted.iter().map(Value::to_string).collect();
            let cause = Cause::unsupported(path, value, &accepted.join(", "));
            self.causes.push(cause);
        }
        let form = meta::text(schema, "/format");
        if !format::fits(form, value) {
            let why = format!("must be of type {form}");
            self.causes.push(Cause::invalid(path, value, &why));
        }
        let at = SchemaValue {
            schema,
            value,
            path,
        };
        match value {
            Value::Object(fields) => self.object(at, fields),
            Value::Array(items) => self.list(at, items),
            Value::String(text) => self.text(at, text),
            Value::Number(_) => self.bounds(at),
            _ => {}
        }
        self.junctors(at);
    }

    fn invalid(&mut self, at: SchemaValue<'_>, why: &str) {
        self.causes.push(Cause::invalid(at.path, at.value, why));
    }

    fn object(&mut self, at: SchemaValue<'_>, fields: &Map<String, Value>) {
        let SchemaValue { schema, path, .. } = at;
        for name in meta::list(schema, "/required")
            .iter()
            .filter_map(Value::as_str)
        {
            if !fields.contains_key(name) {
                self.causes
                    .push(Cause::required(child_path(path, name), ""));
            }
        }
        for (name, field) in fields {
            let inner = schema["properties"].get(name);
            if let Some(inner) = inner.or_else(|| schema.get("additionalProperties")) {
                self.check(inner, field, &child_path(path, name));
            }
        }
        self.length(at, ["minProperties", "maxProperties"], fields.len());
    }

    fn list(&mut self, at: SchemaValue<'_>, items: &[Value]) {
        let SchemaValue { schema, path, .. } = at;
        for (index, item) in items.iter().enumerate() {
            self.check(&schema["items"], item, &format!("{path}[{index}]"));
        }
        self.length(at, ["minItems", "maxItems"], items.len());
        let keys: Vec<&str> = meta::list(schema, "/x-kubernetes-list-map-keys")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let key = |item: &Value| -> Value { keys.iter().map(|key| item[*key].clone()).collect() };
        let kind = meta::text(schema, "/x-kubernetes-list-type");
        for (index, item) in items.iter().enumerate() {
            let mut before = items[..index].iter();
            let repeated = match kind {
                "map" => before.any(|other| key(other) == key(item)),
                "set" => before.any(|other| other == item),
                _ => false,
            };
            if repeated {
                let field = format!("{path}[{index}]");
                self.causes.push(Cause::duplicate(field, item));
            }
        }
    }

    fn text(&mut self, at: SchemaValue<'_>, text: &str) {
        self.length(at, ["minLength", "maxLength"], text.chars().count());
        let pattern = meta::text(at.schema, "/pattern");
        let expression = self.patterns.get(pattern);
        if expression.is_some_and(|expression| !expression.is_match(text)) {
            let why = format!("{} in body should match '{pattern}'", at.path);
            self.invalid(at, &why);
        }
    }

    /// A number of characters, items or fields against the keywords of its bounds.
    fn length(&mut self, at: SchemaValue<'_>, [least, most]: [&str; 2], length: usize) {
        let bound = |name: &str| {
            let bound = at.schema[name].as_u64();
            bound.and_then(|n| usize::try_from(n).ok())
        };
        if let Some(least) = bound(least).filter(|least| length < *least) {
            self.invalid(at, &format!("should have at least {least}"));
        }
        if let Some(most) = bound(most).filter(|most| length > *most) {
            self.invalid(at, &format!("should have at most {most}"));
        }
    }

    fn bounds(&mut self, at: SchemaValue<'_>) {
        let SchemaValue { schema, value, .. } = at;
        let Some(number) = value.as_f64() else { return };
        let sides = [
            ("minimum", "exclusiveMinimum", "greater", 1.0),
            ("maximum", "exclusiveMaximum", "less", -1.0),
        ];
        for (name, exclusive, word, sign) in sides {
            let Some(bound) = schema[name].as_f64() else {
                continue;
            };
            let inside = sign * (number - bound);
            let exclusive = schema[exclusive] == true;
            if inside < 0.0 || (exclusive && inside <= 0.0) {
                let or_equal = if exclusive { "" } else { " or equal to" };
                let why = format!("should be {word} than{or_equal} {bound}");
                self.invalid(at, &why);
            }
        }
        if let Some(step) = schema["multipleOf"].as_f64()
            && (number / step).fract() != 0.0
        {
            self.invalid(at, &format!("should be a multiple of {step}"));
        }
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`.
    fn junctors(&mut self, at: SchemaValue<'_>) {
        let SchemaValue {
            schema,
            value,
            path,
        } = at;
        for inner in meta::list(schema, "/allOf") {
            self.check(inner, value, path);
        }
        let fits = |inner: &Value| {
            let mut causes = Vec::new();
            let mut apart = Validation {
                patterns: self.patterns,
                causes: &mut causes,
            };
            apart.check(inner, value, path);
            causes.is_empty()
        };
        let count = |name: &str| {
            let all = meta::list(schema, name);
            (all.len(), all.iter().filter(|inner| fits(inner)).count())
        };
        let mut wrong = Vec::new();
        if matches!(count("/anyOf"), (1.., 0)) {
            wrong.push("must validate at least one schema (anyOf)");
        }
        if matches!(count("/oneOf"), (1.., fitting) if fitting != 1) {
            wrong.push("must validate one and only one schema (oneOf)");
        }
        if schema.get("not").is_some_and(fits) {
            wrong.push("must not validate the schema (not)");
        }
        for why in wrong {
            self.invalid(at, why);
        }
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    if schema[INT_OR_STRING] == true {
        return value.is_i64() || value.is_u64() || value.is_string();
    }
    match meta::text(schema, "/type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    }
}
