//! Score labels: whether nodes have them, and programs that react to them. cluster-autoscaler compares
//! the labels of node groups, Karpenter takes a preferred term as required, and the descheduler may
//! evict by preferred terms.

use std::collections::BTreeSet;

use evenkeel_service::config::yaml;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PodSpec};
use serde::Deserialize;

use super::command_line::{flag, variable};
use super::evidence::{CheckFindings, Evidence};
use super::finding_text::{count, named};
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;

pub(super) const LABELS: &str = "score-labels";
pub(super) const NEIGHBOURS: &str = "score-label-neighbours";

/// The plugin of the descheduler, and its mode that reads preferred terms.
const AFFINITY_PLUGIN: &str = "RemovePodsViolatingNodeAffinity";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn written(evidence: &Evidence<'_>) -> CheckFindings {
    let config = evidence.config();
    if config.is_none_or(|config| config.policy.score_labels.is_none()) {
        return Ok(vec![left(evidence)]);
    }
    evidence.seen.nodes.look(LABELS, "the labels of nodes")?;
    let shapes = evidence.seen.score_labels().len();
    Ok(vec![if shapes > 0 {
        let what = format!("nodes have score labels for {}", count(shapes, "shape"));
        DoctorFinding::ok(LABELS, what)
    } else if evidence.opted_in().is_empty() {
        DoctorFinding::ok(
            LABELS,
            "no namespace has opted in, so no node has score labels",
        )
    } else {
        DoctorFinding::warning(
            LABELS,
            "score labels are on, and no node has one",
            format!(
                "see the checks measurements, kill-switch and write-guard, and {}; labels appear once an \
                 opted-in namespace has a Pod",
                evidence.kubectl("logs deployment/evenkeel")
            ),
        )
    }])
}

/// The finding while score labels are off: the leader removes what is left of them.
fn left(evidence: &Evidence<'_>) -> DoctorFinding {
    let shapes = evidence.seen.score_labels().len();
    if shapes == 0 {
        return DoctorFinding::ok(LABELS, "score labels are off");
    }
    DoctorFinding::warning(
        LABELS,
        format!(
            "score labels are off, and nodes still have some for {}",
            count(shapes, "shape")
        ),
        "the leader removes them while writes are enabled; see the check kill-switch",
    )
}

pub(super) fn neighbours(evidence: &Evidence<'_>) -> CheckFindings {
    let seen = evidence.seen;
    let labels = seen.score_labels();
    if labels.is_empty() {
        let what = "no node has score labels";
        return Ok(vec![DoctorFinding::ok(NEIGHBOURS, what)]);
    }
    let Some((autoscalers, policies)) = seen
        .autoscaler_deployments
        .as_ref()
        .zip(seen.descheduler_policies.as_ref())
    else {
        return Ok(Vec::new());
    };
    let autoscalers = autoscalers.look(NEIGHBOURS, "the settings of node autoscalers")?;
    let policies = policies.look(NEIGHBOURS, "the policy of the descheduler")?;
    let autoscalers = autoscalers.map_or(&[][..], Vec::as_slice);
    let policies = policies.map_or(&[][..], Vec::as_slice);
    let balancing = autoscalers
        .iter()
        .filter_map(|deployment| balancing(deployment, &labels));
    let respecting = autoscalers.iter().filter_map(respecting);
    let evicting = policies.iter().filter_map(evicting);
    let mut found: Vec<DoctorFinding> = balancing.chain(respecting).chain(evicting).collect();
    found.extend(unseen(evidence, autoscalers));
    if found.is_empty() {
        let what =
            "no setting of cluster-autoscaler, Karpenter or the descheduler reacts to score labels";
        found.push(DoctorFinding::ok(NEIGHBOURS, what));
    }
    Ok(found)
}

fn pod_spec(deployment: &Deployment) -> Option<&PodSpec> {
    deployment.spec.as_ref()?.template.spec.as_ref()
}

fn is_karpenter(deployment: &Deployment) -> bool {
    let labels = deployment.metadata.labels.as_ref();
    let name = labels.and_then(|labels| labels.get("app.kubernetes.io/name"));
    name.is_some_and(|name| name == "karpenter")
}

fn place(namespace: Option<&String>, name: Option<&String>) -> String {
    let text = |part: Option<&String>| part.cloned().unwrap_or_default();
    format!("{}/{}", text(namespace), text(name))
}

