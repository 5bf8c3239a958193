//! A stand-in for Prometheus that answers instant queries with what a test sets. The text of a
//! query is only a key here, except that one which asks for a `timestamp` is answered with the
//! time of the request for every series there is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Query, State};
use axum::http::Uri;
use axum::response::Json;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The labels of a series.
type Labels = BTreeMap<String, String>;
/// The series that each query answers.
type Answers = HashMap<String, BTreeMap<Labels, f64>>;

/// A running stand-in; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Prometheus {
    /// Its address, without a path.
    pub url: String,
    answers: Arc<Mutex<Answers>>,
    server: JoinHandle<()>,
}

impl Prometheus {
    /// Starts one that knows no series.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let answers = Arc::<Mutex<Answers>>::default();
        let router = axum::Router::new()
            .route("/api/v1/query", get(by_uri).post(by_form))
            .with_state(Arc::clone(&answers));
        let server = tokio::spawn(async move {
            axum::serve(listener, router)
                .await
                .expect("a listener that is bound is served");
        });
        Self {
            url: format!("http://{address}"),
            answers,
            server,
        }
    }

    /// From now on, `query` answers `value` for the series with these labels (beside the others).
    pub(crate) fn set(&self, query: &str, labels: &[(&str, &str)], value: f64) {
        let labels = labels
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        lock(&self.answers)
            .entry(query.to_owned())
            .or_default()
            .insert(labels, value);
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock(answers: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn by_uri(State(answers): State<Arc<Mutex<Answers>>>, uri: Uri) -> Json<Value> {
    answer(&lock(&answers), &uri)
}

/// A form has the syntax of a URI's query.
async fn by_form(State(answers): State<Arc<Mutex<Answers>>>, form: String) -> Json<Value> {
    let uri = format!("/?{form}").parse().expect("a form is URI-safe");
    answer(&lock(&answers), &uri)
}

fn answer(answers: &Answers, uri: &Uri) -> Json<Value> {
    let Query(parameters) =
        Query::<HashMap<String, String>>::try_from_uri(uri).expect("the form is well formed");
    let query = parameters.get("query").expect("there is a query");
    let now = evenkeel_clock::now();
    let sample = |labels: &Labels, value: f64| json!({"metric": labels, "value": [now.as_second(), value.to_string()]});
    let result: Vec<Value> = if query.contains("timestamp(") {
        let all: BTreeSet<_> = answers.values().flat_map(BTreeMap::keys).collect();
        let now = now.as_duration().as_secs_f64();
        all.iter().map(|labels| sample(labels, now)).collect()
    } else {
        let series = answers.get(query).into_iter().flatten();
        series
            .map(|(labels, &value)| sample(labels, value))
            .collect()
    };
    Json(json!({
        "status": "success",
        "data": {"resultType": "vector", "result": result},
    }))
}
