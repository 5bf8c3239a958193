//! The text form of selectors, by the grammar of Kubernetes: requirements between commas, each a
//! label alone (`a`, `!a`), with a value (`a=b`, `a==b`, `a!=b`, `a>1`, `a<1`) or with a set of
//! values (`a in (b,c)`, `a notin (b,c)`).

use std::collections::BTreeSet;

use crate::error::SelectorError;
use crate::label_rules;
use crate::operator::SelectorOperator;
use crate::requirement::Requirement;

pub(crate) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut tokens = Tokens(text);
    let mut requirements = Vec::new();
    let begins = |token: &str| is_word(token) || token == "!";
    while let Some(first) = tokens.peek() {
        if !begins(first) {
            let wanted = ", expected: !, identifier, or 'end of string'";
            return Err(unexpected(Some(first), wanted));
        }
        let one = requirement(&mut tokens);
        requirements.push(one.map_err(|error| SelectorError::Requirement(Box::new(error)))?);
        match tokens.next() {
            None => break,
            Some(",") if tokens.peek().is_some_and(begins) => {}
            Some(",") => {
                return Err(unexpected(
                    tokens.peek(),
                    ", expected: identifier after ','",
                ));
            }
            other => return Err(unexpected(other, ", expected: ',' or 'end of string'")),
        }
    }
    Ok(requirements)
}

/// White space only separates tokens.
struct Tokens<'a>(&'a str);

const MARKS: [char; 7] = ['(', ')', ',', '!', '=', '<', '>'];
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

impl<'a> Tokens<'a> {
    fn peek(&self) -> Option<&'a str> {
        let text = self.0.trim_start_matches(SPACE);
        let first = text.chars().next()?;
        if matches!(first, '=' | '!') && text[1..].starts_with('=') {
            return Some(&text[..2]);
        }
        if MARKS.contains(&first) {
            return Some(&text[..1]);
        }
        let end = text.find(|c: char| SPACE.contains(&c) || MARKS.contains(&c));
        Some(&text[..end.unwrap_or(text.len())])
    }

    fn next(&mut self) -> Option<&'a str> {
        let token = self.peek()?;
        self.0 = &self.0.trim_start_matches(SPACE)[token.len()..];
        Some(token)
    }

    fn word(&mut self) -> Result<&'a str, SelectorError> {
        let token = self.next();
        let word = token.filter(|token| is_word(token));
        word.ok_or_else(|| unexpected(token, ", expected: identifier"))
    }
}

fn is_word(token: &str) -> bool {
    !token.starts_with(MARKS)
}

fn unexpected(found: Option<&str>, wanted: &'static str) -> SelectorError {
    SelectorError::Unexpected {
        found: found.unwrap_or_default().to_owned(),
        wanted,
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, SelectorError> {
    let is_absent = tokens.peek() == Some("!");
    if is_absent {
        tokens.next();
    }
    let key = tokens.word()?;
    // Kubernetes has no name for the field here.
    label_rules::key("<nil>", key).map_err(SelectorError::Invalid)?;
    if is_absent {
        return Requirement::new(key, SelectorOperator::DoesNotExist, &[]);
    }
    if tokens.peek().is_none_or(|token| token == ",") {
        return Requirement::new(key, SelectorOperator::Exists, &[]);
    }
    let operator = operator(tokens)?;
    let values = match operator {
        SelectorOperator::In | SelectorOperator::NotIn => set(tokens)?,
        _ => BTreeSet::from([value(tokens)?]),
    };
    let values: Vec<&str> = values.into_iter().collect();
    Requirement::new(key, operator, &values)
}

fn operator(tokens: &mut Tokens<'_>) -> Result<SelectorOperator, SelectorError> {
    Ok(match tokens.next() {
        Some("=" | "==") => SelectorOperator::Equals,
        Some("!=") => SelectorOperator::NotEquals,
        Some("in") => SelectorOperator::In,
        Some("notin") => SelectorOperator::NotIn,
        Some(">") => SelectorOperator::GreaterThan,
        Some("<") => SelectorOperator::LessThan,
        other => {
            let wanted = ", expected: in, notin, =, ==, !=, gt, lt";
            return Err(unexpected(other, wanted));
        }
    })
}

/// May be empty.
fn value<'a>(tokens: &mut Tokens<'a>) -> Result<&'a str, SelectorError> {
    match tokens.peek() {
        None | Some(",") => Ok(""),
        Some(_) => tokens.word(),
    }
}

fn set<'a>(tokens: &mut Tokens<'a>) -> Result<BTreeSet<&'a str>, SelectorError> {
    let open = tokens.next();
    if open != Some("(") {
        return Err(unexpected(open, " expected: '('"));
    }
    match tokens.peek() {
        Some(token) if is_word(token) || token == "," => {}
        Some(")") => {
            tokens.next();
            return Ok(BTreeSet::from([""]));
        }
        other => return Err(unexpected(other, ", expected: ',', ')' or identifier")),
    }
    let mut values = BTreeSet::new();
    loop {
        match tokens.next() {
            Some(word) if is_word(word) => {
                values.insert(word);
                if !matches!(tokens.peek(), Some("," | ")")) {
                    return Err(unexpected(tokens.peek(), ", expected: ',' or ')'"));
                }
            }
            Some(",") => {
                let is_first = values.is_empty();
                if is_first || matches!(tokens.peek(), Some("," | ")")) {
                    values.insert("");
                }
            }
            Some(")") => return Ok(values),
            other => return Err(unexpected(other, ", expected: ',', or identifier")),
        }
    }
}
