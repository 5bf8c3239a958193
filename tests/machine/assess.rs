//! `evenkeel assess` on the embedded API server: what it says of each HPA by the past that a Prometheus
//! on loopback tells, or a real one with a month of series, and how it fails.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::fmt::Write as _;
use std::process::Command;

use evenkeel_apiserver::ApiServer;
use evenkeel_clock::{self as clock, Clock};
use evenkeel_sandbox::target_replay::{Season, SeasonalRule};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::{Value, json};

use crate::support::dev_api::{ask, create, patch, settings, with_settings};
use crate::support::load;
use crate::support::metrics_server;
use crate::support::metrics_stand_in::{self, Reply};

pub(crate) mod queries;

/// The end of all pasts, and the same for a flag.
const END: i64 = 1_773_532_800;
const UNTIL: &str = "2026-03-15T00:00:00Z";

/// The end of a call of the program.
struct Called {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Called {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect(&self.stderr)
    }

    /// The call failed so, with all of `parts` in its message.
    fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} in {}", self.stderr);
        }
    }
}

/// Calls the program with this kubeconfig, while the servers go on answering.
async fn assess(kubeconfig: &str, arguments: &[&str]) -> Called {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), kubeconfig).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .args(["assess", "--until", UNTIL, "--kubeconfig"])
        .arg(file.path())
        .args(arguments)
        .env_clear();
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.unwrap().unwrap();
    drop(file);
    Called {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn with_server(test: impl AsyncFnOnce(&ApiServer, &Client)) {
    with_settings(settings(), async |server, client| {
        let shop = json!({"metadata": {"name": "shop"}});
        create(client, "/api/v1/namespaces", &shop).await;
        test(server, client).await;
    });
}

fn path(resource: &str) -> String {
    let (group, plural) = resource.rsplit_once('/').unwrap();
    let root = if group == "v1" {
        "/api/v1"
    } else {
        &format!("/apis/{group}")
    };
    format!("{root}/namespaces/shop/{plural}")
}

/// A Deployment with a Pod that took 45 seconds until it was ready.
async fn deploy(client: &Client, name: &str) {
    let labels = json!({"app": name});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [
        {"name": "app", "image": "app", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": labels}, "template": template});
    let deployment = json!({"metadata": {"name": name}, "spec": spec});
    create(client, &path("apps/v1/deployments"), &deployment).await;
    let controlled_by = |kind: &str, name: &str, uid: &Value| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}]);
    let (_, made) = ask(
        client,
        "GET",
        &format!("{}/{name}", path("apps/v1/deployments")),
        &Value::Null,
    )
    .await;
    let set = format!("{name}-7c5ddb8f4");
    let owner = controlled_by("Deployment", name, &made["metadata"]["uid"]);
    let replica_set = json!({"metadata": {"name": set, "ownerReferences": owner}, "spec": spec});
    create(client, &path("apps/v1/replicasets"), &replica_set).await;
    let (_, made) = ask(
        client,
        "GET",
        &format!("{}/{set}", path("apps/v1/replicasets")),
        &Value::Null,
    )
    .await;
    let owner = controlled_by("ReplicaSet", &set, &made["metadata"]["uid"]);
    let pod = format!("{set}-x2x4z");
    let body =
        json!({"metadata": {"name": pod, "ownerReferences": owner}, "spec": template["spec"]});
    create(client, &path("v1/pods"), &body).await;
    let pod = format!("{}/{pod}", path("v1/pods"));
    let (_, made) = ask(client, "GET", &pod, &Value::Null).await;
    let created: Timestamp = made["metadata"]["creationTimestamp"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let after = |seconds| (created + SignedDuration::from_secs(seconds)).to_string();
    let conditions = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": after(0)},
        {"type": "Ready", "status": "True", "lastTransitionTime": after(45)}]);
    let status = json!({"status": {"phase": "Running", "startTime": after(0), "conditions": conditions,
        "containerStatuses": [{"name": "app", "image": "app", "imageID": "app", "ready": true,
            "restartCount": 0, "state": {"running": {"startedAt": after(1)}}}]}});
    let (code, answer) = patch(client, &format!("{pod}/status"), "merge", &status).await;
    assert_eq!(code, 200, "{answer}");
}

/// An HPA of the Deployment of its name.
fn autoscaler(name: &str, metrics: &Value, bounds: [i32; 2]) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": name}},
        "spec": {"minReplicas": bounds[0], "maxReplicas": bounds[1], "metrics": [metrics],
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}})
}

