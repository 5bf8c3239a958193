//! The taints of a node, and which of them are Evenkeel's own. A write replaces `spec.taints` as a
//! whole, so the list keeps other writers' taints verbatim, fields of later versions included.
//! Evenkeel's taints are a closed set of keys for any prefix, so the clean-up finds them without
//! the configuration, and the guard of cluster writes allows no others.

use std::fmt;
use std::str::FromStr;

use evenkeel_units::words;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::json::list;

const DEFAULT_KEY: &str = "evenkeel.dev/overloaded";
/// The name behind every other prefix.
const NAME: &str = "evenkeel-overloaded";

const ACCEPTED: &str = "evenkeel.dev/overloaded, or PREFIX/evenkeel-overloaded with a DNS name as \
                        prefix, such as status-taint.cluster-autoscaler.kubernetes.io/evenkeel-overloaded";

words! {
    /// The effect on Pods that do not tolerate a taint; those that run stay in either case.
    pub enum TaintEffect {
        /// They come last.
        PreferNoSchedule = "PreferNoSchedule",
        /// They do not come.
        NoSchedule = "NoSchedule",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintKey(String);

/// A text that is no key of Evenkeel's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not accepted; accepted: {ACCEPTED}")]
pub struct UnknownTaintKey(String);

impl Default for TaintKey {
    fn default() -> Self {
        Self(DEFAULT_KEY.to_owned())
    }
}

impl FromStr for TaintKey {
    type Err = UnknownTaintKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let prefix = text
            .strip_suffix(NAME)
            .and_then(|rest| rest.strip_suffix('/'));
        if text == DEFAULT_KEY || prefix.is_some_and(is_dns_name) {
            Ok(Self(text.to_owned()))
        } else {
            Err(UnknownTaintKey(text.to_owned()))
        }
    }
}

impl fmt::Display for TaintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A DNS subdomain as prefixes of keys have to be.
fn is_dns_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        !label.is_empty()
            && label.chars().all(|letter| inner(letter) || letter == '-')
            && label.starts_with(inner)
            && label.ends_with(inner)
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taints(Vec<Value>);

impl<'de> Deserialize<'de> for Taints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        list(deserializer).map(Self)
    }
}

impl Taints {
    /// True where one keeps Pods away that do not tolerate it.
    pub fn repel(&self) -> bool {
        let mut effects = self.0.iter().filter_map(|taint| taint["effect"].as_str());
        effects.any(|effect| matches!(effect, "NoSchedule" | "NoExecute"))
    }

    pub fn have(&self, key: &str) -> bool {
        self.0.iter().any(|taint| taint["key"] == key)
    }

    /// Those of Evenkeel, as `kubectl` writes them: `KEY=VALUE:EFFECT`.
    pub fn own(&self) -> Vec<String> {
        let text =
            |taint: &Value, field: &str| taint[field].as_str().unwrap_or_default().to_owned();
        let own = self.0.iter().filter(|taint| is_own(taint));
        own.map(|taint| {
            let [key, value, effect] = ["key", "value", "effect"].map(|field| text(taint, field));
            format!("{key}={value}:{effect}")
        })
        .collect()
    }

    /// The value of the first of Evenkeel's; empty where there is none.
    pub fn own_value(&self) -> &str {
        let own = self.0.iter().find(|taint| is_own(taint));
        own.and_then(|taint| taint["value"].as_str())
            .unwrap_or_default()
    }

    pub fn without_own(&self) -> Self {
        let others = self.0.iter().filter(|taint| !is_own(taint));
        Self(others.cloned().collect())
    }

    /// The list with exactly one of Evenkeel's: an existing one of this key and effect, whatever
    /// its value.
    pub fn with_own(&self, key: &TaintKey, value: &str, effect: TaintEffect) -> Self {
        let mut kept = false;
        let stays = |taint: &&Value| {
            let is_same = taint["key"] == key.0 && taint["effect"] == effect.as_str();
            !is_own(taint) || is_same && !std::mem::replace(&mut kept, true)
        };
        let mut taints: Vec<Value> = self.0.iter().filter(stays).cloned().collect();
        if !kept {
            taints.push(json!({"key": key.0, "value": value, "effect": effect.as_str()}));
        }
        Self(taints)
    }

    /// The value of the field; null where there are none, as the API server leaves it out.
    pub fn to_value(&self) -> Value {
        if self.0.is_empty() {
            Value::Null
        } else {
            Value::from(self.0.clone())
        }
    }
}

fn is_own(taint: &Value) -> bool {
    let key = taint["key"].as_str().map(TaintKey::from_str);
    key.is_some_and(|key| key.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taints(value: &Value) -> Taints {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn a_key_is_ours_by_its_name_whatever_the_prefix() {
        for key in [
            "evenkeel.dev/overloaded",
            "status-taint.cluster-autoscaler.kubernetes.io/evenkeel-overloaded",
            "a/evenkeel-overloaded",
        ] {
            assert_eq!(key.parse::<TaintKey>().unwrap().to_string(), key);
        }
        for key in [
            "",
            "overloaded",
            "evenkeel-overloaded",
            "/evenkeel-overloaded",
            "a/b/evenkeel-overloaded",
            "Team/evenkeel-overloaded",
            "-a/evenkeel-overloaded",
            "a..b/evenkeel-overloaded",
            "evenkeel.dev/overload",
            "node.kubernetes.io/unschedulable",
        ] {
            let error = key.parse::<TaintKey>().unwrap_err().to_string();
            assert!(error.contains("PREFIX/evenkeel-overloaded"), "{error}");
        }
    }

    #[test]
    fn the_others_come_back_as_they_were() {
        let foreign = json!({"key": "gpu", "effect": "NoExecute", "timeAdded": "x", "later": [1]});
        let ours =
            json!({"key": "evenkeel.dev/overloaded", "value": "cpu", "effect": "NoSchedule"});
        let key = TaintKey::default();
        let found = taints(&json!([foreign]));
        let with = found.with_own(&key, "cpu", TaintEffect::NoSchedule);
        assert_eq!(with.to_value(), json!([foreign, ours]));
        assert_eq!(with.own(), ["evenkeel.dev/overloaded=cpu:NoSchedule"]);
        assert_eq!(with.without_own(), found);
        let again = with.with_own(&key, "memory", TaintEffect::NoSchedule);
        assert_eq!(again, with, "on whatever account");
        let softer = with.with_own(&key, "memory", TaintEffect::PreferNoSchedule);
        assert_eq!(
            softer.own(),
            ["evenkeel.dev/overloaded=memory:PreferNoSchedule"]
        );
        let other = "a/evenkeel-overloaded".parse().unwrap();
        let moved = with.with_own(&other, "cpu", TaintEffect::NoSchedule);
        assert_eq!(moved.own(), ["a/evenkeel-overloaded=cpu:NoSchedule"]);
        assert_eq!(taints(&json!([ours])).without_own().to_value(), Value::Null);
    }

    #[test]
    fn what_keeps_pods_away_repels() {
        for (effect, repels) in [
            ("NoSchedule", true),
            ("NoExecute", true),
            ("PreferNoSchedule", false),
        ] {
            let found = taints(&json!([null, {"key": "a", "effect": effect}]));
            assert_eq!(found.repel(), repels, "{effect}");
            assert!(found.have("a") && !found.have("b"));
        }
        assert!(!taints(&Value::Null).repel());
    }
}
