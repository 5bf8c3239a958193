//! The body of a question to the endpoint of an external check.

use std::collections::BTreeMap;

use evenkeel_api::cron_hpa::spec::ScaledRef;
use evenkeel_api::ihpa::status::IhpaReplicaCounts;
use evenkeel_api::replica_counts::ReplicaCounts;
use jiff::Timestamp;
use serde::Serialize;

use super::CheckQuestion;
use crate::staged_change::Direction;

#[derive(Debug, Clone, PartialEq)]
pub struct ChangeAsked {
    pub target: ScaledRef,
    pub direction: Direction,
    pub from: ReplicaCounts,
    /// Those that are to be online in the end.
    pub to: i32,
    /// Those that are to be online by now.
    pub online: i32,
    pub stepped: Option<Timestamp>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckRequestBody<'a> {
    namespace: &'a str,
    name: &'a str,
    target: &'a ScaledRef,
    check: &'a str,
    direction: &'static str,
    from: IhpaReplicaCounts,
    to: i32,
    online: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    stepped_at: Option<Timestamp>,
    config: &'a BTreeMap<String, String>,
}

impl ChangeAsked {
    /// The question as it is sent: JSON.
    pub fn body(&self, question: &CheckQuestion) -> String {
        let Self {
            target,
            direction,
            from,
            to,
            online,
            stepped,
        } = self;
        let body = CheckRequestBody {
            namespace: &question.namespace,
            name: &question.autoscaler,
            target,
            check: &question.check,
            direction: match direction {
                Direction::Up => "Up",
                Direction::Down => "Down",
            },
            from: IhpaReplicaCounts::from(*from),
            to: *to,
            online: *online,
            stepped_at: *stepped,
            config: &question.asked.config,
        };
        serde_json::to_string(&body).expect("plain data with texts as keys")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::SignedDuration;
    use serde_json::{Value, json};

    use super::*;
    use crate::specs::ihpa::{Endpoint, ExternalCheck};

    #[test]
    fn a_question_tells_whose_change_it_is_and_where_that_stands() {
        let question = CheckQuestion {
            namespace: "shop".into(),
            autoscaler: "web".into(),
            check: "smoke".into(),
            asked: Arc::new(ExternalCheck {
                name: "smoke".to_owned(),
                endpoint: Endpoint::Url("https://checks.example/web".to_owned()),
                timeout: SignedDuration::from_secs(5),
                config: [("suite".to_owned(), "\"quick\"".to_owned())].into(),
            }),
        };
        let change = ChangeAsked {
            target: ScaledRef {
                api_version: Some("apps/v1".to_owned()),
                kind: "Deployment".to_owned(),
                name: "web".to_owned(),
            },
            direction: Direction::Down,
            from: ReplicaCounts::all_online(8),
            to: 4,
            online: 6,
            stepped: Some("2026-11-22T08:00:00Z".parse().unwrap()),
        };
        let told: Value = serde_json::from_str(&change.body(&question)).unwrap();
        let mut expected = json!({
            "namespace": "shop", "name": "web", "check": "smoke", "direction": "Down",
            "target": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "from": {"onlineReplicas": 8, "cutoffReplicas": 0, "standbyReplicas": 0},
            "to": 4, "online": 6, "steppedAt": "2026-11-22T08:00:00Z",
            "config": {"suite": "\"quick\""},
        });
        assert_eq!(told, expected);
        let before = ChangeAsked {
            stepped: None,
            ..change
        };
        expected.as_object_mut().unwrap().remove("steppedAt");
        let told: Value = serde_json::from_str(&before.body(&question)).unwrap();
        assert_eq!(told, expected);
    }
}
