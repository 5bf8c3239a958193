//! Prometheus slow, down, and answering nonsense, over real sockets: each fault ends in time,
//! with a reason of its own, and takes no more of the round with it than it must.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_http_client::{HeaderMap, HeaderValue};
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_service::metrics::prometheus::{
    ExporterMatchers, Grid, NodeLabel, PrometheusConnection, PrometheusSource, Queries, Settings,
    Workloads,
};
use evenkeel_service::metrics::{
    Authorization, DropCause, EndpointAccess, IdentityFiles, MetricsError, MetricsRound,
    MetricsSource, QueryRounds, QueryTimeLimits, self_check,
};
use evenkeel_units::{Amount, Bytes, Resource};
use jiff::SignedDuration;
use tokio::net::TcpListener;

use crate::support::metrics_stand_in as stand_in;
use crate::support::metrics_stand_in::{Reply, StandIn, certificate, start, vector};

/// For servers that answer: never met, however busy the machine.
const PATIENT: Duration = Duration::from_mins(1);

/// For servers that hang: waited for in full.
const HASTY: Duration = Duration::from_secs(2);

fn settings(url: &evenkeel_http_client::Uri) -> Settings {
    // The first to install it wins; the others find it there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Settings {
        connection: PrometheusConnection {
            url: url.clone(),
            headers: HeaderMap::new(),
            access: EndpointAccess::default(),
            timeout: PATIENT,
            body_limit: Bytes(1 << 20),
        },
        window: SignedDuration::from_mins(2),
        node_label: NodeLabel::Automatic,
        matchers: ExporterMatchers::default(),
        queries: Queries::default(),
    }
}

async fn sample(stand_in: &StandIn, timeout: Duration) -> Result<MetricsRound, Arc<MetricsError>> {
    let mut settings = settings(&stand_in.url);
    settings.connection.timeout = timeout;
    ask(&Arc::new(PrometheusSource::new(settings))).await
}

/// One round, with nothing kept of any before it.
async fn ask(source: &Arc<PrometheusSource>) -> Result<MetricsRound, Arc<MetricsError>> {
    let limits = QueryTimeLimits {
        deadline: PATIENT,
        patience: PATIENT,
    };
    QueryRounds::new(Arc::clone(source) as Arc<dyn MetricsSource>, limits)
        .round(clock::now())
        .await
}

