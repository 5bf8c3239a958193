//! `evenkeel dev`: the whole cluster in one call, and what is refused before it starts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::signal::unix;

use super::evenkeel;

/// However busy the machine is: at this speed a minute of the scenario, in which the first Pods
/// come, takes three seconds, and a slow webhook is waited for.
const SHORT: [&str; 7] = [
    "dev",
    "--duration",
    "5s",
    "--speed",
    "60",
    "--patience",
    "10s",
];

#[test]
fn a_short_run_tells_how_to_reach_the_cluster_what_happens_and_how_it_compares() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("end.txt");
    let picture = picture.to_str().expect("a plain path");
    let called = evenkeel(&[&SHORT[..], &["--no-tty", "--picture", picture]].concat());
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    let drawn = std::fs::read_to_string(picture).expect("the view is written");
    assert!(
        drawn.contains("shop/frontend") && drawn.contains("service ready"),
        "{drawn}"
    );
    for part in [
        "Page for a browser: http://127.0.0.1:",
        "kubectl --kubeconfig /",
        "service     ready",
        "classified  shop/frontend-",
        "placed      shop/frontend-",
        "nodes ready, cpu up to",
        "Spread of network",
        "Default scheduler",
        "Evenkeel is worse in",
    ] {
        assert!(called.stdout.contains(part), "{part}: {}", called.stdout);
    }
}

/// A run that is looked at while it goes on; it ends with this.
struct Running(Child);

impl Running {
    /// Starts a run with umask 0, so that its files are open to all users unless it sets other
    /// modes. Returns it with its first line.
    fn start() -> (Self, Value) {
        let mut run = Command::new("sh")
            .args([
                "-c",
                "umask 0; exec \"$0\" \"$@\"",
                env!("CARGO_BIN_EXE_evenkeel"),
            ])
            .args(["dev", "--patience", "10s", "-o", "json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = BufReader::new(run.stdout.take().expect("it is piped"));
        let run = Self(run);
        let mut line = String::new();
        said.read_line(&mut line)
            .expect("it says how it is reached");
        // Its later output must not block it.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        (
            run,
            serde_json::from_str(&line).expect("each line is an object"),
        )
    }
}

impl Running {
    fn end(&mut self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, signal));
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // In good order, so that its folder goes too.
        self.end(Signal::TERM);
    }
}

/// A closed terminal says SIGHUP.
#[test]
fn a_closed_terminal_leaves_no_folder_behind() {
    // Under nohup the signal is ignored here, and so it would be in a child; what is handled is not.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let inside = runtime.enter();
    let _handled = unix::signal(unix::SignalKind::hangup()).unwrap();
    drop(inside);
    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        let (mut run, started) = Running::start();
        let folder = Path::new(started["kubeconfig"].as_str().unwrap());
        let folder = folder.parent().unwrap().to_owned();
        assert!(folder.exists());
        run.end(signal);
        assert!(!folder.exists(), "{signal:?}: {}", folder.display());
    }
}

/// The same way to the cluster with another token.
fn with_token(kubeconfig: &Kubeconfig, token: Option<&str>) -> Kubeconfig {
    let mut kubeconfig = kubeconfig.clone();
    for user in &mut kubeconfig.auth_infos {
        let user = user.auth_info.get_or_insert_default();
        user.token = token.map(|token| token.to_owned().into());
    }
    kubeconfig
}

/// The status code of an attempt to read the Secrets.
async fn code(kubeconfig: Kubeconfig) -> u16 {
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    match Api::<Secret>::all(client)
        .list(&ListParams::default())
        .await
    {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

/// Status of `/` for a request to this host.
fn status(address: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// Other accounts on the machine reach its loopback and look into its directories. Pages on the web
/// reach loopback through the browsers of their readers.
#[test]
fn others_on_the_machine_and_pages_on_the_web_stay_outside() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (_run, started) = Running::start();
    let path = Path::new(started["kubeconfig"].as_str().unwrap());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(path), 0o600);

    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for token in [None, Some("in-memory"), Some("anything")] {
        let other = with_token(&kubeconfig, token);
        assert_eq!(runtime.block_on(code(other)), 401, "{token:?}");
    }
    assert_eq!(runtime.block_on(code(kubeconfig)), 200);

    let dashboard = started["dashboard"].as_str().unwrap();
    assert_eq!(status(dashboard, dashboard), "200");
    assert_eq!(status(dashboard, "localhost:9000"), "200");
    let (_, port) = dashboard.split_once(':').unwrap();
    assert_eq!(status(dashboard, &format!("evil.example:{port}")), "421");
}

#[test]
fn programs_get_objects_the_last_of_which_compares() {
    let faults = ["--fault", "metrics-down@1s..10000s", "-o", "json"];
    let called = evenkeel(&[&SHORT[..], &faults].concat());
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    let objects: Vec<Value> = called
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is an object"))
        .collect();
    let kind = |object: &Value| object["event"].as_str().map(str::to_owned);
    let kinds: Vec<String> = objects.iter().filter_map(kind).collect();
    assert_eq!(kinds.len(), objects.len());
    assert_eq!(kinds.first().map(String::as_str), Some("started"));
    assert!(kinds.iter().any(|kind| kind == "fault"));
    let last = &objects[objects.len() - 1];
    assert_eq!(last["event"], "summary");
    assert_eq!(
        last["plain"]["resources"].as_array().map(Vec::len),
        last["evenkeel"]["resources"].as_array().map(Vec::len)
    );
}

#[test]
fn yaml_is_a_document_an_event_and_traces_stand_beside_their_scenario() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scenario.yaml");
    let write = |trace: &str| {
        let text = std::fs::read_to_string("examples/scenarios/tight.yaml").expect("it is there");
        let from = "perReplica: 100}";
        assert!(text.contains(from));
        let to = format!("perReplica: 100, trace: {trace}}}");
        std::fs::write(&path, text.replace(from, &to)).expect("it can be written");
    };
    let scenario = path.to_str().expect("a path of letters");
    write("none.csv");
    let call = ["dev", "--scenario", scenario];
    evenkeel(&call).is_refused(2, &["workloads[5].traffic.trace", "none.csv"]);
    write("flat.csv");
    let flat = folder.path().join("flat.csv");
    std::fs::write(flat, "0,1\n60,1\n").expect("it can be written");
    // No request is sent before a server can answer, which takes longer on a busy machine.
    let offered = ["5s", "20s", "80s", "240s"].into_iter().map(|duration| {
        let call = SHORT.map(|word| if word == SHORT[2] { duration } else { word });
        let call = [&call[..], &["--scenario", scenario, "-o", "yaml"]].concat();
        let documents = yaml_documents(&call);
        assert_eq!(documents[0]["event"], "started");
        let last = &documents[documents.len() - 1];
        assert_eq!(last["event"], "summary");
        assert!(last["lag"]["pods"].as_u64().is_some_and(|pods| pods > 0));
        offered_to_web(&documents)
    });
    let mut offered = offered.map(|each| each.into_iter().filter(|offered| *offered > 0.0));
    let offered =
        offered.find_map(|each| Some(each.collect::<Vec<_>>()).filter(|all| !all.is_empty()));
    // The trace is at its peak all the time.
    let offered = offered.expect("a Pod of web became ready");
    assert!(offered.iter().all(|offered| (offered - 900.0).abs() < 1e-6));
}

