//! The whole cluster: what `start` puts together and in which order.
//!
//! API server, nodes and webhook configuration come first, then the service, which is started by
//! the caller and is the one of `serve`; when it is ready and trusted, the scheduler learns its
//! address and the scenario begins.

mod error;
mod faults;
mod install;
mod installation;
mod observe;
mod options;
mod readiness;
mod scheduling;

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
pub use self::options::Options;

use super::api::{self, ApiServer};
use super::events::Happened;
use super::kubelet::Kubelet;
use super::metrics::{self, Behaviour, ResourceReadings};
use super::parts::Parts;
use super::recorder::Recorder;
use super::scheduler::Scheduler;
use super::store::Stores;
use super::world::World;
use super::{Event, Events, Pace, controllers};
use crate::clock::{self, Clock};
use crate::simulate::Summary;
use crate::simulate::trace::Trace;

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

/// A running cluster; it ends when this is dropped, and in good order by [`Cluster::stop`].
pub struct Cluster {
    /// An administrator's client.
    pub client: Client,
    config: kube::Config,
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
        let world = World::new(
            options.scenario.clone(),
            Trace::web(),
            options.seed,
            options.line,
        );
        let readings = ResourceReadings::new(world.clone(), pace.clone());
        let server = ApiServer::start(api::Settings {
            tls: true,
            seed: options.seed,
            metrics: Some(Arc::new(readings)),
            ..api::Settings::default()
        })
        .await?;
        let (kubeconfig, config) = connect(&server, &options.folder).await?;
        let client = client_of(&config, "evenkeel-dev")?;
        let addresses = addresses().await?;
        install::prepare(&client, &options).await?;
        scheduling::write(&client).await?;
        let mut tasks = JoinSet::new();
        let behaviour = Behaviour::default();
        let backend = metrics::serve(world.clone(), pace.clone(), behaviour.clone()).await;
        let (prometheus, backend) = backend.map_err(|source| StartError::Io {
            what: "the metrics backend cannot listen",
            source,
        })?;
        tasks.spawn(backend);
        let fields = install::fields(&pace, addresses, prometheus);
        installation::write(&client, &fields, addresses).await?;
        let stop = CancellationToken::new();
        let service = tokio::spawn(serve(Wiring {
            kubeconfig: kubeconfig.clone(),
            namespace: NAMESPACE,
            fields,
            clock: Clock::accelerated(options.speed, clock::now()),
            stop: stop.clone(),
        }));
        let mut cluster = Self {
            client,
            config,
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
        cluster.run(&options, &behaviour).await?;
        Ok(cluster)
    }

    /// Starts what runs on the API, waits for the service, and begins the scenario.
    async fn run(&mut self, options: &Options, behaviour: &Behaviour) -> Result<(), StartError> {
        let stores = Stores::start(&self.client, &mut self.tasks);
        let (client, parts) = self.part("kubelet", "kubelet")?;
        let kubelet = Kubelet::new(client, stores.clone(), self.world.clone(), parts);
        self.tasks.spawn(kubelet.run());
        let controllers = client_of(&self.config, "kube-controller-manager")?;
        let (pace, events) = (&self.pace, &self.events);
        controllers::start(&controllers, &stores, pace, events, &mut self.tasks);
        let (client, parts) = self.part("kube-scheduler", "default-scheduler")?;
        let recorder = parts.recorder.clone();
        let scheduler = Scheduler::new(client, stores.clone(), parts, options.seed);
        let setup = scheduler.setup_slot();
        self.tasks.spawn(scheduler.run());
        self.tell("starting");
        let http = self.addresses.http;
        tokio::select! {
            ready = readiness::ready(&self.client, http) => ready?,
            ended = &mut self.service => return Err(StartError::NotReady(how(ended))),
        }
        let https = self.addresses.https;
        let file =
            scheduling::File::open(&self.client, setup, https, options.patience, recorder).await?;
        self.tasks.spawn(file.follow());
        self.begin(stores, options, behaviour);
        Ok(())
    }

    /// A client of the name that a part is known by as a manager of fields, and what it tells by.
    fn part(
        &mut self,
        agent: &'static str,
        component: &'static str,
    ) -> Result<(Client, Parts), StartError> {
        let client = client_of(&self.config, agent)?;
        let recorder = Recorder::start(client.clone(), component, &mut self.tasks);
        let parts = Parts {
            pace: self.pace.clone(),
            events: self.events.clone(),
            recorder,
        };
        Ok((client, parts))
    }

    /// Begins the scenario, with everything that goes by its time.
    fn begin(&mut self, stores: Stores, options: &Options, behaviour: &Behaviour) {
        self.pace.begin(clock::now());
        self.tell("ready");
        self.tasks.spawn(observe::run(
            stores,
            self.world.clone(),
            self.pace.clone(),
            self.events.clone(),
        ));
        self.tasks.spawn(readiness::watch(
            self.addresses.http,
            self.pace.clone(),
            self.events.clone(),
        ));
        self.tasks.spawn(install::workloads(
            self.client.clone(),
            options.scenario.clone(),
            self.pace.clone(),
        ));
        self.tasks.spawn(
            faults::Faults {
                planned: options.faults.clone(),
                client: self.client.clone(),
                scenario: options.scenario.clone(),
                world: self.world.clone(),
                control: self.server.control(),
                behaviour: behaviour.clone(),
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

async fn connect(server: &ApiServer, folder: &Path) -> Result<(PathBuf, kube::Config), StartError> {
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
    Ok((path, config.map_err(unusable)?))
}

/// A client that says who it is.
fn client_of(config: &kube::Config, agent: &'static str) -> Result<Client, StartError> {
    let mut config = config.clone();
    let agent = hyper::header::HeaderValue::from_static(agent);
    config.headers.push((hyper::header::USER_AGENT, agent));
    Ok(Client::try_from(config)?)
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
