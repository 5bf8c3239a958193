//! Reading what a replica exports: samples of a metric by name and labels.

use std::collections::BTreeMap;

/// One page of `/metrics`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    samples: Vec<Sample>,
}

#[derive(Debug, Clone, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Page {
    /// Reads OpenMetrics text; what is no sample is skipped.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self {
            samples: lines.filter_map(sample).collect(),
        }
    }

    /// The sum of the samples of `name` that carry all of `labels`; `None` where there is none.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.values(name, labels).reduce(|sum, value| sum + value)
    }

    /// The samples of `name` that carry all of `labels`.
    pub fn values<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = f64> + 'a {
        let carries = move |sample: &Sample| {
            let has = |&(key, value): &(&str, &str)| {
                sample.labels.get(key).map(String::as_str) == Some(value)
            };
            sample.name == name && labels.iter().all(has)
        };
        let found = self.samples.iter().filter(move |sample| carries(sample));
        found.map(|sample| sample.value)
    }

    /// The values of the label `key` on samples of `name`, each with the sample's own value.
    pub fn by_label<'a>(
        &'a self,
        name: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = (&'a str, f64)> + 'a {
        let of_name = self
            .samples
            .iter()
            .filter(move |sample| sample.name == name);
        of_name.filter_map(move |sample| Some((sample.labels.get(key)?.as_str(), sample.value)))
    }
}

fn sample(line: &str) -> Option<Sample> {
    let (name, rest) = line.split_once(['{', ' '])?;
    let (labels, rest) = if line[name.len()..].starts_with('{') {
        labels(rest)?
    } else {
        (BTreeMap::new(), rest)
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// The labels after an opening brace, and what follows the closing one.
fn labels(mut text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        text = text.trim_start_matches(',');
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (key, rest) = text.split_once("=\"")?;
        let (value, rest) = quoted(rest)?;
        labels.insert(key.to_owned(), value);
        text = rest;
    }
}

/// A text up to its closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((position, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[position + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "# HELP calls Calls.\n\
        calls_total{verb=\"filter\",path=\"/a,b}\"} 3\n\
        calls_total{verb=\"prioritize\",path=\"say \\\"x\\\"\\n\"} 2 17.5\n\
        up -1\n\
        nonsense\n\
        # EOF\n";

    #[test]
    fn samples_are_read_by_name_and_labels() {
        let page = Page::parse(TEXT);
        assert_eq!(page.sum("calls_total", &[]), Some(5.0));
        assert_eq!(page.sum("calls_total", &[("verb", "filter")]), Some(3.0));
        assert_eq!(
            page.sum("calls_total", &[("path", "say \"x\"\n")]),
            Some(2.0)
        );
        assert_eq!(page.sum("calls_total", &[("path", "/a,b}")]), Some(3.0));
        assert_eq!(page.sum("up", &[]), Some(-1.0));
        assert_eq!(page.sum("calls", &[]), None);
        let verbs: Vec<_> = page.by_label("calls_total", "verb").collect();
        assert_eq!(verbs, [("filter", 3.0), ("prioritize", 2.0)]);
    }

    #[test]
    fn what_the_service_encodes_is_read_back() {
        let page = Page::parse(&crate::telemetry::encode(&crate::telemetry::registry()).unwrap());
        let versions: Vec<_> = page.by_label("evenkeel_build_info", "version").collect();
        assert_eq!(versions, [(env!("CARGO_PKG_VERSION"), 1.0)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[a-z{}=\",\\\\ 0-9\n#é]{0,60}") {
            let page = Page::parse(&text);
            prop_assert!(page.samples.len() <= text.lines().count());
        }
    }
}
