//! The load of the next hours for HorizontalPortraits with the algorithm Forecast. The leader computes it every ten
//! minutes, one metric after the other, within the share of a core that fits have: with a quarter of a core some
//! 75 metrics in ten minutes. With more of them, each is computed less often ([`HoursAheadAgenda`]). Fits of
//! models take turns with them.

use std::sync::Arc;

use evenkeel_api::horizontal_portrait::hours_ahead::{HoursAhead, MetricAhead};
use evenkeel_clock as clock;
use evenkeel_forecast::{HOURS_AHEAD_STEP, ModelAssets};
use evenkeel_scaling::horizontal_portraits::{
    HoursAheadAgenda, HoursAheadFit, HoursAheadProblem, hours_ahead_status, plan_hours_ahead,
};
use evenkeel_scaling::specs::horizontal_portrait::HorizontalPortrait;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::tracker::KnownLoads;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::leadership::Leadership;
use super::queue::WriteQueue;
use super::scaling::{FitResources, LoadQuestion, SwishNetworks};
use super::switch::{WriteSwitch, Writes};
use crate::cluster::ClusterState;

const ROUND: SignedDuration = SignedDuration::from_secs(30);

pub struct HoursAheadLoop {
    pub cluster: ClusterState,
    /// Answered by the scaling loop.
    pub questions: mpsc::Sender<LoadQuestion>,
    pub resources: FitResources,
    pub shared: Arc<ModelAssets>,
    pub queue: WriteQueue,
    pub leadership: Leadership,
    pub switch: WriteSwitch,
}

impl HoursAheadLoop {
    pub async fn run(self, cancel: CancellationToken) {
        let mut ticks = self.cluster.clock().ticks(ROUND);
        let mut agenda = HoursAheadAgenda::default();
        let rounds = async {
            loop {
                ticks.tick().await;
                self.round(&mut agenda).await;
            }
        };
        cancel.run_until_cancelled(rounds).await;
    }

    /// Computes the hours ahead of all portraits that are due, each as it is when its turn comes.
    async fn round(&self, agenda: &mut HoursAheadAgenda) {
        agenda.retain(self.portraits().iter());
        while self.may_write() {
            let now = self.cluster.now();
            let Some((portrait, workload)) = agenda.next(self.portraits().iter(), now) else {
                return;
            };
            let computed = self.compute(&portrait, workload, now).await;
            agenda.tried(&portrait, &computed, now);
            let portraits = self.portraits();
            let current = portraits.iter().find(|one| {
                let [one, before] = [one, &portrait].map(|portrait| &portrait.metadata);
                one.uid == before.uid && one.generation == before.generation
            });
            let write = current.and_then(|current| hours_ahead_status(current, computed, now));
            if let Some(write) = write {
                self.queue.put(write);
            }
        }
    }

    /// The portraits of namespaces that have opted in; none before they are listed.
    fn portraits(&self) -> Vec<Arc<HorizontalPortrait>> {
        let objects = self.cluster.scaling().portrait_objects();
        let portraits = objects.into_iter().flat_map(|objects| objects.portraits);
        portraits.map(|one| Arc::clone(&one.object)).collect()
    }

    async fn compute(
        &self,
        portrait: &HorizontalPortrait,
        workload: TargetRef,
        now: Timestamp,
    ) -> Result<HoursAhead, HoursAheadProblem> {
        let known = self.known(workload.clone()).await;
        let mut plan = plan_hours_ahead(portrait, &workload, known)?;
        let mut made = Vec::new();
        for fit in std::mem::take(&mut plan.fits) {
            let (shared, networks) = (Arc::clone(&self.shared), self.resources.networks.clone());
            let workload_of_fit = workload.clone();
            let work = move || make(fit, &workload_of_fit, &shared, &networks);
            let (one, _) = self.resources.core.work(work).await;
            made.push(one.unwrap_or_else(|error| {
                tracing::error!(%error, target = %workload, "the forecast hours ahead panicked");
                Err(HoursAheadProblem::Failed)
            }));
        }
        plan.gathered(made, now)
    }

