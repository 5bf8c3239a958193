#![allow(clippy::float_cmp)] // the values are read, not computed

use std::path::Path;
use std::time::Duration;

use evenkeel_forecast::ResidualChecks;
use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_objects::plan::election::Timing;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_objects::taint::TaintEffect;
use evenkeel_placement::balance::Normalization;
use evenkeel_scaling::specs::scaling_policy::PredictionModel;
use evenkeel_scaling::targets::settings::{Queries, Settings as ScalingSettings};
use evenkeel_units::{Amount, BytesPerSecond, Ratio, Resource, Resources};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::*;
use crate::external_checks::AllowedUrl;
use crate::metrics::Authorization;

/// Loads `yaml` as a file called `config.yaml`.
fn load(yaml: &str) -> Result<Config, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    load_file(&write(directory.path(), yaml))
}

fn write(directory: &Path, yaml: &str) -> ConfigSources {
    let path = directory.join("config.yaml");
    std::fs::write(&path, yaml).unwrap();
    ConfigSources {
        file: Some(path),
        ..ConfigSources::default()
    }
}

fn load_file(sources: &ConfigSources) -> Result<Config, ConfigError> {
    Config::load(sources)
}

fn flag(path: &str, value: &str) -> Override {
    Override {
        flag: "--set".to_owned(),
        path: path.to_owned(),
        value: value.to_owned(),
    }
}

#[test]
fn an_empty_file_and_no_file_give_the_documented_defaults() {
    let config = Config::load(&ConfigSources::default()).unwrap();
    assert_eq!(load("").unwrap().effective(), config.effective());
    assert_eq!(config.writes, Writes::Enabled);
    assert_eq!(config.policy.headroom.get(), 0.8);
    assert_eq!(config.policy.profile_threshold.get(), 0.15);
    assert_eq!(config.policy.no_headroom, NoHeadroom::Reject);
    assert_eq!(
        config.policy.relax_after,
        Some(SignedDuration::from_mins(5))
    );
    assert_eq!(config.policy.scoring.normalization, Normalization::Joint);
    assert_eq!(config.policy.max_age, SignedDuration::from_mins(3));
    assert_eq!(
        config.cluster.table.provisional,
        SignedDuration::from_secs(10)
    );
    let scaling = ScalingSettings {
        mode: ScalingMode::Recommend,
        predict: PredictionModel::Auto,
        interval: SignedDuration::from_secs(15),
        max_age: config.policy.max_age,
        queries: Queries::Presets,
        risk: Risk::default(),
        follows_profiles: false,
        asks_checks: false,
    };
    assert_eq!(config.scaling, scaling);
    assert_eq!(scaling, ScalingSettings::default());
    assert_eq!(config.kinds, []);
    assert_eq!(config.external_checks, None);
    assert_eq!(config.calendar, Calendar::default());
    assert_eq!(config.policy.default_capacity, Resources::default());
    assert_eq!(config.leader_election.timing, Timing::default());
    assert_eq!(config.writer, writer::Settings::default());
}

#[test]
fn the_effective_configuration_is_a_file_that_gives_itself() {
    let config = Config::load(&ConfigSources::default()).unwrap();
    let printed = serde_saphyr::to_string(config.effective()).unwrap();
    assert_eq!(load(&printed).unwrap().effective(), config.effective());
}