#[test]
fn runs_of_several_seeds_end_with_a_table_over_all_of_them() {
    let call = [&SHORT[..], &["--seeds", "2", "--seed", "7", "-o", "yaml"]].concat();
    let documents = yaml_documents(&call);
    let of = |event: &str| -> Vec<&Value> {
        let found = documents
            .iter()
            .filter(|document| document["event"] == event);
        found.collect()
    };
    let runs = of("summary");
    let seeds: Vec<_> = runs.iter().map(|run| run["seed"].as_u64()).collect();
    assert_eq!(seeds, [Some(7), Some(8)]);
    let last = documents.last().expect("documents");
    assert_eq!(last["event"], "seeds");
    assert_eq!(last["seeds"], json!([7, 8]));
    let measures = last["measures"].as_array().expect("a list");
    let measure = measures
        .iter()
        .find(|measure| measure["measure"] == "Spread of network");
    let measure = &measure.expect("a measure")["evenkeel"];
    let spreads = runs.iter().map(|run| {
        let mut resources = run["evenkeel"]["resources"]
            .as_array()
            .expect("a list")
            .iter();
        let network = resources.find(|part| part["resource"] == "networkIo");
        network.expect("a resource")["spread"]
            .as_f64()
            .expect("a number")
    });
    let spreads: Vec<f64> = spreads.collect();
    let mean = spreads[0].midpoint(spreads[1]);
    assert!((measure["mean"].as_f64().expect("a number") - mean).abs() < 1e-9);
    assert_eq!(measure["least"].as_f64(), Some(spreads[0].min(spreads[1])));
    assert_eq!(measure["most"].as_f64(), Some(spreads[0].max(spreads[1])));
}

fn yaml_documents(call: &[&str]) -> Vec<Value> {
    let called = evenkeel(call);
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    let documents = called.stdout.split("---\n").skip(1);
    documents
        .map(|document| serde_saphyr::from_str(document).expect("each is a document"))
        .collect()
}

fn offered_to_web(documents: &[Value]) -> Vec<f64> {
    let webs = documents.iter().filter_map(|document| {
        let mut workloads = document["workloads"].as_array()?.iter();
        workloads.find(|workload| workload["name"] == "web")
    });
    webs.filter_map(|web| web["offered"].as_f64()).collect()
}

#[test]
fn wrong_calls_are_told_what_is_accepted() {
    for (arguments, parts) in [
        (&["--fault", "fire@1m..2m"][..], &["fire", "node-loss"][..]),
        (&["--fault", "hang@2m..1m"], &["FROM..UNTIL"]),
        (&["--speed", "0"], &["0.1 to 1000"]),
        (&["--duration", "soon"], &["such as 30s"]),
        (&["--nodes", "0"], &["1..=1000"]),
        (&["--seeds", "2"], &["--seeds needs --duration"]),
        (&["--scenario", "none.yaml"], &["none.yaml"]),
        (&["--config", "none.yaml"], &["none.yaml"]),
        (
            &["--set", "scheduling.headroom=7"],
            &["--set", "scheduling.headroom"],
        ),
        (&["--set", "scaling.scaleIn=balance"], &["no such field"]),
        (
            &["--set", "metrics.prometheus.url=http://localhost"],
            &["metrics.prometheus.url", "dev sets"],
        ),
        (&["--scenario", "Cargo.toml"], &["Cargo.toml", "scenario"]),
    ] {
        evenkeel(&[&["dev"], arguments].concat()).is_refused(2, parts);
    }
}