/// One node, one Pod, and what else the form says, as a sound Prometheus would answer.
fn sound(form: &str) -> Reply {
    let now = clock::now().as_second().to_string();
    if form.contains("timestamp") {
        vector(&[(r#""node":"a","instance":"1.2.3.4:9100""#, &now)])
    } else if form.contains("node_network_") {
        let told =
            |part: &str| format!(r#""instance":"1.2.3.4:9100","device":"eth0","part":"{part}""#);
        vector(&[(&*told("received"), "2"), (&*told("speed"), "2")])
    } else if form.contains("container_") && !form.contains("instance") {
        vector(&[(r#""namespace":"n","pod":"p""#, "1")])
    } else {
        vector(&[(r#""instance":"1.2.3.4:9100""#, "2")])
    }
}

#[tokio::test]
async fn a_sound_server_is_asked_by_post_thirteen_times() {
    let stand_in = start(sound).await;
    let round = sample(&stand_in, PATIENT).await.unwrap();
    assert_eq!(round.failures().count(), 0);
    let node = round
        .usage
        .node("a")
        .map(|measured| measured.map(|m| m.value.get()));
    assert_eq!(
        node.values(),
        &[Some(2000), Some(2), Some(2), Some(2), Some(2)]
    );
    assert_eq!(round.usage.network_capacity["a"], Amount::new(2));
    assert_eq!(round.usage.pods[Resource::Cpu].len(), 1);
    let heads = stand_in.asked.heads.lock().unwrap();
    assert_eq!(heads.len(), 13);
    assert!(
        heads
            .iter()
            .all(|head| *head == ("POST /api/v1/query".to_owned(), None))
    );
}

#[tokio::test]
async fn the_tenant_and_the_user_stand_in_every_question() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let stand_in = start(sound).await;
    let mut settings = settings(&stand_in.url);
    let tenant = HeaderValue::from_static("team-a");
    settings.connection.headers.insert("x-scope-orgid", tenant);
    settings.connection.access.authorization = Authorization::Basic {
        username: "keel".to_owned(),
        password_file: file.clone(),
    };
    let source = Arc::new(PrometheusSource::new(settings));
    std::fs::write(&file, "open:sesame\n").unwrap();
    ask(&source).await.unwrap();
    {
        let heads = stand_in.asked.heads.lock().unwrap();
        // keel:open:sesame
        let basic = Some("Basic a2VlbDpvcGVuOnNlc2FtZQ==".to_owned());
        assert!(heads.iter().all(|(_, sent)| *sent == basic), "{heads:?}");
        let tenants = stand_in.asked.tenants.lock().unwrap();
        assert_eq!(tenants.len(), heads.len());
        assert!(tenants.iter().all(|sent| sent.as_deref() == Some("team-a")));
    }
    std::fs::write(&file, "").unwrap();
    assert_eq!(ask(&source).await.unwrap_err().reason(), "Credentials");
}

/// A store behind a Thanos is down: what the others hold is taken.
#[tokio::test]
async fn a_partial_answer_is_taken_and_told() {
    let stand_in = start(|form| match sound(form) {
        Reply::Answer(200, body) if form.contains("node_cpu_seconds_total") => {
            let warned = body.replace("]}}", r#"]},"warnings":["store x is down"]}"#);
            Reply::Answer(200, warned)
        }
        other => other,
    })
    .await;
    let round = sample(&stand_in, PATIENT).await.unwrap();
    assert_eq!(round.failures().count(), 0);
    let cpu = round.usage.node("a")[Resource::Cpu].unwrap();
    assert_eq!(cpu.value, Amount::new(2000));
    let found = self_check::compare(&BTreeSet::from(["a"]), &round);
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("(nodeCpu): store x is down"), "{told:?}");
}

#[tokio::test]
async fn a_server_behind_a_prefix_is_asked_there() {
    let stand_in = start(sound).await;
    let url = evenkeel_http_client::join(&stand_in.url, "prometheus/", &[]).unwrap();
    let source = Arc::new(PrometheusSource::new(settings(&url)));
    ask(&source).await.unwrap();
    let heads = stand_in.asked.heads.lock().unwrap();
    assert_eq!(heads[0].0, "POST /prometheus/api/v1/query");
}

#[tokio::test]
async fn every_fault_has_its_own_reason() {
    let json_error = r#"{"status":"error","errorType":"execution","error":"many-to-many"}"#;
    let partial = r#"{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["store x is down"]}"#;
    let matrix = r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
    let answer = |status, body: &str| Reply::Answer(status, body.to_owned());
    for (reply, reason, text) in [
        (answer(500, "boom"), "HttpStatus", "HTTP 500: boom"),
        (answer(503, ""), "HttpStatus", "HTTP 503"),
        (answer(422, json_error), "QueryRefused", "many-to-many"),
        (answer(200, json_error), "QueryRefused", "many-to-many"),
        (answer(401, "no"), "Unauthorized", "credentials"),
        (answer(403, "no"), "Unauthorized", "credentials"),
        (
            answer(404, "404 page not found"),
            "NotServed",
            "page not found",
        ),
        (answer(200, "garbage"), "Malformed", "garbage"),
        (answer(200, "<html>Sign in</html>"), "Malformed", "Sign in"),
        (answer(200, &partial[..50]), "Malformed", "EOF"),
        (answer(200, ""), "Malformed", "EOF"),
        (answer(200, matrix), "ResultType", "matrix"),
        (
            Reply::Redirect("http://login.example/".into()),
            "Redirect",
            "login.example",
        ),
        (Reply::BreakOff, "Transport", ""),
        (Reply::Hang, "Timeout", ""),
        (Reply::Flood(50 << 20), "TooLarge", "1048576"),
    ] {
        let hangs = matches!(reply, Reply::Hang);
        let stand_in = start(move |_| reply.clone()).await;
        let error = sample(&stand_in, if hangs { HASTY } else { PATIENT })
            .await
            .unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_is_told_from_one_that_is_slow() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let source = Arc::new(PrometheusSource::new(settings(&url.parse().unwrap())));
    let error = ask(&source).await.unwrap_err();
    assert_eq!(error.reason(), "Connect", "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_is_asked_twice_and_not_thirteen_times() {
    let stand_in = start(|_| Reply::Hang).await;
    sample(&stand_in, HASTY).await.unwrap_err();
    assert_eq!(stand_in.asked.forms.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_flood_is_not_read_to_its_end() {
    let stand_in = start(|form| {
        if form.contains("timestamp") {
            sound(form)
        } else {
            Reply::Flood(1 << 30)
        }
    })
    .await;
    let round = sample(&stand_in, PATIENT).await.unwrap();
    assert!(
        round
            .failures()
            .all(|(_, error)| error.reason() == "TooLarge")
    );
    let queries = 11;
    let taken = stand_in.asked.flooded.load(Ordering::Relaxed);
    assert!(taken < queries * (64 << 20), "{taken}");
}

#[tokio::test]
async fn one_failing_query_leaves_only_its_part_absent() {
    let stand_in = start(|form| {
        if form.contains("node_memory_MemTotal") {
            Reply::Hang
        } else {
            sound(form)
        }
    })
    .await;
    let round = sample(&stand_in, HASTY).await.unwrap();
    let failures: Vec<_> = round
        .failures()
        .map(|(query, error)| (query.as_str(), error.reason()))
        .collect();
    assert_eq!(failures, [("nodeMemory", "Timeout")]);
    let node = round.usage.node("a");
    assert!(node[Resource::Memory].is_none());
    for resource in [
        Resource::Cpu,
        Resource::NetworkIo,
        Resource::DiskIo,
        Resource::Disk,
    ] {
        assert!(node[resource].is_some(), "{resource}");
    }
}

#[tokio::test]
async fn values_that_cannot_be_believed_are_left_out_and_counted() {
    let stand_in = start(|form| {
        if form.contains("node_cpu_seconds_total") {
            vector(&[
                (r#""node":"a""#, "NaN"),
                (r#""node":"a","instance":"x""#, "+Inf"),
                (r#""node":"b""#, "1"),
            ])
        } else {
            sound(form)
        }
    })
    .await;
    let round = sample(&stand_in, PATIENT).await.unwrap();
    assert!(round.usage.nodes[Resource::Cpu].is_empty());
    assert_eq!(round.usage.node_names(), ["a"].into());
    let report = round
        .reports
        .iter()
        .find(|report| report.query.as_str() == "nodeCpu")
        .unwrap();
    for cause in [
        DropCause::NotANumber,
        DropCause::Infinite,
        DropCause::Undated,
    ] {
        assert_eq!(report.dropped.count(cause), 1, "{cause:?}");
    }
}

#[tokio::test]
async fn a_node_that_a_stranger_speaks_of_is_not_blinded_and_not_thought_idle() {
    let stand_in = start(|form| {
        if form.contains("node_cpu_seconds_total") {
            vector(&[
                (r#""instance":"1.2.3.4:9100""#, "2"),
                (r#""node":"a","instance":"10.2.3.4:8080""#, "0"),
            ])
        } else {
            sound(form)
        }
    })
    .await;
    let round = sample(&stand_in, PATIENT).await.unwrap();
    let cpu = round.usage.node("a")[Resource::Cpu].unwrap();
    assert_eq!(cpu.value, Amount::new(2000));
    let found = self_check::compare(&BTreeSet::new(), &round);
    let told = found
        .iter()
        .find(|finding| finding.reason() == "SeveralSeries")
        .unwrap()
        .to_string();
    assert!(
        told.contains("nodeCpu") && told.contains("metrics.prometheus.matchers"),
        "{told}"
    );
}

#[tokio::test]
async fn every_built_in_query_keeps_to_the_matchers() {
    let stand_in = start(sound).await;
    let mut settings = settings(&stand_in.url);
    settings.matchers = ExporterMatchers {
        all: r#"cluster="k""#.parse().unwrap(),
        ..ExporterMatchers::default()
    };
    ask(&Arc::new(PrometheusSource::new(settings)))
        .await
        .unwrap();
    let forms = stand_in.asked.forms.lock().unwrap();
    assert_eq!(forms.len(), 13);
    // `{cluster="k"`, in the form's encoding.
    assert!(
        forms
            .iter()
            .all(|form| form.contains("%7Bcluster%3D%22k%22")),
        "{forms:?}"
    );
}

/// A range answer with these series: labels as JSON members, and the points.
fn matrix(series: &[(&str, &str)]) -> Reply {
    let series: Vec<String> = series
        .iter()
        .map(|(labels, points)| format!(r#"{{"metric":{{{labels}}},"values":[{points}]}}"#))
        .collect();
    let list = series.join(",");
    Reply::Answer(
        200,
        format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{list}]}}}}"#),
    )
}

#[tokio::test]
async fn the_past_is_asked_for_by_post_and_taken_only_where_it_was_asked_for() {
    let web = r#""namespace":"shop","workload":"Deployment/web""#;
    let stand_in = start(move |form| {
        assert!(
            form.contains("&start=1000.500&end=1030.500&step=15000ms&timeout="),
            "{form}"
        );
        // Samples of the step before, of a requested step, without a value, and of the future.
        matrix(&[(
            web,
            r#"[985.5,"1"],[1000.5,"2"],[1015.5,"NaN"],[4102444800,"9"]"#,
        )])
    })
    .await;
    let source = Arc::new(PrometheusSource::new(settings(&stand_in.url)));
    let grid = Grid {
        first: jiff::Timestamp::from_millisecond(1_000_500).unwrap(),
        step: SignedDuration::from_secs(15),
        points: 3,
    };
    let asked = source
        .workload_sums(Resource::Memory, Workloads::In(&["shop"]), grid)
        .await;
    let found = asked.unwrap().unwrap();
    let name = WorkloadName {
        namespace: "shop".into(),
        workload: "Deployment/web".into(),
    };
    assert_eq!(found.sums[&name], [(grid.first, 2.0)]);
    assert_eq!(found.dropped.count(DropCause::Misdated), 2);
    assert_eq!(found.dropped.count(DropCause::NotANumber), 1);
    let heads = stand_in.asked.heads.lock().unwrap();
    assert_eq!(heads[0].0, "POST /api/v1/query_range");
}

#[tokio::test]
async fn a_range_that_is_refused_floods_or_hangs_ends_with_its_reason() {
    for (reply, reason) in [
        (vector(&[]), "ResultType"),
        (Reply::Hang, "Timeout"),
        (Reply::Flood(50 << 20), "TooLarge"),
        (Reply::BreakOff, "Transport"),
    ] {
        let hangs = matches!(reply, Reply::Hang);
        let stand_in = start(move |_| reply.clone()).await;
        let mut settings = settings(&stand_in.url);
        settings.connection.timeout = if hangs { HASTY } else { PATIENT };
        let source = Arc::new(PrometheusSource::new(settings));
        let grid = Grid {
            first: clock::now(),
            step: SignedDuration::from_secs(15),
            points: 1,
        };
        let asked = source
            .workload_sums(Resource::Cpu, Workloads::In(&[]), grid)
            .await;
        assert_eq!(asked.unwrap().unwrap_err().reason(), reason);
    }
}

#[tokio::test]
async fn the_token_is_read_anew_and_never_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let stand_in = start(|_| Reply::Answer(401, String::new())).await;
    let mut settings = settings(&stand_in.url);
    settings.connection.access.authorization = Authorization::Bearer(file.clone());
    let source = Arc::new(PrometheusSource::new(settings));
    let missing = ask(&source).await.unwrap_err();
    assert_eq!(missing.reason(), "Credentials");
    for token in ["first", "second"] {
        std::fs::write(&file, format!("{token}\n")).unwrap();
        let error = ask(&source).await.unwrap_err();
        assert!(!format!("{error:?} {error}").contains(token));
        let heads = stand_in.asked.heads.lock().unwrap();
        let sent = heads.last().unwrap().1.as_deref();
        assert_eq!(sent, Some(&*format!("Bearer {token}")));
    }
    for unusable in ["", " \n", "two\nlines"] {
        std::fs::write(&file, unusable).unwrap();
        let error = ask(&source).await.unwrap_err();
        assert_eq!(error.reason(), "Credentials", "{unusable:?}");
        assert!(!error.to_string().contains("lines"));
    }
}

#[tokio::test]
async fn only_a_server_of_the_given_authority_is_believed_and_the_file_may_change() {
    let (good, bad) = (certificate(), certificate());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    let mut settings = settings(&sound_over_tls(&good, None).await);
    settings.connection.access.ca_file = Some(file.clone());
    let source = Arc::new(PrometheusSource::new(settings));
    for (pem, outcome) in [
        (bad.cert.pem(), Some("Connect")),
        (good.cert.pem(), None),
        ("no certificate".to_owned(), Some("ClientSetup")),
        (bad.cert.pem(), Some("Connect")),
    ] {
        std::fs::write(&file, pem).unwrap();
        let error = ask(&source).await.err();
        let reason = error.as_ref().map(|error| error.reason());
        assert_eq!(reason, outcome, "{error:?}");
    }
}

/// The certificate may come later than the service, and another one in its place.
#[tokio::test]
async fn a_server_that_asks_for_a_certificate_is_shown_the_one_of_the_files() {
    let (server, caller, stranger) = (certificate(), certificate(), certificate());
    let folder = tempfile::tempdir().unwrap();
    let [ca, cert, key] = ["ca.crt", "tls.crt", "tls.key"].map(|name| folder.path().join(name));
    std::fs::write(&ca, server.cert.pem()).unwrap();
    let mut settings = settings(&sound_over_tls(&server, Some(&caller)).await);
    settings.connection.access.ca_file = Some(ca);
    settings.connection.access.identity = Some(IdentityFiles {
        certificate: cert.clone(),
        key: key.clone(),
    });
    let source = Arc::new(PrometheusSource::new(settings));
    assert_eq!(ask(&source).await.unwrap_err().reason(), "Credentials");
    for (identity, is_let_in) in [(&stranger, false), (&caller, true), (&stranger, false)] {
        std::fs::write(&cert, identity.cert.pem()).unwrap();
        std::fs::write(&key, identity.signing_key.serialize_pem()).unwrap();
        let answered = ask(&source).await;
        assert_eq!(answered.is_ok(), is_let_in, "{answered:?}");
    }
    std::fs::write(&key, "no key").unwrap();
    assert_eq!(ask(&source).await.unwrap_err().reason(), "ClientSetup");
}

/// A sound stand-in over TLS, which lets only this caller in where one is given.
async fn sound_over_tls(
    identity: &stand_in::Identity,
    caller: Option<&stand_in::Identity>,
) -> evenkeel_http_client::Uri {
    let router = stand_in::router(Arc::new(sound), Arc::default());
    let port = stand_in::serve_tls(identity, caller, router).await;
    format!("https://localhost:{port}").parse().unwrap()
}