#[test]
fn a_mistake_says_where_it_is_what_is_wrong_and_what_is_accepted() {
    for (yaml, parts) in [
        (
            "headrom: 0.8",
            &[
                "config.yaml: headrom: ",
                "there is no field `headrom`; ",
                "accepted: one of `apiVersion`",
            ][..],
        ),
        (
            "scheduling: {headrom: 0.8}",
            &["scheduling.headrom: ", "did you mean `headroom`?"],
        ),
        (
            "scaling: {queries: preset}",
            &[
                "scaling.queries: `preset` is not accepted; did you mean `presets`?; accepted: `presets` or `any`",
            ],
        ),
        (
            "scheduling: {headroom: high}",
            &["scheduling.headroom: the text \"high\" is not accepted; accepted: a number"],
        ),
        (
            "scheduling: 5",
            &["scheduling: 5 is not accepted; accepted: a mapping of fields"],
        ),
    ] {
        let refused = load(yaml).unwrap_err().to_string();
        for part in parts {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        for jargon in [
            "unknown variant",
            "unknown field",
            "invalid type",
            "expected",
        ] {
            assert!(!refused.contains(jargon), "{jargon}: {refused}");
        }
    }
    let sources = ConfigSources {
        flags: vec![flag("scheduling.headrom", "0.8")],
        ..ConfigSources::default()
    };
    let refused = Config::load(&sources).unwrap_err().to_string();
    assert!(
        refused.contains("did you mean \"scheduling.headroom\"?"),
        "{refused}"
    );
}

#[test]
fn queries_of_annotations_are_presets_unless_the_operator_lets_any_be_asked() {
    for (yaml, queries) in [
        ("scaling: {}", Queries::Presets),
        ("scaling: {queries: presets}", Queries::Presets),
        ("scaling: {queries: any}", Queries::Any),
        (
            "{scaling: {queries: any}, metrics: {source: metrics-api}}",
            Queries::Measured,
        ),
    ] {
        assert_eq!(load(yaml).unwrap().scaling.queries, queries, "{yaml}");
    }
    let refused = load("scaling: {queries: all}").unwrap_err().to_string();
    assert!(refused.contains("scaling.queries"), "{refused}");
    assert!(refused.contains("`presets` or `any`"), "{refused}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn every_field_of_the_complete_example_is_read() {
    let yaml = include_str!("../../../../tests/fixtures/config/complete.yaml");
    let config = load(yaml).unwrap();
    assert_eq!(config.writes, Writes::Disabled);
    assert_eq!(config.policy.headroom_by_priority_class["batch"].get(), 0.6);
    assert_eq!(config.policy.relax_after, None);
    assert_eq!(
        config.policy.scoring.normalization,
        Normalization::PerResource
    );
    assert_eq!(
        config.overload,
        overload::Settings {
            effect: Some(TaintEffect::NoSchedule),
            key: "status-taint.cluster-autoscaler.kubernetes.io/evenkeel-overloaded"
                .parse()
                .unwrap(),
            disk: true,
        }
    );
    assert!(config.cluster.balances_scale_in);
    let rules = config.policy.score_labels.as_ref().unwrap();
    let controllers = ["CloneSet.apps.kruise.io".to_owned()].into();
    assert_eq!(rules.controllers, controllers);
    assert_eq!(config.cluster.shape_policy.as_deref(), Some(&config.policy));
    let tuning = crate::controller::tuning::Settings {
        mode: evenkeel_objects::tuning_mode::TuningMode::On,
        resizes: true,
        interval: SignedDuration::from_mins(20),
        elasticity: evenkeel_tuning::decision::Elasticity::new(0.3).unwrap(),
        withdraw_after: SignedDuration::from_mins(15),
        after_scaling: SignedDuration::from_mins(10),
    };
    assert_eq!(config.tuning, tuning);
    let scaling = ScalingSettings {
        mode: ScalingMode::Floor,
        predict: PredictionModel::DsHpa,
        interval: SignedDuration::from_secs(30),
        max_age: SignedDuration::from_mins(2),
        queries: Queries::Measured,
        risk: Risk::new(0.005).unwrap(),
        follows_profiles: true,
        asks_checks: true,
    };
    assert_eq!(
        config.scaling, scaling,
        "the metrics API answers no queries"
    );
    let kinds: Vec<String> = config.kinds.iter().map(ToString::to_string).collect();
    assert_eq!(
        kinds,
        [
            "Rollout of argoproj.io/v1alpha1",
            "CloneSet of apps.kruise.io/v1alpha1"
        ]
    );
    let checks = config.external_checks.unwrap();
    let allowed = AllowedUrl::parse("https://checks.example/changes").unwrap();
    assert_eq!(checks.allowed, [allowed]);
    let network = Path::new("/models/many.safetensors");
    assert_eq!(config.fits.swish_net.as_deref(), Some(network));
    assert_eq!(config.fits.residual_checks, ResidualChecks::Require);
    assert_eq!(config.fits.share, Ratio::share(0.5).unwrap());
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    assert_eq!(config.calendar, Calendar::new(berlin));
    assert_eq!(
        config.policy.default_capacity[Resource::NetworkIo],
        Some(Amount::new(1_250_000_000))
    );
    let weights = config.policy.profiles.get("batch").unwrap().get();
    assert_eq!(weights[Resource::Cpu], 0.5);
    let judged = config.policy.profiles.get("cache").unwrap().get();
    assert!((judged[Resource::Memory] - 0.464_261_493_364_601_26).abs() < 1e-12);
    assert!(matches!(
        config.certificates.serving,
        crate::certificates::ServingCertificateSource::Files(_)
    ));
    assert!(matches!(
        config.metrics.source,
        MetricsSourceSettings::MetricsApi(_)
    ));
    let agent = crate::agent::Settings {
        limits: crate::agent::DiskLimitMode::Enforce,
        least: BytesPerSecond(5_000_000),
        interval: Duration::from_secs(30),
    };
    assert_eq!(config.agent, agent);
    let tracing = config.tracing.unwrap();
    assert_eq!(tracing.address, "https://otel.example:4318/v1/traces");
    assert_eq!(tracing.sampling, 0.001);
    // A field missing from the example would be untested, so the example has all fields.
    let written: Value = serde_saphyr::from_str(yaml).unwrap();
    for (variable, path) in Config::variables() {
        let pointer = format!("/{}", path.replace('.', "/"));
        assert!(written.pointer(&pointer).is_some(), "{path} ({variable})");
    }
}

/// A configuration that opens the extender to every client has to say so.
#[test]
fn certificates_in_files_need_an_authority_for_callers_or_a_word() {
    let open = "certificates: {mode: files, extenderCallers: anybody}";
    assert_eq!(load(open).unwrap().certificates.scheduler_ca, None);
    let closed = "certificates: {mode: files, schedulerCa: /tls/ca.crt}";
    let closed = load(closed).unwrap().certificates.scheduler_ca;
    assert_eq!(closed.as_deref(), Some(Path::new("/tls/ca.crt")));

    let sources = ConfigSources {
        environment: vec![("EVENKEEL_CERTIFICATES_MODE".to_owned(), "files".to_owned())],
        ..ConfigSources::default()
    };
    let refused = Config::load(&sources).unwrap_err().to_string();
    assert!(
        refused.starts_with("environment variable EVENKEEL_CERTIFICATES_MODE: certificates.mode: "),
        "{refused}"
    );
}

/// Files with one mistake each, the path of the field, and a part of what is said to be accepted.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "certificates: {selfManaged: {secretName: keel, servingSecretName: keel}}",
        "certificates.selfManaged.servingSecretName",
        "other than secretName",
    ),
    (
        "agent: {leastLimit: 0}",
        "agent.leastLimit",
        "a rate above zero",
    ),
    ("agent: {leastLimit: slow}", "agent.leastLimit", "10MiB/s"),
    ("agent: {limits: on}", "agent.limits", "enforce"),
    ("agent: {interval: 121s}", "agent.interval", "at most 2m"),
    (
        "apiVersion: v1",
        "apiVersion",
        "config.evenkeel.dev/v1alpha1",
    ),
    ("kind: Evenkeel", "kind", "EvenkeelConfiguration"),
    (
        "writes: sometimes",
        "writes",
        "one of `enabled`, `disabled`, `restore`",
    ),
    ("scheduling: 5", "scheduling", "a mapping of fields"),
    ("writer: {inFlight: 0}", "writer.inFlight", "from 1 to 16"),
    ("writer: {inFlight: 17}", "writer.inFlight", "from 1 to 16"),
    (
        "scaling: {mode: faster}",
        "scaling.mode",
        "off, recommend, floor or direct",
    ),
    ("scaling: {mode: true}", "scaling.mode", "a text"),
    (
        "scaling: {predict: lstm}",
        "scaling.predict",
        "auto, ds-hpa, arima, gru, arima-gru, gbdt, swish-net, traffic or off",
    ),
    (
        "scaling: {residualChecks: on}",
        "scaling.residualChecks",
        "report or require",
    ),
    (
        "scaling: {fitShare: 0.001}",
        "scaling.fitShare",
        "0.001 is not accepted; accepted: a number from 0.01 to 1",
    ),
    ("scaling: {fitShare: 2}", "scaling.fitShare", "at most 1"),
    ("scaling: {risk: 1}", "scaling.risk", "from 0.05% to 20%"),
    ("scaling: {interval: 0}", "scaling.interval", "above zero"),
    (
        "scaling: {interval: 61s}",
        "scaling.interval",
        "from 1s to 1m",
    ),
    (
        "scaling: {interval: 500ms}",
        "scaling.interval",
        "from 1s to 1m",
    ),
    (
        "scaling: {interval: 30s, maxAge: 30s}",
        "scaling.interval",
        "less than scaling.maxAge",
    ),
    (
        "{scaling: {interval: 1m}, metrics: {maxAge: 50s, interval: 15s}}",
        "scaling.interval",
        "less than metrics.maxAge",
    ),
    ("scaling: {maxAge: never}", "scaling.maxAge", "above zero"),
    (
        "scaling: {timeZone: Mars/Phobos}",
        "scaling.timeZone",
        "Europe/Berlin",
    ),
    (
        "scaling: {kinds: [{apiVersion: apps/v1, kind: Deployment}]}",
        "scaling.kinds[0]",
        "argoproj.io/v1alpha1 and Rollout",
    ),
    (
        "scaling: {checks: {external: true, allowed: [https://a.example, https://a.example/x/../y]}}",
        "scaling.checks.allowed[1]",
        "relative segments",
    ),
    (
        "scaling: {checks: {allowed: [https://a.example]}}",
        "scaling.checks.allowed",
        "has no effect while scaling.checks.external is false",
    ),
    (
        "scaling: {externalJobsPerNamespace: 3}",
        "scaling.externalJobsPerNamespace",
        "has no effect while scaling.externalAlgorithms is false",
    ),
    (
        "metricsProvider: {maxRange: 24h}",
        "metricsProvider.maxRange",
        "has no effect while metricsProvider.enabled is false",
    ),
    (
        "metrics: {disk: none, kubelet: {tokenFile: /token}}",
        "metrics.kubelet.tokenFile",
        "has no effect while metrics.disk is not kubelet",
    ),
    (
        "scheduling: {scoreLabelControllers: [CloneSet.apps.kruise.io]}",
        "scheduling.scoreLabelControllers",
        "has no effect while scheduling.scoreLabels is off",
    ),
    (
        "scheduling: {overload: {disk: true}}",
        "scheduling.overload.disk",
        "has no effect while scheduling.overload.taint is off",
    ),
    (
        "agent: {limits: 'off', leastLimit: 2MiB/s}",
        "agent.leastLimit",
        "has no effect while agent.limits is off",
    ),
    (
        "tracing: {samplingRatePerMillion: 10000}",
        "tracing.samplingRatePerMillion",
        "has no effect while tracing.endpoint is null",
    ),
    (
        "tracing: {endpoint: 'http://otel:4318', samplingRatePerMillion: 1000001}",
        "tracing.samplingRatePerMillion",
        "a whole number from 0 to 1000000",
    ),
    (
        "tracing: {endpoint: 'http://otel:4318', samplingRatePerMillion: 0.1}",
        "tracing.samplingRatePerMillion",
        "a whole number",
    ),
    (
        "tracing: {endpoint: 'otel:4317'}",
        "tracing.endpoint",
        "http://otel-collector.observability.svc:4318",
    ),
    (
        "tracing: {endpoint: 'http://otel:0'}",
        "tracing.endpoint",
        "a port from 1 to 65535",
    ),
    (
        "tracing: {endpoint: 'https://me:secret@otel'}",
        "tracing.endpoint",
        "use tracing.bearerTokenFile",
    ),
    (
        "scaling: {kinds: [{apiVersion: argoproj.io/v1alpha1}]}",
        "scaling.kinds[0]",
        "not the name of a kind",
    ),
    (
        "scaling: {kinds: [{apiVersion: argoproj.io/v1%2Fa, kind: Rollout}]}",
        "scaling.kinds[0]",
        "not a group and version",
    ),
    (
        "scaling: {kinds: [{apiVersion: a.io/v1, kind: A}, {apiVersion: a.io/v2, kind: A}]}",
        "scaling.kinds[1]",
        "once, in one version",
    ),
    (
        "scaling: {kinds: [{group: a.io, kind: A}]}",
        "scaling.kinds[0].group",
        "`apiVersion`",
    ),
    ("scaling: {kinds: Rollout}", "scaling.kinds", "a list"),
    ("scaling: {enabled: true}", "scaling.enabled", "`mode`"),
    ("shceduling: {}", "shceduling", "`scheduling`"),
    (
        "scheduling: {headrom: 0.8}",
        "scheduling.headrom",
        "`headroom`",
    ),
    (
        "scheduling: {headroom: 0}",
        "scheduling.headroom",
        "above 0 and at most 1",
    ),
    (
        "scheduling: {headroom: 1.01}",
        "scheduling.headroom",
        "above 0 and at most 1",
    ),
    (
        "scheduling: {headroom: high}",
        "scheduling.headroom",
        "a number",
    ),
    (
        "scheduling: {headroomByPriorityClass: {batch: 80}}",
        "scheduling.headroomByPriorityClass.batch",
        "above 0 and at most 1",
    ),
    (
        "scheduling: {profileThreshold: -1}",
        "scheduling.profileThreshold",
        "above 0",
    ),
    (
        "scheduling: {noHeadroom: wait}",
        "scheduling.noHeadroom",
        "`reject` or `relax`",
    ),
    (
        "scheduling: {relaxAfter: soon}",
        "scheduling.relaxAfter",
        "0 for never",
    ),
    (
        "scheduling: {relaxAfter: -5m}",
        "scheduling.relaxAfter",
        "0 for never",
    ),
    (
        "scheduling: {normalization: both}",
        "scheduling.normalization",
        "`per-resource`",
    ),
    (
        "scheduling: {randomIndex: mine}",
        "scheduling.randomIndex",
        "thesis, saaty",
    ),
    (
        "scheduling: {randomIndex: 0}",
        "scheduling.randomIndex",
        "above 0",
    ),
    (
        "scheduling: {percentageOfNodesToScore: 101}",
        "scheduling.percentageOfNodesToScore",
        "a whole number from 0 to 100",
    ),
    (
        "scheduling: {overload: {taint: hard}}",
        "scheduling.overload.taint",
        "`off`, `prefer`, `enforce`",
    ),
    (
        "scheduling: {overload: {key: overloaded}}",
        "scheduling.overload.key",
        "PREFIX/evenkeel-overloaded",
    ),
    (
        "scheduling: {scoreLabels: maybe}",
        "scheduling.scoreLabels",
        "off",
    ),
    (
        "scheduling: {scoreLabels: on, scoreLabelControllers: [CloneSet.apps.kruise.io, CloneSet]}",
        "scheduling.scoreLabelControllers[1]",
        "a kind and its API group, such as CloneSet.apps.kruise.io",
    ),
    (
        "scheduling: {scoreLabels: on, profiles: {a-n3: {weights: {cpu: 1, memory: 0, networkIo: 0, diskIo: 0, disk: 0}}}}",
        "scheduling.profiles.a-n3",
        "at most 43",
    ),
    (
        "scheduling: {significance: 1.5}",
        "scheduling.significance",
        "a number from 0 to 1",
    ),
    (
        "scheduling: {inFlightTimeout: 10}",
        "scheduling.inFlightTimeout",
        "10s",
    ),
    (
        "scheduling: {profiles: {a: {}}}",
        "scheduling.profiles.a",
        "`matrix` or `weights`",
    ),
    (
        "scheduling: {profiles: {a: {weights: {cpu: 1}}}}",
        "scheduling.profiles.a.weights",
        "memory",
    ),
    (
        "scheduling: {profiles: {a: {weights: {cpu: 1, memory: 1, networkIo: 0, diskIo: 0, disk: 0}}}}",
        "scheduling.profiles.a.weights",
        "the sum must be 1",
    ),
    (
        "scheduling: {profiles: {a: {matrix: [[1, 2], [1/2, 1]]}}}",
        "scheduling.profiles.a.matrix",
        "a row for each of",
    ),
    (
        "scheduling: {profiles: {a: {matrix: [[1, x]]}}}",
        "scheduling.profiles.a.matrix[0][1]",
        "a fraction such as 1/3",
    ),
    (
        "scheduling: {profiles: {a: {matrix: [[1,9,1/9,9,9],[1/9,1,9,9,9],[9,1/9,1,9,9],[1/9,1/9,1/9,1,9],[1/9,1/9,1/9,1/9,1]]}}}",
        "scheduling.profiles.a.matrix",
        "below 0.1",
    ),
    ("network: {capacity: fast}", "network.capacity", "5Mbps"),
    (
        "network: {capsAsDemand: maybe}",
        "network.capsAsDemand",
        "true or false",
    ),
    ("disk: {ioCapacity: -1}", "disk.ioCapacity", "5Mbps"),
    (
        "metrics: {source: graphite}",
        "metrics.source",
        "`metrics-api`",
    ),
    ("metrics: {interval: 0s}", "metrics.interval", "above zero"),
    ("metrics: {maxAge: never}", "metrics.maxAge", "a duration"),
    (
        "metrics: {prometheus: {url: prom}}",
        "metrics.prometheus.url",
        "http or https URL",
    ),
    (
        "metrics: {prometheus: {queries: {nodeGpu: up}}}",
        "metrics.prometheus.queries.nodeGpu",
        "`nodeCpu`",
    ),
    ("server: {https: 8443}", "server.https", "[::]:8443"),
    ("server: {http: localhost}", "server.http", "[::]:8443"),
    (
        "server: {dashboard: '0.0.0.0:8081'}",
        "server.dashboard",
        "a loopback address",
    ),
    (
        "server: {dashboardHosts: [keel.example.org, 'http://keel.example.org']}",
        "server.dashboardHosts[1]",
        "without a port",
    ),
    (
        "server: {dashboardHosts: ['localhost:8081']}",
        "server.dashboardHosts[0]",
        "such as keel.example.org",
    ),
    (
        "server: {admissionBodyLimit: lots}",
        "server.admissionBodyLimit",
        "quantity",
    ),
    (
        "server: {extenderBodyLimit: 0}",
        "server.extenderBodyLimit",
        "above zero",
    ),
    (
        "server: {bodyBudget: {extender: 0}}",
        "server.bodyBudget.extender",
        "above zero",
    ),
    (
        "server: {bodyBudget: {extender: 63Mi}}",
        "server.bodyBudget.extender",
        "at least server.extenderBodyLimit, which is 67108864 bytes",
    ),
    (
        "server: {admissionBodyLimit: 33Mi}",
        "server.bodyBudget.admission",
        "at least server.admissionBodyLimit",
    ),
    (
        "server: {metrics: '[::]:8443'}",
        "server.metrics",
        "a port other than that of server.https, which listens on [::]:8443",
    ),
    (
        "server: {http: '0.0.0.0:8443'}",
        "server.http",
        "a port other than that of server.https",
    ),
    (
        "server: {dashboard: '127.0.0.1:8080'}",
        "server.dashboard",
        "a port other than that of server.http",
    ),
    (
        "server: {bodyBudget: 128Mi}",
        "server.bodyBudget",
        "a mapping of fields",
    ),
    ("server: {metrics: 8444}", "server.metrics", "[::]:8443"),
    (
        "metricsProvider: {enabled: true, grpc: '[::]:8443'}",
        "metricsProvider.grpc",
        "a port other than that of server.https",
    ),
    (
        "metricsProvider: {enabled: true, plaintextGrpc: 8446}",
        "metricsProvider.plaintextGrpc",
        "[::]:8443",
    ),
    (
        "metricsProvider: {enabled: true, maxPoints: 200000}",
        "metricsProvider.maxPoints",
        "at most 130000",
    ),
    (
        "metricsProvider: {enabled: true, queries: [{name: one, query: vector(1)}]}",
        "metricsProvider.queries[0].query",
        "names no metric",
    ),
    (
        "metricsProvider: {enabled: true, queries: [{name: a, query: b}, {name: a, query: c}]}",
        "metricsProvider.queries[1]",
        "twice",
    ),
    (
        "metricsProvider: {enabled: true, queries: [{name: a, query: b, objectLabel: 'a-b'}]}",
        "metricsProvider.queries[0].objectLabel",
        "ingress",
    ),
    (
        "server: {metricsAuthentication: token}",
        "server.metricsAuthentication",
        "`kubernetes`",
    ),
    (
        "server: {concurrency: {admission: 0}}",
        "server.concurrency.admission",
        "at least 1",
    ),
    (
        "server: {concurrency: {extender: -1}}",
        "server.concurrency.extender",
        "from 0",
    ),
    (
        "server: {drainTimeout: 1 fortnight}",
        "server.drainTimeout",
        "a duration",
    ),
    (
        "certificates: {mode: files}",
        "certificates.mode",
        "with certificates.extenderCallers: anybody",
    ),
    (
        "certificates: {mode: files, schedulerCa: ''}",
        "certificates.mode",
        "the file of the CA that signs kube-scheduler's client certificate",
    ),
    (
        "certificates: {mode: files, schedulerCa: /tls/ca.crt, extenderCallers: anybody}",
        "certificates.extenderCallers",
        "because certificates.schedulerCa is set",
    ),
    (
        "certificates: {extenderCallers: anybody}",
        "certificates.extenderCallers",
        "or certificates.mode: files",
    ),
    (
        "certificates: {extenderCallers: nobody}",
        "certificates.extenderCallers",
        "`authenticated` or `anybody`",
    ),
    (
        "certificates: {mode: none}",
        "certificates.mode",
        "`self-managed`",
    ),
    (
        "certificates: {selfManaged: {ipAddresses: [10.0.0.1, here]}}",
        "certificates.selfManaged.ipAddresses[1]",
        "an IP address",
    ),
    (
        "certificates: {selfManaged: {rotateBefore: 721h}}",
        "certificates.selfManaged.rotateBefore",
        "less than leafValidity",
    ),
    (
        "certificates: {selfManaged: {leafValidity: 87600h}}",
        "certificates.selfManaged.leafValidity",
        "a twentieth of caValidity",
    ),
    (
        "certificates: {selfManaged: {dnsNames: [not a name]}}",
        "certificates.selfManaged.dnsNames",
        "not a name",
    ),
    (
        "certificates: {selfManaged: {services: ['']}}",
        "certificates.selfManaged.services",
        "DNS name",
    ),
    (
        "metrics: {prometheus: {matchers: {cadvisor: job=kubelet}}}",
        "metrics.prometheus.matchers.cadvisor",
        "values in double quotes",
    ),
    (
        "metrics: {prometheus: {nodeLabel: 1st}}",
        "metrics.prometheus.nodeLabel",
        "letters, digits",
    ),
    (
        "leaderElection: {renewDeadline: 10s}",
        "leaderElection.renewDeadline",
        "less than leaderElection.leaseDuration",
    ),
    (
        "leaderElection: {leaseDuration: 9500ms}",
        "leaderElection.leaseDuration",
        "whole seconds",
    ),
    (
        "writer: {timeout: 4s}",
        "writer.timeout",
        "less than leaderElection.leaseDuration minus leaderElection.renewDeadline, which is 4s",
    ),
    (
        "leaderElection: {renewDeadline: 7s}",
        "writer.timeout",
        "less than leaderElection.leaseDuration minus leaderElection.renewDeadline, which is 3s",
    ),
    ("writer: {queue: 0}", "writer.queue", "at least 1"),
    ("wake: {minInterval: 0}", "wake.minInterval", "above zero"),
    (
        "log: {level: loud=very}",
        "log.level",
        "error, warn, info, debug or trace",
    ),
    ("log: {format: xml}", "log.format", "`json` or `text`"),
];

