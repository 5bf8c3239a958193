//! The review of a Pod of 5 KB from body to body, through the router.

#[path = "../tests/support/answering.rs"]
#[allow(dead_code)] // shared with tests, which ask more
mod answering;

mod support {
    #[allow(dead_code)] // shared with the other benches
    pub(crate) mod fleet;
    pub(crate) mod percentiles;
}

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_service::server::paths::MUTATE;
use support::{fleet, percentiles};

/// The number of measured calls.
const CALLS: usize = 20_000;

/// A recorded request with a Pod that is 5 KB large because of its environment.
fn review() -> Bytes {
    const RECORDED: &str =
        include_str!("../tests/fixtures/admission/pod-create-init-and-sidecar.json");
    let namespace = format!(r#""namespace":"{}""#, fleet::NAMESPACE);
    let recorded = RECORDED.replace(r#""namespace":"e2e-admission""#, &namespace);
    let mut review: serde_json::Value = serde_json::from_str(&recorded).expect("a review");
    let object = &mut review["request"]["object"];
    let mut number = 0;
    while object.to_string().len() < 5_000 {
        let variable = serde_json::json!({"name": format!("SETTING_{number}"), "value": "a value"});
        let environment = &mut object["spec"]["containers"][0]["env"];
        match environment.as_array_mut() {
            Some(variables) => variables.push(variable),
            None => *environment = serde_json::json!([variable]),
        }
        number += 1;
    }
    review.to_string().into()
}

fn admission(criterion: &mut Criterion) {
    let cluster = answering::cluster(true);
    answering::add_namespace(
        &cluster,
        fleet::NAMESPACE,
        &[("evenkeel.dev/enabled", "true")],
    );
    fleet::fill(&cluster, 1_000, 10_000);
    let service = answering::Asked::new(cluster, answering::policy());
    let body = review();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("a runtime");
    let ask = || {
        let answer = runtime.block_on(service.post(MUTATE, body.clone()));
        assert!(answer.status.is_success(), "{answer:?}");
        black_box(answer);
    };
    let name = format!("admission review, body of {} bytes", body.len());
    let mut group = criterion.benchmark_group("admission");
    group.throughput(Throughput::Elements(1));
    let mut first = true;
    group.bench_function("review of a 5 KB Pod", |bencher| {
        if std::mem::take(&mut first) {
            percentiles::report(&name, CALLS, |_| ask());
        }
        bencher.iter(ask);
    });
    group.finish();
}

criterion_group!(benches, admission);
criterion_main!(benches);
