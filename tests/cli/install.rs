//! `evenkeel install` and `evenkeel completion`, without a cluster. The objects are compared with those of kustomize
//! and the chart in the test program `tools`.

use super::{Called, evenkeel, evenkeel_with_input};
use serde_json::Value;

fn objects(called: &Called) -> Vec<Value> {
    assert_eq!(called.code, 0, "{}", called.stderr);
    serde_saphyr::from_multiple(&called.stdout).unwrap()
}

/// The configuration in the ConfigMap.
fn configuration(called: &Called) -> Value {
    let objects = objects(called);
    let map = objects.iter().find(|object| object["kind"] == "ConfigMap");
    let text = map.unwrap()["data"]["config.yaml"].as_str().unwrap();
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn fields_are_set_in_the_config_map_and_the_others_stay() {
    let set = ["metrics.source=metrics-api", "scheduling.headroom=0.7"];
    let called = evenkeel(&["install", "--set", set[0], "--set", set[1]]);
    let file = configuration(&called);
    assert_eq!(file["metrics"]["source"], "metrics-api");
    assert_eq!(file["scheduling"]["headroom"], 0.7);
    assert_eq!(file["scaling"]["mode"], "recommend");
    assert_eq!(called.stderr, "");
    // Pods are replaced when a configuration changes. The shipped one has no hash, as with kustomize.
    assert!(called.stdout.contains("checksum/config"));
    assert!(!evenkeel(&["install"]).stdout.contains("checksum/config"));
}

#[test]
fn a_wrong_field_value_or_component_is_refused_with_the_right_one() {
    for (arguments, parts) in [
        (
            ["--set", "metrics.promtheus.url=x"],
            vec!["did you mean \"metrics.prometheus.url\"?"],
        ),
        (
            ["--set", "writes=enabld"],
            vec!["writes", "did you mean `enabled`?"],
        ),
        (
            ["--set", "scheduling.headroom=high"],
            vec!["scheduling.headroom"],
        ),
        (["--set", "writes"], vec!["a path and a value"]),
        (
            ["--with", "cert-manger"],
            vec!["similar value exists: 'cert-manager'"],
        ),
        (["--replicas", "0"], vec!["--replicas"]),
    ] {
        let mut call = vec!["install"];
        call.extend(arguments);
        let called = evenkeel(&call);
        called.is_refused(2, &parts);
        assert_eq!(called.stdout, "");
    }
}

/// The variable of the component would win over the file, and the option would have no effect.
#[test]
fn a_field_that_a_component_sets_is_refused() {
    let field = ["--set", "scheduling.overload.taint=prefer"];
    let call = ["install", "--with", "overload-taints", field[0], field[1]];
    evenkeel(&call).is_refused(2, &["scheduling.overload.taint", "--with"]);
    let file = configuration(&evenkeel(&["install", field[0], field[1]]));
    assert_eq!(file["scheduling"]["overload"]["taint"], "prefer");
    let taint = |word: &str| format!("scheduling: {{overload: {{taint: {word}}}}}\n");
    let call = ["install", "-c", "-", "--with", "overload-taints"];
    let refused = evenkeel_with_input(&call, &taint("prefer"));
    refused.is_refused(2, &["-: scheduling.overload.taint", "--with"]);
    // The same value is no other choice.
    let called = evenkeel_with_input(&call, &taint("enforce"));
    assert_eq!(called.code, 0, "{}", called.stderr);
}

/// The harm: these options were taken and changed nothing, or gave containers without an image.
#[test]
fn an_image_is_one_and_that_of_the_scheduler_is_for_its_component() {
    let image = "registry.test/kube-scheduler:v1.34.2";
    let call = ["install", "--scheduler-image", image];
    evenkeel(&call).is_refused(2, &["--scheduler-image", "--with second-scheduler"]);
    let mut call = call.to_vec();
    call.extend(["--with", "second-scheduler"]);
    assert!(evenkeel(&call).stdout.contains(image));
    for image in ["", " ", "a b", "x\n  y: z", ":tag"] {
        for flag in ["--image", "--scheduler-image"] {
            let call = ["install", "--with", "second-scheduler", flag, image];
            evenkeel(&call).is_refused(2, &[flag, "an image with its tag"]);
        }
    }
}

#[test]
fn a_namespace_that_exists_is_left_out() {
    let namespaces = |arguments: &[&str]| {
        let objects = objects(&evenkeel(arguments));
        let named = objects
            .iter()
            .filter(|object| object["kind"] == "Namespace");
        (named.count(), objects.len())
    };
    let (one, all) = namespaces(&["install"]);
    assert_eq!(one, 1);
    assert_eq!(namespaces(&["install", "--no-namespace"]), (0, all - 1));
}

#[test]
fn a_file_takes_the_place_of_the_shipped_one_and_is_checked() {
    let called = evenkeel_with_input(&["install", "-c", "-"], "writes: disabled\n");
    assert_eq!(
        configuration(&called),
        serde_json::json!({"writes": "disabled"})
    );
    let refused = evenkeel_with_input(&["install", "-c", "-"], "writes: off\n");
    refused.is_refused(2, &["writes"]);
}

#[test]
fn a_port_that_the_network_policy_keeps_shut_is_named() {
    let url = "metrics.prometheus.url=http://prometheus.monitoring.svc:8080";
    let called = evenkeel(&["install", "--set", url]);
    assert!(called.stderr.contains("port 8080"), "{}", called.stderr);
    let url_of = |port| format!("tracing.endpoint=http://otel-collector.observability.svc:{port}");
    let called = evenkeel(&["install", "--set", &url_of(4319)]);
    assert!(
        called.stderr.contains("tracing.endpoint names port 4319"),
        "{}",
        called.stderr
    );
    let called = evenkeel(&["install", "--set", &url_of(4318)]);
    assert_eq!(called.stderr, "");
    let called = evenkeel(&["install", "--set", url, "--egress-port", "8080"]);
    assert_eq!(called.stderr, "");
    let objects = objects(&called);
    let policy = objects.iter().find(|object| {
        object["kind"] == "NetworkPolicy" && object["metadata"]["name"] == "evenkeel"
    });
    assert!(
        policy
            .unwrap()
            .to_string()
            .contains("{\"port\":8080,\"protocol\":\"TCP\"}")
    );
}

/// The harm: labels or taints were on, and the API server refused each of them.
#[test]
fn a_setting_that_the_write_guard_refuses_is_named_with_its_component() {
    for (field, component) in [
        ("scheduling.scoreLabels=on", "score-labels"),
        ("scheduling.overload.taint=prefer", "overload-taints"),
    ] {
        let called = evenkeel(&["install", "--set", field]);
        let with = format!("--with {component}");
        assert!(called.stderr.contains(&with), "{}", called.stderr);
        assert_eq!(evenkeel(&["install", "--with", component]).stderr, "");
    }
}

#[test]
fn the_help_has_a_line_for_each_component() {
    let help = evenkeel(&["install", "--help"]).stdout;
    for component in &evenkeel_manifests::COMPONENTS {
        let lines = help.lines().map(str::trim);
        let name = format!("- {}:", component.name);
        assert!(lines.clone().any(|line| line.starts_with(&name)), "{name}");
    }
}

#[test]
fn each_shell_gets_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let called = evenkeel(&["completion", shell]);
        assert_eq!(called.code, 0, "{}", called.stderr);
        for command in ["doctor", "install", "upgrade"] {
            assert!(called.stdout.contains(command), "{shell}: {command}");
        }
    }
    evenkeel(&["completion", "fsh"]).is_refused(2, &["fish"]);
}

#[test]
fn a_namespace_is_one_of_its_own_and_what_the_user_writes_keeps_its_words() {
    for name in ["", "a b", "-a", "a-", "Keel", "x\n  y: z", &"a".repeat(64)] {
        let flag = format!("--namespace={name}");
        evenkeel(&["install", &flag]).is_refused(2, &["--namespace", "63"]);
    }
    for name in ["default", "kube-system"] {
        evenkeel(&["install", "-n", name])
            .is_refused(2, &[name, "a namespace of the cluster itself"]);
    }
    let url = "metrics.prometheus.url=http://prometheus.evenkeel-system.svc:9090";
    let called = evenkeel(&["install", "-n", "evenkeel-system-2", "--set", url]);
    let set = &configuration(&called)["metrics"]["prometheus"]["url"];
    assert_eq!(set, "http://prometheus.evenkeel-system.svc:9090");
    assert!(!called.stdout.contains("evenkeel-system-2-2"));
}
