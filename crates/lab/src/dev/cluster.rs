//! The whole cluster: what `start` puts together and in which order. API server, nodes and webhook
//! configuration come first, then the service of `serve`; when it is ready and trusted, the
//! scheduler learns its address and the scenario begins.

mod addresses;
mod baseline;
mod clients;
mod cluster_objects;
mod configuration;
mod error;
pub mod events;
mod faults;
mod governor;
mod options;
mod pace;
mod placement_reasons;
mod pod_observer;
mod readiness;
mod scheduler_config;
mod service_events;
mod service_monitor;
mod shipped_services;
mod token;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::SignedDuration;
use kube::Client;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use self::error::StartError;
pub use self::events::{DevEvent, DevEventBus, TimedEvent};
pub use self::options::{DevClusterOptions, SPEED};

pub(super) use self::configuration::is_own;
pub(super) use self::service_monitor::STARTING;

use evenkeel_apiserver as api;
use evenkeel_apiserver::ApiServer;
use evenkeel_clock as clock;
use evenkeel_clock::Clock;
use evenkeel_sandbox::adapter::Adapter;
use evenkeel_sandbox::blockable_proxy::Gate;
use evenkeel_sandbox::control_plane_context::ControlPlaneContext;
use evenkeel_sandbox::engine::lag::Lags;
use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_sandbox::kubelet::{Kubelet, heartbeat};
use evenkeel_sandbox::machines::Machines;
use evenkeel_sandbox::prometheus::{Behaviour, ResourceReadings};
use evenkeel_sandbox::recorder::Recorder;
use evenkeel_sandbox::scheduler::Scheduler;
use evenkeel_sandbox::store::Stores;
use evenkeel_sandbox::{Timeline, controllers};
use evenkeel_units::Ratio;

use self::addresses::{LoopbackAddresses, ReservedPorts};
use self::configuration::MountedConfigFile;

#[derive(Debug, Clone)]
pub struct ServiceWiring {
    /// How it reaches the API server.
    pub kubeconfig: PathBuf,
    /// Where its own objects are.
    pub namespace: &'static str,
    pub file: Option<PathBuf>,
    /// Fields of its configuration over those of the file, as paths with values.
    pub fields: Vec<(String, String)>,
    /// The clock that the cluster's objects and measurements are dated by.
    pub clock: Clock,
    pub stop: CancellationToken,
}

pub type DevServiceExit = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The parts that faults break, beside the API server and nodes.
#[derive(Clone, Default)]
struct FaultTargets {
    behaviour: Behaviour,
    gate: Gate,
}

/// A running cluster; it ends when this is dropped, and in good order by [`DevCluster::stop`].
pub struct DevCluster {
    pub client: Client,
    config: kube::Config,
    kubeconfig: PathBuf,
    addresses: LoopbackAddresses,
    #[expect(dead_code, reason = "held as long as the service may listen")]
    ports: ReservedPorts,
    prometheus: SocketAddr,
    timeline: Timeline,
    events: DevEventBus,
    machines: Machines,
    server: ApiServer,
    breakable: FaultTargets,
    tasks: JoinSet<()>,
    service: tokio::task::JoinHandle<DevServiceExit>,
    stop: CancellationToken,
}