    /// The known loads of a workload; `None` where it is no target.
    async fn known(&self, workload: TargetRef) -> Option<KnownLoads> {
        let (answer, known) = oneshot::channel();
        let question = LoadQuestion { workload, answer };
        let asked = self.questions.send(question).await;
        match (asked, known.await) {
            (Ok(()), Ok(known)) => known,
            // Only a service that ends has no scaling loop.
            _ => std::future::pending().await,
        }
    }

    fn may_write(&self) -> bool {
        self.leadership.is_leader(clock::instant()) && self.switch.get() == Writes::Enabled
    }
}

/// Makes a forecast, by a network if that is to make it and has learnt the load by steps of ten minutes. Otherwise
/// `auto` makes it, and the status says so.
fn make(
    fit: HoursAheadFit,
    workload: &TargetRef,
    shared: &ModelAssets,
    networks: &SwishNetworks,
) -> Result<MetricAhead, HoursAheadProblem> {
    let Some(signal) = fit.network_of() else {
        return fit.make(shared);
    };
    let network = networks.of(workload, signal, HOURS_AHEAD_STEP).ok();
    match network.filter(|network| network.category.is_some()) {
        Some(network) => fit.make(&shared.with_swish(Some(network))),
        None => fit.by_auto().make(shared),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_forecast::{Minutes, ModelSet, RegularSeries};
    use evenkeel_metrics::signal::Signal;
    use evenkeel_objects::plan::WriteOperation;
    use evenkeel_scaling::horizontal_portraits::forecast_workload;
    use evenkeel_scaling::load::hpa_aware::PodCapacity;
    use evenkeel_scaling::tracker::KnownLoad;
    use evenkeel_units::Ratio;
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::{ScalingObject, Settings as ClusterSettings, WATCHED};
    use crate::controller::fake_api::FakeApi;
    use crate::controller::metrics::ControllerMetrics;
    use crate::controller::scaling::FitSettings;
    use crate::controller::writer;
    use crate::controller::writer::Writer;

    /// A cluster with a portrait of its own for the Deployment `web` of an opted-in namespace.
    fn cluster() -> ClusterState {
        let cluster = ClusterState::new(ClusterSettings::default());
        let namespace = json!({"metadata": {"name": "shop", "resourceVersion": "3",
            "annotations": {"evenkeel.dev/enabled": "true"}}});
        let namespace = serde_json::from_value(namespace).unwrap();
        cluster.apply_namespace(&namespace, Timestamp::UNIX_EPOCH);
        let portrait = json!({
            "metadata": {"name": "web-ahead", "namespace": "shop", "uid": "p", "generation": 1},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "portraitType": "Predictive", "algorithm": {"type": "Forecast"}},
        });
        let portrait = Arc::new(serde_json::from_value(portrait).unwrap());
        cluster.apply_scaling_object(ScalingObject::HorizontalPortrait(portrait));
        for kind in WATCHED {
            cluster.set_synced(kind);
        }
        cluster
    }

    /// Twelve hours of a steady load.
    fn steady(now: Timestamp) -> KnownLoad {
        let step = HOURS_AHEAD_STEP.as_secs();
        let end = now.as_second().div_euclid(step) * step;
        let start = Timestamp::from_second(end - 72 * step).unwrap();
        KnownLoad {
            signal: Signal::CPU,
            model: ModelSet::Auto,
            capacity: PodCapacity::new(500.0, Ratio::new(0.5).unwrap()).unwrap(),
            highs: RegularSeries::new(start, HOURS_AHEAD_STEP, vec![Some(1500.0); 72]).unwrap(),
        }
    }

    /// The loop, its writer, and the questions that it asks.
    fn ahead(leadership: Leadership) -> (HoursAheadLoop, Writer, mpsc::Receiver<LoadQuestion>) {
        let switch = WriteSwitch::new(Writes::Enabled);
        let (writer, queue) = Writer::new(
            FakeApi::default().client(),
            writer::Settings::default(),
            leadership.clone(),
            switch.clone(),
            ControllerMetrics::default(),
        );
        let (questions, asked) = mpsc::channel(1);
        let ahead = HoursAheadLoop {
            cluster: cluster(),
            questions,
            resources: FitResources::new(&FitSettings {
                share: Ratio::share(1.0).unwrap(),
                ..FitSettings::default()
            }),
            shared: Arc::default(),
            queue,
            leadership,
            switch,
        };
        (ahead, writer, asked)
    }

    /// The statuses that are queued.
    fn statuses(writer: &Writer) -> Vec<Value> {
        let queued = writer.queued();
        let of = |write: &evenkeel_objects::plan::Write| match &write.operation {
            WriteOperation::Merge(body) => body["status"].clone(),
            other => panic!("{other:?}"),
        };
        queued.iter().map(of).collect()
    }

    #[tokio::test]
    async fn the_leader_asks_once_in_ten_minutes_and_writes_the_series() {
        let (follower, writer, mut asked) = ahead(Leadership::default());
        follower.round(&mut HoursAheadAgenda::default()).await;
        assert_eq!(statuses(&writer), [Value::Null; 0], "it does not lead");
        assert!(asked.try_recv().is_err());

        let (leader, writer, mut asked) = ahead(Leadership::leading());
        let mut agenda = HoursAheadAgenda::default();
        let answers = tokio::spawn(async move {
            let mut questions = 0;
            while let Some(LoadQuestion { workload, answer }) = asked.recv().await {
                assert_eq!(workload.to_string(), "Deployment web");
                // It is no target at first, and then its past is not known.
                let known = (questions > 0).then(|| KnownLoads {
                    loads: Vec::from_iter((questions > 1).then(|| steady(clock::now()))),
                    is_filling: questions == 1,
                });
                answer.send(known).unwrap();
                questions += 1;
            }
            questions
        });
        leader.round(&mut agenda).await;
        let [refused] = &statuses(&writer)[..] else {
            panic!("one write")
        };
        assert_eq!(refused["conditions"][0]["reason"], "NoTarget");
        leader.round(&mut agenda).await;
        assert_eq!(statuses(&writer).len(), 0, "it has just been looked for");
        for _ in 0..2 {
            agenda = HoursAheadAgenda::default();
            leader.round(&mut agenda).await;
        }
        let told = statuses(&writer).pop().unwrap();
        let points = told["hoursAhead"]["metrics"][0]["points"].as_array();
        assert_eq!(points.map(Vec::len), Some(12), "{told}");
        assert_eq!(told["conditions"][0]["reason"], "Forecast");
        leader.switch.set(Writes::Disabled);
        leader.round(&mut HoursAheadAgenda::default()).await;
        drop(leader);
        assert_eq!(
            answers.await.unwrap(),
            3,
            "nothing is computed that is not written"
        );
    }

    #[tokio::test]
    async fn a_network_that_is_not_trained_yet_leaves_the_hours_ahead_to_auto() {
        let (ahead, _, _) = ahead(Leadership::leading());
        let portraits = ahead.portraits();
        let workload = forecast_workload(&portraits[0]);
        let workload = workload.unwrap();
        let load = KnownLoad {
            model: ModelSet::SwishNet,
            ..steady(clock::now())
        };
        let known = KnownLoads {
            loads: vec![load],
            is_filling: false,
        };
        let fit = || {
            let plan = plan_hours_ahead(&portraits[0], &workload, Some(known.clone()));
            plan.unwrap().fits.pop().unwrap()
        };
        let networks = &ahead.resources.networks;
        let made = || make(fit(), &workload, &ahead.shared, networks).unwrap();
        assert_eq!(made().model, "auto");
        let minutes = Minutes::new(clock::now().as_second() - 1100 * 60, vec![500.0; 1100]);
        let pasts = [(workload.clone(), Signal::CPU, minutes)];
        let trained = networks.learn(&pasts, 240, clock::now(), &ahead.shared.calendar);
        assert_eq!(trained, Some(1));
        let made = made();
        let known = (&*made.model, made.points.len());
        assert_eq!(known, ("swish-net", 12), "two hours");
    }
}
