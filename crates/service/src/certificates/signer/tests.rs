use std::sync::Arc;

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_certificates::files::{AUTHORITY_KEYS, SERVER_KEY};
use evenkeel_certificates::rotation_plan::Validity;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::certificates::serving_secret::ServingSecret;
use crate::controller::fake_api::{FakeApi, FakeApiBehavior, eventually};
use crate::server::tls::{Authority, CertificateStore, CertificateUpdate};
use crate::{server, telemetry};

const SECRETS: &str = "/api/v1/namespaces/system/secrets";
const SECRET: &str = "/api/v1/namespaces/system/secrets/certificates";
const SERVING: &str = "/api/v1/namespaces/system/secrets/serving";
const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/evenkeel";

fn signer(api: &FakeApi) -> Signer {
    let day = SignedDuration::from_hours(24);
    let settings = SelfManagedSettings {
        secret_name: "certificates".to_owned(),
        serving_secret_name: "serving".to_owned(),
        names: Names::new(["localhost".to_owned()], []).unwrap(),
        services: vec!["evenkeel".to_owned()],
        validity: Validity::new(day * 3650, day * 90, day * 30).unwrap(),
    };
    Signer::new(
        api.client(),
        "system".to_owned(),
        settings,
        vec![evenkeel_certificates::api_service::EXTERNAL_METRICS],
        SignerMetrics::default(),
    )
}

fn replica(api: &FakeApi) -> ServingSecret {
    ServingSecret::new(api.client(), "system", "serving".to_owned(), true)
}

async fn settle(signer: &Signer) {
    for _ in 0..10 {
        if signer.round().await.unwrap() == SignerRoundOutcome::Rested {
            return;
        }
    }
    panic!("it does not come to rest");
}

async fn within_a_minute(replica: &mut ServingSecret) -> Option<CertificateUpdate> {
    let minute = Duration::from_mins(1);
    tokio::time::timeout(minute, replica.first()).await.ok()
}

fn install_webhook(api: &FakeApi) -> Value {
    let webhook = json!({"name": "pods.evenkeel.dev", "admissionReviewVersions": ["v1"],
                         "sideEffects": "None", "ofVersionsToCome": {"kept": [1, {}]},
                         "clientConfig": {"url": "https://localhost", "and": "here"}});
    let configuration = json!({"metadata": {"name": "evenkeel"}, "webhooks": [webhook]});
    api.set(CONFIGURATION, configuration.clone());
    configuration
}

fn file(api: &FakeApi, secret: &str, file: &str) -> String {
    let text = api.get(secret).unwrap()["data"][file].clone();
    let content = STANDARD.decode(text.as_str().unwrap()).unwrap();
    String::from_utf8(content).unwrap()
}

fn ca_bundle_of(api: &FakeApi) -> String {
    let configuration = api.get(CONFIGURATION).unwrap();
    let bundle = &configuration["webhooks"][0]["clientConfig"]["caBundle"];
    String::from_utf8(STANDARD.decode(bundle.as_str().unwrap()).unwrap()).unwrap()
}

/// The private keys that a Secret holds, of authorities and server.
fn keys(api: &FakeApi) -> Vec<String> {
    let mut found = Vec::new();
    for name in [AUTHORITY_KEYS, "scheduler-ca.key", SERVER_KEY] {
        let text = file(api, SECRET, name);
        let keys = text.split_inclusive("-----END PRIVATE KEY-----\n");
        found.extend(keys.map(str::to_owned));
    }
    found
}

#[tokio::test(start_paused = true)]
async fn a_first_installation_comes_up_by_itself() {
    let api = FakeApi::default();
    install_webhook(&api);
    let mut waiting = replica(&api);
    assert!(within_a_minute(&mut waiting).await.is_none());
    assert_eq!(api.writes(), [], "a replica makes nothing");
    let signer = signer(&api);
    settle(&signer).await;
    let change = within_a_minute(&mut waiting).await.unwrap();
    assert!(change.server.is_some());
    assert!(change.authorities.unwrap().contains(Authority::Scheduler));
    let secrets = || (Method::POST, SECRETS.to_owned());
    let trusted = (Method::PATCH, CONFIGURATION.to_owned());
    assert_eq!(api.writes(), [secrets(), secrets(), trusted]);
    assert_eq!(ca_bundle_of(&api), file(&api, SECRET, "ca.crt"));
}

