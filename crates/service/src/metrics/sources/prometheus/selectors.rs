//! Finds the series that an expression reads, by which its values are dated. Prometheus dates a
//! result by the time of the answer, however old its samples are; only `timestamp()` of the
//! selectors shows that. So selectors are looked for: names that are neither functions nor
//! keywords, and braces. If the result's labels differ from the series' labels, nothing says which
//! time belongs to which value.

use std::ops::Range;

/// Words that are no names of series. Functions and aggregations are known by the following
/// parenthesis or clause.
const KEYWORDS: [&str; 16] = [
    "and",
    "or",
    "unless",
    "bool",
    "offset",
    "atan2",
    "start",
    "end",
    "nan",
    "inf",
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];

const LABEL_LISTS: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];

/// Words by which the labels of a result become others than those of its series.
const RELABELLING: [&str; 4] = ["label_replace", "label_join", "group_left", "group_right"];

/// The selectors of an expression, without ranges, in the order of its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Selectors {
    /// Where they stand.
    spans: Vec<Range<usize>>,
    /// True where labels of the result may be others than those of the series.
    pub(super) relabelled: bool,
}

/// Looks for the selectors of `promql`; what Prometheus would refuse gives any.
pub(super) fn selectors(promql: &str) -> Selectors {
    let mut found = Selectors::default();
    let mut at = 0;
    while let Some(first) = promql[at..].chars().next() {
        let rest = &promql[at..];
        at += match first {
            '"' | '\'' | '`' => quoted(rest, first),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '[' => enclosed(rest, '[', ']'),
            '{' => {
                let length = enclosed(rest, '{', '}');
                found.spans.push(at..at + length);
                length
            }
            c if c.is_ascii_digit() || c == '$' => 1 + word(&rest[1..]),
            c if is_of_word(c) => found.name(rest, at),
            c => c.len_utf8(),
        };
    }
    found
}

/// The distinct names of the series that an expression reads; a label-only selector has none.
pub fn series_names(promql: &str) -> Vec<&str> {
    let texts = selectors(promql).texts(promql).into_iter();
    let names = texts.map(|text| text.split('{').next().unwrap_or_default().trim());
    let mut found: Vec<&str> = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

pub fn reads_series(promql: &str) -> bool {
    !selectors(promql).spans.is_empty()
}

/// The expression without its comments, so that it may stand on one line.
pub fn without_comments(promql: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(promql.len()), promql);
    while let Some(first) = rest.chars().next() {
        let (kept, length) = match first {
            '"' | '\'' | '`' => (true, quoted(rest, first)),
            '#' => (false, rest.find('\n').unwrap_or(rest.len())),
            c => (true, c.len_utf8()),
        };
        let (part, after) = rest.split_at(length);
        text.push_str(if kept { part } else { "" });
        rest = after;
    }
    text.truncate(text.trim_end().len());
    text
}

/// The expression with `matcher` in every selector that `needs` it.
pub(super) fn with_matcher(promql: &str, matcher: &str, needs: impl Fn(&str) -> bool) -> String {
    let (mut text, mut at) = (String::with_capacity(promql.len()), 0);
    for span in selectors(promql).spans {
        let selector = &promql[span.clone()];
        text.push_str(&promql[at..span.start]);
        at = span.end;
        if !needs(selector) {
            text.push_str(selector);
            continue;
        }
        match selector.strip_suffix('}').map(str::trim_end) {
            None => text.extend([selector, "{", matcher, "}"]),
            Some(before) => {
                let comma = if before.ends_with(['{', ',']) {
                    ""
                } else {
                    ","
                };
                // Behind a comment the line has to end first.
                let line = if before.contains('#') { "\n" } else { "" };
                text.extend([before, line, comma, matcher, "}"]);
            }
        }
    }
    text.push_str(&promql[at..]);
    text
}

impl Selectors {
    /// Their texts in `promql`, each once.
    pub(super) fn texts<'p>(&self, promql: &'p str) -> Vec<&'p str> {
        let mut texts = Vec::new();
        for span in &self.spans {
            let text = &promql[span.clone()];
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }

    /// Takes the word at the beginning of `text`, at position `at`, and returns the length of its
    /// meaning.
    fn name(&mut self, text: &str, at: usize) -> usize {
        let name = &text[..word(text)];
        let lower = name.to_ascii_lowercase();
        self.relabelled |= RELABELLING.contains(&&*lower);
        let after = text[name.len()..].trim_start();
        let skipped = text.len() - after.len();
        if LABEL_LISTS.contains(&&*lower) && after.starts_with('(') {
            return skipped + enclosed(after, '(', ')');
        }
        let clause = after[..word(after)].to_ascii_lowercase();
        let is_aggregation = clause == "by" || clause == "without";
        if KEYWORDS.contains(&&*lower) || is_aggregation || after.starts_with('(') {
            return name.len();
        }
        let length = if after.starts_with('{') {
            skipped + enclosed(after, '{', '}')
        } else {
            name.len()
        };
        self.spans.push(at..at + length);
        length
    }
}

const fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

fn word(text: &str) -> usize {
    text.find(|c| !is_of_word(c)).unwrap_or(text.len())
}

/// The length of the string at the beginning, its quotes included.
pub(super) fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The length of what the bracket at the beginning encloses, both brackets included.
fn enclosed(text: &str, open: char, close: char) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(c) = text[at..].chars().next() {
        at += match c {
            '"' | '\'' | '`' => quoted(&text[at..], c),
            '#' => text[at..].find('\n').unwrap_or(text.len() - at),
            c => c.len_utf8(),
        };
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_told_from_functions_labels_ranges_and_strings() {
        for (promql, expected) in [
            ("node_load1", &["node_load1"][..]),
            (r#"a{b="c}(d",e=~'f'} "#, &[r#"a{b="c}(d",e=~'f'}"#]),
            (
                "sum by (node, instance) (rate(cpu_total{$exporter,mode=\"idle\"}[$window]))",
                &["cpu_total{$exporter,mode=\"idle\"}"],
            ),
            ("sum(rate(a[5m])) by ($node)", &["a"]),
            ("avg without(cpu) (a:b:rate5m) # c\n* 1e3", &["a:b:rate5m"]),
            ("a - on(node) b offset 5m > bool 0.5", &["a", "b"]),
            ("max_over_time(a[1h:1m] @ start()) or a", &["a"]),
            (
                r#"{__name__="a"} and {"b.c", d="e"}"#,
                &[r#"{__name__="a"}"#, r#"{"b.c", d="e"}"#],
            ),
            ("topk(3, a{}) + vector(1) + NaN", &["a{}"]),
            ("1 + time()", &[]),
            ("a{b=\"", &["a{b=\""]),
            ("sum(((", &[]),
        ] {
            assert_eq!(selectors(promql).texts(promql), expected, "{promql}");
        }
    }

    #[test]
    fn labels_that_are_rewritten_are_noticed() {
        for (promql, relabelled) in [
            ("sum by (node) (a)", false),
            (r#"label_replace(a, "node", "$1", "host", "(.*)")"#, true),
            ("a * on (instance) group_left (nodename) b", true),
            (r#"a{b="label_replace"}"#, false),
        ] {
            assert_eq!(selectors(promql).relabelled, relabelled, "{promql}");
        }
    }

    #[test]
    fn a_matcher_is_put_into_every_selector_that_needs_it() {
        for (promql, expected) in [
            ("a", r#"a{k="1"}"#),
            ("a {}", r#"a {k="1"}"#),
            (r#"a{b="c"}"#, r#"a{b="c",k="1"}"#),
            (r#"a{b="c", }[5m]"#, r#"a{b="c",k="1"}[5m]"#),
            (
                r#"{__name__="a"} or b"#,
                r#"{__name__="a",k="1"} or b{k="1"}"#,
            ),
            (
                r#"sum by (a) (rate(a{$own,b="}"}[5m])) / on (a) c"#,
                r#"sum by (a) (rate(a{$own,b="}"}[5m])) / on (a) c{k="1"}"#,
            ),
            ("1 + time()", "1 + time()"),
        ] {
            let found = with_matcher(promql, r#"k="1""#, |text| !text.contains("$own"));
            assert_eq!(found, expected, "{promql}");
        }
    }

    #[test]
    fn comments_are_dropped_and_strings_that_look_like_them_stay() {
        for (promql, expected) in [
            ("a # b\n+ c # d", "a \n+ c"),
            ("# b\na", "\na"),
            (
                r##"a{b="#1", c='\'#', d=`\`}"##,
                r##"a{b="#1", c='\'#', d=`\`}"##,
            ),
            ("a{b=\"#\", # c\"\n d=\"e\"}", "a{b=\"#\", \n d=\"e\"}"),
            ("#", ""),
        ] {
            assert_eq!(without_comments(promql), expected, "{promql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in r#"[a-z_{}()\[\]"'`\\#$ ,=0-9é]{0,60}"#) {
            let _ = selectors(&text);
            assert_eq!(with_matcher(&text, "k", |_| false), text);
            let _ = without_comments(&text);
        }
    }
}
