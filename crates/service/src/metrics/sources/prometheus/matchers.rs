//! The operator's label matchers, which select the series that Evenkeel trusts. Any scraped
//! endpoint can expose `node_cpu_seconds_total` with any node's label, but it cannot choose the
//! labels that the scrape job sets. So the built-in queries take matchers for each exporter. The
//! operator names the jobs of other exporters; the job of Evenkeel's own agents is known.

use std::fmt;
use std::str::FromStr;

use super::selectors::with_matcher;

/// The jobs of the agents, as in the manifests; the Prometheus operator puts the PodMonitor's
/// namespace before.
const AGENTS: &str = r#"job=~"(.+/)?evenkeel-agent""#;

/// Matchers as they stand between the braces of a selector; empty for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matchers(Box<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not accepted; accepted: label matchers with values in double quotes, \
     such as job=\"node-exporter\",cluster=~\"a|b\""
)]
pub struct MatchersError(pub String);

impl Matchers {
    /// The series of Evenkeel's agents, where nothing else is said of them.
    pub fn of_agents() -> Self {
        Self(AGENTS.into())
    }
}

impl FromStr for Matchers {
    type Err = MatchersError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut rest = text.trim();
        while !rest.is_empty() {
            rest = after_one(rest).ok_or_else(|| MatchersError(text.to_owned()))?;
        }
        Ok(Self(text.trim().into()))
    }
}

fn after_one(text: &str) -> Option<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let rest = text.trim_start_matches(word);
    if rest.len() == text.len() || text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim_start();
    let operators = ["=~", "!~", "!=", "="];
    let rest = operators.iter().find_map(|op| rest.strip_prefix(op))?;
    let rest = after_string(rest.trim_start())?.trim_start();
    if rest.is_empty() {
        return Some(rest);
    }
    let next = rest.strip_prefix(',')?.trim_start();
    (!next.is_empty()).then_some(next)
}

/// The text behind a string in double quotes, in which `\` escapes.
fn after_string(text: &str) -> Option<&str> {
    let text = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return text.get(at + 1..),
            _ => {}
        }
    }
    None
}

impl fmt::Display for Matchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExporterMatchers {
    /// For all of them, such as the cluster's own label in a Prometheus of several.
    pub all: Matchers,
    /// `$exporter`: node_exporter.
    pub node_exporter: Matchers,
    /// `$cadvisor`: the cAdvisor in kubelet.
    pub cadvisor: Matchers,
    /// `$state`: kube-state-metrics.
    pub kube_state_metrics: Matchers,
    /// `$dcgm`: the DCGM exporter, which knows GPUs.
    pub dcgm_exporter: Matchers,
    /// `$agent`: Evenkeel's own agents.
    pub node_agent: Matchers,
}

impl Default for ExporterMatchers {
    fn default() -> Self {
        Self {
            all: Matchers::default(),
            node_exporter: Matchers::default(),
            cadvisor: Matchers::default(),
            kube_state_metrics: Matchers::default(),
            dcgm_exporter: Matchers::default(),
            node_agent: Matchers::of_agents(),
        }
    }
}

impl ExporterMatchers {
    /// The same with one more list for those that speak of Pods.
    pub(super) fn with_pods(&self, more: &str) -> Self {
        let both = |own: &Matchers| {
            let texts = [&*own.0, more].into_iter();
            let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
            Matchers(texts.join(",").into())
        };
        Self {
            cadvisor: both(&self.cadvisor),
            node_agent: both(&self.node_agent),
            ..self.clone()
        }
    }