#[test]
fn wrong_values_are_refused_with_path_and_what_is_accepted() {
    for (yaml, path, accepted) in REFUSED {
        let refused = load(yaml).expect_err(yaml);
        let [problem] = &refused.problems[..] else {
            panic!("{yaml}: {refused}");
        };
        assert_eq!(problem.path, *path, "{yaml}: {refused}");
        assert!(problem.message.contains(accepted), "{yaml}: {refused}");
        assert!(refused.to_string().contains("config.yaml: "), "{refused}");
    }
}

#[test]
fn what_is_no_mapping_is_refused_as_a_whole() {
    for (yaml, message) in [
        ("[1, 2]", "a YAML mapping"),
        ("a: [", "is not YAML"),
        ("writes: enabled\nwrites: disabled\n", "duplicate"),
    ] {
        let refused = load(yaml).expect_err(yaml).to_string();
        assert!(refused.contains(message), "{yaml}: {refused}");
    }
    let missing = ConfigSources {
        file: Some("/nowhere/config.yaml".into()),
        ..ConfigSources::default()
    };
    let refused = Config::load(&missing).unwrap_err().to_string();
    assert!(
        refused.starts_with("/nowhere/config.yaml: cannot be read"),
        "{refused}"
    );
}

#[test]
fn all_problems_are_told_at_once() {
    let yaml = "
scheduling: {headroom: 2, headrom: 1, normalization: both}
metrics: {interval: 0s}
oops: 1
";
    let refused = load(yaml).unwrap_err();
    let mut paths: Vec<_> = refused
        .problems
        .iter()
        .map(|problem| &*problem.path)
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "metrics.interval",
            "oops",
            "scheduling.headrom",
            "scheduling.headroom",
            "scheduling.normalization",
        ]
    );
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut sources = write(
        directory.path(),
        "scheduling: {headroom: 0.5, profileThreshold: 0.5, noHeadroom: relax}",
    );
    sources.environment = vec![
        (
            "EVENKEEL_SCHEDULING_PROFILE_THRESHOLD".to_owned(),
            "0.6".to_owned(),
        ),
        (
            "EVENKEEL_SCHEDULING_NO_HEADROOM".to_owned(),
            "reject".to_owned(),
        ),
        (
            "EVENKEEL_ADMISSION_SCHEDULER_NAME".to_owned(),
            "42".to_owned(),
        ),
        ("EVENKEEL_SCHEDULNG_HEADROOM".to_owned(), "0.1".to_owned()),
        (
            "EVENKEEL_METRICS_PORT".to_owned(),
            "tcp://10.0.0.1:8080".to_owned(),
        ),
    ];
    sources.flags = vec![flag("scheduling.noHeadroom", "relax")];
    let config = Config::load(&sources).unwrap();
    assert_eq!(config.policy.headroom.get(), 0.5);
    assert_eq!(config.policy.profile_threshold.get(), 0.6);
    assert_eq!(config.policy.no_headroom, NoHeadroom::Relax);
    assert_eq!(config.policy.scheduler_name.as_deref(), Some("42"));
    assert_eq!(config.unknown_variables, ["EVENKEEL_SCHEDULNG_HEADROOM"]);
}

