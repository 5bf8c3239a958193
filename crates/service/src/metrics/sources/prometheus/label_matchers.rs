//! Label matchers made from a caller's text. The text is never more than a value: nothing in it
//! ends a string, opens a selector or has a meaning in a regular expression.

use std::fmt::{self, Write as _};

use evenkeel_label_selector::{LabelOperator, LabelSelector};

/// Matchers as they stand between the braces of a selector, all of which have to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelMatchers(Vec<String>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a label of Prometheus; accepted: letters, digits and underscores, without two \
     underscores at the beginning"
)]
pub struct UnfitLabel(pub String);

impl LabelMatchers {
    pub fn equal(self, label: &str, value: &str) -> Self {
        self.with(label, "=", value)
    }

    pub fn one_of(self, label: &str, values: &[&str]) -> Self {
        self.with(label, "=~", &any_of(values))
    }

    /// The same with a label that a regular expression has to match as a whole.
    pub fn matching(self, label: &str, expression: &str) -> Self {
        self.with(label, "=~", expression)
    }

    /// The same with everything that a selector requires.
    ///
    /// # Errors
    /// A label that no series of Prometheus can have, or that is Prometheus' own.
    pub fn selected(mut self, selector: &LabelSelector) -> Result<Self, UnfitLabel> {
        let LabelSelector {
            match_labels,
            match_expressions,
        } = selector;
        for (label, value) in match_labels {
            self = self.equal(fit(label)?, value);
        }
        for requirement in match_expressions {
            let label = fit(&requirement.key)?;
            let values: Vec<&str> = requirement.values.iter().map(String::as_str).collect();
            self = match &requirement.operator {
                LabelOperator::In => self.one_of(label, &values),
                LabelOperator::NotIn => self.with(label, "!~", &any_of(&values)),
                LabelOperator::Exists => self.with(label, "!=", ""),
                LabelOperator::DoesNotExist => self.equal(label, ""),
                LabelOperator::Unknown(word) => return Err(UnfitLabel(word.clone())),
            };
        }
        Ok(self)
    }

    fn with(mut self, label: &str, operator: &str, value: &str) -> Self {
        self.0.push(format!("{label}{operator}{}", quoted(value)));
        self
    }
}

impl fmt::Display for LabelMatchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

/// A label that a series can have; those that begin with two underscores are Prometheus' own.
fn fit(label: &str) -> Result<&str, UnfitLabel> {
    let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_fit = label.bytes().all(is_of_names)
        && label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !label.starts_with("__");
    if is_fit {
        Ok(label)
    } else {
        Err(UnfitLabel(label.to_owned()))
    }
}

pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a String does not fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

pub(super) fn any_of(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    texts.join("|")
}

pub(crate) fn literal(text: &str) -> String {
    let mut expression = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '^' => expression.extend(['\\', c]),
            '-' | '_' => expression.push(c),
            c if c.is_ascii_punctuation() => expression.extend(['[', c, ']']),
            c => expression.push(c),
        }
    }
    expression
}

#[cfg(test)]
mod tests {
    use evenkeel_label_selector::Selector;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_selector_becomes_matchers_that_require_the_same() {
        let of = |text: &str| {
            let selector = Selector::parse(text).unwrap().to_object().unwrap();
            LabelMatchers::default()
                .equal("namespace", "shop")
                .selected(&selector)
                .map(|matchers| matchers.to_string())
        };
        for (text, expected) in [
            ("", r#"namespace="shop""#),
            ("verb=GET", r#"namespace="shop",verb="GET""#),
            (
                "verb in (GET,a.b),code notin (500),route,!old",
                r#"namespace="shop",code!~"500",old="",route!="",verb=~"GET|a[.]b""#,
            ),
            // Both have to hold, so that nothing of another namespace comes with it.
            ("namespace=bank", r#"namespace="shop",namespace="bank""#),
        ] {
            assert_eq!(of(text).as_deref(), Ok(expected), "{text}");
        }
        for label in ["__name__", "example.com/a", "a-b", "1a", ""] {
            let selector = LabelSelector::from_labels([(label, "up")]);
            let unfit = LabelMatchers::default().selected(&selector);
            assert_eq!(unfit, Err(UnfitLabel(label.to_owned())));
        }
    }

    /// The text of a string of PromQL, and what stands behind it.
    fn read(text: &str) -> Option<(String, &str)> {
        let mut read = String::new();
        let mut chars = text.strip_prefix('"')?.chars();
        loop {
            match chars.next()? {
                '"' => return Some((read, chars.as_str())),
                '\\' => match chars.next()? {
                    'u' => {
                        let digits: String = chars.by_ref().take(4).collect();
                        let code = u32::from_str_radix(&digits, 16).ok()?;
                        read.push(char::from_u32(code)?);
                    }
                    c => read.push(c),
                },
                c => read.push(c),
            }
        }
    }

    proptest! {
        #[test]
        fn a_string_is_read_back_and_ends_where_it_should(text in "(?s).{0,40}") {
            let quoted = quoted(&text);
            prop_assert!(!quoted.contains('\n'));
            prop_assert_eq!(read(&quoted), Some((text, "")));
        }

        #[test]
        fn a_literal_has_no_character_that_means_something(text in "(?s).{0,40}") {
            let expression = literal(&text);
            let mut rest = expression.chars().peekable();
            let mut matched = String::new();
            while let Some(c) = rest.next() {
                match c {
                    '\\' => matched.push(rest.next().unwrap()),
                    '[' => {
                        matched.push(rest.next().unwrap());
                        prop_assert_eq!(rest.next(), Some(']'));
                    }
                    c => {
                        prop_assert!(!".+*?()|{}$^]".contains(c), "{}", expression);
                        matched.push(c);
                    }
                }
            }
            prop_assert_eq!(matched, text);
        }
    }
}
