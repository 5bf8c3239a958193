//! `evenkeel install`: prints the manifests of an installation, from the program itself.

use std::io::Write as _;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use evenkeel_http_client::Uri;
use evenkeel_manifests::{
    COMPONENTS, CONFIGURATION, ComponentSelection, IMAGE, InstallOptions, Manifests, NAMESPACE,
};
use serde_json::{Map, Value};

use evenkeel_service::config::{Config, ConfigSources, Override};
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, read_input, yaml};
use evenkeel_terminal::settings::parse_assignment;

const EXAMPLES: &str = "\
Examples:
  evenkeel install | kubectl apply -f -
  evenkeel install --set metrics.prometheus.url=http://prometheus.monitoring.svc:9090 | kubectl apply -f -
  evenkeel install --with cert-manager --with prometheus-operator > evenkeel.yaml
  evenkeel install --with second-scheduler --scheduler-image registry.k8s.io/kube-scheduler:v1.34.2

The objects are the same as those of kubectl apply -k deploy/, of its overlays, and of the Helm
chart. Give the same options at each upgrade; evenkeel upgrade --check with these options shows
what will change.

The configuration is checked before anything is printed. Exit codes: 0 printed; 2 the command line
or the configuration is wrong.";

/// Print the manifests of an installation, for kubectl apply
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    manifests: ManifestArgs,

    /// The namespace to install into
    #[arg(long, short, value_name = "NAME", env = "EVENKEEL_NAMESPACE", default_value = NAMESPACE)]
    namespace: String,
}

/// Flags that choose the objects of an installation.
#[derive(Debug, clap::Args)]
pub(super) struct ManifestArgs {
    /// Add a component; may be repeated
    #[arg(long, value_name = "COMPONENT", value_parser = components())]
    with: Vec<String>,

    /// Set one field of the configuration, such as metrics.source=metrics-api; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = parse_assignment)]
    assignments: Vec<(String, String)>,

    /// Take the configuration from this file, instead of the shipped one; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Image of Evenkeel, with its tag
    #[arg(long, value_name = "IMAGE", value_parser = parse_image, default_value = IMAGE)]
    image: String,

    /// Replicas of the service [default: 2]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    replicas: Option<u32>,

    /// Another TCP port that the service may call, in addition to 443, 4318, 6443, 9090 and 10250;
    /// may be repeated
    #[arg(long = "egress-port", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    egress_ports: Vec<u16>,

    /// Image of kube-scheduler, for the component second-scheduler
    #[arg(long, value_name = "IMAGE", value_parser = parse_image)]
    scheduler_image: Option<String>,

    /// Leave the Namespace out, because it exists and holds other objects; `kubectl delete -f` then leaves it
    #[arg(long)]
    no_namespace: bool,
}

/// The component that `--scheduler-image` is for.
const SECOND_SCHEDULER: &str = "second-scheduler";

/// An image as a container names it.
fn parse_image(text: &str) -> Result<String, String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    let ends = [text.bytes().next(), text.bytes().next_back()];
    let are_letters = ends
        .iter()
        .all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()));
    if are_letters && text.bytes().all(is_part) {
        Ok(text.to_owned())
    } else {
        Err(format!("accepted: an image with its tag, such as {IMAGE}"))
    }
}

/// The names of components, each with its line in the help.
fn components() -> impl clap::builder::TypedValueParser<Value = String> {
    let values = COMPONENTS.iter();
    let values = values.map(|component| PossibleValue::new(component.name).help(component.about));
    PossibleValuesParser::new(values).map(|name| name)
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let objects = args.manifests.objects(&args.namespace)?;
    let mut out = std::io::stdout().lock();
    for object in objects {
        write!(out, "---\n{}", yaml(&object)?)?;
    }
    Ok(out.flush()?)
}

impl ManifestArgs {
    pub(super) fn objects(&self, namespace: &str) -> Result<Vec<Value>, CliFailure> {
        let manifests = Manifests::read().map_err(CliFailure::work)?;
        let components = ComponentSelection::of(self.with.iter().map(String::as_str));
        check_namespace(namespace)?;
        let has_scheduler = self.with.iter().any(|name| name == SECOND_SCHEDULER);
        if self.scheduler_image.is_some() && !has_scheduler {
            return Err(CliFailure::call(format_args!(
                "--scheduler-image has no effect without --with {SECOND_SCHEDULER}"
            )));
        }
        let mut options = InstallOptions {
            components: components.map_err(CliFailure::call)?,
            namespace: namespace.to_owned(),
            image: self.image.clone(),
            scheduler_image: self.scheduler_image.clone(),
            replicas: self.replicas,
            egress_ports: self.egress_ports.clone(),
            configuration: None,
        };
        let objects = manifests.objects(&options);
        let text = self.configuration(&objects)?;
        options.configuration = (text != shipped(&objects)).then_some(text);
        let mut objects = manifests.objects(&options);
        objects.retain(|object| !self.no_namespace || object["kind"] != "Namespace");
        Ok(objects)
    }