/// A file, its switch with the value for off, and an option without effect then, with another
/// value.
type TurnedOff = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const TURNED_OFF: [TurnedOff; 6] = [
    (
        "scaling: {checks: {external: true, allowed: [https://a.example]}}",
        "scaling.checks.external",
        "false",
        "scaling.checks.allowed",
        "[https://b.example]",
    ),
    (
        "scaling: {externalAlgorithms: true, externalJobsPerNamespace: 3}",
        "scaling.externalAlgorithms",
        "false",
        "scaling.externalJobsPerNamespace",
        "4",
    ),
    (
        "scheduling: {overload: {taint: enforce, disk: true}}",
        "scheduling.overload.taint",
        "off",
        "scheduling.overload.disk",
        "true",
    ),
    (
        "metricsProvider: {enabled: true, maxRange: 24h}",
        "metricsProvider.enabled",
        "false",
        "metricsProvider.maxRange",
        "25h",
    ),
    (
        "metrics: {disk: kubelet, kubelet: {tokenFile: /token}}",
        "metrics.disk",
        "none",
        "metrics.kubelet.tokenFile",
        "/other",
    ),
    (
        "agent: {limits: enforce, leastLimit: 2MiB/s}",
        "agent.limits",
        "off",
        "agent.leastLimit",
        "3MiB/s",
    ),
];

