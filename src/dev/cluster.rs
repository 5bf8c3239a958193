//! The whole cluster: what `start` puts together and in which order.
//!
//! API server, nodes and webhook configuration come first, then the service, which is started by
//! the caller and is the one of `serve`; when it is ready and trusted, the scheduler learns its
//! address and the scenario begins.

mod error;
mod faults;
mod install;
mod lockstep;
mod observe;
mod options;
mod readiness;
mod said;
mod service;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::SignedDuration;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use self::error::StartError;
pub use self::options::{Options, SPEED};

use super::api::{self, ApiServer};
use super::events::Happened;
use super::faults::Kind;
use super::gate::Gate;
use super::kubelet::Kubelet;
use super::metrics::{self, Behaviour, ResourceReadings};
use super::scheduler::Scheduler;
use super::store::Stores;
use super::world::World;
use super::{Event, Events, Fault, Pace, controllers, kubelet};
use crate::clock::{self, Clock};
use crate::simulate::{Lags, Summary};

/// Where the service's own objects are.
const NAMESPACE: &str = "evenkeel-system";

/// What the service has to be told of the cluster.
#[derive(Debug, Clone)]
pub struct Wiring {
    /// How it reaches the API server.
    pub kubeconfig: PathBuf,
    /// Where its own objects are.
    pub namespace: &'static str,
    /// Fields of its configuration, as paths with values.
    pub fields: Vec<(String, String)>,
    /// The time that its scaling goes by: as fast as the scenario's.
    pub clock: Clock,
    /// Cancelled when it is to end.
    pub stop: CancellationToken,
}

/// How the service ended.
pub type Ended = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Loopback addresses of the service.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    https: SocketAddr,
    http: SocketAddr,
    dashboard: SocketAddr,
}

/// What faults break, beside the API server and nodes.
struct Breakable {
    behaviour: Behaviour,
    gate: Gate,
    /// Where webhook and extender are called: the service itself, or the gate before it.
    called: SocketAddr,
}

/// A running cluster; it ends when this is dropped, and in good order by [`Cluster::stop`].
pub struct Cluster {
    /// An administrator's client.
    pub client: Client,
    kubeconfig: PathBuf,
    addresses: Addresses,
    pace: Pace,
    events: Events,
    world: World,
    server: ApiServer,
    tasks: JoinSet<()>,
    service: tokio::task::JoinHandle<Ended>,
    stop: CancellationToken,
}

impl Cluster {
    /// Starts everything; `serve` runs the service until its wiring's `stop` is cancelled.
    ///
    /// # Errors
    /// Whatever keeps a part from starting.
    pub async fn start<F>(
        options: Options,
        events: Events,
        serve: impl FnOnce(Wiring) -> F,
    ) -> Result<Self, StartError>
    where
        F: Future<Output = Ended> + Send + 'static,
    {
        let pace = Pace::new(options.speed);
        let world = options.world(controllers::sync(&pace));
        let readings = ResourceReadings::new(world.clone(), pace.clone());
        let server = ApiServer::start(api::Settings {
            tls: true,
            seed: options.seed,
            metrics: Some(Arc::new(readings)),
            ..api::Settings::default()
        })
        .await?;
        let (kubeconfig, client) = connect(&server, &options.folder).await?;
        let addresses = addresses().await?;
        let mut tasks = JoinSet::new();
        let gate = Gate::default();
        let called = calls(&options, &gate, addresses.https, &mut tasks).await?;
        install::prepare(&client, &options, called).await?;
        let behaviour = Behaviour::default();
        let backend = metrics::serve(world.clone(), pace.clone(), behaviour.clone()).await;
        let (prometheus, backend) = backend.map_err(|source| StartError::Io {
            what: "the metrics backend cannot listen",
            source,
        })?;
        tasks.spawn(backend);
        let stop = CancellationToken::new();
        let service = tokio::spawn(serve(Wiring {
            kubeconfig: kubeconfig.clone(),
            namespace: NAMESPACE,
            fields: install::fields(&pace, addresses, prometheus),
            clock: Clock::accelerated(options.speed, clock::now()),
            stop: stop.clone(),
        }));
        let mut cluster = Self {
            client,
            kubeconfig,
            addresses,
            pace,
            events,
            world,
            server,
            tasks,
            service,
            stop,
        };
        cluster
            .run(
                &options,
                &Breakable {
                    behaviour,
                    gate,
                    called,
                },
            )
            .await?;
        Ok(cluster)
    }

    /// Starts what runs on the API, waits for the service, and begins the scenario.
    async fn run(&mut self, options: &Options, parts: &Breakable) -> Result<(), StartError> {
        let stores = Stores::start(&self.client, &mut self.tasks);
        let (client, pace, events) = (&self.client, &self.pace, &self.events);
        let kubelet = Kubelet::new(
            client.clone(),
            stores.clone(),
            self.world.clone(),
            pace.clone(),
        );
        self.tasks.spawn(kubelet.run());
        let machines = kubelet::machines(self.world.clone(), pace.clone(), events.clone());
        self.tasks.spawn(machines);
        controllers::start(client, &stores, pace, events, &mut self.tasks);
        let scheduler = Scheduler::new(
            client.clone(),
            stores.clone(),
            events.clone(),
            pace.clone(),
            options.seed,
        );
        let setup = scheduler.setup_slot();
        self.tasks.spawn(scheduler.run());
        self.tell("starting");
        let http = self.addresses.http;
        tokio::select! {
            ready = readiness::ready(client, http) => ready?,
            ended = &mut self.service => return Err(StartError::NotReady(how(ended))),
        }
        let configuration = install::scheduler(client, options, parts.called).await?;
        setup.set(&configuration)?;
        self.begin(stores, options, parts);
        Ok(())
    }

