//! Reads Rust source as the fence needs it: every path that is named outside of tests, with its line.
//!
//! A small lexer instead of a parser crate: paths, groups and `use` are all that matters here, and
//! text in comments and literals has to be told from code, or prose about `tokio::spawn` would count.

/// A path such as `kube::Client`, in its parts, groups of a `use` spread out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) line: usize,
    pub(crate) path: Vec<String>,
}

/// The part of a file before its unit tests. `mod tests;` ends nothing: those stand in a file of
/// their own, and code may follow.
pub(crate) fn without_tests(text: &str) -> &str {
    const ATTRIBUTE: &str = "\n#[cfg(test)]\n";
    text.match_indices(ATTRIBUTE)
        .find(|(start, _)| {
            let mut lines = text[start + ATTRIBUTE.len()..].lines();
            let item = lines.find(|line| !line.starts_with("#["));
            item.is_some_and(|item| item.contains("mod ") && item.contains('{'))
        })
        .map_or(text, |(start, _)| &text[..start])
}

/// All paths of two or more parts, and everything that a `use` names.
pub(crate) fn named_paths(text: &str) -> Vec<Named> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let in_use = at > 0 && tokens[at - 1].text == "use";
        if tokens[at].starts_path() || (in_use && tokens[at].text == "{") {
            let mut paths = Vec::new();
            at = spread(&tokens, at, &[], &mut paths);
            found.extend(
                paths
                    .into_iter()
                    .filter(|named| in_use || named.path.len() > 1),
            );
        } else {
            at += 1;
        }
    }
    found
}

/// Follows the path or group at `at` and returns where it ends.
fn spread(tokens: &[Token], mut at: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut path = prefix.to_vec();
    if text(at) == "::" {
        at += 1;
    }
    while at < tokens.len() {
        let line = tokens[at].line;
        if text(at) == "{" {
            at += 1;
            while at < tokens.len() && text(at) != "}" {
                let next = spread(tokens, at, &path, found);
                at = if next == at { at + 1 } else { next };
            }
            return at + 1;
        }
        if !tokens[at].is_word() && text(at) != "*" {
            return at;
        }
        path.push(text(at).to_owned());
        at += 1;
        if text(at) != "::" {
            found.push(Named { line, path });
            // `as name` gives no path.
            return if text(at) == "as" { at + 2 } else { at };
        }
        at += 1;
        // A turbofish ends what is named; its arguments are paths of their own.
        if text(at) == "<" {
            found.push(Named { line, path });
            return at;
        }
    }
    at
}

#[derive(Debug)]
struct Token {
    line: usize,
    text: String,
}

impl Token {
    fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
    }

    fn starts_path(&self) -> bool {
        let keyword = ["use", "pub", "as", "fn", "mod", "let", "impl", "where"];
        self.text == "::" || (self.is_word() && !keyword.contains(&self.text.as_str()))
    }
}

/// Words, `::`, and single signs; comments and literals are left out.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let skipped = blank_length(rest);
        let length = if skipped > 0 {
            skipped
        } else {
            let length = token_length(rest, first);
            tokens.push(Token {
                line,
                text: rest[..length].to_owned(),
            });
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

fn token_length(rest: &str, first: char) -> usize {
    if first.is_alphabetic() || first == '_' {
        let word = |c: char| !(c.is_alphanumeric() || c == '_');
        rest.find(word).unwrap_or(rest.len())
    } else if rest.starts_with("::") {
        2
    } else {
        first.len_utf8()
    }
}

/// The length of the white space, comment, literal or lifetime at the start; 0 where there is none.
fn blank_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    match bytes[0] {
        b' ' | b'\n' | b'\t' | b'\r' => 1,
        b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
        b'/' if rest.starts_with("/*") => block_comment_length(rest),
        b'"' => 1 + quoted_length(&rest[1..], '"'),
        b'\'' => quote_length(rest),
        b'0'..=b'9' => rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len()),
        b'r' | b'b' | b'c' => prefixed_literal_length(rest),
        _ => 0,
    }
}

fn block_comment_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Up to and with the closing quote, escapes passed over.
fn quoted_length(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    inside.len()
}

/// A character literal or a lifetime.
fn quote_length(rest: &str) -> usize {
    let mut inside = rest[1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => 1 + quoted_length(&rest[1..], '\''),
        _ => 1,
    }
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"`; 0 for a word that only begins with such a letter.
fn prefixed_literal_length(rest: &str) -> usize {
    let prefix = rest
        .find(|c| !matches!(c, 'r' | 'b' | 'c'))
        .unwrap_or(rest.len());
    let after = &rest[prefix..];
    let hashes = after.find(|c| c != '#').unwrap_or(after.len());
    if prefix > 2 || !after[hashes..].starts_with('"') {
        return 0;
    }
    let inside = prefix + hashes + 1;
    if rest[..prefix].contains('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = rest[inside..].find(&end);
        length.map_or(rest.len(), |length| inside + length + end.len())
    } else {
        inside + quoted_length(&rest[inside..], '"')
    }
}
