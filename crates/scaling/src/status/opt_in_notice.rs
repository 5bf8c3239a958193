//! The condition `NotOptedIn` of CronHPAs, IHPAs, HorizontalPortraits and ReplicaProfiles, with the
//! kind's main condition `False`, until the namespace opts in. The plan of the kind replaces it. If
//! another writer removes it, or the status is unreadable, it is written at most once a minute.

use std::collections::HashMap;

use evenkeel_api::cron_hpa::status::CronHpaStatus;
use evenkeel_api::horizontal_portrait::status::PORTRAIT_GENERATED;
use evenkeel_api::ihpa::status::IhpaStatus;
use evenkeel_api::replica_profile::ReplicaProfileStatus;
use evenkeel_objects::annotations::ENABLED;
use evenkeel_objects::condition::{Condition, ConditionStatus};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

/// The reason of the condition.
pub const NOT_OPTED_IN: &str = "NotOptedIn";

/// The most objects that get the condition in one round, because anyone may create objects.
const AT_ONCE: usize = 8;

/// The least time between two writes of the condition of one object.
const PAUSE: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Clone)]
pub struct UnnoticedObject {
    pub kind: Kind,
    pub metadata: Meta,
}

/// The memory between rounds: the objects with a condition that was written or is due.
#[derive(Debug, Clone, Default)]
pub struct NoticeMemory(HashMap<ObjectRef, ConditionWriteAttempt>);

#[derive(Debug, Clone, Copy)]
struct ConditionWriteAttempt {
    /// The transition time in the condition. It stays, so that a repeated write changes nothing.
    since: Timestamp,
    at: Timestamp,
}

/// The type of the condition that says whether Evenkeel follows an object of the kind.
const fn condition_type(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::CronHpa => Some(CronHpaStatus::READY),
        Kind::Ihpa => Some(IhpaStatus::SCALING_ACTIVE),
        Kind::HorizontalPortrait => Some(PORTRAIT_GENERATED),
        Kind::ReplicaProfile => Some(ReplicaProfileStatus::APPLIED),
        _ => None,
    }
}

/// True if an object with these conditions is to get the condition. Foreign generators write
/// conditions of HorizontalPortraits too, and a list with theirs stays as it is.
pub fn lacks_notice(kind: Kind, conditions: &[Condition]) -> bool {
    let Some(own) = condition_type(kind) else {
        return false;
    };
    let is_told = conditions.iter().any(|one| is_notice(own, one));
    let is_others =
        kind == Kind::HorizontalPortrait && conditions.iter().any(|one| one.kind != own);
    !is_told && !is_others
}

fn is_notice(own: &str, condition: &Condition) -> bool {
    condition.kind == own
        && condition.status == ConditionStatus::False
        && condition.reason == NOT_OPTED_IN
}

pub fn plan(lacking: &[UnnoticedObject], memory: &mut NoticeMemory, now: Timestamp) -> Vec<Write> {
    let objects: HashMap<ObjectRef, &UnnoticedObject> = lacking
        .iter()
        .filter_map(|object| Some((target(object)?, object)))
        .collect();
    let NoticeMemory(attempts) = memory;
    let is_recent = |attempt: &ConditionWriteAttempt| now.duration_since(attempt.at).abs() < PAUSE;
    attempts.retain(|target, attempt| objects.contains_key(target) || is_recent(attempt));
    let mut due: Vec<_> = objects
        .into_iter()
        .map(|(target, object)| (attempts.get(&target).copied(), target, object))
        .filter(|(attempt, ..)| !attempt.as_ref().is_some_and(is_recent))
        .collect();
    due.sort_by(|(one, target, _), (other, next, _)| {
        let at = |attempt: &Option<ConditionWriteAttempt>| attempt.map(|attempt| attempt.at);
        (at(one), target).cmp(&(at(other), next))
    });
    due.truncate(AT_ONCE);
    let write = |(attempt, target, object): (Option<ConditionWriteAttempt>, ObjectRef, &_)| {
        let since = attempt.map_or(now, |attempt| attempt.since);
        attempts.insert(target.clone(), ConditionWriteAttempt { since, at: now });
        write(target, object, since)
    };
    due.into_iter().filter_map(write).collect()
}