fn by(resource: &str) -> Value {
    json!({"type": "Resource", "resource": {"name": resource,
        "target": {"type": "Utilization", "averageUtilization": 60}}})
}

async fn scale(client: &Client, autoscaler: &Value) {
    create(
        client,
        &path("autoscaling/v2/horizontalpodautoscalers"),
        autoscaler,
    )
    .await;
}

/// A load of 0.6 to 3 cores by the hour of the day, which a job doubles in the first ten minutes of every
/// hour, from a ramp of two minutes on.
fn cores(at: Timestamp) -> f64 {
    let seconds = f64::from(i32::try_from(at.as_second() % 86_400).unwrap());
    let day = 1.8 - 1.2 * (seconds / 86_400.0 * std::f64::consts::TAU).cos();
    let within = seconds % 3_600.0;
    let job = (within / 120.0).min(1.0) * f64::from(u8::from(within < 600.0));
    day * (1.0 + job)
}

fn target<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut targets = report["targets"].as_array().unwrap().iter();
    targets
        .find(|one| one["name"] == name)
        .unwrap_or_else(|| panic!("{name} in {report}"))
}

/// The Prometheus of the fixture is asked by one word for the load of Pods.
const QUERY: [&str; 2] = ["--set", "metrics.prometheus.queries.podCpu=pod_cpu"];

/// An unoptimised build takes long.
const SHORT: [&str; 4] = ["--days", "7", "--depth", "shortest"];

/// HPAs of which nothing is to be replayed, each for a reason of its own.
async fn plant_others(client: &Client) {
    for name in ["memory", "fixed", "off", "young"] {
        deploy(client, name).await;
    }
    scale(client, &autoscaler("memory", &by("memory"), [1, 5])).await;
    scale(client, &autoscaler("fixed", &by("cpu"), [3, 3])).await;
    let mut off = autoscaler("off", &by("cpu"), [1, 5]);
    off["metadata"]["annotations"] = json!({"evenkeel.dev/scaling": "off"});
    scale(client, &off).await;
    scale(client, &autoscaler("young", &by("cpu"), [1, 5])).await;
    scale(client, &autoscaler("gone", &by("cpu"), [1, 5])).await;
    let orders = json!({"type": "External", "external": {"metric": {"name": "<img src=x>"},
        "target": {"type": "AverageValue", "averageValue": "30"}}});
    deploy(client, "orders").await;
    scale(client, &autoscaler("orders", &orders, [1, 5])).await;
}

fn each_hpa_has_a_verdict_by_the_past_of_its_load() {
    with_server(async |server, client| {
        deploy(client, "web").await;
        scale(client, &autoscaler("web", &by("cpu"), [2, 30])).await;
        plant_others(client).await;
        // Two days and a bit, which end where the others' do.
        let begin = Timestamp::from_second(END - 50 * 3_600).unwrap();
        let load = move |at| if at < begin { f64::NAN } else { cores(at) };
        let clock = Clock::accelerated(1.0, clock::now(), clock::now());
        let prometheus = load::Prometheus::start(("shop", "Deployment/web"), clock, load).await;
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("shop.html");
        let page = page.to_str().unwrap();
        let url = ["--prometheus", &prometheus.url];
        let asked = [&url[..], &QUERY, &SHORT, &["-o", "json", "-o", page]].concat();
        let called = assess(&server.kubeconfig(), &asked).await;
        assert_eq!(called.code, 0, "{}", called.stderr);
        let report = called.json();
        told_of_web(&report);
        told_of_others(&report);
        told_on_a_page(&std::fs::read_to_string(page).unwrap());

        let one = [&url[..], &QUERY, &["-n", "shop", "-l", "app=memory"]].concat();
        let called = assess(&server.kubeconfig(), &one).await;
        assert_eq!(called.code, 0, "{}", called.stderr);
        let begin = "0 of 1 HPA assessed: ";
        assert!(called.stdout.starts_with(begin), "{}", called.stdout);
        assert!(
            called.stdout.contains("shop/memory: it scales by memory"),
            "{}",
            called.stdout
        );
        writes_nothing(client).await;
    });
}