    /// Fills in a query's placeholders, and puts the matchers for all exporters into selectors
    /// without one: on a server with several clusters, they keep the clusters apart.
    pub(super) fn fill(&self, query: String) -> String {
        let Self {
            all,
            node_exporter,
            cadvisor,
            kube_state_metrics,
            dcgm_exporter,
            node_agent,
        } = self;
        let places = [
            ("$exporter", node_exporter),
            ("$cadvisor", cadvisor),
            ("$state", kube_state_metrics),
            ("$dcgm", dcgm_exporter),
            ("$agent", node_agent),
        ];
        let query = match &*all.0 {
            "" => query,
            all => {
                // Only where one of Evenkeel's queries has one: first in the braces. Elsewhere it
                // may be a string.
                let is_placed = |text: &str| {
                    let inner = text.split_once('{').map_or("", |(_, inner)| inner);
                    places.iter().any(|(place, _)| inner.starts_with(place))
                };
                with_matcher(&query, all, |selector| !is_placed(selector))
            }
        };
        places.into_iter().fold(query, |query, (place, own)| {
            let both = [&*all.0, &*own.0];
            let both: Vec<&str> = both.into_iter().filter(|text| !text.is_empty()).collect();
            if both.is_empty() {
                let alone = query.replace(&format!("{{{place}}}"), "");
                return alone.replace(&format!("{place},"), "");
            }
            query.replace(place, &both.join(","))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_matchers_are_taken() {
        for (text, good) in [
            ("", true),
            (r#"job="node-exporter""#, true),
            (r#" job = "a" , cluster=~"b|c\"d" "#, true),
            (r#"a!="",_b!~"x{y}""#, true),
            ("job=node", false),
            (r#"job="a"#, false),
            (r#"job="a"}"#, false),
            (r#"job="a",,b="c""#, false),
            (r#"job="a","#, false),
            (r#"job=="a""#, false),
            (r#"1job="a""#, false),
            (r#"="a""#, false),
            (r#"job="a" or b="c""#, false),
        ] {
            assert_eq!(text.parse::<Matchers>().is_ok(), good, "{text:?}");
        }
    }

    #[test]
    fn no_author_of_a_query_keeps_the_matchers_for_all_out() {
        let matchers = ExporterMatchers {
            all: r#"cluster="k""#.parse().unwrap(),
            ..ExporterMatchers::default()
        };
        for (query, filled) in [
            ("up{x!=`$state`}", r#"up{x!=`cluster="k"`,cluster="k"}"#),
            ("up{ # }\n x=\"y\"}", "up{ # }\n x=\"y\"\n,cluster=\"k\"}"),
            (
                "up{x=\"y\" # $state\n}",
                "up{x=\"y\" # cluster=\"k\"\n,cluster=\"k\"}",
            ),
        ] {
            assert_eq!(matchers.fill(query.to_owned()), filled, "{query}");
        }
    }

    #[test]
    fn the_matchers_for_all_are_in_selectors_that_somebody_wrote_without_a_place_for_them() {
        let matchers = ExporterMatchers {
            all: r#"cluster="k""#.parse().unwrap(),
            cadvisor: r#"job="kubelet""#.parse().unwrap(),
            ..ExporterMatchers::default()
        };
        let query = r#"sum(rate(http_total{ns="x"}[2m])) / a{$cadvisor} + b"#;
        assert_eq!(
            matchers.fill(query.to_owned()),
            r#"sum(rate(http_total{ns="x",cluster="k"}[2m])) / a{cluster="k",job="kubelet"} + b{cluster="k"}"#
        );
    }

    #[test]
    fn every_selector_gets_its_matchers_and_none_is_left_half_empty() {
        let query = "a{$exporter} + b{$cadvisor,x=\"1\"} unless c{$state,y=\"2\"}";
        let none = ExporterMatchers::default();
        let plain = "a + b{x=\"1\"} unless c{y=\"2\"}";
        assert_eq!(none.fill(query.to_owned()), plain);
        let some = ExporterMatchers {
            all: r#"cluster="k""#.parse().unwrap(),
            cadvisor: r#"job="kubelet""#.parse().unwrap(),
            ..none.clone()
        };
        assert_eq!(
            some.fill(query.to_owned()),
            r#"a{cluster="k"} + b{cluster="k",job="kubelet",x="1"} unless c{cluster="k",y="2"}"#
        );
        for (matchers, expected) in [
            (&none, r#"a + b{pod="p",x="1"} unless c{y="2"}"#),
            (
                &some,
                r#"a{cluster="k"} + b{cluster="k",job="kubelet",pod="p",x="1"} unless c{cluster="k",y="2"}"#,
            ),
        ] {
            let narrowed = matchers.with_pods(r#"pod="p""#);
            assert_eq!(narrowed.fill(query.to_owned()), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_or_closes_the_selector(text in "[a-z=~!\"\\\\,{} $]{0,24}") {
            if let Ok(matchers) = text.parse::<Matchers>() {
                let mut outside = String::new();
                let (mut quoted, mut escaped) = (false, false);
                for c in matchers.to_string().chars() {
                    match c {
                        _ if escaped => escaped = false,
                        '\\' if quoted => escaped = true,
                        '"' => quoted = !quoted,
                        _ if !quoted => outside.push(c),
                        _ => {}
                    }
                }
                proptest::prop_assert!(!quoted && !outside.contains(['{', '}', '$']), "{}", text);
            }
        }
    }
}
