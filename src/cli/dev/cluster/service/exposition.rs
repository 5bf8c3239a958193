//! The text that Prometheus reads, as far as sums over some labels go.

struct Sample<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

/// All samples of one answer.
pub(super) struct Exposition<'a>(Vec<Sample<'a>>);

impl<'a> Exposition<'a> {
    /// Reads what has the form `name{label="value",…} number`; the service's own label values have
    /// no quotes in them.
    pub(super) fn parse(text: &'a str) -> Self {
        let sample = |line: &'a str| {
            let (series, value) = line.rsplit_once(' ')?;
            let value = value.parse().ok()?;
            let (name, labels) = match series.split_once('{') {
                Some((name, labels)) => (name, labels.strip_suffix('}')?),
                None => (series, ""),
            };
            Some(Sample {
                name,
                labels,
                value,
            })
        };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.filter_map(sample).collect())
    }

    /// The samples of a metric that carry all of `labels`, each as `name="value"`.
    fn matching(&self, name: &str, labels: &[&str]) -> impl Iterator<Item = f64> {
        self.0
            .iter()
            .filter(move |sample| {
                let has = |label: &&str| sample.labels.split(',').any(|own| own == *label);
                sample.name == name && labels.iter().all(has)
            })
            .map(|sample| sample.value)
    }

    /// Their sum, 0 where there is none.
    pub(super) fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        self.matching(name, labels)
            .fold(0.0, |sum, value| sum + value)
    }

    /// The largest of them.
    pub(super) fn largest(&self, name: &str, labels: &[&str]) -> Option<f64> {
        self.matching(name, labels).reduce(f64::max)
    }

    /// The smallest of them.
    pub(super) fn smallest(&self, name: &str, labels: &[&str]) -> Option<f64> {
        self.matching(name, labels).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_told_apart_by_name_and_labels() {
        let read = Exposition::parse(
            "# TYPE a counter\na_total{x=\"1\",y=\"2\"} 3\na_total{x=\"1\",y=\"4\"} 5\nb 0.5\n# EOF\n",
        );
        assert!((read.sum("a_total", &["x=\"1\""]) - 8.0).abs() < 1e-12);
        assert!((read.sum("a_total", &["x=\"1\"", "y=\"4\""]) - 5.0).abs() < 1e-12);
        assert!(read.sum("a_total", &["x=\"4\""]) < 1e-12);
        assert_eq!(read.largest("a_total", &[]), Some(5.0));
        assert_eq!(read.smallest("b", &[]), Some(0.5));
        assert_eq!(read.smallest("c", &[]), None);
    }
}