/// The harm: in an emergency a variable turned a component off, and the service did not start
/// because the file still had options of it.
#[test]
fn a_component_is_turned_off_over_the_options_of_a_weaker_source() {
    let directory = tempfile::tempdir().unwrap();
    for (yaml, switch, off, option, given) in TURNED_OFF {
        let variable = |path: &str, value: &str| {
            let mut all = Config::variables().into_iter();
            let (name, _) = all.find(|(_, field)| field == path).unwrap();
            (name, value.to_owned())
        };
        let sources = write(directory.path(), yaml);
        let on = load_file(&sources).unwrap();
        assert_eq!(on.warnings().collect::<Vec<_>>(), [""; 0], "{switch}");
        let by_variable = ConfigSources {
            environment: vec![variable(switch, off)],
            ..sources.clone()
        };
        let by_flag = ConfigSources {
            flags: vec![flag(switch, off)],
            ..sources.clone()
        };
        let over_variable = ConfigSources {
            environment: vec![variable(option, given)],
            ..by_flag.clone()
        };
        for (sources, by) in [
            (&by_variable, &*by_variable.environment[0].0),
            (&by_flag, "--set"),
            (&over_variable, "--set"),
        ] {
            let config = load_file(sources).unwrap();
            let warnings: Vec<String> = config.warnings().collect();
            let [one] = &warnings[..] else {
                panic!("{switch}: {warnings:?}");
            };
            let says = |part: &str| assert!(one.contains(part), "{one}");
            says(&format!("{option}: has no effect while {switch} is "));
            says(by);
        }
        let both = ConfigSources {
            environment: vec![variable(switch, off), variable(option, given)],
            ..sources.clone()
        };
        let error = load_file(&both).unwrap_err().to_string();
        assert!(error.contains(option), "{error}");
        let weaker = ConfigSources {
            flags: vec![flag(option, given)],
            ..by_variable
        };
        let error = load_file(&weaker).unwrap_err().to_string();
        assert!(error.contains(option), "{error}");
    }
}

