//! Three forms of one installation render the same objects: `evenkeel install`, the kustomize folders and the chart.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use evenkeel_manifests::{COMPONENTS, CONFIGURATION};
use serde_json::{Value, json};

use super::manifests::read::{combined_text, kustomized, root, text};
use crate::support::trial::Requirement;

/// A combination in which components change each other's objects.
const COMBINATION: [&str; 5] = [
    "prometheus-operator",
    "cert-manager",
    "second-scheduler",
    "scale-in-balance",
    "in-place-tuning",
];
/// A version of Kubernetes that is supported.
const KUBERNETES: &str = "v1.34.0";

/// Objects by kind, namespace and name.
type Objects = BTreeMap<String, Value>;

/// Runs a program at the root of the repository with this input.
fn run(program: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writing = std::thread::spawn(move || {
        // A program that reads nothing closes it.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

/// The objects of manifests, as kubectl reads them: with its own reader, which takes YAML 1.1.
fn read_by_kubectl(manifests: &str) -> Objects {
    let arguments = ["annotate", "--local", "-o", "json", "-f", "-", "test=true"];
    let read = run("kubectl", &arguments, manifests).unwrap();
    let objects = serde_json::Deserializer::from_str(&read).into_iter::<Value>();
    let mut found = Objects::new();
    for object in objects {
        let mut object = object.unwrap();
        let metadata = object["metadata"].as_object_mut().unwrap();
        let annotations = metadata["annotations"].as_object_mut().unwrap();
        annotations.remove("test");
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
        let name = format!(
            "{} {}/{}",
            object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]
        );
        assert!(found.insert(name.clone(), object).is_none(), "{name} twice");
    }
    assert!(found.len() > 40, "{}", found.len());
    found
}

fn assert_same(form: &str, objects: &Objects, other: &str, others: &Objects) {
    for (name, object) in objects {
        assert_eq!(
            Some(object),
            others.get(name),
            "{name} of {form}, and of {other}"
        );
    }
    for name in others.keys() {
        assert!(
            objects.contains_key(name),
            "{name} of {other} is not in {form}"
        );
    }
}

/// The output of `evenkeel install` with these components and further options.
fn installed(components: &[&str], options: &[&str]) -> String {
    let mut arguments = vec!["install"];
    for component in components {
        arguments.extend(["--with", component]);
    }
    arguments.extend(options);
    run(env!("CARGO_BIN_EXE_evenkeel"), &arguments, "").unwrap()
}

/// The name of a component in the values of the chart.
fn flag(component: &str) -> String {
    let mut words = component.split('-');
    let mut name = words.next().unwrap().to_owned();
    for word in words {
        name.push_str(&word[..1].to_uppercase());
        name.push_str(&word[1..]);
    }
    name
}

/// The manifests that the chart renders for an installation in `namespace`.
fn rendered(namespace: &str, values: &Value) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), values.to_string()).unwrap();
    let file = file.path().to_str().unwrap();
    #[rustfmt::skip]
    let arguments = ["template", "evenkeel", "deploy/chart", "--namespace", namespace, "--kube-version", KUBERNETES,
        "--no-hooks", "--values", file];
    run("helm", &arguments, "")
}

/// Values that give the objects of the manifests: the namespace is one, and definitions have no annotation of Helm's.
fn values(components: &[&str]) -> Value {
    let flags = components.iter().map(|name| (flag(name), json!(true)));
    let flags: serde_json::Map<String, Value> = flags.collect();
    json!({"namespace": {"create": true}, "crds": {"keep": false}, "components": flags})
}

fn the_program_prints_what_kustomize_builds() {
    let base = read_by_kubectl(&kustomized("deploy"));
    assert_same(
        "install",
        &read_by_kubectl(&installed(&[], &[])),
        "deploy",
        &base,
    );
    for component in &COMPONENTS {
        let name = component.name;
        let overlay = read_by_kubectl(&kustomized(&format!("deploy/overlays/{name}")));
        assert_same(
            "install",
            &read_by_kubectl(&installed(&[name], &[])),
            name,
            &overlay,
        );
        assert_ne!(overlay, base, "{name} changes nothing");
    }
}

fn components_combine_as_kustomize_combines_them() {
    let all: Vec<&str> = COMPONENTS.iter().map(|component| component.name).collect();
    for components in [&COMBINATION[..], &all] {
        let folders: Vec<String> = components
            .iter()
            .map(|name| format!("deploy/components/{name}"))
            .collect();
        let built = read_by_kubectl(&combined_text(&folders));
        let printed = read_by_kubectl(&installed(components, &[]));
        assert_same("install", &printed, "kustomize", &built);
    }
}

