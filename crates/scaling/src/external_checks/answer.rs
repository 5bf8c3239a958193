//! The answer to an external check. Its message is foreign text for status and Events: it is cut,
//! on one line, and without characters that change how the text around it is shown.

use evenkeel_objects::truncate::excerpt;
use serde::Deserialize;

const MESSAGE: usize = 256;

/// The verdict of an external endpoint on a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckAnswer {
    /// True where it may go on.
    pub passes: bool,
    /// The reason in words; empty where none is given.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(r#"the answer is not JSON with "verdict": "Pass" or "Fail""#)]
pub struct AnswerError;

#[derive(Deserialize)]
struct CheckAnswerJson {
    verdict: Word,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
enum Word {
    Pass,
    Fail,
}

impl CheckAnswer {
    /// The answer in a body. Nothing of one that is not understood is repeated.
    ///
    /// # Errors
    /// It is no answer.
    pub fn read(body: &[u8]) -> Result<Self, AnswerError> {
        let CheckAnswerJson { verdict, message } =
            serde_json::from_slice(body).map_err(|_| AnswerError)?;
        let message = message.unwrap_or_default();
        let shown: String = message.chars().filter(|one| !is_invisible(*one)).collect();
        Ok(Self {
            passes: matches!(verdict, Word::Pass),
            message: excerpt(shown.trim(), MESSAGE),
        })
    }
}

/// True for what is not shown itself and turns, joins or hides what is.
const fn is_invisible(one: char) -> bool {
    matches!(one, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_one_of_two_words() {
        let long = "x".repeat(60_000);
        let cut = format!("{}…", "x".repeat(MESSAGE));
        for (body, passes, message) in [
            (r#"{"verdict": "Pass"}"#.to_owned(), true, ""),
            (
                r#"{"verdict": "Fail", "message": null}"#.to_owned(),
                false,
                "",
            ),
            (
                r#"{"message": " 5 % fail ", "verdict": "Fail", "more": [{}]}"#.to_owned(),
                false,
                "5 % fail",
            ),
            (
                r#"{"verdict": "Fail", "message": "a\u001b[2Jb\nc\u202ed\u0000"}"#.to_owned(),
                false,
                "a [2Jb cd ",
            ),
            (
                format!(r#"{{"verdict": "Pass", "message": "{long}"}}"#),
                true,
                &cut,
            ),
        ] {
            let read = CheckAnswer::read(body.as_bytes()).unwrap();
            assert_eq!((read.passes, &*read.message), (passes, message));
        }
    }

    #[test]
    fn everything_else_is_no_answer() {
        let deep = format!("{{\"verdict\": \"Pass\", \"more\": {}", "[".repeat(60_000));
        for body in [
            "",
            "Pass",
            "\"Pass\"",
            "true",
            "[]",
            "{}",
            r#"{"verdict": "pass"}"#,
            r#"{"verdict": "Unknown"}"#,
            r#"{"verdict": true}"#,
            r#"{"verdict": ["Pass"]}"#,
            r#"{"verdict": "Pass", "message": 7}"#,
            r#"{"verdict": "Pass", "verdict": "Fail"}"#,
            r#"{"Verdict": "Pass"}"#,
            r#"{"verdict": "Pass"} {"verdict": "Fail"}"#,
            r#"{"verdict": "Pass""#,
            "<html>",
            &deep,
        ] {
            assert_eq!(
                CheckAnswer::read(body.as_bytes()),
                Err(AnswerError),
                "{body:.40}"
            );
        }
        assert_eq!(CheckAnswer::read(&[0xff, 0xfe]), Err(AnswerError));
    }
}