fn target(object: &UnnoticedObject) -> Option<ObjectRef> {
    let UnnoticedObject { kind, metadata } = object;
    let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
    Some(ObjectRef::in_namespace(*kind, namespace, name).status())
}

fn write(target: ObjectRef, object: &UnnoticedObject, since: Timestamp) -> Option<Write> {
    let namespace = target.namespace.as_deref()?;
    let message = format!(
        "namespace {namespace} has not opted in: kubectl annotate namespace {namespace} {ENABLED}=true"
    );
    let condition = Condition {
        last_transition_time: since,
        observed_generation: object.metadata.generation,
        ..Condition::new(condition_type(object.kind)?, false, NOT_OPTED_IN, message)
    };
    let body = json!({
        "metadata": {"resourceVersion": object.metadata.resource_version},
        "status": {"conditions": [condition]},
    });
    Some(Write::new(
        Purpose::ScalingStatus,
        target,
        WriteOperation::Merge(body),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [(Kind, &str); 4] = [
        (Kind::CronHpa, "Ready"),
        (Kind::Ihpa, "ScalingActive"),
        (Kind::HorizontalPortrait, "PortraitGenerated"),
        (Kind::ReplicaProfile, "Applied"),
    ];

    fn object(kind: Kind, name: &str) -> UnnoticedObject {
        let metadata = json!({"namespace": "shop", "name": name, "resourceVersion": "7"});
        UnnoticedObject {
            kind,
            metadata: serde_json::from_value(metadata).unwrap(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn each_kind_gets_its_own_condition_and_then_lacks_it_no_more() {
        for (kind, own) in KINDS {
            assert!(lacks_notice(kind, &[]));
            let mut memory = NoticeMemory::default();
            let writes = plan(&[object(kind, "web")], &mut memory, at(60));
            let [write] = &writes[..] else {
                panic!("{writes:?}")
            };
            assert_eq!(write.target.subresource.as_deref(), Some("status"));
            let WriteOperation::Merge(body) = &write.operation else {
                panic!("{write:?}")
            };
            assert_eq!(body["metadata"], json!({"resourceVersion": "7"}));
            let message = "namespace shop has not opted in: kubectl annotate namespace shop \
                 evenkeel.dev/enabled=true";
            let told = json!({"type": own, "status": "False", "reason": "NotOptedIn",
                "message": message, "lastTransitionTime": "1970-01-01T00:01:00Z"});
            assert_eq!(body["status"], json!({"conditions": [told]}));
            let told: Condition = serde_json::from_value(told).unwrap();
            assert!(!lacks_notice(kind, std::slice::from_ref(&told)), "once");
            let other = Condition {
                reason: "Followed".to_owned(),
                ..told.clone()
            };
            assert!(lacks_notice(kind, std::slice::from_ref(&other)));
            let foreign = Condition {
                kind: "Generated".to_owned(),
                ..other
            };
            let replaces = kind != Kind::HorizontalPortrait;
            assert_eq!(lacks_notice(kind, &[foreign]), replaces);
        }
        assert!(!lacks_notice(Kind::Pod, &[]));
    }

    #[test]
    fn all_get_their_turn_and_none_more_than_once_a_minute() {
        let lacking: Vec<_> = (0..30)
            .map(|number| object(Kind::CronHpa, &format!("c{number}")))
            .collect();
        let mut memory = NoticeMemory::default();
        let mut first: HashMap<ObjectRef, (i64, u64)> = HashMap::new();
        for second in 0..60 {
            let writes = plan(&lacking, &mut memory, at(second));
            assert!(writes.len() <= AT_ONCE);
            for write in writes {
                let basis = write.basis();
                assert_eq!(first.insert(write.target, (second, basis)), None);
            }
        }
        assert_eq!(first.len(), lacking.len());
        for second in 60..64 {
            for write in plan(&lacking, &mut memory, at(second)) {
                let (at, basis) = first[&write.target];
                assert_eq!((at + 60, basis), (second, write.basis()), "the same write");
            }
        }
        assert!(plan(&[], &mut memory, at(64)).is_empty());
        assert_eq!(
            plan(&lacking, &mut memory, at(65)),
            [],
            "they got it just now"
        );
        assert!(plan(&[], &mut memory, at(200)).is_empty());
        assert!(memory.0.is_empty());
    }
}