/// kustomize does not rewrite names of Services and namespaces within fields: the program has to.
fn another_namespace_is_named_everywhere() {
    let all: Vec<&str> = COMPONENTS.iter().map(|component| component.name).collect();
    let moved = installed(&all, &["--namespace", "keel"]);
    assert!(!moved.contains("evenkeel-system"));
    let back = read_by_kubectl(&moved.replace("keel-scheduler-config", "scheduler-config"));
    assert!(back.keys().any(|name| name.contains("\"keel\"")));
    assert!(back.keys().any(|name| name.contains("\"kube-system\"")));
}

fn the_chart_renders_what_the_program_prints() {
    let single = COMPONENTS.iter().map(|component| vec![component.name]);
    let several = [Vec::new(), COMBINATION.to_vec()];
    for components in several.into_iter().chain(single) {
        let chart = rendered("evenkeel-system", &values(&components)).unwrap();
        let printed = read_by_kubectl(&installed(&components, &[]));
        let form = format!("the chart with {components:?}");
        assert_same(&form, &read_by_kubectl(&chart), "install", &printed);
    }
}

fn values_of_the_chart_are_the_options_of_the_program() {
    let mut values = values(&[]);
    values["replicas"] = json!(3);
    values["image"] = json!({"repository": "registry.test/evenkeel", "tag": "9.9.9"});
    values["egressPorts"] = json!([8080]);
    values["config"] = json!({"metrics": {"prometheus": {"url": "http://prometheus.test:8080"}}});
    let mut chart = read_by_kubectl(&rendered("keel", &values).unwrap());
    #[rustfmt::skip]
    let options = ["--namespace", "keel", "--replicas", "3", "--image", "registry.test/evenkeel:9.9.9",
        "--egress-port", "8080", "--set", "metrics.prometheus.url=http://prometheus.test:8080"];
    let mut printed = read_by_kubectl(&installed(&[], &options));
    // The two write YAML in different ways.
    let (name, key) = CONFIGURATION;
    let map = format!("\"ConfigMap\" \"keel\"/\"{name}\"");
    for objects in [&mut chart, &mut printed] {
        let file = &mut objects.get_mut(&map).unwrap()["data"][key];
        *file = serde_saphyr::from_str(file.as_str().unwrap()).unwrap();
        assert_eq!(
            file["metrics"]["prometheus"]["url"],
            "http://prometheus.test:8080"
        );
        let service = objects
            .get_mut("\"Deployment\" \"keel\"/\"evenkeel\"")
            .unwrap();
        let annotations = &mut service["spec"]["template"]["metadata"]["annotations"];
        let hash = annotations["checksum/config"].take();
        assert_eq!(hash.as_str().map(str::len), Some(64), "{annotations}");
    }
    assert_same("the chart", &chart, "install", &printed);
}

/// The harm: a namespace of digits is a number in YAML, which no object takes.
fn a_namespace_of_digits_is_a_text_in_the_chart_and_the_program() {
    let mut values = values(&COMBINATION);
    values["image"] = json!({"tag": "1"});
    values["config"] = json!({"metrics": {"maxAge": "200s"}});
    let chart = read_by_kubectl(&rendered("123", &values).unwrap());
    let printed = read_by_kubectl(&installed(&COMBINATION, &["--namespace", "123"]));
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&chart), names(&printed));
    let scheduler = "\"ConfigMap\" \"123\"/";
    let mut maps = chart
        .iter()
        .filter(|(name, _)| name.starts_with(scheduler))
        .map(|(_, object)| object.to_string());
    assert!(maps.any(|map| map.contains("resourceNamespace: \\\"123\\\"")));
}

fn the_chart_passes_the_linter() {
    run("helm", &["lint", "deploy/chart", "--strict"], "").unwrap();
}

fn the_default_values_leave_the_namespace_and_keep_the_definitions() {
    let chart = rendered("evenkeel-system", &json!({})).unwrap();
    let mut chart = read_by_kubectl(&chart);
    let mut printed = read_by_kubectl(&installed(&[], &[]));
    assert!(
        printed
            .remove("\"Namespace\" null/\"evenkeel-system\"")
            .is_some()
    );
    for (name, object) in &mut chart {
        if name.starts_with("\"CustomResourceDefinition\"") {
            let metadata = object["metadata"].as_object_mut().unwrap();
            let annotations = metadata.remove("annotations");
            assert_eq!(
                annotations,
                Some(json!({"helm.sh/resource-policy": "keep"}))
            );
        }
    }
    assert_same("the chart", &chart, "install", &printed);
}

