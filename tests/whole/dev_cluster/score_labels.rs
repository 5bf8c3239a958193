//! Placement without an extender: the scheduler of a managed cluster follows score labels.

use super::*;

const PREFIX: &str = "score.evenkeel.dev/";

/// The label that the Pod's score terms read.
fn label_of(pod: &Pod) -> Option<&str> {
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?;
    let preferred = &affinity
        .node_affinity
        .as_ref()?
        .preferred_during_scheduling_ignored_during_execution;
    let terms = preferred.iter().flatten();
    let keys = terms.flat_map(|term| term.preference.match_expressions.iter().flatten());
    let mut keys = keys.map(|expression| &*expression.key);
    keys.find(|key| key.starts_with(PREFIX))
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_extender_new_pods_read_the_score_labels_of_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        options.speed = Ratio::new(60.0).unwrap();
        options.calls_extender = false;
        let fields = json!({"scheduling": {"scoreLabels": "on"}});
        options.configuration = fields.as_object().unwrap().clone();
    })
    .await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "kube-system");
    let file = maps.get("kube-scheduler").await.unwrap().data.unwrap();
    assert!(!file["config.yaml"].contains("extenders:"));
    // The first Pods of a shape come before its labels; those that are scaled out follow them.
    let mut scaled = 0;
    until(&mut cluster, &mut events, |event| {
        if let DevEvent::PodPlaced { pod, score, .. } = event {
            assert_eq!(score, None, "{pod:?}: the extender was asked");
            scaled += usize::from(pod.name().starts_with("web-"));
        }
        scaled >= 5
    })
    .await;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), "shop");
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    let mut placed = 0;
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        let node = pod.spec.as_ref().unwrap().node_name.as_deref();
        let (Some(label), Some(node)) = (label_of(&pod), node) else {
            continue;
        };
        let node = nodes.get(node).await.unwrap();
        assert!(
            node.labels().contains_key(label),
            "{label} {:?}",
            node.labels()
        );
        placed += 1;
    }
    assert!(placed > 0, "no Pod has score terms");
    cluster.stop().await;
}