impl DevCluster {
    /// Starts everything; `serve` runs the service until its wiring's `stop` is cancelled.
    ///
    /// # Errors
    /// Whatever keeps a part from starting.
    pub async fn start<F>(
        options: DevClusterOptions,
        events: DevEventBus,
        serve: impl FnOnce(ServiceWiring) -> F,
    ) -> Result<Self, StartError>
    where
        F: Future<Output = DevServiceExit> + Send + 'static,
    {
        let clock = options.clock(clock::now());
        let timeline = Timeline::new(clock);
        let machines = options.machines(controllers::sync(clock));
        let readings = ResourceReadings::new(machines.clone(), timeline.clone());
        let FaultTargets { behaviour, gate } = FaultTargets::default();
        let adapter = Adapter::new(machines.clone(), timeline.clone(), behaviour.clone());
        let server = ApiServer::start(api::Settings {
            tls: true,
            token: Some(token::random()?),
            seed: options.seed,
            metrics: Some(Arc::new(readings)),
            custom_metrics: Some(Arc::new(adapter)),
            clock: Arc::new(move || clock.now()),
            ..api::Settings::default()
        })
        .await?;
        let (kubeconfig, config) = clients::connect(&server, &options.folder).await?;
        let client = clients::named(&config, "evenkeel-dev")?;
        let (addresses, ports) = LoopbackAddresses::reserve()?;
        cluster_objects::prepare(&client, &options, clock.now()).await?;
        scheduler_config::write(&client, options.calls_extender).await?;
        let mut tasks = JoinSet::new();
        let called = addresses.called(&options, &gate, &mut tasks).await?;
        let (prometheus, backend) = options.metrics(&machines, &timeline, &behaviour).await?;
        tasks.spawn(backend);
        let timing = options.scenario.simulation.timing();
        let own = cluster_objects::own_fields(clock, timing, addresses, prometheus);
        let paced = cluster_objects::paced_fields(clock, timing);
        let mounted = MountedConfigFile::write(&client, &options, &own, &paced).await?;
        shipped_services::write(&client, called).await?;
        let stop = CancellationToken::new();
        let service = tokio::spawn(serve(ServiceWiring {
            kubeconfig: kubeconfig.clone(),
            namespace: shipped_services::NAMESPACE,
            file: Some(mounted.path()),
            fields: Vec::new(),
            clock,
            stop: stop.clone(),
        }));
        tasks.spawn(mounted.follow());
        let mut cluster = Self {
            client,
            config,
            kubeconfig,
            addresses,
            ports,
            prometheus,
            timeline,
            events,
            machines,
            server,
            breakable: FaultTargets { behaviour, gate },
            tasks,
            service,
            stop,
        };
        cluster.run(&options, called.https).await?;
        Ok(cluster)
    }

    /// Starts the parts on the API, waits for the service, and begins the scenario; the extender is
    /// called at `called`.
    async fn run(
        &mut self,
        options: &DevClusterOptions,
        called: SocketAddr,
    ) -> Result<(), StartError> {
        let stores = Stores::start(&self.client, &mut self.tasks);
        self.run_nodes(&stores)?;
        let controllers = clients::named(&self.config, "kube-controller-manager")?;
        let (timeline, events) = (&self.timeline, self.events.of_cluster());
        controllers::start(&controllers, &stores, timeline, &events, &mut self.tasks);
        let (client, mut parts) = self.part("kube-scheduler", "default-scheduler")?;
        let dashboard = self.addresses.dashboard;
        parts.events = placement_reasons::asked(dashboard, self.events.clone(), &mut self.tasks);
        let recorder = parts.recorder.clone();
        let scheduler = Scheduler::new(client, stores.clone(), parts, options.seed);
        let setup = scheduler.setup_slot();
        self.tasks.spawn(scheduler.run());
        self.tell(service_monitor::STARTING);
        let http = self.addresses.http;
        tokio::select! {
            ready = readiness::ready(&self.client, http) => ready?,
            ended = &mut self.service => return Err(StartError::NotReady(how(ended))),
        }
        let file = scheduler_config::SchedulerConfigReloader::open(
            &self.client,
            setup,
            called,
            options.patience,
            recorder,
        )
        .await?;
        self.tasks.spawn(file.follow());
        self.begin(stores, options);
        Ok(())
    }

    /// Starts kubelets and the machines that they stand for.
    fn run_nodes(&mut self, stores: &Stores) -> Result<(), StartError> {
        let (client, parts) = self.part("kubelet", "kubelet")?;
        let beating = heartbeat::run(
            client.clone(),
            stores.clone(),
            self.machines.clone(),
            self.timeline.clock(),
        );
        let machines = self.machines.clone();
        let stepping = machines.run(self.timeline.clone(), self.events.of_cluster());
        let kubelet = Kubelet::new(client, stores.clone(), self.machines.clone(), parts);
        self.tasks.spawn(kubelet.run());
        self.tasks.spawn(beating);
        self.tasks.spawn(stepping);
        Ok(())
    }