fn told_of_web(report: &Value) {
    let web = target(report, "web");
    assert_eq!(web["workload"], "Deployment/web");
    let load = &web["load"];
    assert_eq!(
        (&load["request"], &load["minReplicas"], &load["maxReplicas"]),
        (&500.0.into(), &2.into(), &30.into())
    );
    assert_eq!(
        (&load["startUpSeconds"], &load["startUpIsMeasured"]),
        (&45.into(), &true.into())
    );
    let days = web["past"]["knownDays"].as_f64().unwrap();
    assert!((2.05..2.1).contains(&days), "{days}");
    let judged = &web["judged"];
    // The last 30 % of 50 hours.
    let [from, to] =
        ["from", "to"].map(|end| judged[end].as_str().unwrap().parse::<Timestamp>().unwrap());
    assert!(
        (to.duration_since(from).as_secs() - 15 * 3_600).abs() < 120,
        "{judged}"
    );
    let under = |side: &str| judged[side]["underProvisionedSeconds"].as_f64().unwrap();
    // Each hour's job takes the plain HPA by surprise.
    assert!(under("today") > 15.0 * 30.0, "{judged}");
    let targets = judged["policies"].as_array().unwrap();
    // Three targets, floors, and yesterday: no week of past lies before the judged part.
    assert_eq!(targets.len(), 5, "{judged}");
    let rule = targets.iter().find(|one| one["policy"] == "rule").unwrap();
    assert_eq!(
        (&rule["season"], &rule["factor"]),
        (&"yesterday".into(), &1.0.into())
    );
    let saved = judged["saved"]["underProvisionedSeconds"].as_f64().unwrap();
    assert!(
        (saved - (under("today") - under("floors"))).abs() < 1e-6,
        "{judged}"
    );
    let half_days = &judged["halfDays"];
    let parts = ["better", "worse", "even"].map(|word| half_days[word].as_u64().unwrap());
    assert_eq!(parts.iter().sum::<u64>(), 2, "{half_days}");
    let because = web["because"].as_str().unwrap();
    let share = "relative to the plain HPA at equal replica-hours: best rule (yesterday x 1.0) ";
    for part in ["with floors ", share, ", floors "] {
        assert!(because.contains(part), "{part}: {web}");
    }
    floors_pay(web);
}

/// The rule leaves less time under-provisioned, for more replica-hours than floors.
fn floors_pay(target: &Value) {
    assert_eq!(
        (&target["verdict"], &target["reason"]),
        (&"worthEnabling".into(), &"Pays".into()),
        "{target}"
    );
    assert_eq!(target["recommended"], json!({"way": "floors"}), "{target}");
    let policies = target["judged"]["policies"].as_array().unwrap();
    let of = |policy: &str, field: &str| {
        let mut policies = policies.iter();
        let one = policies.find(|one| one["policy"] == policy).unwrap();
        one[field].as_f64().unwrap()
    };
    let [rule, floors] = ["rule", "evenkeel"].map(|one| of(one, "replicaHours"));
    assert!(rule > 1.02 * floors, "{target}");
    let [rule, floors] = ["rule", "evenkeel"].map(|one| of(one, "underProvisionedSeconds"));
    assert!(rule < floors, "{target}");
}

fn told_of_others(report: &Value) {
    for (name, verdict, reason) in [
        ("memory", "notForecast", "NotForecast"),
        ("fixed", "notWorthEnabling", "OneCount"),
        ("off", "notForecast", "Declined"),
        ("young", "tooLittleData", "NoSeries"),
        ("gone", "notForecast", "NoWorkload"),
        ("orders", "notForecast", "NoPast"),
    ] {
        let one = target(report, name);
        assert_eq!(
            (one["verdict"].as_str(), one["reason"].as_str()),
            (Some(verdict), Some(reason)),
            "{one}"
        );
    }
    assert_eq!(report["summary"]["targets"], 7);
    assert_eq!(report["summary"]["notForecast"], 4);
}

/// The page needs nothing from elsewhere, and takes no name for markup.
fn told_on_a_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    let pictures = page.matches("what safety costs</title>");
    assert_eq!(pictures.count(), 1, "one of what was replayed");
    assert!(page.contains("&lt;img src=x&gt;"), "{page}");
    assert!(page.contains("; recommended: 1 floors<"), "{page}");
    for foreign in ["<script", "<img", "<link", "src=\"", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for name in ["web", "memory", "fixed", "off", "young", "gone", "orders"] {
        assert!(page.contains(&format!(">shop/{name}</a>")), "{name}");
    }
}