/// A cluster-autoscaler that compares score labels when it balances node groups.
fn balancing(deployment: &Deployment, labels: &BTreeSet<&str>) -> Option<DoctorFinding> {
    let spec = pod_spec(deployment)?;
    let balances = flag(spec, "balance-similar-node-groups").pop()?;
    if balances == "false" || !flag(spec, "balancing-label").is_empty() {
        return None;
    }
    let ignored = flag(spec, "balancing-ignore-label");
    let compared: Vec<&str> = labels
        .iter()
        .copied()
        .filter(|label| !ignored.contains(label))
        .collect();
    if compared.is_empty() {
        return None;
    }
    let metadata = &deployment.metadata;
    let place = place(metadata.namespace.as_ref(), metadata.name.as_ref());
    Some(DoctorFinding::warning(
        NEIGHBOURS,
        format!(
            "cluster-autoscaler ({place}) compares score labels, so similar node groups differ: {}",
            named(&compared)
        ),
        "give it --balancing-label=node.kubernetes.io/instance-type, or \
         --balancing-ignore-label=LABEL for each of these labels",
    ))
}

/// A Karpenter that takes preferred terms as required first.
fn respecting(deployment: &Deployment) -> Option<DoctorFinding> {
    let spec = pod_spec(deployment).filter(|_| is_karpenter(deployment))?;
    let policy = flag(spec, "preference-policy").pop();
    let policy = policy.or_else(|| variable(spec, "PREFERENCE_POLICY"));
    if policy == Some("Ignore") {
        return None;
    }
    let metadata = &deployment.metadata;
    let place = place(metadata.namespace.as_ref(), metadata.name.as_ref());
    Some(DoctorFinding::warning(
        NEIGHBOURS,
        format!(
            "Karpenter ({place}) first takes a score term as required: it keeps more nodes while \
             others have level 0, and gives new nodes a random score label"
        ),
        "set PREFERENCE_POLICY=Ignore (settings.preferencePolicy in its chart); Karpenter then \
         ignores all other preferences of Pods, too",
    ))
}

#[derive(Deserialize)]
struct DeschedulerPolicy {
    #[serde(default)]
    profiles: Vec<DeschedulerProfile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeschedulerProfile {
    #[serde(default)]
    plugin_config: Vec<PluginConfig>,
    #[serde(default)]
    plugins: ProfilePlugins,
}

#[derive(Deserialize)]
struct PluginConfig {
    name: String,
    args: Option<PluginArgs>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PluginArgs {
    #[serde(default)]
    node_affinity_type: Vec<String>,
}

#[derive(Default, Deserialize)]
struct ProfilePlugins {
    #[serde(default)]
    deschedule: PluginSet,
}

#[derive(Default, Deserialize)]
struct PluginSet {
    #[serde(default)]
    enabled: Vec<String>,
}

impl DeschedulerProfile {
    fn evicts_by_preferences(&self) -> bool {
        let enabled = &self.plugins.deschedule.enabled;
        let mut configs = self.plugin_config.iter();
        enabled.iter().any(|name| name == AFFINITY_PLUGIN)
            && configs.any(|config| {
                let args = config.args.iter();
                let mut types = args.flat_map(|args| &args.node_affinity_type);
                config.name == AFFINITY_PLUGIN && types.any(|kind| kind == PREFERRED)
            })
    }
}

/// A descheduler that evicts Pods for which another node has a larger weight.
fn evicting(policy: &ConfigMap) -> Option<DoctorFinding> {
    let files = policy.data.iter().flatten();
    let mut policies = files.filter_map(|(_, text)| yaml::parse::<DeschedulerPolicy>(text).ok());
    let evicts = |policy: DeschedulerPolicy| {
        let mut profiles = policy.profiles.iter();
        profiles.any(DeschedulerProfile::evicts_by_preferences)
    };
    policies.any(evicts).then(|| {
        let metadata = &policy.metadata;
        let place = place(metadata.namespace.as_ref(), metadata.name.as_ref());
        DoctorFinding::error(
            NEIGHBOURS,
            format!(
                "the descheduler ({place}) evicts each Pod that prefers another node, and score \
                 labels give nearly every Pod a better node"
            ),
            format!("remove {PREFERRED} from nodeAffinityType of {AFFINITY_PLUGIN}"),
        )
    })
}

/// Node autoscalers that run outside of the cluster, with settings that cannot be read.
fn unseen(evidence: &Evidence<'_>, deployments: &[Deployment]) -> Option<DoctorFinding> {
    let installed = evidence.seen.node_autoscalers.as_ref()?.there()?;
    let hidden: Vec<&str> = installed
        .iter()
        .map(String::as_str)
        .filter(|name| {
            let karpenter = *name == "Karpenter";
            let mut deployments = deployments.iter();
            !deployments.any(|deployment| is_karpenter(deployment) == karpenter)
        })
        .collect();
    (!hidden.is_empty()).then(|| {
        DoctorFinding::info(
            NEIGHBOURS,
            format!(
                "the settings of {} cannot be read: no Deployment of it is in the cluster",
                named(&hidden)
            ),
            "docs/howto/managed-clusters.md lists the settings that matter",
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(name: &str, command: &[&str], policy: Option<&str>) -> Deployment {
        let variable = policy.map(|value| json!({"name": "PREFERENCE_POLICY", "value": value}));
        let variables: Vec<_> = variable.into_iter().collect();
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"app.kubernetes.io/name": name}},
            "spec": {"selector": {}, "template": {"spec": {"containers": [
                {"name": name, "command": command, "env": variables},
            ]}}},
        }))
        .unwrap()
    }

