//! Label selectors in the text form of the API, such as `status.selector` of a scale: read, and held
//! against labels.
//!
//! The grammar is that of Kubernetes: requirements between commas, each a label alone (`a`, `!a`),
//! with a value (`a=b`, `a==b`, `a!=b`, `a>1`, `a<1`) or with a set of values (`a in (b,c)`,
//! `a notin (b,c)`).

use std::collections::BTreeMap;

/// A selector over labels: every requirement has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    label: String,
    rule: Rule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

/// Text that is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse requirement: found '{found}', expected: {expected}")]
pub struct SelectorError {
    /// What stands where something else should.
    pub found: String,
    /// What should stand there.
    pub expected: &'static str,
}

impl Selector {
    /// Reads a selector; the empty text selects everything.
    ///
    /// # Errors
    /// Text that is no selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut tokens = Tokens(text);
        let mut requirements = Vec::new();
        while tokens.peek().is_some() {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next() {
                None => break,
                Some(",") if tokens.peek().is_some() => {}
                found => return Err(unexpected(found, "',' or 'end of string'")),
            }
        }
        Ok(Self(requirements))
    }

    /// True where the labels fulfil every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.label).map(String::as_str);
            requirement.rule.accepts(value)
        })
    }
}

impl Rule {
    fn accepts(&self, value: Option<&str>) -> bool {
        let is_among = |values: &[String]| value.is_some_and(|one| values.iter().any(|v| v == one));
        let number = || value.and_then(|text| text.parse::<i64>().ok());
        match self {
            Self::In(values) => is_among(values),
            Self::NotIn(values) => !is_among(values),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Self::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// The words and marks of a selector; white space only separates them.
struct Tokens<'a>(&'a str);

const MARKS: [char; 7] = ['(', ')', ',', '!', '=', '<', '>'];

impl<'a> Tokens<'a> {
    fn peek(&self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let first = text.chars().next()?;
        if matches!(first, '=' | '!') && text[1..].starts_with('=') {
            return Some(&text[..2]);
        }
        if MARKS.contains(&first) {
            return Some(&text[..1]);
        }
        let end = text.find(|c: char| c.is_whitespace() || MARKS.contains(&c));
        Some(&text[..end.unwrap_or(text.len())])
    }

    fn next(&mut self) -> Option<&'a str> {
        let token = self.peek()?;
        self.0 = &self.0.trim_start()[token.len()..];
        Some(token)
    }

    /// The next token where it is a word; an empty word where a mark or nothing follows.
    fn word(&mut self) -> &'a str {
        match self.peek() {
            Some(token) if !token.starts_with(MARKS) => {
                self.next();
                token
            }
            _ => "",
        }
    }
}

fn unexpected(found: Option<&str>, expected: &'static str) -> SelectorError {
    SelectorError {
        found: found.unwrap_or_default().to_owned(),
        expected,
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, SelectorError> {
    let is_absent = tokens.peek() == Some("!");
    if is_absent {
        tokens.next();
    }
    let label = tokens.word().to_owned();
    if label.is_empty() {
        return Err(unexpected(
            tokens.peek(),
            "!, identifier, or 'end of string'",
        ));
    }
    let rule = match tokens.peek() {
        None | Some(",") if is_absent => Rule::DoesNotExist,
        None | Some(",") => Rule::Exists,
        found if is_absent => return Err(unexpected(found, "',' or 'end of string'")),
        Some(_) => rule(tokens)?,
    };
    Ok(Requirement { label, rule })
}

fn rule(tokens: &mut Tokens<'_>) -> Result<Rule, SelectorError> {
    let one = |tokens: &mut Tokens<'_>| vec![tokens.word().to_owned()];
    match tokens.next() {
        Some("=" | "==") => Ok(Rule::In(one(tokens))),
        Some("!=") => Ok(Rule::NotIn(one(tokens))),
        Some("in") => set(tokens).map(Rule::In),
        Some("notin") => set(tokens).map(Rule::NotIn),
        Some(">" | "gt") => number(tokens).map(Rule::GreaterThan),
        Some("<" | "lt") => number(tokens).map(Rule::LessThan),
        found => Err(unexpected(found, "in, notin, =, ==, !=, gt, lt")),
    }
}

fn number(tokens: &mut Tokens<'_>) -> Result<i64, SelectorError> {
    let word = tokens.word();
    let number = word.parse();
    number.map_err(|_| unexpected(Some(word), "an integer for 'Gt', 'Lt' operators"))
}

fn set(tokens: &mut Tokens<'_>) -> Result<Vec<String>, SelectorError> {
    match tokens.next() {
        Some("(") => {}
        found => return Err(unexpected(found, "'('")),
    }
    let mut values = vec![tokens.word().to_owned()];
    loop {
        match tokens.next() {
            Some(",") => values.push(tokens.word().to_owned()),
            Some(")") => return Ok(values),
            found => return Err(unexpected(found, "',', or ')'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_requirement_is_understood() {
        let labels = [("app", "web"), ("tier", "front"), ("n", "5")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let labels = BTreeMap::from(labels);
        for (text, matches) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app in (api, web),!missing", true),
            ("app notin (api,web)", false),
            ("missing notin (a)", true),
            ("missing!=a", true),
            ("tier", true),
            ("missing", false),
            ("n>4,n<6", true),
            ("n gt 5", false),
            ("app=", false),
        ] {
            let selector = Selector::parse(text).unwrap();
            assert_eq!(selector.matches(&labels), matches, "{text}");
        }
    }

    #[test]
    fn text_that_is_no_selector_is_refused() {
        let error = Selector::parse("cheddar cheese").unwrap_err();
        let expected = "unable to parse requirement: found 'cheese', expected: in, notin, =, ==, \
            !=, gt, lt";
        assert_eq!(error.to_string(), expected);
        for wrong in [
            "app in web",
            "=x",
            "app in (a",
            "n>x",
            "a,",
            ",a",
            "!a=b",
            "a=b c",
        ] {
            assert!(Selector::parse(wrong).is_err(), "{wrong}");
        }
    }
}
