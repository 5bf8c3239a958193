//! The watches of custom resources that an operator wants scaled; they run only while the cluster
//! serves the kind with a subresource `scale`. Discovery repeats its lookup, because definitions
//! come, change and go. A kind that cannot be scaled is reported, and delays nothing else.

use std::time::Duration;

use axum::http::Request;
use evenkeel_clock as clock;
use evenkeel_objects::custom_kind::DiscoveredKind;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::scaled_kind::{Definition, ScaledKind, UnscalableKind};
use kube::{Client, Error};
use serde::de::DeserializeOwned;
use tracing::{error, info};

use super::watch_loop::{WatchContext, custom_resources};
use crate::cluster::metrics::{ClusterMetrics, CustomKindState};
use crate::cluster::state::ClusterState;
use crate::telemetry::RateLimited;

/// The time after which it is asked again when there was no answer.
const RETRY: Duration = Duration::from_secs(5);

/// Why a kind is not known to be one that can be scaled.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The cluster serves it, and no object of it can be scaled.
    #[error(transparent)]
    Unscalable(#[from] UnscalableKind),
    /// The API server did not say.
    #[error(transparent)]
    Unanswered(#[from] Error),
}

impl LookError {
    /// The kind of error, for metrics and logs.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unscalable(unscalable) => unscalable.reason(),
            Self::Unanswered(_) => "Unanswered",
        }
    }
}

/// Looks for a kind as the cluster serves it; `None` where it serves none.
///
/// # Errors
/// One that cannot be scaled, and an API server that does not say.
pub async fn look(
    client: &Client,
    scaled: &ScaledKind,
) -> Result<Option<DiscoveredKind>, LookError> {
    let resources = client.list_api_group_resources(&scaled.api_version()).await;
    let Some(list) = there(resources)? else {
        return Ok(None);
    };
    let Some(plural) = scaled.plural(&list.resources)? else {
        return Ok(None);
    };
    let definition = read::<Definition>(client, &scaled.definition(plural)).await;
    Ok(Some(scaled.found(plural, there(definition)?)?))
}

/// Finds the first version of a kind's group that serves it with the subresource `scale`, the
/// configured one first; `None` if the cluster serves none.
///
/// # Errors
/// One that cannot be scaled in any version, and an API server that does not say.
pub async fn look_in_any_version(
    client: &Client,
    scaled: &ScaledKind,
) -> Result<Option<DiscoveredKind>, LookError> {
    let mut last = look(client, scaled).await;
    if !is_open(&last) {
        return last;
    }
    let groups = client.list_api_groups().await?.groups;
    let group = groups.into_iter().find(|one| one.name == scaled.group());
    for version in group.into_iter().flat_map(|group| group.versions) {
        let other = scaled.in_version(&version.version);
        if other == *scaled {
            continue;
        }
        match look(client, &other).await {
            Ok(None) => {}
            looked if is_open(&looked) => last = looked,
            looked => return looked,
        }
    }
    last
}

/// True where another version of a kind may be served otherwise.
const fn is_open(looked: &Result<Option<DiscoveredKind>, LookError>) -> bool {
    matches!(
        looked,
        Ok(None) | Err(LookError::Unscalable(UnscalableKind::NoScale))
    )
}

async fn read<T: DeserializeOwned>(client: &Client, name: &str) -> Result<T, Error> {
    let kind = Kind::CustomResourceDefinition;
    let url = format!("/apis/{}/{}/{name}", kind.api_version(), kind.plural());
    let request = Request::get(url).body(Vec::new());
    client.request(request.map_err(Error::HttpError)?).await
}

/// The answer; `None` for what the API server does not know.
fn there<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) struct CustomWatch {
    scaled: ScaledKind,
    client: Client,
    state: ClusterState,
    metrics: ClusterMetrics,
    /// The time between two looks.
    interval: Duration,
}

impl CustomWatch {
    /// A watch that looks for its kind every `interval`.
    pub(super) fn new(
        scaled: ScaledKind,
        client: Client,
        state: &ClusterState,
        metrics: &ClusterMetrics,
        interval: Duration,
    ) -> Self {
        Self {
            scaled,
            client,
            state: state.clone(),
            metrics: metrics.clone(),
            interval,
        }
    }

    /// Lets nothing be decided before the kind has been looked for; the name of the kind.
    pub(super) fn expect(&self) -> String {
        let name = self.scaled.name();
        self.state.scaling().custom_kinds.expect(&name);
        name
    }

    /// Follows the objects of the kind while they are served.
    pub(super) async fn run(self) {
        let warned = RateLimited::default();
        loop {
            let found = self.until_found(&warned).await;
            let kind = Kind::Custom(found.clone().into_kind());
            let name = self.scaled.name();
            info!(
                kind = name,
                "the cluster serves this kind, and it is watched"
            );
            self.state.serve(kind, true);
            self.state.scaling().custom_kinds.looked_for(&name);
            let watch = WatchContext {
                kind,
                state: self.state.clone(),
                metrics: self.metrics.clone(),
                warned: RateLimited::default(),
            };
            tokio::select! {
                // It has no end, as no watch has; where it comes to one, so does this.
                () = custom_resources(self.client.clone(), &watch) => return,
                () = self.until_another(&found, &warned) => {
                    info!(kind = name, "the cluster no longer serves this kind, or serves it differently");
                }
            }
            self.state.serve(kind, false);
            self.metrics.unwatched(kind);
        }
    }

    async fn until_found(&self, warned: &RateLimited<&'static str>) -> DiscoveredKind {
        loop {
            let looked = look(&self.client, &self.scaled).await;
            self.tell(&looked, warned);
            match looked {
                Ok(Some(found)) => return found,
                Ok(None) | Err(LookError::Unscalable(_)) => {
                    self.state
                        .scaling()
                        .custom_kinds
                        .looked_for(&self.scaled.name());
                    tokio::time::sleep(self.interval).await;
                }
                Err(LookError::Unanswered(_)) => {
                    self.state
                        .scaling()
                        .custom_kinds
                        .looked_for(&self.scaled.name());
                    tokio::time::sleep(RETRY.min(self.interval)).await;
                }
            }
        }
    }

    /// Waits until the kind is served in another way than it was found, or no more.
    async fn until_another(&self, found: &DiscoveredKind, warned: &RateLimited<&'static str>) {
        loop {
            tokio::time::sleep(self.interval).await;
            let looked = look(&self.client, &self.scaled).await;
            // Each time, since what was not known a moment ago may be again.
            self.tell(&looked, warned);
            match looked {
                Ok(Some(other)) if other == *found => {}
                Err(LookError::Unanswered(_)) => {}
                Ok(_) | Err(LookError::Unscalable(_)) => return,
            }
        }
    }

    fn tell(
        &self,
        looked: &Result<Option<DiscoveredKind>, LookError>,
        warned: &RateLimited<&'static str>,
    ) {
        let name = self.scaled.name();
        let now = match looked {
            Ok(Some(_)) => CustomKindState::Served,
            Ok(None) => CustomKindState::Absent,
            Err(LookError::Unscalable(_)) => CustomKindState::Unscalable,
            Err(LookError::Unanswered(_)) => CustomKindState::Unknown,
        };
        self.metrics.custom_kind(&name, now);
        let Err(error) = looked else { return };
        if let Some(suppressed) = warned.permit(error.reason(), clock::instant()) {
            let reason = error.reason();
            error!(kind = name, reason, %error, suppressed, "a kind of scaling.kinds is not scaled");
        }
    }
}