async fn writes_nothing(client: &Client) {
    let hpa = format!("{}/web", path("autoscaling/v2/horizontalpodautoscalers"));
    let (_, hpa) = ask(client, "GET", &hpa, &Value::Null).await;
    assert_eq!(hpa["metadata"]["annotations"], Value::Null, "{hpa}");
}

fn what_does_not_answer_is_told_with_what_mends_it() {
    with_server(async |server, client| {
        deploy(client, "web").await;
        scale(client, &autoscaler("web", &by("cpu"), [2, 30])).await;
        let kubeconfig = server.kubeconfig();
        let by_prometheus = async |url: &str| assess(&kubeconfig, &["--prometheus", url]).await;

        let nobody = by_prometheus("http://127.0.0.1:9").await;
        nobody.fails(
            1,
            &[
                "Prometheus at http://127.0.0.1:9",
                "cannot connect",
                "port-forward",
            ],
        );
        by_prometheus("prometheus")
            .await
            .fails(2, &["--prometheus", "an http or https URL"]);
        let other =
            metrics_stand_in::start(|_| Reply::Answer(404, "no such page".to_owned())).await;
        let elsewhere = by_prometheus(&other.url.to_string()).await;
        elsewhere.fails(
            1,
            &[
                "HTTP 404",
                "no such page",
                "the address must be that of a Prometheus",
            ],
        );
        let shut = metrics_stand_in::start(|_| Reply::Answer(401, String::new())).await;
        by_prometheus(&shut.url.to_string())
            .await
            .fails(1, &["HTTP 401", "--bearer-token-file"]);
        assess(&kubeconfig, &["--set", "metrics.source=none"])
            .await
            .fails(2, &["from Prometheus only", "--prometheus URL"]);
        assess(&kubeconfig, &["--days", "30"])
            .await
            .fails(2, &["--days", "7..=14"]);
        assess(&kubeconfig, &["-o", "all.svg"])
            .await
            .fails(2, &["a file that ends in .html"]);

        let clock = Clock::accelerated(1.0, clock::now(), clock::now());
        let load = load::Prometheus::start(("other", "Deployment/web"), clock, |_| 1.0).await;
        let without = [&["--prometheus", &load.url][..], &QUERY].concat();
        let without = assess(&kubeconfig, &without).await;
        without.fails(1, &["has no series of any of the 1 loads", "cAdvisor"]);
        assert!(
            without.stdout.contains("too little data"),
            "{}",
            without.stdout
        );

        api_servers_that_do_not_answer(&load.url).await;
    });
}

async fn api_servers_that_do_not_answer(prometheus: &str) {
    let by = async |server: &str| {
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": server}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "users": [{"name": "it", "user": {}}]});
        assess(&kubeconfig.to_string(), &["--prometheus", prometheus]).await
    };
    by("http://127.0.0.1:9").await.fails(
        1,
        &["horizontalpodautoscalers.autoscaling cannot be listed"],
    );
    let refusal = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403,
        "reason": "Forbidden", "message": "not you"});
    let refusing = metrics_stand_in::start(move |_| Reply::Answer(403, refusal.to_string())).await;
    let refused = by(refusing.url.to_string().trim_end_matches('/')).await;
    refused.fails(
        1,
        &[
            "not you",
            "list horizontalpodautoscalers.autoscaling --all-namespaces",
        ],
    );
}

/// A month of cAdvisor's counters, a sample a minute: four Pods of `web` share the load of the others'
/// test, and one Pod of the StatefulSet `quiet` has the same all the time. Of `young` there are ten hours.
fn month() -> String {
    let begin = END - 30 * 86_400;
    let mut text = "# TYPE container_cpu_usage_seconds counter\n".to_owned();
    let mut series = |pod: &str, begin: i64, each: &dyn Fn(Timestamp) -> f64| {
        let mut counter = 0.0;
        for at in (begin..=END).step_by(60) {
            writeln!(
                text,
                "container_cpu_usage_seconds_total{{namespace=\"shop\",pod=\"{pod}\",container=\"app\"}} {counter:.3} {at}"
            )
            .unwrap();
            counter += 60.0 * each(Timestamp::from_second(at).unwrap());
        }
    };
    for suffix in ["x2x4z", "b5b6c", "d7d8f", "g9g4h"] {
        series(&format!("web-7c5ddb8f4-{suffix}"), begin, &|at| {
            cores(at) / 4.0
        });
    }
    series("quiet-0", begin, &|_| 0.2);
    series("young-7c5ddb8f4-x2x4z", END - 36_000, &|_| 0.2);
    text + "# EOF\n"
}

