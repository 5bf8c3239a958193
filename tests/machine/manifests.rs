//! Holds what is installed against the code: paths, ports, names, rights and configuration.
//!
//! The manifests are read as they stand in the repository. The overlays are built with `kubectl
//! kustomize`, which needs no cluster.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

pub(crate) mod read;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use evenkeel_certificates::certificate_secret;
use evenkeel_certificates::certificate_secret::Files;
use evenkeel_objects::annotations::SCORE_LABEL_PREFIX;
use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::plan::WriteOperation;
use evenkeel_objects::scaled_kind::ScaledKind;
use evenkeel_objects::taint::{TaintEffect, TaintKey};
use evenkeel_placement::kube_scheduler_scores::EXTENDER_WEIGHT;
use evenkeel_service::certificates::ServingCertificateSource;
use evenkeel_service::cluster::access;
use evenkeel_service::cluster::access::{Identity, Need, Scope};
use evenkeel_service::config::{Config, ConfigSources};
use evenkeel_service::lifecycle::ShutdownTimeouts;
use evenkeel_service::server::MetricsAuthentication;
use read::{
    base, built, built_in, combined, documents, environment, find, named, overlays, root, strings,
    text,
};
use serde_json::{Value, json};

use crate::support::trial::Requirement;

/// Values on which the manifests have to agree with the code.
mod code {
    pub(super) const NAMESPACE: &str = "evenkeel-system";

    pub(super) use evenkeel_objects::annotations::{
        BOUNDS, DELETION_COST, ENABLED, HEADROOM_RETURNED, ONLINE, POD_DELETION_COST, POD_STATE,
        RESIZED, SCALING_STATUS, TUNING_STATUS,
    };
    pub(super) use evenkeel_service::server::paths::{
        BIND, EXTERNAL_METRICS_VERSION, FILTER, LIVEZ, METRICS, METRICS_PROVIDER_VERSION, MUTATE,
        PREEMPT, PRIORITIZE, READYZ,
    };
}

/// The parts of Pods that a component may grant the patch of.
const OF_PODS: [&str; 3] = ["pods", "pods/status", "pods/resize"];

/// Placeholders of an installation's own values in the scheduler's configuration.
const PLACEHOLDERS: [&str; 4] = ["EXTENDER_IP", "CA_DATA", "CERT_DATA", "KEY_DATA"];

fn configuration(objects: &[Value]) -> Config {
    let sources = ConfigSources {
        file: Some(root().join("deploy/base/config.yaml")),
        environment: environment(find(objects, "Deployment", "evenkeel")),
        flags: Vec::new(),
    };
    Config::load(&sources).unwrap_or_else(|error| panic!("{error}"))
}

fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

fn the_webhook_leads_to_the_path_and_port_that_are_served() {
    let objects = base();
    let webhook = find(&objects, "MutatingWebhookConfiguration", "evenkeel");
    let webhook = &webhook["webhooks"][0];
    let service = &webhook["clientConfig"]["service"];
    assert_eq!(
        service,
        &json!({"namespace": code::NAMESPACE, "name": "evenkeel", "port": 443, "path": code::MUTATE})
    );
    for name in ["evenkeel", "evenkeel-extender"] {
        let service = find(&objects, "Service", name);
        let port = &service["spec"]["ports"][0];
        assert_eq!(port["port"], 443, "{name}");
        assert_eq!(port["targetPort"], "https", "{name}");
    }
}