fn values_that_are_none_and_versions_that_are_not_supported_are_refused() {
    for (values, part) in [
        (
            json!({"config": {"metrics": {"prometheus": {"urll": "x"}}}}),
            "urll",
        ),
        (json!({"components": {"certManger": true}}), "certManger"),
        (json!({"replicas": "two"}), "replicas"),
        (json!({"image": {"repository": ""}}), "repository"),
        (json!({"image": {"repository": "a b"}}), "repository"),
        (json!({"image": {"tag": "v1: x"}}), "tag"),
        (json!({"schedulerImage": {"tag": ""}}), "tag"),
        (json!({"config": {"metrics": {"maxAge": "soon"}}}), "maxAge"),
        (
            json!({"config": {"leaderElection": {"leaseName": "A b"}}}),
            "leaseName",
        ),
    ] {
        let refused = rendered("evenkeel-system", &values).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    for (version, is_taken) in [
        ("v1.32.9", false),
        ("v1.33.0", true),
        ("v1.37.5", true),
        ("v1.38.0", false),
    ] {
        let arguments = [
            "template",
            "evenkeel",
            "deploy/chart",
            "--kube-version",
            version,
        ];
        assert_eq!(run("helm", &arguments, "").is_ok(), is_taken, "{version}");
    }
}

/// krew takes an archive for each platform, and refuses one with another sum than its manifest's.
fn the_krew_manifest_names_the_archives_that_a_release_builds() {
    let manifest: Value = serde_saphyr::from_str(&text("deploy/krew/evenkeel.yaml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        manifest["apiVersion"],
        "krew.googlecontainertools.github.com/v1alpha2"
    );
    assert_eq!(manifest["metadata"]["name"], "evenkeel");
    assert_eq!(manifest["spec"]["version"], format!("v{version}"));
    let release = text(".github/workflows/release.yml");
    assert!(release.contains("\"dist/evenkeel-$GITHUB_REF_NAME-linux-$ARCHITECTURE.tar.gz\""));
    let workflow: Value = serde_saphyr::from_str(&release).unwrap();
    let built = workflow["jobs"]["build"]["strategy"]["matrix"]["include"]
        .as_array()
        .unwrap();
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), built.len());
    for (platform, built) in platforms.iter().zip(built) {
        let architecture = built["architecture"].as_str().unwrap();
        let labels = json!({"os": "linux", "arch": architecture});
        assert_eq!(platform["selector"]["matchLabels"], labels);
        let file = format!("evenkeel-v{version}-linux-{architecture}.tar.gz");
        let repository = env!("CARGO_PKG_REPOSITORY");
        let uri = format!("{repository}/releases/download/v{version}/{file}");
        assert_eq!(platform["uri"], uri);
        assert_eq!(platform["bin"], "evenkeel");
        // The workflow writes the sum of the archive in the place of this word.
        let sum = format!("SHA256_LINUX_{}", architecture.to_uppercase());
        assert_eq!(platform["sha256"], sum);
    }
    assert!(release.contains("s/SHA256_LINUX_${architecture^^}/$sum/"));
    for part in [
        "helm package deploy/chart",
        "helm push",
        "*.tgz",
        "*-krew.yaml",
    ] {
        assert!(release.contains(part), "{part}");
    }
}

crate::support::trial::suite!(
    [Requirement::Program("kubectl")] => [
        the_program_prints_what_kustomize_builds,
        components_combine_as_kustomize_combines_them,
        another_namespace_is_named_everywhere,
    ],
    [Requirement::Program("kubectl"), Requirement::Program("helm")] => [
        the_chart_renders_what_the_program_prints,
        values_of_the_chart_are_the_options_of_the_program,
        the_default_values_leave_the_namespace_and_keep_the_definitions,
        a_namespace_of_digits_is_a_text_in_the_chart_and_the_program,
    ],
    [Requirement::Program("helm")] => [
        the_chart_passes_the_linter,
        values_that_are_none_and_versions_that_are_not_supported_are_refused,
    ],
    [] => [the_krew_manifest_names_the_archives_that_a_release_builds],
);