fn a_real_prometheus_with_a_month_of_series_is_asked() {
    with_server(async |server, client| {
        let prometheus = metrics_server::Prometheus::with_past(&month());
        for name in ["web", "young"] {
            deploy(client, name).await;
            scale(client, &autoscaler(name, &by("cpu"), [2, 30])).await;
        }
        // For a StatefulSet without Pods, by an amount per Pod.
        let mut quiet = autoscaler(
            "quiet",
            &json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "AverageValue", "averageValue": "300m"}}}),
            [1, 5],
        );
        quiet["spec"]["scaleTargetRef"]["kind"] = json!("StatefulSet");
        let labels = json!({"app": "quiet"});
        let set = json!({"metadata": {"name": "quiet"}, "spec": {"replicas": 1, "serviceName": "quiet",
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "app"}]}}}});
        create(client, &path("apps/v1/statefulsets"), &set).await;
        scale(client, &quiet).await;
        let url = prometheus.url.to_string();
        let asked = [&["--prometheus", &url, "-o", "json"][..], &SHORT].concat();
        let mut called = assess(&server.kubeconfig(), &asked).await;
        // It takes a moment until it listens.
        while called.stderr.contains("cannot connect") || called.stderr.contains("HTTP 503") {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            called = assess(&server.kubeconfig(), &asked).await;
        }
        assert_eq!(called.code, 0, "{}{}", called.stderr, prometheus.log());
        let report = called.json();
        verdicts_are_those_of_the_month(&report);
        // The last half hour of the past is that of midnight, with the job of its first minutes; a load of several
        // series with labels is one series.
        let load = "rate(container_cpu_usage_seconds_total{pod=~\"web-.*\"}[2m])";
        let rule = SeasonalRule {
            season: Season::Yesterday,
            factor: 1.0,
        };
        let answer = prometheus.query(&rule.promql(load), END);
        assert!((answer - 1.2).abs() < 0.05, "{load} {answer}");
    });
}

/// Floors pay for `web` alone, and the figures are those of its load.
fn verdicts_are_those_of_the_month(report: &Value) {
    let (web, quiet, young) = (
        target(report, "web"),
        target(report, "quiet"),
        target(report, "young"),
    );
    let days = web["past"]["knownDays"].as_f64().unwrap();
    assert!((6.95..=7.0).contains(&days), "{web}");
    let today = web["judged"]["today"]["replicaHours"].as_f64().unwrap();
    // A day of 2.1 cores in the mean, 0.3 of them a Pod.
    let hours = 7.0 * 24.0;
    assert!((0.9 * hours..1.6 * hours).contains(&today), "{today}");
    assert_eq!(
        (
            &quiet["load"]["startUpSeconds"],
            &quiet["load"]["startUpIsMeasured"]
        ),
        (&60.into(), &false.into())
    );
    for (one, verdict, reason) in [
        (web, "worthEnabling", "Pays"),
        (quiet, "notWorthEnabling", "NothingToSave"),
        (young, "tooLittleData", "TooShort"),
    ] {
        assert_eq!(
            (one["verdict"].as_str(), one["reason"].as_str()),
            (Some(verdict), Some(reason)),
            "{one}"
        );
    }
    // Each hour's job takes the plain HPA by surprise.
    let under = web["judged"]["today"]["underProvisionedSeconds"].as_f64();
    assert!(under.unwrap() > 24.0 * 30.0, "{web}");
    let because = web["because"].as_str().unwrap();
    assert!(because.starts_with("with floors "), "{web}");
    floors_pay(web);
    let half_days = &web["judged"]["halfDays"];
    let parts = ["better", "worse", "even"].map(|word| half_days[word].as_u64().unwrap());
    assert_eq!(parts.iter().sum::<u64>(), 2, "a day: {half_days}");
}

crate::support::trial::suite!(
    [] => [
        each_hpa_has_a_verdict_by_the_past_of_its_load,
        what_does_not_answer_is_told_with_what_mends_it,
    ],
    [
        crate::support::trial::Requirement::Program("prometheus"),
        crate::support::trial::Requirement::Program("promtool"),
    ] => [
        a_real_prometheus_with_a_month_of_series_is_asked,
    ],
);
