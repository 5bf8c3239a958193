//! The accounts and the jobs that are allowed for external algorithms: rights and guards against a real API server.

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::guard::by_account;
use crate::support::control_plane::manifests;
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

const SHOP: &str = "with-jobs";

fn api(client: &Client, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), SHOP, &resource)
}

/// The spec of a CronJob as a portrait has it.
fn template() -> Value {
    json!({"schedule": "@hourly", "jobTemplate": {"spec": {"template": {"spec": {
        "serviceAccountName": "algorithm", "restartPolicy": "OnFailure",
        "volumes": [{"name": "model", "secret": {"secretName": "model"}}],
        "containers": [{"name": "algorithm", "image": "registry.example/algorithm:1", "args": ["fit"]}]}}}}})
}

/// The CronJob that belongs to a portrait, with a change of its spec or of the Pod's.
fn job(name: &str, uid: &str, spec: &Value, pod: &Value) -> DynamicObject {
    let mut whole = template();
    json_patch::merge(&mut whole["jobTemplate"]["spec"]["template"]["spec"], pod);
    json_patch::merge(&mut whole, spec);
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name,
        "ownerReferences": [{"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "HorizontalPortrait",
            "name": name, "uid": uid, "controller": true}]}, "spec": whole});
    serde_json::from_value(object).expect("a CronJob")
}

/// The harm: a stolen token of a replica ran any template by any ServiceAccount in every namespace that had opted in,
/// for an owner that was made up.
#[allow(clippy::too_many_lines)] // one story of the tokens, step by step
fn a_replica_runs_no_job_and_the_maker_of_jobs_what_portraits_say() {
    with_control_plane(async |plane| {
        manifests::install(plane, 443, None).await;
        let overlay = "deploy/overlays/external-algorithms";
        manifests::grant_with_bindings(&plane.client, overlay).await;
        objects::create_namespace(&plane.client, SHOP, &[("evenkeel.dev/enabled", "true")]).await;
        let portraits = api(
            &plane.client,
            "autoscaling.evenkeel.dev",
            "v1alpha1",
            "HorizontalPortrait",
        );
        let portrait = json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "HorizontalPortrait",
            "metadata": {"name": "web"}, "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "portraitType": "Predictive", "algorithm": {"type": "ExternalJob", "externalJob": {
                    "job": {"type": "CronJob", "cronJob": {"template": {"spec": template()}}},
                    "resultSource": {"type": "ConfigMap"}}}}});
        let portrait = serde_json::from_value(portrait).expect("a portrait");
        let made = portraits.create(&PostParams::default(), &portrait).await;
        let uid = made.expect("it is made").metadata.uid.expect("a UID");

        let replica = by_account(plane, "evenkeel", &[]).await;
        let maker = by_account(plane, "evenkeel-jobs", &[]).await;
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let create = async |client: &Client, job: &DynamicObject| {
            let jobs = api(client, "batch", "v1", "CronJob");
            let made = jobs.create(&params, job).await;
            made.map(drop).map_err(|error| error.to_string())
        };
        let none = json!({});
        let good = job("web", &uid, &none, &none);
        eventually("no job runs that the namespace does not name", async || {
            let said = create(&maker, &good).await.err().unwrap_or_default();
            holds(said.contains("portrait-jobs of the namespace"), || {
                said.clone()
            })
        })
        .await;
        // The replicas write it there.
        let namespaces: Api<DynamicObject> = Api::all_with(
            replica.clone(),
            &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace")),
        );
        let change = json!({"metadata": {"annotations": {"evenkeel.dev/portrait-jobs": uid}}});
        let (by, change) = (PatchParams::default(), Patch::Merge(change));
        let written = namespaces.patch(SHOP, &by, &change).await;
        written.expect("it is written");
        eventually("the job is let through", async || {
            create(&maker, &good).await
        })
        .await;

        let refused = create(&replica, &good)
            .await
            .expect_err("a replica has no right");
        assert!(refused.contains("forbidden"), "{refused}");
        let invented = "11111111-2222-3333-4444-555555555555";
        for (case, job) in [
            ("owner", job("other", invented, &none, &none)),
            (
                "account",
                job("web", &uid, &none, &json!({"serviceAccountName": "admin"})),
            ),
            (
                "no account",
                job("web", &uid, &none, &json!({"serviceAccountName": null})),
            ),
            (
                "node",
                job("web", &uid, &none, &json!({"hostNetwork": true})),
            ),
            (
                "volume",
                job(
                    "web",
                    &uid,
                    &none,
                    &json!({"volumes": [
                {"name": "model", "secret": {"secretName": "other"}}]}),
                ),
            ),
            (
                "image",
                job(
                    "web",
                    &uid,
                    &none,
                    &json!({"containers": [
                {"name": "algorithm", "image": "registry.example/evil:1", "args": ["fit"]}]}),
                ),
            ),
            (
                "command",
                job(
                    "web",
                    &uid,
                    &none,
                    &json!({"containers": [
                {"name": "algorithm", "image": "registry.example/algorithm:1", "args": ["steal"]}]}),
                ),
            ),
            (
                "second container",
                job(
                    "web",
                    &uid,
                    &none,
                    &json!({"containers": [
                {"name": "algorithm", "image": "registry.example/algorithm:1", "args": ["fit"]},
                {"name": "b", "image": "registry.example/algorithm:1", "args": ["fit"]}]}),
                ),
            ),
        ] {
            // There are two guards, each in force a moment after it was made.
            eventually(case, async || {
                let said = create(&maker, &job).await.err().unwrap_or_default();
                holds(said.contains("Evenkeel "), || said.clone())
            })
            .await;
        }
        let suspended = job("other", invented, &json!({"suspend": true}), &none);
        assert_eq!(create(&maker, &suspended).await, Ok(()));
        // The guard does not stop others.
        let theirs = job("theirs", invented, &none, &json!({"hostNetwork": true}));
        assert_eq!(create(&plane.client, &theirs).await, Ok(()));
        manifests::grant(&plane.client, "deploy/base").await;
    });
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_replica_runs_no_job_and_the_maker_of_jobs_what_portraits_say,
]);
