//! Objects with parts that depend on components: one tree for all choices. `install` reads it for
//! one choice, and the chart prints it with its conditions.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::condition::ComponentCondition;

/// May hold conditional parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ManifestPart {
    Scalar(Value),
    /// A name may recur under conditions that exclude each other.
    Map(Vec<(String, ConditionalPart)>),
    List(Vec<ConditionalPart>),
}

/// With the condition under which it exists.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConditionalPart {
    pub(crate) when: ComponentCondition,
    pub(crate) part: ManifestPart,
}

impl ConditionalPart {
    /// By the component, or always.
    pub(crate) fn new(value: &Value, cause: Option<&'static str>) -> Self {
        Self {
            when: ComponentCondition::caused_by(cause),
            part: ManifestPart::from(value),
        }
    }

    /// Sets another value. If a component is the cause, the old value stays for the component being
    /// off, and the choice for it being on is returned.
    pub(crate) fn replace(&mut self, value: &Value, cause: Option<&'static str>) -> Option<Self> {
        let Some(component) = cause else {
            self.part = ManifestPart::from(value);
            return None;
        };
        let mut after = Self {
            when: self.when.clone(),
            part: ManifestPart::from(value),
        };
        self.when.require(component, false);
        after.when.require(component, true);
        Some(after)
    }
}

impl From<&Value> for ManifestPart {
    fn from(value: &Value) -> Self {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter();
                let choice =
                    |(name, value): (&String, _)| (name.clone(), ConditionalPart::new(value, None));
                Self::Map(fields.map(choice).collect())
            }
            Value::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| ConditionalPart::new(item, None))
                    .collect(),
            ),
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}

impl ManifestPart {
    /// With these components on and all others off.
    pub(crate) fn with(&self, on: &BTreeSet<&'static str>) -> Value {
        self.read(&|when| Some(when.holds(on)))
            .expect("a condition holds or does not")
    }

    /// The value, if nothing in it depends on a component.
    pub(crate) fn plain(&self) -> Option<Value> {
        self.read(&|when| when.is_always().then_some(true))
    }

    fn read(&self, holds: &dyn Fn(&ComponentCondition) -> Option<bool>) -> Option<Value> {
        match self {
            Self::Scalar(value) => Some(value.clone()),
            Self::Map(fields) => {
                let mut map = Map::new();
                for (name, choice) in fields {
                    if holds(&choice.when)? {
                        map.insert(name.clone(), choice.part.read(holds)?);
                    }
                }
                Some(Value::Object(map))
            }
            Self::List(items) => {
                let mut list = Vec::new();
                for item in items {
                    if holds(&item.when)? {
                        list.push(item.part.read(holds)?);
                    }
                }
                Some(Value::Array(list))
            }
        }
    }

    /// The field of a map, if its name occurs once.
    pub(crate) fn field_mut(&mut self, name: &str) -> Option<&mut ConditionalPart> {
        let Self::Map(fields) = self else { return None };
        let mut found = fields.iter_mut().filter(|(key, _)| key == name);
        let (_, choice) = found.next()?;
        found.next().is_none().then_some(choice)
    }

    pub(crate) fn at_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        path.iter()
            .try_fold(self, |part, name| Some(&mut part.field_mut(name)?.part))
    }

    /// Calls `change` for each field of a map anywhere below, with its name.
    pub(crate) fn for_each_field(&mut self, change: &mut dyn FnMut(&str, &mut Self)) {
        match self {
            Self::Scalar(_) => {}
            Self::Map(fields) => {
                for (name, choice) in fields {
                    change(name, &mut choice.part);
                    choice.part.for_each_field(change);
                }
            }
            Self::List(items) => {
                for item in items {
                    item.part.for_each_field(change);
                }
            }
        }
    }
}