#[test]
fn a_problem_names_the_variable_or_flag_that_brought_it() {
    let sources = ConfigSources {
        file: None,
        environment: vec![("EVENKEEL_SCHEDULING_HEADROOM".to_owned(), "2".to_owned())],
        flags: vec![flag("log.format", "xml"), flag("log.colour", "red")],
    };
    let refused = Config::load(&sources).unwrap_err().to_string();
    assert!(
        refused.contains("--set: log.colour: no such field"),
        "{refused}"
    );
    let sources = ConfigSources {
        flags: vec![flag("log.format", "xml")],
        ..sources
    };
    let refused = Config::load(&sources).unwrap_err().to_string();
    for expected in [
        "environment variable EVENKEEL_SCHEDULING_HEADROOM: scheduling.headroom: ",
        "--set: log.format: ",
    ] {
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn no_variable_can_be_taken_for_a_service_link() {
    for (variable, path) in Config::variables() {
        let sources = ConfigSources {
            environment: vec![(variable.clone(), "[".to_owned())],
            ..ConfigSources::default()
        };
        // `[` is no value of any field but a free text, so a variable that is skipped by mistake
        // changes nothing.
        let changed = Config::load(&sources)
            .map_or(true, |config| *config.effective() != ConfigFile::default());
        assert!(changed, "{variable} ({path})");
    }
}

#[test]
fn credentials_in_a_url_are_refused_and_not_repeated() {
    for password in ["hunter2", "hunter^2", "hunter|ü", "hunter{2}"] {
        let url = format!("http://me:{password}@prom:9090");
        let refused = load(&format!("metrics: {{prometheus: {{url: '{url}'}}}}")).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("bearerTokenFile"), "{refused}");
        assert!(!refused.contains("hunter"), "{refused}");
    }
}

#[test]
fn kubelets_tell_the_use_of_disks_unless_queries_do_or_the_source_is_another() {
    for (yaml, asked, query) in [
        ("{}", true, false),
        ("{source: metrics-api}", true, true),
        ("{disk: queries}", false, true),
        ("{disk: none}", false, false),
        (
            "{disk: none, prometheus: {queries: {podDisk: a}}}",
            false,
            true,
        ),
        ("{source: metrics-api, disk: none}", false, false),
        ("{prometheus: {queries: {podDisk: a}}}", false, true),
        ("{prometheus: {queries: {nodeDisk: a}}}", false, true),
        ("{source: none}", false, true),
    ] {
        let config = load(&format!("metrics: {yaml}")).unwrap();
        assert_eq!(config.metrics.kubelet.is_some(), asked, "{yaml}");
        let minutes = if asked { 16 } else { 3 };
        let age = config.cluster.table.disk_max_age;
        assert_eq!(age, SignedDuration::from_mins(minutes), "{yaml}");
        if let MetricsSourceSettings::Prometheus(settings) = config.metrics.source {
            let queries = settings.queries;
            assert_eq!(queries.nodes[Resource::Disk].is_some(), query, "{yaml}");
            assert_eq!(queries.pods[Resource::Disk].is_some(), query, "{yaml}");
        }
    }
    let given = load("{}").unwrap().metrics.kubelet.unwrap().access;
    assert_eq!(given.authorization, Authorization::None, "tokens are made");
    let longer = load("metrics: {maxAge: 30m}").unwrap().cluster.table;
    assert_eq!(longer.disk_max_age, SignedDuration::from_mins(30));
    let own = load("metrics: {kubelet: {tokenFile: /a, caFile: /b}}").unwrap();
    let access = own.metrics.kubelet.unwrap().access;
    assert_eq!(access.authorization, Authorization::Bearer("/a".into()));
    assert_eq!(access.ca_file.as_deref(), Some(Path::new("/b")));
}

#[test]
fn capacities_are_told_by_labels_and_an_entry_that_is_never_reached_is_refused() {
    let capacities = |yaml: &str| load(&format!("scheduling: {{capacities: [{yaml}]}}"));
    for (yaml, told) in [
        ("{diskIo: 1MB/s}", "[0].matchLabels"),
        ("{matchLabels: {a: b}}", "needs networkIo or diskIo"),
        ("{matchLabels: {a: b}, diskIo: fast}", "[0].diskIo"),
        ("{matchLabels: {a: b}, cpu: 4}", "cpu"),
        (
            "{matchLabels: {a: b}, diskIo: 1}, {matchLabels: {a: b, c: d}, diskIo: 2}",
            "scheduling.capacities[1]",
        ),
    ] {
        let refused = capacities(yaml).unwrap_err().to_string();
        assert!(refused.contains(told), "{yaml}: {refused}");
    }
    let config = capacities(
        "{matchLabels: {a: b, c: 1}, diskIo: 1MB/s}, {matchLabels: {a: b}, networkIo: 8bps}",
    );
    let told = config.unwrap().cluster.capacities;
    let of = |labels: &[(&str, &str)]| {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()));
        *told.of_labels(&labels.collect()).values()
    };
    let amount = |value| Some(Amount::new(value));
    let both = [None, None, None, amount(1_000_000), None];
    assert_eq!(of(&[("a", "b"), ("c", "1")]), both);
    assert_eq!(of(&[("a", "b")]), [None, None, amount(1), None, None]);
    assert_eq!(of(&[("c", "1")]), [None; 5]);
}

