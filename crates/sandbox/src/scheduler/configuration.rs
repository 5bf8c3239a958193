//! The parts of a KubeSchedulerConfiguration for extenders and sampling of nodes.

use std::time::Duration;

use evenkeel_placement::NodesToScore;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not YAML, or not of this shape.
    #[error("the scheduler configuration cannot be read: {0}")]
    Malformed(String),
    #[error(
        "percentageOfNodesToScore: {0} is not accepted; accepted: a whole number from 0 to 100; with 0, \
         kube-scheduler decides"
    )]
    Percentage(u32),
    #[error("httpTimeout: {0:?} is not accepted; accepted: a duration such as 200ms")]
    Timeout(String),
    /// Unusable certificates or keys.
    #[error("the extender's tlsConfig cannot be used: {0}")]
    Tls(String),
}

/// The settings of the scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// The share of nodes to look for.
    pub nodes_to_score: NodesToScore,
    /// In the order of calls: those that may not be ignored first.
    pub extenders: Vec<Settings>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub url_prefix: String,
    /// Path, if it filters.
    pub filter: Option<String>,
    /// Path, if it scores.
    pub prioritize: Option<String>,
    /// Path, if it is told of choices.
    pub bind: Option<String>,
    /// Factor of its scores, beside the ten between the two scales.
    pub weight: i64,
    /// Pods are scheduled without it if it does not answer.
    pub ignorable: bool,
    /// Limit of a call.
    pub timeout: Duration,
    /// Its identity and ours.
    pub tls: Tls,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// PEM of its issuers.
    pub authorities: String,
    pub certificate: String,
    pub key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KubeSchedulerConfigJson {
    #[serde(default)]
    percentage_of_nodes_to_score: u32,
    #[serde(default)]
    extenders: Vec<ExtenderFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtenderFile {
    filter_verb: Option<String>,
    prioritize_verb: Option<String>,
    bind_verb: Option<String>,
    #[serde(default)]
    weight: i64,
    #[serde(default)]
    ignorable: bool,
    http_timeout: Option<String>,
}

const TIMEOUT: &str = "5s";

impl Configuration {
    /// Reads a KubeSchedulerConfiguration in YAML; the caller gives place and identity of the
    /// extenders, because the file has those of one installation.
    ///
    /// # Errors
    /// Text of another shape, a percentage above 100, or an invalid duration.
    pub fn read(text: &str, url_prefix: &str, tls: &Tls) -> Result<Self, Error> {
        let value: Value =
            serde_saphyr::from_str(text).map_err(|error| Error::Malformed(error.to_string()))?;
        let file: KubeSchedulerConfigJson =
            serde_json::from_value(value).map_err(|error| Error::Malformed(error.to_string()))?;
        let percent = file.percentage_of_nodes_to_score;
        let nodes_to_score = NodesToScore::new(percent).ok_or(Error::Percentage(percent))?;
        let extender = |file: ExtenderFile| {
            let ExtenderFile {
                filter_verb,
                prioritize_verb,
                bind_verb,
                weight,
                ignorable,
                http_timeout,
            } = file;
            let timeout = http_timeout.as_deref().unwrap_or(TIMEOUT);
            let parsed: Result<jiff::SignedDuration, _> = timeout.parse();
            Ok(Settings {
                url_prefix: url_prefix.to_owned(),
                filter: filter_verb,
                prioritize: prioritize_verb,
                bind: bind_verb,
                weight,
                ignorable,
                timeout: parsed
                    .map_err(|_| Error::Timeout(timeout.to_owned()))?
                    .unsigned_abs(),
                tls: tls.clone(),
            })
        };
        let mut extenders = file
            .extenders
            .into_iter()
            .map(extender)
            .collect::<Result<Vec<_>, _>>()?;
        extenders.sort_by_key(|extender: &Settings| extender.ignorable);
        Ok(Self {
            nodes_to_score,
            extenders,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extenders_that_may_be_ignored_come_last() {
        let text = "
percentageOfNodesToScore: 100
extenders:
  - {urlPrefix: x, filterVerb: filter, prioritizeVerb: prioritize, weight: 5, ignorable: true, httpTimeout: 200ms, nodeCacheCapable: true}
  - {urlPrefix: y, filterVerb: filter}
";
        let read = Configuration::read(text, "https://here", &Tls::default()).unwrap();
        assert_eq!(read.nodes_to_score, NodesToScore::ALL);
        let above = "percentageOfNodesToScore: 101";
        let refused = Configuration::read(above, "", &Tls::default()).unwrap_err();
        assert!(matches!(refused, Error::Percentage(_)), "{refused}");
        let silent = Configuration::read("{}", "", &Tls::default()).unwrap();
        assert_eq!(silent.nodes_to_score.stops_at(5000), 500);
        let [must, may] = &read.extenders[..] else {
            panic!("{read:?}")
        };
        assert_eq!(
            (must.ignorable, must.timeout),
            (false, Duration::from_secs(5))
        );
        assert_eq!((may.weight, may.timeout), (5, Duration::from_millis(200)));
        assert!(Configuration::read("extenders: 3", "", &Tls::default()).is_err());
    }
}
