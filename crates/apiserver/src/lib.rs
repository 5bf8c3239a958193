//! A Kubernetes API server in memory, for tests of controllers, operators and webhooks.
//!
//! It speaks real HTTP or HTTPS on a port of loopback, so that kubectl, the `kube` client and every
//! other client use it as a cluster. It answers as kube-apiserver does, down to the wording of
//! errors: defaults, validation, resource versions, watches, the four kinds of patch, server-side
//! apply, finalizers, garbage collection, CustomResourceDefinitions, mutating webhooks. The README
//! lists its limits; any other request is refused with a `Status` that says so. A client with the
//! token of the [`Settings`] is an administrator. If no token is set, every client is.
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use evenkeel_apiserver::{ApiServer, Settings};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::PostParams;
//!
//! let server = ApiServer::start(Settings::default()).await?;
//! let config = kube::Config::new(server.url().parse()?);
//! let client = kube::Client::try_from(config)?;
//! let maps: kube::Api<ConfigMap> = kube::Api::namespaced(client, "default");
//!
//! let mut map = ConfigMap::default();
//! map.metadata.generate_name = Some("first-".to_owned());
//! let made = maps.create(&PostParams::default(), &map).await?;
//!
//! assert!(made.metadata.name.is_some_and(|name| name.starts_with("first-")));
//! assert!(made.metadata.uid.is_some());
//! server.stop().await;
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! One generic store and one table of resources (`resources/catalog.rs`) carry all kinds; the
//! particulars of a kind are in `rules`. A request goes through `server` (socket, routes) to one of
//! the `verbs`, or to one of the `apis` that are computed and not stored.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod admission;
mod api_request;
mod apis;
mod clock;
mod cluster;
mod error;
mod fault_injection;
mod identity;
mod meta;
mod network;
mod patch;
mod resources;
mod rules;
mod schema;
mod selector;
mod server;
mod settings;
mod state;
mod store;
mod table;
mod token_access;
mod usage;
mod verbs;
mod wire;

pub use self::fault_injection::Control;
pub use self::server::server_handle::{ApiServer, StartError};
pub use self::settings::{Clock, Settings};
pub use self::usage::{
    CpuMemoryUsage, CustomMetrics, DescribedObject, MetricReading, ResourceMetrics,
    UsageMeasurement,
};
