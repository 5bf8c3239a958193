//! An HPA by requests per second. The HPA controller scales it, the service forecasts it, and both
//! freeze it while no source has the metric.

use std::path::Path;

use evenkeel_sandbox::scenario::Scenario;
use jiff::SignedDuration;

use super::*;

/// The shipped scenario.
fn requests() -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenarios");
    let read =
        |path: &Path| std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string());
    Scenario::read(&read(Path::new("requests.yaml")).unwrap(), &read).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hpa_by_requests_is_scaled_and_forecast_and_an_outage_freezes_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        options.scenario = requests();
        options.speed = Ratio::new(60.0).unwrap();
    })
    .await;
    let (mut scaled, mut forecast) = (false, false);
    until(&mut cluster, &mut events, |event| {
        match event {
            DevEvent::Scaled { workload, to, .. } => scaled |= workload == "web" && to > 3,
            DevEvent::Scaling { targets } => {
                let loads = targets.iter().flat_map(|target| &target.loads);
                let mut ours =
                    loads.filter(|load| load.resource == "pods/http_requests_per_second");
                forecast |= ours.any(|load| {
                    let requests = load.now.is_some_and(|now| now > 50.0);
                    requests && load.unit.is_empty() && load.forecast.is_some()
                });
            }
            _ => {}
        }
        scaled && forecast
    })
    .await;
    cluster.metrics().set_down(true);
    freezes(&mut cluster, &mut events).await;
    cluster.metrics().set_down(false);
    until(&mut cluster, &mut events, |event| {
        let DevEvent::Scaling { targets } = event else {
            return false;
        };
        let unknown = |kind: &str| targets[0].conditions.iter().any(|one| one.kind == kind);
        targets[0].grounds != "nothing" && !unknown("SignalUnknown")
    })
    .await;
    cluster.stop().await;
}

/// For longer than any window of the HPA, no source has the metric: no replica goes, and a
/// condition says why.
async fn freezes(cluster: &mut DevCluster, events: &mut Receiver<TimedEvent>) {
    let end = cluster.now() + SignedDuration::from_mins(8);
    let mut told = false;
    let reading = async {
        loop {
            let happened = match events.recv().await {
                Ok(happened) => happened,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => panic!("the events have ended"),
            };
            match happened.event {
                DevEvent::Scaled { from, to, .. } => assert!(to >= from, "{from} -> {to}"),
                DevEvent::Scaling { targets } => {
                    let mut conditions = targets.iter().flat_map(|target| &target.conditions);
                    told |= conditions.any(|one| {
                        one.kind == "SignalUnknown"
                            && one.message.contains("could not find the metric")
                    });
                }
                _ => {}
            }
            if happened.at > end {
                return;
            }
        }
    };
    timeout(PATIENCE, reading).await.expect("time goes on");
    assert!(told, "the condition SignalUnknown");
}