    /// A client of the name that a part is known by as a manager of fields, and what it tells by.
    fn part(
        &mut self,
        agent: &'static str,
        component: &'static str,
    ) -> Result<(Client, ControlPlaneContext), StartError> {
        let client = clients::named(&self.config, agent)?;
        let recorder = Recorder::start(
            client.clone(),
            component,
            self.timeline.clock(),
            &mut self.tasks,
        );
        let parts = ControlPlaneContext {
            timeline: self.timeline.clone(),
            events: self.events.of_cluster(),
            recorder,
        };
        Ok((client, parts))
    }

    /// Begins the scenario, with everything that goes by its time.
    fn begin(&mut self, stores: Stores, options: &DevClusterOptions) {
        self.timeline.begin();
        if options.keeps_pace {
            let (timeline, events) = (self.timeline.clone(), self.events.clone());
            self.tasks
                .spawn(pace::keep(options.speed.get(), timeline, events));
        }
        let observer = pod_observer::Observer {
            stores,
            scenario: options.scenario.clone(),
            machines: self.machines.clone(),
            timeline: self.timeline.clone(),
            events: self.events.clone(),
        };
        self.tasks.spawn(observer.run());
        let addresses = service_monitor::ProbeAddresses {
            http: self.addresses.http,
            metrics: self.addresses.metrics,
            dashboard: self.addresses.dashboard,
        };
        let (timeline, events) = (self.timeline.clone(), self.events.clone());
        self.tasks
            .spawn(service_monitor::watch(addresses, timeline, events));
        let (timeline, events) = (self.timeline.clone(), self.events.clone());
        self.tasks
            .spawn(service_events::watch(self.client.clone(), timeline, events));
        let plain = options.plain(self.machines.lags(), Ratio::ONE, None);
        let (timeline, events) = (self.timeline.clone(), self.events.clone());
        self.tasks.spawn(baseline::run(
            plain,
            self.machines.clone(),
            timeline,
            events,
        ));
        self.tasks.spawn(cluster_objects::workloads(
            self.client.clone(),
            options.scenario.clone(),
            self.machines.clone(),
            self.timeline.clone(),
        ));
        self.tasks.spawn(
            faults::Faults {
                planned: options.faults.clone(),
                client: self.client.clone(),
                scenario: options.scenario.clone(),
                machines: self.machines.clone(),
                control: self.server.control(),
                behaviour: self.breakable.behaviour.clone(),
                gate: self.breakable.gate.clone(),
                timeline: self.timeline.clone(),
                events: self.events.clone(),
            }
            .run(),
        );
    }

    /// The behaviour of the metrics backend, for a caller that adds faults to the planned ones.
    pub const fn metrics(&self) -> &Behaviour {
        &self.breakable.behaviour
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub const fn metrics_address(&self) -> SocketAddr {
        self.addresses.metrics
    }

    pub const fn dashboard_address(&self) -> SocketAddr {
        self.addresses.dashboard
    }

    pub const fn prometheus_address(&self) -> SocketAddr {
        self.prometheus
    }

    pub fn events(&self) -> broadcast::Receiver<TimedEvent> {
        self.events.subscribe()
    }

    pub fn now(&self) -> SignedDuration {
        self.timeline.elapsed()
    }

    pub fn summary(&self) -> RunSummary {
        self.machines.summary()
    }

    /// How long Pods took until a node took them on, so far.
    pub fn lags(&self) -> Lags {
        self.machines.lags()
    }

    /// Waits until the service ends by itself, which it should not.
    pub async fn failed(&mut self) -> String {
        how((&mut self.service).await)
    }

    /// Ends the service in good order, then the cluster.
    pub async fn stop(mut self) -> RunSummary {
        let summary = self.summary();
        self.stop.cancel();
        // The result of the service does not matter any more.
        let _ = (&mut self.service).await;
        self.tasks.shutdown().await;
        self.server.stop().await;
        summary
    }

    fn tell(&self, state: &str) {
        let state = state.to_owned();
        self.events
            .tell(self.now(), DevEvent::ServiceState { state });
    }
}

fn how(ended: Result<DevServiceExit, tokio::task::JoinError>) -> String {
    match ended {
        Ok(Ok(())) => "it ended".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}