#[test]
fn prometheus_is_shown_one_way_to_say_who_calls_and_nothing_secret_stands_in_the_file() {
    let prometheus = |yaml: &str| load(&format!("metrics: {{prometheus: {{{yaml}}}}}"));
    for (yaml, told) in [
        (
            "headers: {Authorization: Bearer x}",
            "headers.Authorization",
        ),
        ("headers: {cookie: a=b}", "bearerTokenFile"),
        ("headers: {'a b': c}", "not the name of an HTTP header"),
        (r#"headers: {a: "b\nc"}"#, "no HTTP header can hold"),
        ("basicAuth: {username: a}", "needs both"),
        (
            "basicAuth: {username: 'a:b', passwordFile: f}",
            "without a colon",
        ),
        (
            "basicAuth: {username: a, passwordFile: f}, bearerTokenFile: t",
            "one of the two",
        ),
        ("clientCertificate: {keyFile: f}", "needs both"),
    ] {
        let refused = prometheus(yaml).unwrap_err().to_string();
        assert!(refused.contains(told), "{yaml}: {refused}");
    }
    let config = prometheus(
        "headers: {X-Scope-OrgID: 7}, basicAuth: {username: a, passwordFile: f}, \
         clientCertificate: {certificateFile: c, keyFile: k}",
    )
    .unwrap();
    let MetricsSourceSettings::Prometheus(settings) = config.metrics.source else {
        panic!("the default source is Prometheus");
    };
    assert_eq!(settings.connection.headers["x-scope-orgid"], "7");
    let access = settings.connection.access;
    let basic = Authorization::Basic {
        username: "a".to_owned(),
        password_file: "f".into(),
    };
    assert_eq!(access.authorization, basic);
    assert_eq!(access.identity.unwrap().key, Path::new("k"));
}

#[test]
fn queries_of_the_operators_own_are_dated_or_refused() {
    let queries = |yaml: &str| load(&format!("metrics: {{prometheus: {{queries: {{{yaml}}}}}}}"));
    for (yaml, told) in [
        ("nodeCpu: vector(1)", "names no metric"),
        (
            r#"nodeCpu: 'label_replace(a, "node", "$1", "host", "(.*)")'"#,
            "set `value` and `time`",
        ),
        ("podCpu: {value: a, time: b}", "does not accept `time`"),
        ("nodeCpu: {value: a}", "time"),
        ("nodeCpu: [a]", "`value` and `time`"),
    ] {
        let refused = queries(yaml).unwrap_err().to_string();
        assert!(refused.contains(told), "{yaml}: {refused}");
        assert!(refused.contains("metrics.prometheus.queries"), "{refused}");
    }
    let config = queries("nodeCpu: {value: a, time: b}, nodeMemory: c - d").unwrap();
    let MetricsSourceSettings::Prometheus(settings) = config.metrics.source else {
        panic!("the default source is Prometheus");
    };
    let sampled = |resource| {
        let query = settings.queries.nodes[resource].clone();
        query.unwrap().sampled
    };
    assert_eq!(&*sampled(Resource::Cpu), "b");
    assert!(sampled(Resource::Memory).contains("timestamp(d)"));
}

#[test]
fn spans_are_recorded_if_there_is_a_collector() {
    assert_eq!(load("").unwrap().tracing, None);
    let given = "{endpoint: 'https://otel/base', caFile: /ca, bearerTokenFile: /token}";
    let given = load(&format!("tracing: {given}")).unwrap().tracing.unwrap();
    assert_eq!(given.address, "https://otel/base/v1/traces");
    assert_eq!(given.sampling, 0.0);
    let access = given.access;
    assert_eq!(access.authorization, Authorization::Bearer("/token".into()));
    assert_eq!(access.ca_file.as_deref(), Some(Path::new("/ca")));
    let rate = "tracing: {endpoint: 'http://otel:4318', samplingRatePerMillion: 10000}";
    assert_eq!(load(rate).unwrap().tracing.unwrap().sampling, 0.01);
}

#[test]
fn a_port_that_is_none_is_refused_and_not_guessed() {
    for url in [
        "http://prom:99999",
        "http://prom:9O90",
        "https://prom:",
        "http://prom:0",
    ] {
        let refused = load(&format!("metrics: {{prometheus: {{url: '{url}'}}}}")).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("a port from 1 to 65535"), "{refused}");
    }
}

