//! An observation with the facts that several checks derive from it.

use evenkeel_objects::annotated_object::AnnotatedObject;
use evenkeel_objects::namespace_policy::NamespacePolicy;

use crate::doctor::DoctorFinding;
use crate::doctor::observation::{DoctorObservation, Look as _, ObjectsOfKind, Replica};
use evenkeel_service::certificates::ServingCertificateSource;
use evenkeel_service::cluster::read_outcome::{ReadFailure, ReadOutcome};
use evenkeel_service::config::{Config, ConfigError};
use evenkeel_service::metrics::exposition::Exposition;
use evenkeel_service::server::MetricsAuthentication;

/// Findings of a check; the error is the finding that its subject could not be read.
pub(super) type CheckFindings = Result<Vec<DoctorFinding>, DoctorFinding>;

/// Name that stands for a service outside of the cluster where Pods have theirs.
pub(super) const OUTSIDE: &str = "evenkeel";

pub(super) struct Evidence<'a> {
    pub(super) seen: &'a DoctorObservation,
    /// The configuration in force; `None` where there is none to be read.
    pub(super) configured: Option<Result<Config, ConfigError>>,
    /// Metrics of each replica, as far as they were read.
    pub(super) pages: Vec<(&'a str, Exposition)>,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(seen: &'a DoctorObservation) -> Self {
        Self {
            seen,
            configured: seen.configured(),
            pages: pages(seen),
        }
    }

    /// The configuration that the replicas run with, where it is known.
    pub(super) fn config(&self) -> Option<&Config> {
        self.configured.as_ref()?.as_ref().ok()
    }

    /// The configuration of the certificates that Evenkeel makes for itself, which is the default.
    pub(super) fn makes_certificates(&self) -> bool {
        self.config().is_none_or(|config| {
            matches!(
                config.certificates.serving,
                ServingCertificateSource::SelfManaged(_)
            )
        })
    }

    pub(super) fn signing_secret(&self) -> &str {
        match self.config().map(|config| &config.certificates.serving) {
            Some(ServingCertificateSource::SelfManaged(own)) => &own.secret_name,
            Some(ServingCertificateSource::Files(_)) | None => {
                crate::doctor::observation::SIGNING_SECRET
            }
        }
    }

    /// Readers of the metrics show tokens, which is the default.
    pub(super) fn authenticates_metrics(&self) -> bool {
        self.config().is_none_or(|config| {
            config.server.metrics_authentication == MetricsAuthentication::Kubernetes
        })
    }

    /// External metrics are served, which is not the default.
    pub(super) fn serves_external_metrics(&self) -> bool {
        self.config()
            .is_some_and(|config| config.server.external_metrics)
    }

    /// Series are served, which is not the default.
    pub(super) fn serves_series(&self) -> bool {
        self.config()
            .is_some_and(|config| config.metrics_provider.is_some())
    }

    /// Metrics of each replica: at least one page.
    pub(super) fn pages(
        &self,
        id: &'static str,
        subject: &str,
    ) -> Result<&[(&'a str, Exposition)], DoctorFinding> {
        if !self.pages.is_empty() {
            return Ok(&self.pages);
        }
        self.seen.outside.look(id, subject)?;
        let replicas = self.seen.replicas.look(id, subject)?;
        for replica in replicas.into_iter().flatten() {
            replica.metrics.look(id, subject)?;
        }
        let nobody = ReadFailure::Without("no replica reports its metrics".to_owned());
        let unseen: ReadOutcome<()> = ReadOutcome::Unseen(nobody);
        unseen.look(id, subject).map(|_| &self.pages[..])
    }

    /// A command about Evenkeel's own namespace.
    pub(super) fn kubectl(&self, arguments: &str) -> String {
        format!("kubectl -n {} {arguments}", self.seen.namespace)
    }

    pub(super) fn objects(
        &self,
    ) -> impl Iterator<Item = (&'a ObjectsOfKind, &'a AnnotatedObject)> + use<'a> {
        let seen: &'a DoctorObservation = self.seen;
        seen.objects.iter().flat_map(|of| {
            let objects = of.objects.there().into_iter().flatten();
            objects.map(move |object| (of, object))
        })
    }

    pub(super) fn opted_in(&self) -> Vec<&'a str> {
        let namespaces = self.seen.namespaces.there().into_iter().flatten();
        namespaces
            .filter(|namespace| {
                NamespacePolicy::parse(&namespace.metadata.annotations)
                    .0
                    .enabled
            })
            .filter_map(|namespace| namespace.metadata.name.as_deref())
            .collect()
    }
}

pub(super) fn replicas(seen: &DoctorObservation) -> &[Replica] {
    seen.replicas.there().map_or(&[], Vec::as_slice)
}

/// Metrics by the names of the Pods, or by that of the program where it runs in none.
fn pages(seen: &DoctorObservation) -> Vec<(&str, Exposition)> {
    let outside = seen.outside.there();
    let outside = outside.map(|text| (OUTSIDE, Exposition::parse(text)));
    replicas(seen)
        .iter()
        .filter_map(page)
        .chain(outside)
        .collect()
}

fn page(replica: &Replica) -> Option<(&str, Exposition)> {
    let name = replica.pod.metadata.name.as_deref()?;
    Some((name, Exposition::parse(replica.metrics.there()?)))
}
