//! The memory cost of lists: the built program beside an API server with lists of hundreds of
//! megabytes. A tenant can make such lists with valid objects.

use std::convert::Infallible;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures::stream;
use serde_json::{Value, json};

/// Each Job is as large as etcd takes it, and all of them are suspended: they cost their owner nothing.
const JOBS: usize = 250;
const JOB: usize = 1_400_000;
/// The annotations of an object may be of 256 KiB together: so many short ones, or one long one.
const DEPLOYMENTS: usize = 800;
const ANNOTATIONS: usize = 11_000;
const ANNOTATION: usize = 50 * 1024;
static LARGE: LazyLock<Value> = LazyLock::new(|| {
    let own = (0..ANNOTATIONS).map(|number| (format!("evenkeel.dev/{number:05}"), json!("")));
    let note = ("note".to_owned(), json!("x".repeat(ANNOTATION)));
    own.chain([note]).collect::<serde_json::Map<_, _>>().into()
});
/// More time than lists take on any machine: a program that needs longer has failed.
const PATIENCE: Duration = Duration::from_mins(5);

/// An API server with these Jobs and Deployments, and nothing else.
#[derive(Clone, Default)]
struct Loopback {
    /// The plurals of the kinds that are watched: their list has been read.
    watched: Arc<Mutex<Vec<String>>>,
}

impl Loopback {
    /// The kubeconfig of one that answers from now on.
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async { axum::serve(listener, router).await });
        json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "a", "user": {}}]})
        .to_string()
    }

    fn is_watched(&self, plural: &str) -> bool {
        self.watched.lock().unwrap().iter().any(|one| one == plural)
    }
}

async fn answer(State(server): State<Loopback>, request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    let is_watch = request
        .uri()
        .query()
        .is_some_and(|query| query.contains("watch=true"));
    let mut parts: Vec<&str> = path.split('/').collect();
    let prefix = if parts[0] == "api" { 2 } else { 3 };
    if path == "version" {
        return whole(
            200,
            &json!({"major": "1", "minor": "35", "gitVersion": "v1.35.0"}),
        );
    }
    if parts.len() > prefix + 2 && parts[prefix] == "namespaces" {
        parts.drain(prefix..prefix + 2);
    }
    let is_list = request.method() == "GET" && parts.len() == prefix + 1;
    match parts.last() {
        Some(plural) if is_list && is_watch => {
            server.watched.lock().unwrap().push((*plural).to_owned());
            let endless = stream::pending::<Result<Vec<u8>, Infallible>>();
            Response::new(Body::from_stream(endless))
        }
        Some(&"jobs") if is_list => list("Job", JOBS, |name| {
            let container = json!({"name": "a", "image": "a", "args": ["x".repeat(JOB)]});
            let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
            json!({"metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "5"},
                "spec": {"suspend": true, "template": template}})
        }),
        Some(&"deployments") if is_list => list("Deployment", DEPLOYMENTS, |name| {
            json!({"metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "5",
                "annotations": *LARGE}, "spec": {"replicas": 1}})
        }),
        Some(_) if is_list => list("Other", 0, |_| Value::Null),
        _ => {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": "none", "reason": "NotFound", "code": 404});
            whole(404, &status)
        }
    }
}

fn whole(status: u16, body: &Value) -> Response {
    let body = Body::from(body.to_string());
    Response::builder().status(status).body(body).unwrap()
}

/// A list of so many objects, each of which is made when it is sent.
fn list(kind: &str, count: usize, object: fn(&str) -> Value) -> Response {
    let begin = format!(
        r#"{{"kind": "{kind}List", "apiVersion": "v1", "metadata": {{"resourceVersion": "7"}}, "items": ["#
    );
    let items = (0..count).map(move |number| {
        let comma = if number == 0 { "" } else { "," };
        format!("{comma}{}", object(&format!("large-{number}")))
    });
    let texts = [begin].into_iter().chain(items).chain(["]}\n".to_owned()]);
    let texts = texts.map(Ok::<_, Infallible>);
    Response::new(Body::from_stream(stream::iter(texts)))
}

/// The built program, which ends with the test.
struct Program(Child);

impl Program {
    fn start(arguments: &[&str], kubeconfig: &str, folder: &tempfile::TempDir) -> Self {
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(arguments)
            .arg("--kubeconfig")
            .arg(write("kubeconfig", kubeconfig))
            .args(["--namespace", "evenkeel-system"])
            .env_clear()
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("log")).unwrap())
            .spawn();
        Self(child.unwrap())
    }

    /// The most memory that it has held so far, in KiB; `None` once it has ended.
    fn most_memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The one limit of memory in a manifest, in KiB.
fn shipped_limit(manifest: &str) -> u64 {
    let path = format!("{}/deploy/base/{manifest}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let limits: Vec<&str> = text.split("limits:\n").skip(1).collect();
    let [limits] = limits.as_slice() else {
        panic!("{manifest} has {} limits", limits.len());
    };
    let memory = limits.split_once("memory: ").unwrap().1;
    let mebibytes = memory.split_once("Mi\n").unwrap().0;
    mebibytes.parse::<u64>().unwrap() * 1024
}

/// The harm: Jobs of one tenant put both replicas out of memory, and again after each restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_lists_large_objects_keeps_to_its_memory() {
    let server = Loopback::default();
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "serve",
        "--metrics-source",
        "none",
        "--https",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ];
    let mut program = Program::start(&arguments, &server.start().await, &folder);
    let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let listed = async {
        while !(server.is_watched("jobs") && server.is_watched("deployments")) {
            assert_eq!(program.0.try_wait().unwrap(), None, "{}", log());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let listed = tokio::time::timeout(PATIENCE, listed).await;
    assert!(listed.is_ok(), "{}", log());
    let most = program.most_memory().unwrap();
    let limit = shipped_limit("deployment.yaml");
    eprintln!("a replica held {} MiB of {}", most / 1024, limit / 1024);
    assert!(most < limit, "{most} KiB of {limit}");
}

/// The harm: annotations of one tenant put the clean-up out of memory, and it put back nothing for any tenant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_up_that_lists_large_objects_keeps_to_its_memory() {
    let server = Loopback::default();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["uninstall", "--expired", "--set", "writes=enabled"];
    let mut program = Program::start(&arguments, &server.start().await, &folder);
    let mut most = 0;
    let status = loop {
        most = program.most_memory().unwrap_or(most);
        if let Some(status) = program.0.try_wait().unwrap() {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let limit = shipped_limit("restore.yaml");
    eprintln!("the clean-up held {} MiB of {}", most / 1024, limit / 1024);
    assert!(status.success(), "{log}");
    assert!(most > 0 && most < limit, "{most} KiB of {limit}");
}