#[test]
fn a_reload_takes_writes_and_names_what_needs_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let config = load_file(&write(directory.path(), "writes: enabled")).unwrap();
    write(
        directory.path(),
        "{writes: disabled, scheduling: {headroom: 0.7, significance: 0.1}, log: {level: debug}}",
    );
    let reload = config.reload().unwrap();
    assert_eq!(reload.writes, Writes::Disabled);
    let changed = [
        "log.level",
        "scheduling.headroom",
        "scheduling.significance",
    ];
    assert_eq!(reload.needs_restart, changed);
    assert_eq!(reload.refused, None);
    assert_eq!(config.policy.headroom.get(), 0.8);
}

#[test]
fn a_refused_file_changes_nothing_but_still_stops_writes() {
    let directory = tempfile::tempdir().unwrap();
    let config = load_file(&write(directory.path(), "writes: enabled")).unwrap();
    write(
        directory.path(),
        "{writes: enabled, scheduling: {headroom: 7}}",
    );
    assert!(config.reload().is_err());
    write(
        directory.path(),
        "{writes: disabled, scheduling: {headroom: 7}}",
    );
    let reload = config.reload().unwrap();
    assert_eq!(reload.writes, Writes::Disabled);
    assert!(reload.refused.is_some());
    let restore = "{writes: restore, scheduling: {headroom: 7}}";
    write(directory.path(), restore);
    let reload = config.reload().unwrap();
    assert_eq!(
        (reload.writes, reload.refused.is_some()),
        (Writes::Restore, true)
    );
}

#[test]
fn no_more_kinds_are_taken_than_are_watched_without_harm() {
    let kinds = |count: usize| {
        let one = |number| format!("{{apiVersion: a.io/v1, kind: Kind{number}}}");
        let all: Vec<String> = (0..count).map(one).collect();
        load(&format!("scaling: {{kinds: [{}]}}", all.join(", ")))
    };
    assert_eq!(kinds(16).unwrap().kinds.len(), 16);
    let refused = kinds(17).unwrap_err().to_string();
    assert!(
        refused.contains("scaling.kinds") && refused.contains("17 kinds; accepted: at most 16"),
        "{refused}"
    );
}