fn the_webhook_can_stop_no_pod() {
    let objects = base();
    let webhook = find(&objects, "MutatingWebhookConfiguration", "evenkeel");
    let mut webhook = webhook["webhooks"][0].clone();
    let fields = webhook.as_object_mut().unwrap();
    fields.remove("clientConfig");
    assert_eq!(
        webhook,
        json!({
            "name": "pods.evenkeel.dev",
            "rules": [{
                "operations": ["CREATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }],
            "matchPolicy": "Equivalent",
            "namespaceSelector": {"matchExpressions": [{
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", code::NAMESPACE],
            }]},
            "failurePolicy": "Ignore",
            "timeoutSeconds": 1,
            "sideEffects": "None",
            "reinvocationPolicy": "IfNeeded",
            "admissionReviewVersions": ["v1"],
        })
    );
}

fn the_scheduler_calls_the_paths_that_are_served() {
    let mut config = text("webhook-config/scheduler-config.yaml");
    let uncommented: String = config
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect();
    for placeholder in PLACEHOLDERS {
        assert_eq!(uncommented.matches(placeholder).count(), 1, "{placeholder}");
        config = config.replace(placeholder, "10.0.0.1");
    }
    let config: Value = serde_saphyr::from_str(&config).unwrap();
    let extender = &config["extenders"][0];
    let path = |verb: &str| {
        let prefix = extender["urlPrefix"].as_str().unwrap();
        let path = prefix
            .strip_prefix("https://10.0.0.1")
            .expect("the Service's port is 443");
        format!("{path}/{}", extender[verb].as_str().unwrap())
    };
    assert_eq!(path("filterVerb"), code::FILTER);
    assert_eq!(path("prioritizeVerb"), code::PRIORITIZE);
    assert_eq!(path("preemptVerb"), code::PREEMPT);
    assert_eq!(path("bindVerb"), code::BIND);
    assert_eq!(config["percentageOfNodesToScore"], 100);
    let expected = json!({
        "weight": EXTENDER_WEIGHT, "nodeCacheCapable": true, "ignorable": true, "httpTimeout": "200ms",
        "enableHTTPS": true,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&extender[field], value, "{field}");
    }
    let name = format!("evenkeel-extender.{}.svc", code::NAMESPACE);
    assert_eq!(extender["tlsConfig"]["serverName"], name);
}

fn the_unfilled_scheduler_configuration_is_no_valid_one() {
    use base64::Engine;
    let config: Value =
        serde_saphyr::from_str(&text("webhook-config/scheduler-config.yaml")).unwrap();
    let data = config["extenders"][0]["tlsConfig"]["caData"]
        .as_str()
        .unwrap();
    let decoded = base64::engine::general_purpose::STANDARD.decode(data);
    assert!(
        decoded.is_err(),
        "kube-scheduler would start and trust nobody or anybody: {data}"
    );
}

fn both_scheduler_configurations_differ_only_in_where_the_scheduler_runs() {
    let read = |path| -> Value { serde_saphyr::from_str(&text(path)).unwrap() };
    let mut shipped = read("webhook-config/scheduler-config.yaml");
    let mut second = read("deploy/components/second-scheduler/scheduler-config.yaml");
    for config in [&mut shipped, &mut second] {
        let fields = config.as_object_mut().unwrap();
        for own in ["clientConnection", "leaderElection", "profiles"] {
            fields.remove(own);
        }
        let extender = config["extenders"][0].as_object_mut().unwrap();
        let prefix = extender.remove("urlPrefix").unwrap();
        let path = prefix
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        assert_eq!(path, "scheduler");
        let tls = extender["tlsConfig"].as_object_mut().unwrap();
        tls.retain(|field, _| field == "serverName");
    }
    assert_eq!(shipped, second);
}

fn the_containers_ports_are_those_of_the_configuration() {
    let objects = base();
    let config = configuration(&objects);
    let deployment = find(&objects, "Deployment", "evenkeel");
    let ports = &container(deployment)["ports"];
    assert_eq!(
        ports,
        &json!([
            {"name": "https", "containerPort": config.server.https.port()},
            {"name": "metrics", "containerPort": config.server.metrics.port()},
            {"name": "probes", "containerPort": config.server.http.port()},
        ])
    );
    let metrics = find(&objects, "Service", "evenkeel-metrics");
    let port = &metrics["spec"]["ports"][0];
    assert_eq!(port["port"], config.server.metrics.port());
    assert_eq!(port["targetPort"], "metrics");
    for service in objects.iter().filter(|object| object["kind"] == "Service") {
        assert!(!service.to_string().contains("probes"), "{service}");
        assert_eq!(service["spec"]["ipFamilyPolicy"], "PreferDualStack");
    }
    for listener in [
        config.server.https,
        config.server.http,
        config.server.metrics,
    ] {
        assert!(
            listener.ip().is_unspecified() && listener.is_ipv6(),
            "{listener}"
        );
    }
    assert!(config.server.dashboard.ip().is_loopback());
}

fn kubelet_probes_the_paths_that_are_served() {
    let objects = base();
    for name in ["evenkeel", "evenkeel-signer"] {
        let container = container(find(&objects, "Deployment", name));
        for (probe, path) in [
            ("livenessProbe", code::LIVEZ),
            ("readinessProbe", code::READYZ),
        ] {
            let expected = json!({"path": path, "port": "probes"});
            assert_eq!(container[probe]["httpGet"], expected, "{name} {probe}");
        }
    }
}

fn prometheus_shows_its_token_to_a_server_that_it_knows() {
    let objects = base();
    let monitor = &documents("deploy/components/prometheus-operator/service-monitor.yaml")[0];
    let endpoint = &monitor["spec"]["endpoints"][0];
    assert_eq!(endpoint["path"], code::METRICS);
    let service = find(&objects, "Service", "evenkeel-metrics");
    assert_eq!(endpoint["port"], service["spec"]["ports"][0]["name"]);
    assert_eq!(endpoint["scheme"], "https");
    assert!(endpoint["bearerTokenFile"].is_string());
    let ServingCertificateSource::SelfManaged(own) = configuration(&objects).certificates.serving
    else {
        panic!("the base makes its own certificates");
    };
    let tls = &endpoint["tlsConfig"];
    assert!(tls["insecureSkipVerify"].is_null());
    assert_eq!(tls["ca"]["secret"]["name"], own.serving_secret_name);
    let name = tls["serverName"].as_str().unwrap();
    let names = own.services.iter();
    let mut names = names.map(|service| format!("{service}.{}.svc", code::NAMESPACE));
    assert!(names.any(|served| served == name), "{name}");
    let reader = find(&objects, "ClusterRole", "evenkeel-metrics-reader");
    let rule = json!([{"nonResourceURLs": [code::METRICS], "verbs": ["get"]}]);
    assert_eq!(reader["rules"], rule);
}

fn open_metrics_ask_nobody_and_need_no_right_to() {
    let objects = built("deploy/overlays/open-metrics");
    let config = configuration(&objects);
    let open = MetricsAuthentication::None;
    assert_eq!(config.server.metrics_authentication, open);
    let mut needed = access(Identity::Service, Need::Always);
    needed.extend(access(Identity::Service, Need::SelfManagedCertificates));
    assert_eq!(granted(&objects, Identity::Service), needed);
}

/// Components combine, and each knows what of the others it changes.
fn the_service_monitor_follows_the_other_components() {
    let monitor = |components: &[&str]| {
        let components: Vec<_> = components
            .iter()
            .map(|name| format!("deploy/components/{name}"))
            .collect();
        let objects = combined(&components);
        find(&objects, "ServiceMonitor", "evenkeel")["spec"]["endpoints"][0].clone()
    };
    let given = monitor(&["prometheus-operator", "cert-manager"]);
    let secret = &given["tlsConfig"]["ca"]["secret"]["name"];
    assert_eq!(*secret, "evenkeel-serving");
    let open = monitor(&["prometheus-operator", "open-metrics"]);
    assert_eq!(open["scheme"], "http");
    assert!(open["tlsConfig"].is_null() && open["bearerTokenFile"].is_null());
}

/// From the values that the service goes by.
fn the_parts_of_the_end_add_up_to_less_than_the_grace_period() {
    let objects = base();
    let pod = &find(&objects, "Deployment", "evenkeel")["spec"]["template"]["spec"];
    let seconds = |value: &Value| Duration::from_secs(value.as_u64().unwrap());
    let before = seconds(&pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]);
    let ending = ShutdownTimeouts::of(&configuration(&objects));
    let grace = seconds(&pod["terminationGracePeriodSeconds"]);
    let longest = before + ending.longest();
    assert!(longest < grace, "{longest:?}: {before:?} and {ending:?}");
    assert!(
        ending.longest() > ending.drain.timeout,
        "the drain is one part of several"
    );
}

fn pods_have_no_privileges() {
    let second = documents("deploy/components/second-scheduler/deployment.yaml");
    let objects = base();
    let deployments = [
        find(&objects, "Deployment", "evenkeel"),
        find(&objects, "Deployment", "evenkeel-signer"),
        &second[0],
    ];
    let of_deployments = deployments.map(|deployment| &deployment["spec"]["template"]["spec"]);
    let clean_up = &restoring(&objects)["spec"];
    for pod in of_deployments.into_iter().chain([clean_up]) {
        assert_eq!(
            pod["securityContext"],
            json!({
                "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            })
        );
        assert_eq!(
            pod["containers"][0]["securityContext"],
            json!({
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            })
        );
        for field in ["hostNetwork", "hostPID", "hostIPC", "initContainers"] {
            assert!(pod[field].is_null(), "{field}");
        }
    }
    for pod in of_deployments {
        assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    }
    let namespace = find(&objects, "Namespace", code::NAMESPACE);
    let level = &namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
    assert_eq!(level, "restricted");
}

fn the_image_is_of_this_version() {
    let objects = base();
    for name in ["evenkeel", "evenkeel-signer"] {
        let image = container(find(&objects, "Deployment", name))["image"].as_str();
        let tag = image.unwrap().rsplit_once(':').unwrap().1;
        assert_eq!(tag, env!("CARGO_PKG_VERSION"), "{name}");
    }

    // A release pushes the image that they name: its Git tag has a v before the version.
    let release = text(".github/workflows/release.yml");
    assert!(release.contains(r#"--tag "$IMAGE:${GITHUB_REF_NAME#v}""#));
    assert!(release.contains(r#"test "v$version" = "$GITHUB_REF_NAME""#));
}

fn the_configuration_is_where_the_service_looks_for_it() {
    let objects = base();
    let deployment = find(&objects, "Deployment", "evenkeel");
    let container = container(deployment);
    assert_eq!(
        container["args"],
        json!(["serve", "--config", "/etc/evenkeel/config.yaml"])
    );
    let mount = named(&container["volumeMounts"], "config");
    assert_eq!(mount["mountPath"], "/etc/evenkeel");
    assert!(
        mount["subPath"].is_null(),
        "a subPath mount never sees a change"
    );
    let volume = named(&deployment["spec"]["template"]["spec"]["volumes"], "config");
    assert_eq!(volume["configMap"]["name"], "evenkeel");
    let kustomization = &documents("deploy/base/kustomization.yaml")[0];
    let generator = named(&kustomization["configMapGenerator"], "evenkeel");
    assert_eq!(generator["files"], json!(["config.yaml"]));
    assert_eq!(generator["options"]["disableNameSuffixHash"], true);
}

fn the_configuration_is_accepted_and_names_the_objects_that_are_installed() {
    let objects = base();
    let config = configuration(&objects);
    assert!(
        config.unknown_variables.is_empty(),
        "{:?}",
        config.unknown_variables
    );
    let ServingCertificateSource::SelfManaged(own) = &config.certificates.serving else {
        panic!("the base makes its own certificates");
    };
    for service in &own.services {
        find(&objects, "Service", service);
    }
    let names = |identity| -> Vec<(String, String)> {
        let rights = access(identity, Need::SelfManagedCertificates).into_iter();
        let named = rights.filter(|right| !right.name.is_empty());
        named.map(|right| (right.resource, right.name)).collect()
    };
    let secret = |name: &String| ("secrets".to_owned(), name.clone());
    let signers = names(Identity::Signer);
    for service in &own.services {
        let service = ("services".to_owned(), service.clone());
        assert!(signers.contains(&service), "{service:?}");
    }
    assert!(signers.contains(&secret(&own.secret_name)));
    assert!(signers.contains(&secret(&own.serving_secret_name)));
    assert_eq!(names(Identity::Service), [secret(&own.serving_secret_name)]);
    let leases = access(Identity::Service, Need::Always);
    let lease = &config.leader_election.lease_name;
    assert!(
        leases
            .iter()
            .any(|right| right.resource == "leases" && right.name == *lease)
    );
}

/// One verb on one resource, by one name or (empty) by all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    scope: Scope,
    group: String,
    resource: String,
    name: String,
    verb: String,
}

/// The rights that the code of `identity` says it needs for `need`.
fn access(identity: Identity, need: Need) -> BTreeSet<Right> {
    let its = |access: &access::RbacRule<'_>| access.need == need && access.identity == identity;
    rights(access::access().into_iter().filter(its))
}

fn rights<'a>(all: impl IntoIterator<Item = access::RbacRule<'a>>) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for access in all {
        let names: &[&str] = if access.names.is_empty() {
            &[""]
        } else {
            access.names
        };
        for name in names {
            rights.extend(access.verbs.iter().map(|verb| Right {
                scope: access.scope,
                group: access.kind.group().to_owned(),
                resource: access.resource(),
                name: (*name).to_owned(),
                verb: (*verb).to_owned(),
            }));
        }
    }
    rights
}

/// The Role of Kubernetes by which the API server's introductions are read.
const AUTHENTICATION_READER: &str = "extension-apiserver-authentication-reader";

/// The rights that are bound to a ServiceAccount.
fn granted(objects: &[Value], identity: Identity) -> BTreeSet<Right> {
    let account = json!({
        "kind": "ServiceAccount", "namespace": code::NAMESPACE, "name": identity.as_str(),
    });
    let mut rights = BTreeSet::new();
    for binding in objects {
        let scope = match (&binding["kind"], &binding["metadata"]["namespace"]) {
            (Value::String(kind), _) if kind == "ClusterRoleBinding" => Scope::Cluster,
            (Value::String(kind), place) if kind == "RoleBinding" && place == "kube-system" => {
                Scope::KubeSystem
            }
            (Value::String(kind), _) if kind == "RoleBinding" => Scope::OwnNamespace,
            _ => continue,
        };
        if !binding["subjects"].as_array().unwrap().contains(&account) {
            continue;
        }
        if scope == Scope::KubeSystem {
            // A Role of Kubernetes' own, which grants more verbs on the one object than are used.
            assert_eq!(binding["roleRef"]["name"], AUTHENTICATION_READER);
            rights.insert(Right {
                scope,
                group: String::new(),
                resource: "configmaps".to_owned(),
                name: evenkeel_objects::request_header::CONFIG_MAP.to_owned(),
                verb: "get".to_owned(),
            });
            continue;
        }
        if scope == Scope::OwnNamespace {
            assert_eq!(binding["metadata"]["namespace"], code::NAMESPACE);
        }
        let role = &binding["roleRef"];
        let role = find(
            objects,
            role["kind"].as_str().unwrap(),
            role["name"].as_str().unwrap(),
        );
        // A role that takes others in has none of its own.
        for rule in role["rules"].as_array().into_iter().flatten() {
            rights.extend(rule_rights(scope, rule));
        }
    }
    rights
}

fn rule_rights(scope: Scope, rule: &Value) -> Vec<Right> {
    let mut names = strings(&rule["resourceNames"]);
    if names.is_empty() {
        names.push(String::new());
    }
    let mut rights = Vec::new();
    for group in strings(&rule["apiGroups"]) {
        for resource in strings(&rule["resources"]) {
            for name in &names {
                rights.extend(strings(&rule["verbs"]).into_iter().map(|verb| Right {
                    scope,
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                    verb,
                }));
            }
        }
    }
    rights
}

fn the_kinds_that_are_installed_are_those_of_the_code() {
    let installed = documents("deploy/base/custom-resources.yaml");
    let ours = evenkeel_api::custom_resources::definitions();
    assert!(
        installed == ours,
        "run: evenkeel crds > deploy/base/custom-resources.yaml"
    );
}

fn granted_is_what_the_code_calls_and_nothing_else() {
    for identity in [Identity::Service, Identity::Signer, Identity::Kubelets] {
        let mut needed = access(identity, Need::Always);
        needed.extend(access(identity, Need::SelfManagedCertificates));
        needed.extend(access(identity, Need::AuthenticatedMetrics));
        assert!(!needed.is_empty());
        let granted = granted(&base(), identity);
        let missing: Vec<_> = needed.difference(&granted).collect();
        let surplus: Vec<_> = granted.difference(&needed).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{identity:?}: missing {missing:#?} surplus {surplus:#?}"
        );
    }
}

/// An attacker that takes over a replica gets neither the keys of an authority nor the caBundle.
fn replicas_may_read_one_secret_and_change_no_webhook_configuration() {
    let objects = base();
    let secrets: Vec<_> = granted(&objects, Identity::Service)
        .into_iter()
        .filter(|right| {
            assert_ne!(right.resource, "mutatingwebhookconfigurations", "{right:?}");
            // An adapter's metrics are resources of any name, and numbers all of them.
            let is_metric = ["custom", "external"]
                .iter()
                .any(|kind| right.group == format!("{kind}.metrics.k8s.io"));
            let is_named = right.resource != "*" || is_metric;
            assert!(is_named && right.verb != "*", "{right:?}");
            right.resource == "secrets"
        })
        .map(|right| (right.name, right.verb))
        .collect();
    let served = "evenkeel-serving-certificate".to_owned();
    assert_eq!(secrets, [(served, "get".to_owned())]);
    for (deployment, identity) in [
        ("evenkeel", Identity::Service),
        ("evenkeel-signer", Identity::Signer),
    ] {
        let pod = &find(&objects, "Deployment", deployment)["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], identity.as_str());
        for volume in pod["volumes"].as_array().unwrap() {
            assert!(volume["secret"].is_null(), "{deployment}: {volume}");
        }
    }
}

/// `kubectl apply` takes nothing away: the grants by which version 0.1.0 gave its replicas the
/// certificates have to be written over.
fn the_grants_of_the_version_before_are_taken_back() {
    let objects = base();
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        let binding = find(&objects, kind, "evenkeel-certificates");
        let role = kind.strip_suffix("Binding").unwrap();
        assert_eq!(binding["roleRef"]["kind"], role, "it cannot be changed");
        assert_eq!(binding["roleRef"]["name"], "evenkeel-certificates");
        let subjects = binding["subjects"].as_array().unwrap();
        assert!(subjects.iter().all(|one| one["name"] == "evenkeel-signer"));
    }
}

/// An account that may create Secrets of any type may ask for the token of any ServiceAccount beside it.
fn the_signers_guard_follows_the_namespace_and_lets_its_secrets_through() {
    for folder in [vec!["deploy".to_owned()], overlays()].concat() {
        let objects = built_in(&folder, "elsewhere");
        let signs = objects.iter().any(|object| {
            object["kind"] == "Deployment" && object["metadata"]["name"] == "evenkeel-signer"
        });
        let named = "evenkeel-signer-writes";
        let guards = objects
            .iter()
            .filter(|object| object["metadata"]["name"] == named);
        assert_eq!(guards.count(), if signs { 2 } else { 0 }, "{folder}");
        if !signs {
            continue;
        }
        let policy = find(&objects, "ValidatingAdmissionPolicy", named);
        assert!(!policy.to_string().contains(code::NAMESPACE), "{folder}");
        let binding = find(&objects, "ValidatingAdmissionPolicyBinding", named);
        let grant = binding["spec"]["paramRef"]["name"].as_str().unwrap();
        let grant = find(&objects, "ClusterRoleBinding", grant);
        let account = json!({
            "kind": "ServiceAccount", "name": "evenkeel-signer", "namespace": "elsewhere"});
        assert_eq!(grant["subjects"], json!([account]), "{folder}");
        let made = certificate_secret::create("keel", "any", &Files::new()).operation;
        let WriteOperation::Create(made) = made else {
            panic!("a Secret is created");
        };
        let allowed = &policy["spec"]["validations"][0]["expression"];
        let of_type = format!("object.type == {}", made["type"]);
        assert_eq!(allowed, of_type.as_str());
    }
}

fn no_service_leads_to_the_signer_but_the_one_for_metrics() {
    let objects = base();
    let signer = &find(&objects, "Deployment", "evenkeel-signer")["spec"];
    let labels = &signer["template"]["metadata"]["labels"];
    assert_eq!(&signer["selector"]["matchLabels"], labels);
    let policy = find(&objects, "NetworkPolicy", "evenkeel-signer");
    assert_eq!(&policy["spec"]["podSelector"]["matchLabels"], labels);
    let services = objects.iter().filter(|object| object["kind"] == "Service");
    let leading: Vec<_> = services
        .filter(|service| service["spec"]["selector"] == *labels)
        .map(|service| service["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(leading, ["evenkeel-signer-metrics"]);
    let container = container(find(&objects, "Deployment", "evenkeel-signer"));
    let args = strings(&container["args"]);
    assert_eq!(
        args,
        ["certs", "sign", "--config", "/etc/evenkeel/config.yaml"]
    );
    let server = configuration(&objects).server;
    assert_eq!(
        container["ports"],
        json!([
            {"name": "metrics", "containerPort": server.metrics.port()},
            {"name": "probes", "containerPort": server.http.port()},
        ])
    );
    // In plain HTTP, so that no reader's token is sent.
    let monitor = &documents("deploy/components/prometheus-operator/service-monitor.yaml")[0];
    let endpoint = &monitor["spec"]["endpoints"][1];
    let service = find(&objects, "Service", "evenkeel-signer-metrics");
    assert_eq!(endpoint["port"], service["spec"]["ports"][0]["name"]);
    assert_eq!(endpoint["scheme"], "http");
    assert!(endpoint["bearerTokenFile"].is_null());
    assert_eq!(signer["replicas"], 1);
}

/// The Pod template of the job that puts back abandoned floors.
fn restoring(objects: &[Value]) -> &Value {
    let job = find(objects, "CronJob", "evenkeel-restore");
    &job["spec"]["jobTemplate"]["spec"]["template"]
}

/// The rights that the clean-up says it needs for `need`.
fn cleaning(need: Need) -> BTreeSet<Right> {
    let all = access::restoring().into_iter();
    rights(all.filter(|access| access.need == need))
}

fn the_clean_up_runs_by_an_account_that_can_only_put_back() {
    let objects = base();
    let pod = &restoring(&objects)["spec"];
    assert_eq!(pod["serviceAccountName"], "evenkeel-restore");
    find(&objects, "ServiceAccount", "evenkeel-restore");
    let needed = cleaning(Need::Always);
    assert_eq!(granted(&objects, Identity::CleanUp), needed);
    let policy = &find(&objects, "ValidatingAdmissionPolicy", "evenkeel-restores")["spec"];
    let rules = policy["matchConstraints"]["resourceRules"].as_array();
    let guarded: BTreeSet<_> = rules
        .unwrap()
        .iter()
        .flat_map(|rule| strings(&rule["resources"]))
        .collect();
    let patched = needed.into_iter().filter(|right| right.verb == "patch");
    let patched = patched.map(|right| right.resource);
    let patched: BTreeSet<_> = patched.chain(OF_PODS.map(str::to_owned)).collect();
    assert_eq!(guarded, patched);
    let own = named(&policy["variables"], "own")["expression"].to_string();
    for annotation in [
        code::BOUNDS,
        code::SCALING_STATUS,
        code::TUNING_STATUS,
        code::RESIZED,
        code::HEADROOM_RETURNED,
        code::DELETION_COST,
        code::POD_DELETION_COST,
    ] {
        assert!(own.contains(annotation), "{annotation}");
    }
    let kind = "ValidatingAdmissionPolicyBinding";
    let binding = &find(&objects, kind, "evenkeel-restores")["spec"];
    assert_eq!(binding["policyName"], "evenkeel-restores");
    assert_eq!(binding["validationActions"], json!(["Deny"]));
    let grant = find(&objects, "ClusterRoleBinding", "evenkeel-restore");
    assert_eq!(binding["paramRef"]["name"], grant["metadata"]["name"]);
    assert!(!policy.to_string().contains(code::NAMESPACE));
}

fn the_clean_up_is_called_as_the_program_takes_it_and_obeys_the_kill_switch() {
    let objects = base();
    let template = restoring(&objects);
    let container = &template["spec"]["containers"][0];
    assert_eq!(
        container["args"],
        json!([
            "uninstall",
            "--expired",
            "--config",
            "/etc/evenkeel/config.yaml"
        ])
    );
    let mount = named(&container["volumeMounts"], "config");
    assert_eq!(mount["mountPath"], "/etc/evenkeel");
    let volume = named(&template["spec"]["volumes"], "config");
    assert_eq!(volume["configMap"]["name"], "evenkeel");
    let job = &find(&objects, "CronJob", "evenkeel-restore")["spec"];
    assert_eq!(job["schedule"], "*/10 * * * *");
    assert_eq!(job["concurrencyPolicy"], "Forbid");
    let deployment = find(&objects, "Deployment", "evenkeel");
    let service = &deployment["spec"]["template"];
    assert_eq!(
        container["image"],
        service["spec"]["containers"][0]["image"]
    );
    assert_ne!(
        template["metadata"]["labels"], service["metadata"]["labels"],
        "no Service leads to it"
    );
    let policy = find(&objects, "NetworkPolicy", "evenkeel-restore");
    let selected = &policy["spec"]["podSelector"]["matchLabels"];
    assert_eq!(selected, &template["metadata"]["labels"]);
}

fn writes_are_narrowed_to_what_is_written() {
    let objects = base();
    let policy = &find(&objects, "ValidatingAdmissionPolicy", "evenkeel-writes")["spec"];
    let patched: BTreeSet<_> = access(Identity::Service, Need::Always)
        .into_iter()
        // A status is all that its subresource can change, by whomever it is written.
        .filter(|right| right.verb == "patch" && !right.resource.ends_with("/status"))
        // Evenkeel's own kinds have a guard of their own.
        .filter(|right| right.group != "autoscaling.evenkeel.dev")
        .map(|right| (right.group, right.resource))
        // Their patch is granted by components alone; their guard is always there.
        .chain(OF_PODS.map(|resource| (String::new(), resource.to_owned())))
        .collect();
    let rules = policy["matchConstraints"]["resourceRules"].as_array();
    let guarded = rules.unwrap().iter().flat_map(|rule| {
        let group = strings(&rule["apiGroups"]).remove(0);
        let of_group = move |resource| (group.clone(), resource);
        strings(&rule["resources"]).into_iter().map(of_group)
    });
    assert_eq!(patched, guarded.collect());
    let variable = |name: &str| {
        let expression = &named(&policy["variables"], name)["expression"];
        let words = expression.as_str().unwrap().split('"').skip(1).step_by(2);
        let names = patched.iter().flat_map(|(_, name)| name.split('/'));
        let resources: BTreeSet<_> = names.chain([""]).collect();
        words
            .filter(|word| !resources.contains(word))
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(
        variable("ownLabels"),
        BTreeSet::from([code::ENABLED, code::POD_STATE])
    );
    let annotations = [
        code::HEADROOM_RETURNED,
        code::BOUNDS,
        code::SCALING_STATUS,
        code::TUNING_STATUS,
        code::RESIZED,
        code::DELETION_COST,
        code::POD_DELETION_COST,
    ];
    assert_eq!(variable("ownAnnotations"), BTreeSet::from(annotations));
    let bounds = [
        "minReplicas",
        "maxReplicas",
        "minReplicaCount",
        "maxReplicaCount",
        "replicas",
        "taints",
        "containers",
        "initContainers",
    ];
    assert_eq!(variable("bounds"), BTreeSet::from(bounds));
    let binding = find(
        &objects,
        "ValidatingAdmissionPolicyBinding",
        "evenkeel-writes",
    );
    assert_eq!(binding["spec"]["policyName"], "evenkeel-writes");
    assert_eq!(binding["spec"]["validationActions"], json!(["Deny"]));
}

/// The harm: a stolen token could delete and change the ReplicaProfiles and portraits of all namespaces, and give them
/// finalizers and owners.
fn writes_of_own_kinds_are_narrowed_wherever_they_are_granted() {
    let objects = base();
    let policy = &find(
        &objects,
        "ValidatingAdmissionPolicy",
        "evenkeel-own-objects",
    )["spec"];
    assert!(!policy.to_string().contains(code::NAMESPACE));
    let rule = &policy["matchConstraints"]["resourceRules"][0];
    assert_eq!(strings(&rule["apiGroups"]), ["autoscaling.evenkeel.dev"]);
    let guarded: BTreeSet<_> = strings(&rule["resources"]).into_iter().collect();
    let operations = strings(&rule["operations"]);
    // Statuses of kinds of which Evenkeel writes nothing else stay its own to write.
    let are_told = [
        "cronhpas/status",
        "intelligenthorizontalpodautoscalers/status",
    ];
    let mut written = access(Identity::Service, Need::Always);
    written.extend(access(Identity::Service, Need::ReplicaProfiles));
    let written = written
        .into_iter()
        .filter(|right| right.group == "autoscaling.evenkeel.dev")
        .filter(|right| !["get", "list", "watch"].contains(&right.verb.as_str()))
        .filter(|right| !are_told.contains(&right.resource.as_str()));
    let mut count = 0;
    for right in written {
        assert!(guarded.contains(&right.resource), "{}", right.resource);
        let operation = match right.verb.as_str() {
            "create" => "CREATE",
            "patch" => "UPDATE",
            "delete" => "DELETE",
            other => panic!("{other}"),
        };
        assert!(operations.contains(&operation.to_owned()), "{operation}");
        count += 1;
    }
    assert_eq!(count, 7);
    let kind = "ValidatingAdmissionPolicyBinding";
    let binding = &find(&objects, kind, "evenkeel-own-objects")["spec"];
    assert_eq!(binding["policyName"], "evenkeel-own-objects");
    assert_eq!(binding["validationActions"], json!(["Deny"]));
    let grant = binding["paramRef"]["name"].as_str().unwrap();
    let grant = find(&objects, "ClusterRoleBinding", grant);
    assert_eq!(grant["subjects"][0]["name"], Identity::Service.as_str());
}

/// The harm: only administrators of the cluster could let a job write the portrait that it makes.
fn an_admin_of_a_namespace_may_let_others_make_portraits() {
    let objects = base();
    let role = find(&objects, "ClusterRole", "evenkeel-portrait-maker");
    let labels = &role["metadata"]["labels"];
    assert_eq!(
        labels["rbac.authorization.k8s.io/aggregate-to-admin"],
        "true"
    );
    let status = role["rules"]
        .as_array()
        .unwrap()
        .iter()
        .find(|rule| strings(&rule["resources"]) == ["horizontalportraits/status"]);
    let verbs = strings(&status.unwrap()["verbs"]);
    assert_eq!(verbs, ["get", "patch", "update"]);
}

/// In the namespace of any user's overlay, the guard narrows the ServiceAccount with the rights to
/// write there. It does not have a fixed namespace.
fn the_write_guard_follows_the_namespace() {
    for folder in [vec!["deploy".to_owned()], overlays()].concat() {
        let objects = built_in(&folder, "elsewhere");
        let policy = find(&objects, "ValidatingAdmissionPolicy", "evenkeel-writes");
        assert!(!policy.to_string().contains(code::NAMESPACE), "{folder}");
        assert_eq!(
            policy["spec"]["paramKind"],
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"})
        );
        let kind = "ValidatingAdmissionPolicyBinding";
        let parameter = &find(&objects, kind, "evenkeel-writes")["spec"]["paramRef"];
        assert_eq!(parameter["parameterNotFoundAction"], "Allow");
        let grant = parameter["name"].as_str().unwrap();
        let grant = find(&objects, "ClusterRoleBinding", grant);
        let account = json!({
            "kind": "ServiceAccount", "name": "evenkeel", "namespace": "elsewhere"});
        assert_eq!(grant["subjects"], json!([account]), "{folder}");
        let role = grant["roleRef"]["name"].as_str().unwrap();
        let rules = find(&objects, "ClusterRole", role)["rules"].as_array();
        let patches = |rule: &&Value| strings(&rule["verbs"]).contains(&"patch".to_owned());
        assert!(rules.unwrap().iter().any(|rule| patches(&rule)), "{folder}");
        let pods = find(&objects, "Deployment", "evenkeel");
        assert_eq!(pods["metadata"]["namespace"], "elsewhere");
        let runs_as = &pods["spec"]["template"]["spec"]["serviceAccountName"];
        assert_eq!(runs_as, "evenkeel", "{folder}");
    }
}

fn every_selector_finds_the_pods() {
    let objects = base();
    let deployment = &find(&objects, "Deployment", "evenkeel")["spec"];
    let labels = &deployment["template"]["metadata"]["labels"];
    let pod = &deployment["template"]["spec"];
    assert_eq!(&deployment["selector"]["matchLabels"], labels);
    for name in ["evenkeel", "evenkeel-extender", "evenkeel-metrics"] {
        assert_eq!(
            &find(&objects, "Service", name)["spec"]["selector"],
            labels,
            "{name}"
        );
    }
    let budget = find(&objects, "PodDisruptionBudget", "evenkeel");
    assert_eq!(&budget["spec"]["selector"]["matchLabels"], labels);
    let policy = find(&objects, "NetworkPolicy", "evenkeel");
    assert_eq!(&policy["spec"]["podSelector"]["matchLabels"], labels);
    for spread in pod["topologySpreadConstraints"].as_array().unwrap() {
        assert_eq!(&spread["labelSelector"]["matchLabels"], labels);
    }
    assert_eq!(deployment["replicas"], 2);
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
}

fn the_network_policy_admits_callers_that_no_selector_matches() {
    let objects = base();
    let ingress = &find(&objects, "NetworkPolicy", "evenkeel")["spec"]["ingress"];
    let rules = ingress.as_array().unwrap();
    let open = rules.iter().find(|rule| rule["from"].is_null()).unwrap();
    assert_eq!(open["ports"], json!([{"port": "https", "protocol": "TCP"}]));
    let closed = rules.iter().find(|rule| !rule["from"].is_null()).unwrap();
    assert_eq!(
        closed["ports"],
        json!([{"port": "metrics", "protocol": "TCP"}])
    );
    assert_eq!(rules.len(), 2, "and nobody reaches the probes");
}

fn every_overlay_builds() {
    for overlay in overlays() {
        let objects = built(&overlay);
        find(&objects, "Deployment", "evenkeel");
        find(&objects, "MutatingWebhookConfiguration", "evenkeel");
        let config = configuration(&objects);
        let unknown = &config.unknown_variables;
        assert!(unknown.is_empty(), "{overlay}: {unknown:?}");
    }
}

fn the_top_folder_installs_the_base() {
    let objects = built("deploy");
    let kinds = |objects: &[Value]| -> BTreeSet<(String, String)> {
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        objects
            .iter()
            .map(|object| (object["kind"].as_str().unwrap().to_owned(), name(object)))
            .collect()
    };
    let mut expected = kinds(&base());
    expected.insert(("ConfigMap".to_owned(), "evenkeel".to_owned()));
    assert_eq!(kinds(&objects), expected);
    let config = find(&objects, "ConfigMap", "evenkeel")["data"]["config.yaml"].as_str();
    assert_eq!(config, Some(text("deploy/base/config.yaml").as_str()));
}

fn with_cert_manager_evenkeel_has_no_right_to_secrets() {
    let objects = built("deploy/overlays/cert-manager");
    let mut needed = access(Identity::Service, Need::Always);
    needed.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    assert_eq!(granted(&objects, Identity::Service), needed);
    assert!(granted(&objects, Identity::Signer).is_empty());
    let names = objects.iter().map(|object| &object["metadata"]["name"]);
    let signers: Vec<_> = names
        .filter(|name| name.as_str().unwrap().starts_with("evenkeel-signer"))
        .collect();
    assert!(signers.is_empty(), "nobody signs: {signers:?}");
}

fn with_cert_manager_the_configured_files_are_mounted() {
    let objects = built("deploy/overlays/cert-manager");
    let config = configuration(&objects);
    let ServingCertificateSource::Files(files) = &config.certificates.serving else {
        panic!("cert-manager gives files");
    };
    let deployment = find(&objects, "Deployment", "evenkeel");
    let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
    let mounts = container(deployment)["volumeMounts"].as_array().unwrap();
    let mounted: BTreeSet<PathBuf> = mounts
        .iter()
        .flat_map(|mount| {
            let volume = named(volumes, mount["name"].as_str().unwrap());
            let folder = PathBuf::from(mount["mountPath"].as_str().unwrap());
            let items = volume["secret"]["items"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            items
                .into_iter()
                .map(move |item| folder.join(item["path"].as_str().unwrap()))
        })
        .collect();
    let authority = config
        .certificates
        .scheduler_ca
        .clone()
        .expect("callers are authenticated");
    let expected = [
        files.server.certificate.clone(),
        files.server.key.clone(),
        authority,
    ];
    assert_eq!(mounted, BTreeSet::from(expected));
    for volume in volumes.as_array().unwrap() {
        if let Some(secret) = volume["secret"]["secretName"].as_str() {
            let issued = objects.iter().any(|object| {
                object["kind"] == "Certificate" && object["spec"]["secretName"] == secret
            });
            assert!(issued, "{secret} is nobody's");
        }
    }
}

fn with_cert_manager_the_certificate_carries_the_names_that_are_called() {
    let objects = built("deploy/overlays/cert-manager");
    let webhook = find(&objects, "MutatingWebhookConfiguration", "evenkeel");
    let source = webhook["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].as_str();
    let (namespace, name) = source.unwrap().split_once('/').unwrap();
    assert_eq!(namespace, code::NAMESPACE);
    let certificate = find(&objects, "Certificate", name);
    let names = strings(&certificate["spec"]["dnsNames"]);
    for service in ["evenkeel", "evenkeel-extender"] {
        assert!(
            names.contains(&format!("{service}.{}.svc", code::NAMESPACE)),
            "{names:?}"
        );
    }
    let client = find(&objects, "Certificate", "evenkeel-scheduler-client");
    assert_ne!(
        certificate["spec"]["issuerRef"], client["spec"]["issuerRef"],
        "the serving certificate must not open the extender's paths"
    );
}

fn the_narrowed_webhook_still_leaves_out_the_excluded_namespaces() {
    let objects = built("deploy/overlays/narrowed-webhook");
    let narrowed = find(&objects, "MutatingWebhookConfiguration", "evenkeel");
    let mut selector = narrowed["webhooks"][0]["namespaceSelector"].clone();
    let label = selector.as_object_mut().unwrap().remove("matchLabels");
    assert_eq!(label, Some(json!({code::ENABLED: "true"})));
    let base = base();
    let plain = find(&base, "MutatingWebhookConfiguration", "evenkeel");
    assert_eq!(selector, plain["webhooks"][0]["namespaceSelector"]);
}

fn the_second_scheduler_serves_the_name_that_admission_sets() {
    let objects = built("deploy/overlays/second-scheduler");
    let map = objects.iter().find(|object| {
        let name = object["metadata"]["name"].as_str().unwrap();
        object["kind"] == "ConfigMap" && name.starts_with("evenkeel-scheduler-config-")
    });
    let file = map.unwrap()["data"]["scheduler-config.yaml"]
        .as_str()
        .unwrap();
    let config: Value = serde_saphyr::from_str(file).unwrap();
    let variables = environment(find(&objects, "Deployment", "evenkeel"));
    let set = variables
        .iter()
        .find(|(name, _)| name == "EVENKEEL_ADMISSION_SCHEDULER_NAME");
    assert_eq!(
        config["profiles"][0]["schedulerName"],
        set.unwrap().1.as_str()
    );
    let lease = &config["leaderElection"];
    assert_eq!(lease["resourceNamespace"], code::NAMESPACE);
    // Evenkeel looks for the Lease by the name of the scheduler.
    assert_eq!(
        lease["resourceName"],
        config["profiles"][0]["schedulerName"]
    );
    let mut needed = access(Identity::Service, Need::Always);
    needed.extend(access(Identity::Service, Need::SelfManagedCertificates));
    needed.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    needed.extend(access(Identity::Service, Need::SecondScheduler));
    assert_eq!(granted(&objects, Identity::Service), needed);
    let role = find(&objects, "Role", "evenkeel-scheduler");
    assert_eq!(
        role["rules"][1]["resourceNames"],
        json!([lease["resourceName"]])
    );
}

/// The component works at any place beside cert-manager, which leaves no process to write a caBundle.
fn external_metrics_bring_the_rights_and_the_switch_to_whoever_is_there() {
    let external = |identity| access(identity, Need::ExternalMetrics);
    let mut service = access(Identity::Service, Need::Always);
    service.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    service.extend(external(Identity::Service));
    let is_on = |objects: &[Value], name: &str| {
        let variables = environment(find(objects, "Deployment", name));
        let on = (
            "EVENKEEL_SERVER_EXTERNAL_METRICS".to_owned(),
            "true".to_owned(),
        );
        variables.contains(&on)
    };
    let objects = built("deploy/overlays/external-metrics");
    assert!(configuration(&objects).server.external_metrics);
    assert!(is_on(&objects, "evenkeel") && is_on(&objects, "evenkeel-signer"));
    let mut with_secrets = service.clone();
    with_secrets.extend(access(Identity::Service, Need::SelfManagedCertificates));
    assert_eq!(granted(&objects, Identity::Service), with_secrets);
    let mut signer = access(Identity::Signer, Need::SelfManagedCertificates);
    signer.extend(external(Identity::Signer));
    assert_eq!(granted(&objects, Identity::Signer), signer);
    let (own, given) = ("external-metrics", "cert-manager");
    for order in [[own, given], [given, own]] {
        let components = order.map(|name| format!("deploy/components/{name}"));
        let objects = combined(&components);
        assert!(is_on(&objects, "evenkeel"), "{order:?}");
        assert_eq!(granted(&objects, Identity::Service), service, "{order:?}");
        assert!(granted(&objects, Identity::Signer).is_empty(), "{order:?}");
    }
}

/// A process that serves series needs the rights to identify callers, and jobs need a port. Without
/// TLS and tokens, only Pods of namespaces that are labelled for it reach one.
fn the_metrics_provider_brings_its_rights_its_ports_and_its_switch() {
    let provider = |identity| access(identity, Need::MetricsProvider);
    let mut service = access(Identity::Service, Need::Always);
    service.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    service.extend(provider(Identity::Service));
    let mut with_secrets = service.clone();
    with_secrets.extend(access(Identity::Service, Need::SelfManagedCertificates));
    let mut signer = access(Identity::Signer, Need::SelfManagedCertificates);
    signer.extend(provider(Identity::Signer));
    for (overlay, is_plain) in [
        ("metrics-provider", false),
        ("metrics-provider-plaintext", true),
    ] {
        let objects = built(&format!("deploy/overlays/{overlay}"));
        let settings = configuration(&objects).metrics_provider.unwrap();
        assert_eq!(settings.grpc.unwrap().port(), 8445);
        let plaintext = settings.plaintext_grpc.map(|address| address.port());
        assert_eq!(plaintext, is_plain.then_some(8446));
        let signs = environment(find(&objects, "Deployment", "evenkeel-signer"));
        assert!(signs.contains(&(
            "EVENKEEL_METRICS_PROVIDER_ENABLED".to_owned(),
            "true".to_owned()
        )));
        assert_eq!(
            granted(&objects, Identity::Service),
            with_secrets,
            "{overlay}"
        );
        assert_eq!(granted(&objects, Identity::Signer), signer, "{overlay}");
        let ports = |object: &Value| -> Vec<(Value, Value)> {
            let ports = object["spec"]["ports"].as_array().unwrap().iter();
            ports
                .map(|port| (port["name"].clone(), port["port"].clone()))
                .collect()
        };
        let mut expected = vec![(json!("https"), json!(443)), (json!("grpc"), json!(8445))];
        expected.extend(is_plain.then(|| (json!("plaintext-grpc"), json!(8446))));
        assert_eq!(ports(find(&objects, "Service", "evenkeel")), expected);
        let policy = find(&objects, "NetworkPolicy", "evenkeel");
        let rules = policy["spec"]["ingress"].as_array().unwrap();
        let rule = |name: &str| rules.iter().find(|rule| rule["ports"][0]["port"] == name);
        assert_eq!(
            rule("grpc").unwrap()["from"],
            json!([{"namespaceSelector": {}}])
        );
        let labelled = json!([{"namespaceSelector": {"matchLabels":
            {"evenkeel.dev/plaintext-metrics": "true"}}}]);
        let from = rule("plaintext-grpc").map(|rule| &rule["from"]);
        assert_eq!(from, is_plain.then_some(&labelled));
    }
    let (own, given) = ("metrics-provider", "cert-manager");
    for order in [[own, given], [given, own]] {
        let components = order.map(|name| format!("deploy/components/{name}"));
        let objects = combined(&components);
        assert_eq!(granted(&objects, Identity::Service), service, "{order:?}");
        assert!(granted(&objects, Identity::Signer).is_empty(), "{order:?}");
    }
}

/// The role for callers of series holds the rights that every question takes.
fn the_reader_of_series_may_ask_every_question() {
    use evenkeel_metrics::series_query::{QueryKind as K, WrittenQuery};
    let objects = built("deploy/overlays/metrics-provider");
    let role = find(&objects, "ClusterRole", "evenkeel-metrics-provider-reader");
    let rules = role["rules"].as_array().unwrap();
    let grants = |list: &Value, wanted: &str| {
        let words = list.as_array().unwrap();
        words.iter().any(|word| word == wanted || word == "*")
    };
    for kind in K::ALL {
        let is = |kinds: &[K], text: &str| {
            if kinds.contains(&kind) {
                text.to_owned()
            } else {
                String::new()
            }
        };
        let uses = [
            K::PodResource,
            K::ContainerResource,
            K::WorkloadResource,
            K::WorkloadContainerResource,
        ];
        let metrics = [K::Object, K::External, K::WorkloadExternal];
        let workloads = [
            K::WorkloadResource,
            K::WorkloadContainerResource,
            K::WorkloadExternal,
            K::Object,
        ];
        let written = WrittenQuery {
            namespace: "shop".to_owned(),
            name: if kind == K::External {
                String::new()
            } else {
                "web".to_owned()
            },
            kind: is(&workloads, "Deployment"),
            group: is(&workloads, "apps"),
            resource: is(&uses, "cpu"),
            container: is(&[K::ContainerResource, K::WorkloadContainerResource], "app"),
            metric: is(&metrics, "rps"),
            ..WrittenQuery::default()
        };
        for right in written.check(kind).unwrap().rights() {
            let (group, verb) = (right.group.unwrap(), right.verb.unwrap());
            let resource = right.resource.unwrap();
            let is_granted = rules.iter().any(|rule| {
                grants(&rule["apiGroups"], &group)
                    && grants(&rule["resources"], &resource)
                    && grants(&rule["verbs"], &verb)
            });
            assert!(is_granted, "{verb} {resource}.{group}");
        }
    }
}

/// The rights to Rollouts and CloneSets are those that scaling any custom resource takes, and the guard
/// narrows what they allow.
fn custom_kinds_bring_the_rights_of_each_kind_and_the_guard_of_its_writes() {
    let objects = built("deploy/overlays/custom-kinds");
    let taken_in = find(&objects, "ClusterRole", "evenkeel-custom-kinds");
    let labels = &taken_in["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"];
    let labels = labels.as_object().unwrap();
    let policy = &find(&objects, "ValidatingAdmissionPolicy", "evenkeel-writes")["spec"];
    let guarded = policy["matchConstraints"]["resourceRules"]
        .as_array()
        .unwrap();
    for (role, version, kind, plural) in [
        (
            "evenkeel-argo-rollouts",
            "argoproj.io/v1alpha1",
            "Rollout",
            "rollouts",
        ),
        (
            "evenkeel-openkruise",
            "apps.kruise.io/v1alpha1",
            "CloneSet",
            "clonesets",
        ),
    ] {
        let scaled = ScaledKind::new(version, kind).unwrap();
        let (group, version) = version.split_once('/').unwrap();
        let definition = json!({"spec": {"versions": [
            {"name": version, "subresources": {"scale": {}}}]}});
        let definition = serde_json::from_value(definition).unwrap();
        let found = scaled.found(plural, Some(definition)).unwrap();
        let definition = scaled.definition(plural);
        let needed = rights(access::scaling(found.into_kind(), &[&definition]));
        let granting = find(&objects, "ClusterRole", role);
        let rules = granting["rules"].as_array().unwrap().iter();
        let granted: BTreeSet<Right> = rules
            .flat_map(|rule| rule_rights(Scope::Cluster, rule))
            .collect();
        assert_eq!(granted, needed, "{kind}");
        for (key, value) in labels {
            assert_eq!(granting["metadata"]["labels"][key], *value, "{kind}");
        }
        let narrowed = guarded
            .iter()
            .find(|rule| rule["apiGroups"] == json!([group]));
        let patched = [plural.to_owned(), format!("{plural}/scale")];
        assert_eq!(strings(&narrowed.unwrap()["resources"]), patched, "{kind}");
    }
    let binding = find(&objects, "ClusterRoleBinding", "evenkeel-custom-kinds");
    assert_eq!(binding["subjects"][0]["name"], Identity::Service.as_str());
}

/// An account that could set taints could keep all Pods from every node: the base lets none be set.
fn taints_are_set_only_with_their_component() {
    let may_taint = |objects: &[Value]| {
        let policy = find(objects, "ValidatingAdmissionPolicy", "evenkeel-writes");
        named(&policy["spec"]["variables"], "mayTaint")["expression"].clone()
    };
    let objects = base();
    assert_eq!(may_taint(&objects), "false");
    assert_eq!(configuration(&objects).overload.effect, None);
    let objects = built("deploy/overlays/overload-taints");
    assert_eq!(may_taint(&objects), "true");
    let effect = configuration(&objects).overload.effect;
    assert_eq!(effect, Some(TaintEffect::NoSchedule));
}

/// An account that could set labels could have all new Pods prefer one node: the base lets none be set.
fn score_labels_are_set_only_with_their_component() {
    let may_score = |objects: &[Value]| {
        let policy = find(objects, "ValidatingAdmissionPolicy", "evenkeel-writes");
        named(&policy["spec"]["variables"], "mayScore")["expression"].clone()
    };
    let objects = base();
    assert_eq!(may_score(&objects), "false");
    assert_eq!(configuration(&objects).policy.score_labels, None);
    let objects = built("deploy/overlays/score-labels");
    assert_eq!(may_score(&objects), "true");
    assert!(configuration(&objects).policy.score_labels.is_some());
    for policy in ["evenkeel-writes", "evenkeel-restores"] {
        let policy = find(&objects, "ValidatingAdmissionPolicy", policy)["spec"].to_string();
        let prefix = format!("\\\"{SCORE_LABEL_PREFIX}\\\"");
        assert!(policy.contains(&prefix), "{policy}");
    }
}

/// Applying the base over an overlay takes away nothing that a component granted: the guards do not
/// come with the components.
fn the_guards_look_at_pods_whichever_components_there_are() {
    for folder in [vec!["deploy".to_owned()], overlays()].concat() {
        let objects = built(&folder);
        for policy in ["evenkeel-writes", "evenkeel-restores"] {
            let policy = &find(&objects, "ValidatingAdmissionPolicy", policy)["spec"];
            let rules = policy["matchConstraints"]["resourceRules"].as_array();
            let guarded = rules
                .unwrap()
                .iter()
                .flat_map(|rule| strings(&rule["resources"]));
            let guarded: BTreeSet<_> = guarded.collect();
            for resource in OF_PODS {
                assert!(guarded.contains(resource), "{folder} {guarded:?}");
            }
        }
    }
}

/// An account that could patch Pods could change what they run: the base grants this to no account.
fn pods_are_given_costs_of_deletion_only_with_their_component() {
    assert!(!configuration(&base()).cluster.balances_scale_in);
    let objects = built("deploy/overlays/scale-in-balance");
    assert!(configuration(&objects).cluster.balances_scale_in);
    let mut service = access(Identity::Service, Need::Always);
    service.extend(access(Identity::Service, Need::SelfManagedCertificates));
    service.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    service.extend(access(Identity::Service, Need::ScaleInBalance));
    assert_eq!(granted(&objects, Identity::Service), service);
    let mut clean_up = cleaning(Need::Always);
    clean_up.extend(cleaning(Need::ScaleInBalance));
    assert_eq!(granted(&objects, Identity::CleanUp), clean_up);
    let job = &restoring(&objects)["spec"]["containers"][0]["env"];
    let switch = named(job, "EVENKEEL_SCHEDULING_SCALE_IN");
    assert_eq!(switch["value"], "balance");
}

/// An account that may patch the status of any Pod can take it out of any Service.
fn pods_are_taken_out_of_traffic_only_with_their_component() {
    assert!(!configuration(&base()).scaling.follows_profiles);
    let objects = built("deploy/overlays/replica-profiles");
    assert!(configuration(&objects).scaling.follows_profiles);
    let mut service = access(Identity::Service, Need::Always);
    service.extend(access(Identity::Service, Need::SelfManagedCertificates));
    service.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    service.extend(access(Identity::Service, Need::ReplicaProfiles));
    assert_eq!(granted(&objects, Identity::Service), service);
    let mut clean_up = cleaning(Need::Always);
    clean_up.extend(cleaning(Need::ReplicaProfiles));
    assert_eq!(granted(&objects, Identity::CleanUp), clean_up);
    for policy in ["evenkeel-writes", "evenkeel-restores"] {
        let policy = &find(&objects, "ValidatingAdmissionPolicy", policy)["spec"];
        let text = policy.to_string();
        assert!(text.contains(code::ONLINE) && text.contains(code::POD_STATE));
    }
    let job = &restoring(&objects)["spec"]["containers"][0]["env"];
    let switch = named(job, "EVENKEEL_SCALING_REPLICA_PROFILES");
    assert_eq!(switch["value"], "on");
}

/// The one Pod of Evenkeel's that is the node's root, and mounts of its node: with nothing else to go with it.
fn the_agent_of_a_node_reaches_three_of_its_files_and_has_no_capability() {
    let objects = built("deploy/overlays/node-agent");
    let agents = find(&objects, "DaemonSet", "evenkeel-agent");
    let pod = &agents["spec"]["template"]["spec"];
    let container = container(agents);
    let owner = json!({
        "runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"},
    });
    assert_eq!(pod["securityContext"], owner);
    let narrow = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    assert_eq!(container["securityContext"], narrow);
    for field in ["hostNetwork", "hostPID", "hostIPC", "initContainers"] {
        assert!(pod[field].is_null(), "{field}");
    }
    let mounts = container["volumeMounts"].as_array().unwrap().iter();
    let mounted: BTreeSet<_> = mounts
        .map(|mount| {
            let volume = named(&pod["volumes"], mount["name"].as_str().unwrap());
            let path = volume["hostPath"]["path"].as_str().unwrap_or_default();
            (path, mount["readOnly"] == true)
        })
        .collect();
    let expected = [
        ("", true),
        ("/proc/1/mountinfo", true),
        ("/run/evenkeel-agent", false),
        ("/sys/fs/cgroup/kubepods.slice", false),
    ];
    assert_eq!(mounted, BTreeSet::from(expected));
    let level = |objects: &[Value]| {
        let namespace = find(objects, "Namespace", code::NAMESPACE);
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].clone()
    };
    assert_eq!(level(&objects), "privileged");
    assert_eq!(level(&base()), "restricted", "without it");
}

fn agents_have_the_rights_that_they_use_and_nobody_more_for_them() {
    let objects = built("deploy/overlays/node-agent");
    let needed = rights(access::of_agents());
    assert_eq!(granted(&objects, Identity::NodeAgent), needed);
    assert!(
        needed
            .iter()
            .all(|right| right.verb != "patch" && right.verb != "update")
    );
    let base = base();
    assert!(granted(&base, Identity::NodeAgent).is_empty());
    for identity in [Identity::Service, Identity::Signer, Identity::CleanUp] {
        assert_eq!(
            granted(&objects, identity),
            granted(&base, identity),
            "{identity:?}"
        );
    }
    let pod = &find(&objects, "DaemonSet", "evenkeel-agent")["spec"]["template"];
    assert_eq!(
        pod["spec"]["serviceAccountName"],
        Identity::NodeAgent.as_str()
    );
    find(&objects, "ServiceAccount", Identity::NodeAgent.as_str());
    let labels = &pod["metadata"]["labels"];
    let policy = find(&objects, "NetworkPolicy", "evenkeel-agent");
    assert_eq!(&policy["spec"]["podSelector"]["matchLabels"], labels);
    let services = objects.iter().filter(|object| object["kind"] == "Service");
    let leading = services.filter(|service| service["spec"]["selector"] == *labels);
    assert_eq!(leading.count(), 0);
    let monitor = &documents("deploy/components/prometheus-operator/pod-monitor.yaml")[0];
    assert_eq!(&monitor["spec"]["selector"]["matchLabels"], labels);
    let endpoint = &monitor["spec"]["podMetricsEndpoints"][0];
    assert_eq!(endpoint["port"], "metrics");
    // Else an agent could speak of other nodes than its own.
    assert_eq!(endpoint["honorLabels"], Value::Null);
    let node = &endpoint["relabelings"][0];
    assert_eq!(
        strings(&node["sourceLabels"]),
        ["__meta_kubernetes_pod_node_name"]
    );
    assert_eq!(node["targetLabel"], "node");
    // Else the names of the Pods that are measured would give way to the agent's own.
    let after = endpoint["metricRelabelings"].as_array().unwrap();
    let told: Vec<_> = after.iter().map(|rule| &rule["targetLabel"]).collect();
    assert_eq!(told, [&json!("namespace"), &json!("pod"), &Value::Null]);
}

fn agents_are_called_as_the_program_takes_it_with_the_file_of_the_replicas() {
    for (overlay, kubepods) in [
        ("node-agent", "kubepods.slice"),
        ("node-agent-cgroupfs", "kubepods"),
    ] {
        let objects = built(&format!("deploy/overlays/{overlay}"));
        let agents = find(&objects, "DaemonSet", "evenkeel-agent");
        let (container, volumes) = (
            container(agents),
            &agents["spec"]["template"]["spec"]["volumes"],
        );
        let folder = format!("/host/cgroup/{kubepods}");
        let mut args = strings(&container["args"]);
        assert_eq!(args.remove(0), "agent");
        let flags: Vec<_> = args.chunks(2).map(|pair| (&*pair[0], &*pair[1])).collect();
        let expected = [
            ("--config", "/etc/evenkeel/config.yaml"),
            ("--kubepods", &*folder),
            ("--mountinfo", "/host/mountinfo"),
            ("--record", "/host/run/evenkeel-agent/limits.json"),
        ];
        assert_eq!(flags, expected);
        for (volume, at) in [
            ("config", "/etc/evenkeel"),
            ("kubepods", &folder),
            ("mountinfo", "/host/mountinfo"),
            ("record", "/host/run/evenkeel-agent"),
        ] {
            let mount = named(&container["volumeMounts"], volume);
            assert_eq!(mount["mountPath"], at, "{overlay}");
        }
        let host = &named(volumes, "kubepods")["hostPath"];
        assert_eq!(host["path"], format!("/sys/fs/cgroup/{kubepods}"));
        assert!(evenkeel_disk_io::pod_cgroup::PodCgroups::named(kubepods).is_ok());
        assert_eq!(named(volumes, "config")["configMap"]["name"], "evenkeel");
        let node = &named(&container["env"], "EVENKEEL_NODE")["valueFrom"];
        assert_eq!(node["fieldRef"]["fieldPath"], "spec.nodeName");
        let server = configuration(&objects).server;
        let ports = json!([
            {"name": "metrics", "containerPort": server.metrics.port()},
            {"name": "probes", "containerPort": server.http.port()},
        ]);
        assert_eq!(container["ports"], ports);
        let replicas = find(&objects, "Deployment", "evenkeel");
        let image = &replicas["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(&container["image"], image);
    }
}

/// An account that could resize Pods could starve them: the base grants this to no account.
fn pods_are_resized_only_with_their_component() {
    assert!(!configuration(&base()).tuning.resizes);
    let objects = built("deploy/overlays/in-place-tuning");
    assert!(configuration(&objects).tuning.resizes);
    let mut service = access(Identity::Service, Need::Always);
    service.extend(access(Identity::Service, Need::SelfManagedCertificates));
    service.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    service.extend(access(Identity::Service, Need::InPlaceTuning));
    assert_eq!(granted(&objects, Identity::Service), service);
    let mut clean_up = cleaning(Need::Always);
    clean_up.extend(cleaning(Need::InPlaceTuning));
    assert_eq!(granted(&objects, Identity::CleanUp), clean_up);
    let job = &restoring(&objects)["spec"]["containers"][0]["env"];
    assert_eq!(named(job, "EVENKEEL_TUNING_RESIZE")["value"], "true");
}

/// By a record Evenkeel resizes a Pod: it takes for its own what the guard keeps others from writing.
fn a_record_of_a_resize_is_guarded_wherever_one_can_be_written() {
    let objects = base();
    let named = "evenkeel-resize-records";
    let policy = &find(&objects, "ValidatingAdmissionPolicy", named)["spec"];
    assert_eq!(policy["failurePolicy"], "Fail");
    let rules = policy["matchConstraints"]["resourceRules"].as_array();
    let [rule] = &rules.unwrap()[..] else {
        panic!("{policy}")
    };
    assert_eq!(strings(&rule["operations"]), ["CREATE", "UPDATE"]);
    let parts = [
        "pods",
        "pods/status",
        "pods/ephemeralcontainers",
        "pods/resize",
    ];
    assert_eq!(strings(&rule["resources"]), parts);
    let conditions = policy["matchConditions"].to_string();
    assert!(
        conditions.contains(&format!("\\\"{MANAGER}\\\"")),
        "{conditions}"
    );
    assert!(
        conditions.contains(&format!("\\\"f:{}\\\"", code::RESIZED)),
        "{conditions}"
    );
    let binding = &find(&objects, "ValidatingAdmissionPolicyBinding", named)["spec"];
    assert_eq!(binding["policyName"], named);
    assert_eq!(binding["validationActions"], json!(["Deny"]));
}

/// An account that could write any CronJob could run anything. The base grants this to no account,
/// and where it is granted, a guard looks at all CronJobs.
fn jobs_of_external_algorithms_are_run_only_with_their_component() {
    assert!(!configuration(&base()).external_algorithms.are_run);
    let objects = built("deploy/overlays/external-algorithms");
    assert!(configuration(&objects).external_algorithms.are_run);
    let mut service = access(Identity::Service, Need::Always);
    service.extend(access(Identity::Service, Need::SelfManagedCertificates));
    service.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    assert_eq!(granted(&objects, Identity::Service), service);
    let jobs = access(Identity::Jobs, Need::ExternalAlgorithms);
    assert_eq!(granted(&objects, Identity::Jobs), jobs);
    let deployment = find(&objects, "Deployment", "evenkeel-jobs");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], Identity::Jobs.as_str());
    assert_eq!(pod["containers"][0]["args"][0], "jobs");
    let guard = find(
        &objects,
        "ValidatingAdmissionPolicy",
        "evenkeel-portrait-jobs",
    );
    let rule = &guard["spec"]["matchConstraints"]["resourceRules"][0];
    assert_eq!(strings(&rule["resources"]), ["cronjobs"]);
    assert_eq!(strings(&rule["operations"]), ["CREATE", "UPDATE"]);
    let binding = find(
        &objects,
        "ValidatingAdmissionPolicyBinding",
        "evenkeel-portrait-jobs",
    );
    let granting = binding["spec"]["paramRef"]["name"].as_str().unwrap();
    let granting = find(&objects, "ClusterRoleBinding", granting);
    assert_eq!(granting["subjects"][0]["name"], Identity::Jobs.as_str());
    let named = "evenkeel-portrait-templates";
    let templates = &find(&objects, "ValidatingAdmissionPolicy", named)["spec"];
    // Otherwise all CronJobs would be refused where the definition of portraits is gone.
    assert_eq!(templates["failurePolicy"], "Ignore");
    let conditions = templates["matchConditions"].to_string();
    assert!(conditions.contains(Identity::Jobs.as_str()));
    let binding = &find(&objects, "ValidatingAdmissionPolicyBinding", named)["spec"];
    assert_eq!(binding["paramRef"]["parameterNotFoundAction"], "Allow");
}

/// The clean-up's guard lets through all that the clean-up puts back. The leader's guard does so
/// outside the namespaces that have opted in.
fn both_guards_have_one_rule_of_what_is_put_back() {
    let objects = base();
    let rule = |policy: &str| {
        let policy = &find(&objects, "ValidatingAdmissionPolicy", policy)["spec"];
        let names = [
            "leastField",
            "mostField",
            "record",
            "newLeast",
            "oldLeast",
            "newMost",
            "oldMost",
            "recordedLeast",
            "recordedMost",
            "annotatedLeasts",
            "annotatedMosts",
            "usersLeasts",
            "isLeastBack",
            "isMostBack",
        ];
        names.map(|name| named(&policy["variables"], name)["expression"].to_string())
    };
    assert_eq!(rule("evenkeel-writes"), rule("evenkeel-restores"));
}

/// A deletion of all objects at once takes the rights along, unless a finalizer holds those for putting back.
fn the_rights_to_put_back_outlive_the_rest() {
    let objects = base();
    let held = [
        ("ClusterRole", "evenkeel-clean-up"),
        ("ClusterRoleBinding", "evenkeel-clean-up"),
        ("ServiceAccount", Identity::Service.as_str()),
    ];
    let finalizer = json!([evenkeel_service::uninstall::FINALIZER]);
    for (kind, name) in held {
        let object = find(&objects, kind, name);
        assert_eq!(object["metadata"]["finalizers"], finalizer, "{kind}");
    }
    for object in &objects {
        let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
        let is_held = held.iter().any(|held| kind == held.0 && name == held.1);
        assert!(
            is_held || object["metadata"]["finalizers"].is_null(),
            "{kind} {name}"
        );
    }
    let rights = |overlay: &str| {
        let objects = built(overlay);
        let role = find(&objects, "ClusterRole", "evenkeel-clean-up");
        let rules = role["rules"].as_array().unwrap().iter();
        rules
            .flat_map(|rule| rule_rights(Scope::Cluster, rule))
            .collect::<BTreeSet<_>>()
    };
    // Whatever a component lets the clean-up put back stands here too.
    for (overlay, need) in [
        ("scale-in-balance", Need::ScaleInBalance),
        ("in-place-tuning", Need::InPlaceTuning),
        ("replica-profiles", Need::ReplicaProfiles),
    ] {
        let held = rights(&format!("deploy/overlays/{overlay}"));
        let mut needed = cleaning(Need::Always);
        needed.extend(cleaning(need));
        let needed = needed
            .into_iter()
            .filter(|right| right.scope == Scope::Cluster);
        let missing: Vec<_> = needed.filter(|right| !held.contains(right)).collect();
        assert!(missing.is_empty(), "{overlay}: {missing:#?}");
    }
}

/// A Pod of an image that is not built for its node never starts.
fn pods_keep_to_nodes_that_the_image_is_built_for() {
    for folder in [vec!["deploy".to_owned()], overlays()].concat() {
        let objects = built(&folder);
        for object in &objects {
            let template = match object["kind"].as_str() {
                Some("Deployment" | "DaemonSet") => &object["spec"]["template"],
                Some("CronJob") => &object["spec"]["jobTemplate"]["spec"]["template"],
                _ => continue,
            };
            let (pod, name) = (&template["spec"], &object["metadata"]["name"]);
            assert_eq!(
                pod["nodeSelector"]["kubernetes.io/os"], "linux",
                "{folder} {name}"
            );
            let image = pod["containers"][0]["image"].as_str().unwrap();
            if !image.starts_with("ghcr.io/evenkeel/evenkeel") {
                continue;
            }
            let required =
                &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
            let terms = &required["nodeSelectorTerms"][0]["matchExpressions"][0];
            assert_eq!(terms["key"], "kubernetes.io/arch", "{folder} {name}");
            assert_eq!(
                terms["values"],
                json!(["amd64", "arm64"]),
                "{folder} {name}"
            );
        }
    }
}

/// An account that could make tokens of any account could do all that those may. So Evenkeel may
/// make those of one account without a right, and checks use it only where the component is.
fn external_checks_are_asked_only_with_their_component_by_an_account_without_rights() {
    const ACCOUNT: &str = "evenkeel-checks";
    assert!(configuration(&base()).external_checks.is_none());
    let objects = built("deploy/overlays/external-checks");
    let checks = configuration(&objects).external_checks.unwrap();
    assert!(checks.allowed.is_empty(), "Services alone");
    let mut service = access(Identity::Service, Need::Always);
    service.extend(access(Identity::Service, Need::SelfManagedCertificates));
    service.extend(access(Identity::Service, Need::AuthenticatedMetrics));
    service.extend(access(Identity::Service, Need::ExternalChecks));
    assert_eq!(granted(&objects, Identity::Service), service);
    let account = find(&objects, "ServiceAccount", ACCOUNT);
    assert_eq!(account["automountServiceAccountToken"], false);
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        let bindings = objects.iter().filter(|object| object["kind"] == kind);
        for binding in bindings {
            let subjects = binding["subjects"].as_array().unwrap();
            assert!(subjects.iter().all(|subject| subject["name"] != ACCOUNT));
        }
    }
    let tokens = find(&objects, "Role", ACCOUNT);
    let rule = json!([{"apiGroups": [""], "resources": ["serviceaccounts/token"],
        "resourceNames": [ACCOUNT], "verbs": ["create"]}]);
    assert_eq!(tokens["rules"], rule);
    let egress = |objects: &[Value]| {
        let policy = find(objects, "NetworkPolicy", "evenkeel");
        policy["spec"]["egress"].as_array().unwrap().len()
    };
    assert_eq!(egress(&objects), egress(&base()) + 1);
}

/// The Pods behind the Service of cluster DNS listen on any port: on OpenShift it is 5353.
fn every_policy_that_bounds_what_goes_out_lets_dns_through_on_any_port() {
    let all: Vec<(String, Vec<Value>)> = overlays()
        .into_iter()
        .map(|overlay| (overlay.clone(), built(&overlay)))
        .chain([("deploy/base".to_owned(), base())])
        .collect();
    for (overlay, objects) in &all {
        let policies = objects.iter().filter(|one| one["kind"] == "NetworkPolicy");
        for policy in policies {
            let name = &policy["metadata"]["name"];
            let spec = &policy["spec"];
            let types = spec["policyTypes"].as_array().unwrap();
            if !types.contains(&json!("Egress")) {
                continue;
            }
            let none = Vec::new();
            let rules = spec["egress"].as_array().unwrap_or(&none);
            let ports = |rule: &Value| rule["ports"].as_array().cloned().unwrap_or_default();
            let to_pods = rules
                .iter()
                .filter(|rule| rule["to"] == json!([{"namespaceSelector": {}}]));
            let any_port = json!({"protocol": "UDP"});
            assert!(
                to_pods
                    .into_iter()
                    .any(|rule| ports(rule).contains(&any_port)),
                "{overlay}: {name} holds DNS to a port"
            );
            let everywhere: Vec<Value> = rules
                .iter()
                .filter(|rule| rule["to"].is_null())
                .flat_map(ports)
                .collect();
            for port in [53, 5353] {
                for protocol in ["UDP", "TCP"] {
                    let wanted = json!({"port": port, "protocol": protocol});
                    assert!(everywhere.contains(&wanted), "{overlay}: {name} {wanted}");
                }
            }
        }
    }
}

/// The keys that the guards take for Evenkeel's are those that the configuration accepts.
fn the_guards_know_the_keys_of_taints() {
    let objects = base();
    for policy in ["evenkeel-writes", "evenkeel-restores"] {
        let policy = find(&objects, "ValidatingAdmissionPolicy", policy)["spec"].to_string();
        for (key, name) in [
            (TaintKey::default().to_string(), "evenkeel.dev/overloaded"),
            ("x/evenkeel-overloaded".to_owned(), "/evenkeel-overloaded"),
        ] {
            assert!(key.parse::<TaintKey>().is_ok() && key.ends_with(name));
            assert!(
                policy.contains(&format!("\\\"{name}\\\"")),
                "{name} in {policy}"
            );
        }
    }
}

/// Applying it would take the group away from its present holder.
fn no_overlay_has_the_api_service_and_the_one_that_is_created_leads_to_evenkeel() {
    use evenkeel_certificates::api_service;
    let applied = [vec!["deploy".to_owned()], overlays()].concat();
    for folder in applied {
        let objects = built(&folder);
        let kinds = objects.iter().map(|object| &object["kind"]);
        assert!(kinds.clone().all(|kind| kind != "APIService"), "{folder}");
    }
    let base = base();
    for (folder, injected, name, path) in [
        (
            "external-metrics",
            false,
            api_service::EXTERNAL_METRICS,
            code::EXTERNAL_METRICS_VERSION,
        ),
        (
            "external-metrics-cert-manager",
            true,
            api_service::EXTERNAL_METRICS,
            code::EXTERNAL_METRICS_VERSION,
        ),
        (
            "metrics-provider",
            false,
            api_service::METRICS_PROVIDER,
            code::METRICS_PROVIDER_VERSION,
        ),
        (
            "metrics-provider-cert-manager",
            true,
            api_service::METRICS_PROVIDER,
            code::METRICS_PROVIDER_VERSION,
        ),
    ] {
        let objects = built(&format!("deploy/api-service/{folder}"));
        let [object] = &objects[..] else {
            panic!("{objects:?}");
        };
        assert_eq!(object["metadata"]["name"], name);
        let injection = &object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"];
        assert_eq!(injection.is_string(), injected);
        let object = serde_json::from_value(object.clone()).unwrap();
        let holder = api_service::holder(&object, code::NAMESPACE);
        assert_eq!(holder, api_service::Holder::Own);
        let spec = object.spec.unwrap();
        assert!(spec.insecure_skip_tls_verify.is_none() && spec.ca_bundle.is_none());
        let service = spec.service.unwrap();
        let led = find(&base, "Service", &service.name.unwrap());
        assert_eq!(led["spec"]["ports"][0]["port"], service.port.unwrap());
        let [group, version] = [spec.group, spec.version].map(Option::unwrap);
        assert_eq!(format!("/apis/{group}/{version}"), path);
    }
}

fn the_example_scales_by_the_metric_that_is_served_and_by_what_it_is_made_of() {
    use evenkeel_hpa::autoscaler::Autoscaler;
    use evenkeel_metrics::signal::{MetricTarget, Signal};
    use evenkeel_scaling::external_metrics::is_own;
    let example = documents("examples/external-metrics/hpa.yaml").remove(0);
    let labels = &example["spec"]["metrics"][1]["external"]["metric"]["selector"]["matchLabels"];
    let target = &example["spec"]["scaleTargetRef"];
    let expected = json!({"kind": target["kind"], "name": target["name"], "signal": "cpu"});
    assert_eq!(*labels, expected);
    let hpa: Autoscaler = serde_json::from_value(example).unwrap();
    let metrics: Vec<_> = hpa.spec.metrics.observed().collect();
    assert_eq!(metrics.len(), 2);
    assert_eq!(metrics[0].signal, Signal::CPU);
    assert!(is_own(&metrics[1].signal));
    assert_eq!(metrics[1].target, MetricTarget::AverageValue(400));
}

/// The block of `page` between fences that begins with, or holds, `part`.
fn block(page: &str, part: &str) -> String {
    let written = text(page);
    let mut blocks = written.split("\n```").skip(1).step_by(2);
    let block = blocks.find(|block| block.contains(part));
    let block = block.unwrap_or_else(|| panic!("{page} has no block with {part}"));
    block.split_once('\n').unwrap().1.to_owned()
}

fn the_alert_rules_are_made_a_prometheus_rule_as_the_page_says() {
    let command = block("docs/howto/prometheus.md", "kind: PrometheusRule");
    let made = command.trim_end().strip_suffix("| kubectl apply -f -");
    let output = std::process::Command::new("sh")
        .args(["-c", made.expect("it is applied")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let rule: Value = serde_saphyr::from_str(&String::from_utf8(output.stdout).unwrap()).unwrap();
    assert_eq!(rule["kind"], "PrometheusRule");
    assert_eq!(rule["metadata"]["namespace"], code::NAMESPACE);
    let alerts: Value = serde_saphyr::from_str(&text("deploy/prometheus/alerts.yaml")).unwrap();
    assert!(alerts["groups"][0]["rules"].is_array());
    assert_eq!(rule["spec"], alerts);
}

fn the_scrape_jobs_of_the_page_bring_what_the_alert_rules_ask_for() {
    let objects = base();
    let jobs: Value =
        serde_saphyr::from_str(&block("docs/howto/prometheus.md", "- job_name: evenkeel\n"))
            .unwrap();
    let jobs = jobs.as_array().unwrap();
    let scraped: BTreeSet<&str> = jobs
        .iter()
        .map(|job| {
            let relabeling = job["relabel_configs"].as_array().unwrap();
            let pod =
                json!({"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"});
            assert!(relabeling.contains(&pod), "{job}");
            let kept = relabeling.iter().find(|one| one["action"] == "keep");
            kept.unwrap()["regex"].as_str().unwrap()
        })
        .collect();
    let services = objects.iter().filter(|object| object["kind"] == "Service");
    let shown: BTreeSet<&str> = services
        .filter(|service| service["metadata"]["labels"]["app.kubernetes.io/component"] == "metrics")
        .map(|service| service["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(scraped, shown);
    // The replicas' over TLS, and without a token to the signer, which asks for none.
    let encrypted = jobs.iter().filter(|job| job["scheme"] == "https");
    assert_eq!(encrypted.count(), 1);
    assert!(jobs[1]["authorization"].is_null() && jobs[1]["scheme"].is_null());
}

fn the_scrape_job_of_the_page_finds_the_agents_and_says_itself_which_node_one_is_on() {
    let jobs: Value = serde_saphyr::from_str(&block(
        "docs/howto/disk-io.md",
        "- job_name: evenkeel-agent",
    ))
    .unwrap();
    let [job] = &jobs.as_array().unwrap()[..] else {
        panic!("{jobs}");
    };
    assert!(job["honor_labels"].is_null());
    let agents = &documents("deploy/components/node-agent/daemon-set.yaml")[1];
    let name = &agents["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"];
    let port = &container(agents)["ports"][0]["name"];
    let relabelled = job["relabel_configs"].as_array().unwrap();
    let (kept, [node]) = relabelled.split_at(2) else {
        panic!("{job}");
    };
    let kept = kept.iter().map(|one| (&one["regex"], &one["action"]));
    let keep = json!("keep");
    assert_eq!(kept.collect::<Vec<_>>(), [(name, &keep), (port, &keep)]);
    assert_eq!(node["target_label"], "node");
}

/// kustomize deletes nothing in the cluster. So an operator that comes from the base has to delete
/// the objects that the component leaves out.
fn what_cert_manager_makes_superfluous_is_listed_for_deletion() {
    let component = &documents("deploy/components/cert-manager/kustomization.yaml")[0];
    let patches = component["patches"].as_array().unwrap();
    let certs = text("certs/README.md");
    let mut listed = 0;
    for patch in patches.iter().filter_map(|patch| patch["patch"].as_str()) {
        let Ok(object) = serde_saphyr::from_str::<Value>(patch) else {
            continue;
        };
        if object["$patch"] != "delete" {
            continue;
        }
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let name = object["metadata"]["name"].as_str().unwrap();
        let deleted = certs.lines().any(|line| {
            let words: BTreeSet<&str> = line.split([' ', ',']).collect();
            [" delete ", name].iter().all(|part| line.contains(part))
                && words.contains(kind.as_str())
                && words.contains(name)
        });
        assert!(deleted, "{kind} {name}");
        listed += 1;
    }
    assert!(listed >= 12, "{listed}");
}

crate::support::trial::suite!(
    [Requirement::Program("kubectl")] => [
        open_metrics_ask_nobody_and_need_no_right_to,
        the_service_monitor_follows_the_other_components,
        the_signers_guard_follows_the_namespace_and_lets_its_secrets_through,
        the_write_guard_follows_the_namespace,
        every_overlay_builds,
        the_top_folder_installs_the_base,
        with_cert_manager_evenkeel_has_no_right_to_secrets,
        with_cert_manager_the_configured_files_are_mounted,
        with_cert_manager_the_certificate_carries_the_names_that_are_called,
        the_narrowed_webhook_still_leaves_out_the_excluded_namespaces,
        the_second_scheduler_serves_the_name_that_admission_sets,
        external_metrics_bring_the_rights_and_the_switch_to_whoever_is_there,
        the_metrics_provider_brings_its_rights_its_ports_and_its_switch,
        the_reader_of_series_may_ask_every_question,
        custom_kinds_bring_the_rights_of_each_kind_and_the_guard_of_its_writes,
        taints_are_set_only_with_their_component,
        score_labels_are_set_only_with_their_component,
        the_guards_look_at_pods_whichever_components_there_are,
        pods_are_given_costs_of_deletion_only_with_their_component,
        pods_are_taken_out_of_traffic_only_with_their_component,
        the_agent_of_a_node_reaches_three_of_its_files_and_has_no_capability,
        agents_have_the_rights_that_they_use_and_nobody_more_for_them,
        agents_are_called_as_the_program_takes_it_with_the_file_of_the_replicas,
        pods_are_resized_only_with_their_component,
        jobs_of_external_algorithms_are_run_only_with_their_component,
        the_rights_to_put_back_outlive_the_rest,
        pods_keep_to_nodes_that_the_image_is_built_for,
        external_checks_are_asked_only_with_their_component_by_an_account_without_rights,
        every_policy_that_bounds_what_goes_out_lets_dns_through_on_any_port,
        no_overlay_has_the_api_service_and_the_one_that_is_created_leads_to_evenkeel,
    ],
    [] => [
        the_webhook_leads_to_the_path_and_port_that_are_served,
        the_webhook_can_stop_no_pod,
        the_scheduler_calls_the_paths_that_are_served,
        the_unfilled_scheduler_configuration_is_no_valid_one,
        both_scheduler_configurations_differ_only_in_where_the_scheduler_runs,
        the_containers_ports_are_those_of_the_configuration,
        kubelet_probes_the_paths_that_are_served,
        prometheus_shows_its_token_to_a_server_that_it_knows,
        the_parts_of_the_end_add_up_to_less_than_the_grace_period,
        pods_have_no_privileges,
        the_image_is_of_this_version,
        the_configuration_is_where_the_service_looks_for_it,
        the_configuration_is_accepted_and_names_the_objects_that_are_installed,
        the_kinds_that_are_installed_are_those_of_the_code,
        granted_is_what_the_code_calls_and_nothing_else,
        replicas_may_read_one_secret_and_change_no_webhook_configuration,
        the_grants_of_the_version_before_are_taken_back,
        no_service_leads_to_the_signer_but_the_one_for_metrics,
        the_clean_up_runs_by_an_account_that_can_only_put_back,
        the_clean_up_is_called_as_the_program_takes_it_and_obeys_the_kill_switch,
        writes_are_narrowed_to_what_is_written,
        writes_of_own_kinds_are_narrowed_wherever_they_are_granted,
        an_admin_of_a_namespace_may_let_others_make_portraits,
        every_selector_finds_the_pods,
        the_network_policy_admits_callers_that_no_selector_matches,
        a_record_of_a_resize_is_guarded_wherever_one_can_be_written,
        both_guards_have_one_rule_of_what_is_put_back,
        the_guards_know_the_keys_of_taints,
        the_example_scales_by_the_metric_that_is_served_and_by_what_it_is_made_of,
        the_alert_rules_are_made_a_prometheus_rule_as_the_page_says,
        the_scrape_jobs_of_the_page_bring_what_the_alert_rules_ask_for,
        the_scrape_job_of_the_page_finds_the_agents_and_says_itself_which_node_one_is_on,
        what_cert_manager_makes_superfluous_is_listed_for_deletion,
    ],
);