#[tokio::test(start_paused = true)]
async fn replicas_are_given_no_key_of_an_authority() {
    let api = FakeApi::default();
    settle(&signer(&api)).await;
    let given = api.get(SERVING).unwrap()["data"].clone();
    let files: Vec<&String> = given.as_object().unwrap().keys().collect();
    assert_eq!(files, ["ca.crt", "scheduler-ca.crt", "tls.crt", "tls.key"]);
    assert_eq!(
        file(&api, SERVING, "tls.key"),
        file(&api, SECRET, "tls.key")
    );
    for name in ["ca.crt", "scheduler-ca.crt", "tls.crt"] {
        assert!(!file(&api, SERVING, name).contains("PRIVATE"), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn rounds_keep_the_trust_in_step_and_write_nothing_else() {
    let api = FakeApi::default();
    let signer = signer(&api);
    settle(&signer).await;
    let before = api.writes().len();
    let mut configuration = install_webhook(&api);
    for _ in 0..3 {
        signer.round().await.unwrap();
    }
    let bundle = STANDARD.encode(file(&api, SECRET, "ca.crt"));
    configuration["webhooks"][0]["clientConfig"]["caBundle"] = bundle.into();
    let found = api.get(CONFIGURATION).unwrap();
    assert_eq!(found["webhooks"], configuration["webhooks"]);
    assert_eq!(api.writes().len(), before + 1, "once the caBundle");
    // A user applies the manifest anew, without a caBundle.
    install_webhook(&api);
    settle(&signer).await;
    let found = api.get(CONFIGURATION).unwrap();
    assert_eq!(found["webhooks"], configuration["webhooks"]);
}

#[tokio::test(start_paused = true)]
async fn what_replicas_serve_from_is_put_right_whoever_changed_it() {
    let api = FakeApi::default();
    let signer = signer(&api);
    settle(&signer).await;
    let right = api.get(SERVING).unwrap()["data"].clone();
    let mut damaged = api.get(SERVING).unwrap();
    damaged["data"]["tls.crt"] = "eA==".into();
    damaged["data"]["ca.key"] = "eA==".into();
    api.set(SERVING, damaged);
    settle(&signer).await;
    assert_eq!(api.get(SERVING).unwrap()["data"], right);
    api.remove(SERVING);
    settle(&signer).await;
    assert_eq!(api.get(SERVING).unwrap()["data"], right);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_was_deleted_comes_back_with_other_keys() {
    let api = FakeApi::default();
    install_webhook(&api);
    let (signer, mut serving) = (signer(&api), replica(&api));
    settle(&signer).await;
    // The holders of copies of the leaked keys: the signer, a replica, and the other Secret.
    let change = within_a_minute(&mut serving).await.unwrap();
    let store =
        Arc::new(CertificateStore::new(change, server::ListenerMetrics::default()).unwrap());
    let cancel = CancellationToken::new();
    let running = tokio::spawn(serving.run(Arc::clone(&store), cancel.clone()));
    let leaked = keys(&api);
    assert_eq!(leaked.len(), 3);
    api.remove(SECRET);
    settle(&signer).await;
    let anew = keys(&api);
    assert_eq!(anew.len(), 3);
    assert!(leaked.iter().all(|key| !anew.contains(key)));
    assert_eq!(file(&api, SERVING, "tls.key"), anew[2]);
    assert_eq!(ca_bundle_of(&api), file(&api, SECRET, "ca.crt"));
    eventually("the replica serves the new certificate", || {
        store.current().generation > 0
    })
    .await;
    cancel.cancel();
    running.await.unwrap();
    assert_eq!(keys(&api), anew, "and it stays");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_secret_is_left_as_it_is() {
    let api = FakeApi::default();
    let damaged = json!({"metadata": {"name": "certificates"}, "data": {"tls.crt": "eA=="}});
    api.set(SECRET, damaged);
    let before = api.get(SECRET);
    let signer = signer(&api);
    let mut registry = telemetry::registry();
    signer.metrics.register(&mut registry);
    for _ in 0..3 {
        assert_eq!(signer.turn(|| panic!("nothing is in place")).await, RESTING);
    }
    assert_eq!(api.writes(), []);
    assert_eq!(api.get(SECRET), before);
    let counted = "evenkeel_signer_failures_total{reason=\"FileMissing\"} 3";
    let page = telemetry::encode(&registry).unwrap();
    assert!(page.contains(counted), "{page}");
}

#[tokio::test(start_paused = true)]
async fn a_request_is_taken_up_once_and_both_generations_are_trusted() {
    let api = FakeApi::default();
    install_webhook(&api);
    let signer = signer(&api);
    settle(&signer).await;
    let old = file(&api, SECRET, "ca.crt");
    let old_callers = file(&api, SECRET, "scheduler-ca.crt");
    let mut asked = api.get(SECRET).unwrap();
    asked["metadata"]["annotations"] = json!({"evenkeel.dev/rotate-keys": "24h"});
    api.set(SECRET, asked);
    settle(&signer).await;
    let annotations = api.get(SECRET).unwrap()["metadata"]["annotations"].clone();
    assert!(annotations.get("evenkeel.dev/rotate-keys").is_none());
    assert!(annotations["evenkeel.dev/key-rotation"].is_string());
    for trusted in [ca_bundle_of(&api), file(&api, SERVING, "ca.crt")] {
        assert!(trusted.starts_with(&old) && trusted.len() > old.len());
    }
    let callers = file(&api, SERVING, "scheduler-ca.crt");
    assert!(callers.starts_with(&old_callers) && callers.len() > old_callers.len());
    let writes = api.writes().len();
    settle(&signer).await;
    assert_eq!(api.writes().len(), writes, "nothing more is due for now");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_read_is_counted_and_changes_no_key() {
    let api = FakeApi::default();
    let signer = signer(&api);
    settle(&signer).await;
    let before = keys(&api);
    let mut asked = api.get(SECRET).unwrap();
    asked["metadata"]["annotations"] = json!({"evenkeel.dev/rotate-keys": "at once"});
    api.set(SECRET, asked);
    let mut registry = telemetry::registry();
    signer.metrics.register(&mut registry);
    settle(&signer).await;
    assert_eq!(keys(&api), before);
    let counted = "evenkeel_signer_failures_total{reason=\"InvalidAnnotation\"} 1";
    let page = telemetry::encode(&registry).unwrap();
    assert!(page.contains(counted), "{page}");
}

#[tokio::test(start_paused = true)]
async fn the_certificates_do_not_move_on_while_the_last_step_is_not_in_place() {
    let api = FakeApi::default();
    let signer = signer(&api);
    settle(&signer).await;
    let mut asked = api.get(SECRET).unwrap();
    asked["metadata"]["annotations"] = json!({"evenkeel.dev/rotate-keys": "24h"});
    api.set(SECRET, asked);
    install_webhook(&api);
    // The caBundle cannot be written.
    api.mood(FakeApiBehavior::RefusesWrites(403));
    let before = api.get(SECRET);
    for _ in 0..3 {
        assert_eq!(signer.turn(|| panic!("nothing is in place")).await, RESTING);
    }
    assert_eq!(api.get(SECRET), before);
    api.mood(FakeApiBehavior::Answers);
    settle(&signer).await;
    assert_ne!(api.get(SECRET), before);
}

#[tokio::test(start_paused = true)]
async fn an_api_service_that_cannot_be_led_stops_no_renewal() {
    let api = FakeApi::default();
    let signer = signer(&api);
    settle(&signer).await;
    api.set(API_SERVICE, json!({"metadata": {"annotations": "none"}}));
    let mut asked = api.get(SECRET).unwrap();
    asked["metadata"]["annotations"] = json!({"evenkeel.dev/rotate-keys": "24h"});
    api.set(SECRET, asked);
    let before = file(&api, SECRET, "ca.crt");
    for _ in 0..3 {
        signer
            .turn(|| panic!("the APIService is not in place"))
            .await;
    }
    assert!(
        file(&api, SECRET, "ca.crt").len() > before.len(),
        "both generations"
    );
}

#[tokio::test(start_paused = true)]
async fn a_serving_secret_damaged_later_is_counted_and_changes_nothing() {
    let api = FakeApi::default();
    settle(&signer(&api)).await;
    let mut serving = replica(&api);
    let change = within_a_minute(&mut serving).await.unwrap();
    let metrics = server::ListenerMetrics::default();
    let mut registry = telemetry::registry();
    metrics.register(&mut registry);
    let store = Arc::new(CertificateStore::new(change, metrics).unwrap());
    let mut secret = api.get(SERVING).unwrap();
    secret["data"]["tls.crt"] = "eA==".into();
    api.set(SERVING, secret);
    let cancel = CancellationToken::new();
    let running = tokio::spawn(serving.run(Arc::clone(&store), cancel.clone()));
    let counted = "evenkeel_tls_certificate_reload_failures_total";
    eventually("it is counted", || {
        let page = telemetry::encode(&registry).unwrap();
        page.lines()
            .any(|line| line.starts_with(counted) && line.ends_with(" 1"))
    })
    .await;
    cancel.cancel();
    running.await.unwrap();
    assert_eq!(store.current().generation, 0);
}

const API_SERVICE: &str =
    "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io";

fn lead_external_metrics_to(api: &FakeApi, namespace: &str) {
    let spec = json!({"group": "external.metrics.k8s.io", "version": "v1beta1",
        "service": {"namespace": namespace, "name": "evenkeel"},
        "groupPriorityMinimum": 100, "versionPriority": 100});
    let metadata = json!({"name": "v1beta1.external.metrics.k8s.io"});
    api.set(API_SERVICE, json!({"metadata": metadata, "spec": spec}));
}

#[tokio::test(start_paused = true)]
async fn the_api_service_is_kept_in_step_like_the_webhook_and_anothers_is_left_alone() {
    let api = FakeApi::default();
    install_webhook(&api);
    lead_external_metrics_to(&api, "keda");
    let signer = signer(&api);
    settle(&signer).await;
    let bundle = || api.get(API_SERVICE).unwrap()["spec"]["caBundle"].clone();
    assert!(bundle().is_null(), "it is another's");
    lead_external_metrics_to(&api, "system");
    settle(&signer).await;
    assert_eq!(bundle(), STANDARD.encode(file(&api, SECRET, "ca.crt")));
    let before = ca_bundle_of(&api);
    let mut asked = api.get(SECRET).unwrap();
    asked["metadata"]["annotations"] = json!({"evenkeel.dev/rotate-keys": "24h"});
    api.set(SECRET, asked);
    settle(&signer).await;
    assert!(ca_bundle_of(&api).len() > before.len(), "both generations");
    assert_eq!(bundle(), STANDARD.encode(ca_bundle_of(&api)));
}