    /// The configuration with the fields that are set, checked as the service checks it: with the
    /// variables of its Deployment over the file.
    fn configuration(&self, objects: &[Value]) -> Result<String, CliFailure> {
        let text = match &self.config {
            Some(path) => read_input(path)?,
            None => shipped(objects).to_owned(),
        };
        let assigned = self.assignments.iter().map(|(path, value)| Override {
            flag: "--set".to_owned(),
            path: path.clone(),
            value: value.clone(),
        });
        let (_, name) = CONFIGURATION;
        let file = self.config.clone().unwrap_or_else(|| name.into());
        let mut sources = ConfigSources {
            file: Some(file.clone()),
            ..ConfigSources::default()
        };
        let own = Config::given_in(&text, &sources)?;
        sources.environment = variables(objects);
        if self.config.is_some() {
            let all = Config::given_in(&text, &sources)?;
            let set = Config::variables().into_iter();
            let mut set = set.map(|(_, path)| path).filter(|path| sources.names(path));
            let is_lost = |path: &String| {
                let own = field(&own, path);
                own.is_some() && own != field(&all, path)
            };
            if let Some(path) = set.find(is_lost) {
                return Err(set_by_component(&format!("{}: {path}", file.display())));
            }
        }
        for (path, _) in &self.assignments {
            if sources.names(path) {
                return Err(set_by_component(path));
            }
        }
        sources.flags = assigned.collect();
        let checked = Config::parse(&text, &sources)?;
        warn_of_ports(&checked, objects);
        warn_of_guard(&checked, objects);
        if self.assignments.is_empty() {
            return Ok(text);
        }
        sources.environment.clear();
        yaml(&Config::given_in(&text, &sources)?)
    }
}

fn set_by_component(field: &str) -> CliFailure {
    CliFailure::call(format_args!(
        "{field} is set by a component of --with, as a variable of the Deployment, which overrides the file"
    ))
}

fn field<'a>(fields: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let rest = rest.split('.').filter(|step| !step.is_empty());
    rest.fold(fields.get(first), |value, step| value?.get(step))
}

/// Refuses a namespace that cannot be Evenkeel's own, because deleting the manifests deletes it.
fn check_namespace(name: &str) -> Result<(), CliFailure> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let is_label = bytes.len() <= 63
        && bytes.iter().all(|byte| is_part(*byte) || *byte == b'-')
        && ends
            .iter()
            .all(|end| end.is_some_and(|byte| is_part(*byte)));
    if !is_label {
        return Err(CliFailure::call(format_args!(
            "--namespace: {name:?} is not accepted; accepted: at most 63 lower-case letters, digits and -, such as {NAMESPACE}"
        )));
    }
    if name == "default" || name.starts_with("kube-") {
        return Err(CliFailure::call(format_args!(
            "--namespace: {name} is a namespace of the cluster itself; accepted: a namespace for \
             Evenkeel alone, such as {NAMESPACE}"
        )));
    }
    Ok(())
}

fn own<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let is_own =
        |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == "evenkeel";
    objects.iter().find(is_own).unwrap_or(&Value::Null)
}

fn shipped(objects: &[Value]) -> &str {
    let (_, key) = CONFIGURATION;
    own(objects, "ConfigMap")["data"][key]
        .as_str()
        .unwrap_or_default()
}

/// The variables of the service that have a value in the manifests.
fn variables(objects: &[Value]) -> Vec<(String, String)> {
    let deployment = own(objects, "Deployment");
    let variables = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    let variables = variables.as_array().into_iter().flatten();
    let text = |field: &Value| field.as_str().map(str::to_owned);
    variables
        .filter_map(|variable| Some((text(&variable["name"])?, text(&variable["value"])?)))
        .collect()
}

/// Warns of settings that take no effect, because the write guard refuses what they write.
fn warn_of_guard(config: &Config, objects: &[Value]) {
    let is_guard = |object: &&Value| {
        object["kind"] == "ValidatingAdmissionPolicy"
            && object["metadata"]["name"] == "evenkeel-writes"
    };
    let guard = objects.iter().find(is_guard).unwrap_or(&Value::Null);
    let variables = guard["spec"]["variables"].as_array();
    let refuses = |name: &str| {
        let mut variables = variables.into_iter().flatten();
        variables.any(|variable| variable["name"] == name && variable["expression"] == "false")
    };
    for (field, is_on, variable, component) in [
        (
            "scheduling.scoreLabels",
            config.policy.score_labels.is_some(),
            "mayScore",
            "score-labels",
        ),
        (
            "scheduling.overload.taint",
            config.overload.effect.is_some(),
            "mayTaint",
            "overload-taints",
        ),
    ] {
        if is_on && refuses(variable) {
            output::warn(&format!(
                "{field} is on, and the write guard refuses what it writes on nodes; use --with \
                 {component} instead"
            ));
        }
    }
}

/// Warns where Prometheus or a collector is called at a port that the NetworkPolicy keeps shut.
fn warn_of_ports(config: &Config, objects: &[Value]) {
    let effective = serde_json::to_value(config.effective()).unwrap_or_default();
    let metrics = &effective["metrics"];
    if metrics["source"] == "prometheus" {
        let url = &metrics["prometheus"]["url"];
        warn_of_port("metrics.prometheus.url", "Prometheus", url, objects);
    }
    let endpoint = &effective["tracing"]["endpoint"];
    warn_of_port("tracing.endpoint", "the collector", endpoint, objects);
}

fn warn_of_port(field: &str, server: &str, url: &Value, objects: &[Value]) {
    let url = url.as_str().and_then(|url| url.parse().ok());
    let Some(port) = url.and_then(|url: Uri| port(&url)) else {
        return;
    };
    let rules = &own(objects, "NetworkPolicy")["spec"]["egress"];
    let opens = |rule: &Value| match rule["ports"].as_array() {
        Some(ports) => ports.iter().any(|open| open["port"] == port),
        None => true,
    };
    let is_open = rules
        .as_array()
        .is_some_and(|rules| rules.iter().any(opens));
    if !is_open {
        output::warn(&format!(
            "{field} names port {port}, and the NetworkPolicy allows egress to TCP 443, 4318, \
             6443, 9090 and 10250 only; if the Pods of {server} listen on another port, add that \
             port with --egress-port"
        ));
    }
}

fn port(url: &Uri) -> Option<u16> {
    let usual = match url.scheme_str()? {
        "https" => 443,
        _ => 80,
    };
    Some(url.port_u16().unwrap_or(usual))
}
