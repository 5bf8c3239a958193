//! The text form of selectors, by the grammar of Kubernetes: requirements between commas, each a
//! label alone (`a`, `!a`), with a value (`a=b`, `a==b`, `a!=b`, `a>1`, `a<1`) or with a set of
//! values (`a in (b,c)`, `a notin (b,c)`).

use std::collections::BTreeSet;

use kube_core::Expression;

use super::requirement::Requirement;

/// Text that is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse requirement: found '{found}', expected: {expected}")]
pub struct SelectorError {
    /// The token that stands where another should.
    pub found: String,
    /// The tokens that may stand there.
    pub expected: &'static str,
}

/// The requirements of a text.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorError> {
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
    Ok(requirements)
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
    match tokens.peek() {
        None | Some(",") if is_absent => Ok(Expression::DoesNotExist(label).into()),
        None | Some(",") => Ok(Expression::Exists(label).into()),
        found if is_absent => Err(unexpected(found, "',' or 'end of string'")),
        Some(_) => with_value(label, tokens),
    }
}

fn with_value(label: String, tokens: &mut Tokens<'_>) -> Result<Requirement, SelectorError> {
    Ok(match tokens.next() {
        Some("=" | "==") => Expression::Equal(label, tokens.word().to_owned()).into(),
        Some("!=") => Expression::NotEqual(label, tokens.word().to_owned()).into(),
        Some("in") => Expression::In(label, set(tokens)?).into(),
        Some("notin") => Expression::NotIn(label, set(tokens)?).into(),
        Some(">" | "gt") => Requirement::GreaterThan(label, number(tokens)?),
        Some("<" | "lt") => Requirement::LessThan(label, number(tokens)?),
        found => return Err(unexpected(found, "in, notin, =, ==, !=, gt, lt")),
    })
}

fn number(tokens: &mut Tokens<'_>) -> Result<i64, SelectorError> {
    let word = tokens.word();
    let number = word.parse();
    number.map_err(|_| unexpected(Some(word), "an integer for 'Gt', 'Lt' operators"))
}

fn set(tokens: &mut Tokens<'_>) -> Result<BTreeSet<String>, SelectorError> {
    match tokens.next() {
        Some("(") => {}
        found => return Err(unexpected(found, "'('")),
    }
    let mut values = BTreeSet::from([tokens.word().to_owned()]);
    loop {
        match tokens.next() {
            Some(",") => {
                values.insert(tokens.word().to_owned());
            }
            Some(")") => return Ok(values),
            found => return Err(unexpected(found, "',', or ')'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_selector_is_refused() {
        let error = requirements("cheddar cheese").unwrap_err();
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
            assert!(requirements(wrong).is_err(), "{wrong}");
        }
    }
}