    #[test]
    fn node_groups_differ_by_the_score_labels_that_are_compared() {
        let labels = ["score.evenkeel.dev/io-d1", "score.evenkeel.dev/normal-c1"];
        let labels: BTreeSet<&str> = labels.into();
        let balance = "--balance-similar-node-groups=true";
        let ignore = |shape: &str| format!("--balancing-ignore-label=score.evenkeel.dev/{shape}");
        let (io, normal) = (ignore("io-d1"), ignore("normal-c1"));
        for (command, compared) in [
            (&["--nodes=1"][..], None),
            (&["--balance-similar-node-groups=false"], None),
            (&[balance], Some("io-d1, score.evenkeel.dev/normal-c1")),
            (
                &[balance, &io],
                Some("differ: score.evenkeel.dev/normal-c1"),
            ),
            (&[balance, &io, &normal], None),
            (&[balance, "--balancing-label=pool"], None),
        ] {
            let found = balancing(&deployment("cluster-autoscaler", command, None), &labels);
            let what = found.map(|finding| finding.what);
            assert_eq!(what.is_some(), compared.is_some(), "{command:?}");
            let names = |compared| what.as_ref().is_some_and(|what| what.contains(compared));
            assert!(compared.is_none_or(names), "{command:?}: {what:?}");
        }
        let found = balancing(
            &deployment("cluster-autoscaler", &[balance], None),
            &[].into(),
        );
        assert_eq!(found, None, "no node has a score label yet");
    }

    #[test]
    fn karpenter_may_ignore_preferences() {
        for (command, policy, is_found) in [
            (&[][..], None, true),
            (&[], Some("Respect"), true),
            (&[], Some("Ignore"), false),
            (&["--preference-policy=Ignore"], None, false),
            (&["--preference-policy", "Respect"], Some("Ignore"), true),
        ] {
            let found = respecting(&deployment("karpenter", command, policy));
            assert_eq!(found.is_some(), is_found, "{command:?} {policy:?}");
        }
        assert_eq!(respecting(&deployment("other", &[], None)), None);
    }

    #[test]
    fn a_descheduler_evicts_by_preferences_only_where_the_plugin_is_enabled_so() {
        let policy = |kinds: &str, enabled: &str| {
            let text = format!(
                "profiles: [{{name: p, pluginConfig: [{{name: {AFFINITY_PLUGIN}, args: \
                 {{nodeAffinityType: [{kinds}]}}}}], plugins: {{deschedule: {{enabled: [{enabled}]}}}}}}]"
            );
            let map = json!({"metadata": {}, "data": {"policy.yaml": text, "other": "a: [b"}});
            serde_json::from_value(map).unwrap()
        };
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let both = format!("{required}, {PREFERRED}");
        for (kinds, enabled, is_found) in [
            (required, AFFINITY_PLUGIN, false),
            (PREFERRED, AFFINITY_PLUGIN, true),
            (&both, AFFINITY_PLUGIN, true),
            (PREFERRED, "RemoveDuplicates", false),
        ] {
            let found = evicting(&policy(kinds, enabled));
            assert_eq!(found.is_some(), is_found, "{kinds} {enabled}");
        }
    }
}
