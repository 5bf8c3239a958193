//! Texts as Go prints them in errors.

use std::fmt::Write as _;

/// As by `%q`.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            '\'' => quoted.push('\''),
            _ => escape(character, &mut quoted),
        }
    }
    quoted.push('"');
    quoted
}

fn escape(character: char, text: &mut String) {
    let escaped = character.escape_debug();
    let code = u32::from(character);
    // Rust and Go write unprintable characters in different forms.
    let _ = match (escaped.len() > 2, code) {
        (false, _) => write!(text, "{escaped}"),
        (true, ..=0x7f) => write!(text, "\\x{code:02x}"),
        (true, ..=0xffff) => write!(text, "\\u{code:04x}"),
        (true, _) => write!(text, "\\U{code:08x}"),
    };
}

/// As JSON; of an empty list Go prints `null`.
pub(crate) fn json_list(texts: &[&str]) -> String {
    if texts.is_empty() {
        return "null".to_owned();
    }
    let texts: Vec<_> = texts.iter().map(|text| json(text)).collect();
    format!("[{}]", texts.join(","))
}

fn json(text: &str) -> String {
    let mut json = "\"".to_owned();
    for character in text.chars() {
        let _ = match character {
            '"' | '\\' => write!(json, "\\{character}"),
            '\u{8}' => write!(json, "\\b"),
            '\u{c}' => write!(json, "\\f"),
            '\n' => write!(json, "\\n"),
            '\r' => write!(json, "\\r"),
            '\t' => write!(json, "\\t"),
            // Go escapes HTML in JSON, and the line ends of JavaScript.
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(json, "\\u{:04x}", u32::from(character))
            }
            _ => write!(json, "{character}"),
        };
    }
    json.push('"');
    json
}