    /// Begins the scenario, with everything that goes by its time.
    fn begin(&mut self, stores: Stores, options: &Options, parts: &Breakable) {
        self.pace.begin(clock::now());
        self.tell("ready");
        self.tasks.spawn(observe::run(
            (stores, options.scenario.clone()),
            self.world.clone(),
            self.pace.clone(),
            self.events.clone(),
        ));
        let addresses = service::Addresses {
            http: self.addresses.http,
            dashboard: self.addresses.dashboard,
        };
        let (pace, events) = (self.pace.clone(), self.events.clone());
        self.tasks.spawn(service::watch(addresses, pace, events));
        let (pace, events) = (self.pace.clone(), self.events.clone());
        self.tasks
            .spawn(said::watch(self.client.clone(), pace, events));
        let plain = options.plain(self.world.lags());
        let (pace, events) = (self.pace.clone(), self.events.clone());
        self.tasks
            .spawn(lockstep::run(plain, self.world.clone(), pace, events));
        self.tasks.spawn(install::workloads(
            self.client.clone(),
            options.scenario.clone(),
            self.world.clone(),
            self.pace.clone(),
        ));
        self.tasks.spawn(
            faults::Faults {
                planned: options.faults.clone(),
                client: self.client.clone(),
                scenario: options.scenario.clone(),
                world: self.world.clone(),
                control: self.server.control(),
                behaviour: parts.behaviour.clone(),
                gate: parts.gate.clone(),
                pace: self.pace.clone(),
                events: self.events.clone(),
            }
            .run(),
        );
    }

    /// The kubeconfig for kubectl.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where the service's probes and metrics are.
    #[must_use]
    pub const fn metrics_address(&self) -> SocketAddr {
        self.addresses.http
    }

    /// Where its dashboard is.
    #[must_use]
    pub const fn dashboard_address(&self) -> SocketAddr {
        self.addresses.dashboard
    }

    /// What happens from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Happened> {
        self.events.subscribe()
    }

    /// The scenario's time.
    #[must_use]
    pub fn now(&self) -> SignedDuration {
        self.pace.scenario(clock::now())
    }

    /// What the run has come to so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.world.summary()
    }

    /// How long Pods took until a node took them on, so far.
    #[must_use]
    pub fn lags(&self) -> Lags {
        self.world.lags()
    }

    /// Waits until the service ends by itself, which it should not.
    pub async fn failed(&mut self) -> String {
        how((&mut self.service).await)
    }

    /// Ends the service in good order, then the cluster.
    pub async fn stop(mut self) -> Summary {
        let summary = self.summary();
        self.stop.cancel();
        // How it ended matters to nobody any more.
        let _ = (&mut self.service).await;
        self.tasks.shutdown().await;
        self.server.stop().await;
        summary
    }

    fn tell(&self, state: &str) {
        let state = state.to_owned();
        self.events.tell(self.now(), Event::ServiceState { state });
    }
}

fn how(ended: Result<Ended, tokio::task::JoinError>) -> String {
    match ended {
        Ok(Ok(())) => "it ended".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

async fn connect(server: &ApiServer, folder: &Path) -> Result<(PathBuf, Client), StartError> {
    let path = folder.join("kubeconfig");
    let text = server.kubeconfig();
    tokio::fs::write(&path, &text)
        .await
        .map_err(|source| StartError::Io {
            what: "the kubeconfig cannot be written",
            source,
        })?;
    let unusable = |error: KubeconfigError| StartError::Unusable(error.to_string());
    let kubeconfig = Kubeconfig::from_yaml(&text).map_err(unusable)?;
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Ok((path, Client::try_from(config.map_err(unusable)?)?))
}

/// Where webhook and extender are called: at a gate where one is to be blocked, else directly.
async fn calls(
    options: &Options,
    gate: &Gate,
    https: SocketAddr,
    tasks: &mut JoinSet<()>,
) -> Result<SocketAddr, StartError> {
    let is_hang = |fault: &Fault| fault.kind == Kind::Hang;
    if !options.faults.iter().any(is_hang) {
        return Ok(https);
    }
    let opened = gate.open(https).await;
    let (address, carrying) = opened.map_err(|source| StartError::Io {
        what: "the gate before the service cannot listen",
        source,
    })?;
    tasks.spawn(carrying);
    Ok(address)
}

/// Three free ports of loopback, held until all are known so that they differ.
async fn addresses() -> Result<Addresses, StartError> {
    let failed = |source| StartError::Io {
        what: "no port is free",
        source,
    };
    let mut held = Vec::new();
    for _ in 0..3 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        held.push(listener.map_err(failed)?);
    }
    let address = |at: usize| held[at].local_addr().map_err(failed);
    Ok(Addresses {
        https: address(0)?,
        http: address(1)?,
        dashboard: address(2)?,
    })
}
