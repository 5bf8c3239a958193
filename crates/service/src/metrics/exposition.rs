//! Reads the text that Prometheus scrapes (OpenMetrics and the older exposition format): samples by
//! name and labels, for the doctor, the view of `dev` and the tests. Types, units, timestamps and
//! exemplars are skipped, as is every line that is not a sample: the reader asks for a few series
//! by name.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exposition {
    samples: Vec<ExpositionSample>,
}

#[derive(Debug, Clone, PartialEq)]
struct ExpositionSample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// Labels that a sample must carry, as pairs of name and value.
pub type ExpositionLabels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self {
            samples: lines.filter_map(sample).collect(),
        }
    }

    /// Sum of the samples of `name` that carry all of `labels`; `None` where there is none.
    pub fn sum(&self, name: &str, labels: ExpositionLabels<'_>) -> Option<f64> {
        self.values(name, labels).reduce(|sum, value| sum + value)
    }

    /// Values of the samples of `name` that carry all of `labels`.
    pub fn values<'a>(
        &'a self,
        name: &'a str,
        labels: ExpositionLabels<'a>,
    ) -> impl Iterator<Item = f64> + 'a {
        let carries = move |sample: &ExpositionSample| {
            let has = |&(key, value): &(&str, &str)| {
                sample.labels.get(key).map(String::as_str) == Some(value)
            };
            labels.iter().all(has)
        };
        let found = self.named(name).filter(move |sample| carries(sample));
        found.map(|sample| sample.value)
    }

    /// Values of the label `key` on samples of `name`, each with the sample's own value.
    pub fn by_label<'a>(
        &'a self,
        name: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = (&'a str, f64)> + 'a {
        self.named(name)
            .filter_map(move |sample| Some((sample.labels.get(key)?.as_str(), sample.value)))
    }

    /// The samples of `name`: the values of their labels by key, and their own.
    pub fn labelled<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (impl Fn(&str) -> Option<&'a str>, f64)> + 'a {
        self.named(name).map(|sample| {
            let label = |key: &str| sample.labels.get(key).map(String::as_str);
            (label, sample.value)
        })
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ExpositionSample> + 'a {
        self.samples
            .iter()
            .filter(move |sample| sample.name == name)
    }
}

fn sample(line: &str) -> Option<ExpositionSample> {
    let (name, rest) = line.split_once(['{', ' '])?;
    let (labels, rest) = if line[name.len()..].starts_with('{') {
        labels(rest)?
    } else {
        (BTreeMap::new(), rest)
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(ExpositionSample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// The labels after an opening brace, and the text that follows the closing one.
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
        let page = Exposition::parse(TEXT);
        assert_eq!(page.sum("calls_total", &[]), Some(5.0));
        assert_eq!(page.sum("calls_total", &[("verb", "filter")]), Some(3.0));
        assert_eq!(
            page.sum("calls_total", &[("path", "say \"x\"\n")]),
            Some(2.0)
        );
        assert_eq!(page.sum("calls_total", &[("path", "/a,b}")]), Some(3.0));
        assert_eq!(page.sum("up", &[]), Some(-1.0));
        assert_eq!(page.sum("calls", &[]), None);
        assert_eq!(page.values("calls_total", &[]).reduce(f64::min), Some(2.0));
        let verbs: Vec<_> = page.by_label("calls_total", "verb").collect();
        assert_eq!(verbs, [("filter", 3.0), ("prioritize", 2.0)]);
    }

    #[test]
    fn what_the_service_encodes_is_read_back() {
        let encoded = crate::telemetry::encode(&crate::telemetry::registry()).unwrap();
        let page = Exposition::parse(&encoded);
        let versions: Vec<_> = page.by_label("evenkeel_build_info", "version").collect();
        assert_eq!(versions, [(env!("CARGO_PKG_VERSION"), 1.0)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[a-z{}=\",\\\\ 0-9\n#é]{0,60}") {
            let page = Exposition::parse(&text);
            prop_assert!(page.samples.len() <= text.lines().count());
        }
    }
}
