//! The API server's front proxy, which identifies the callers of an extension API. Its authority,
//! certificate names and header names come from a ConfigMap that is read again periodically, so a
//! change needs no restart.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use evenkeel_clock as clock;
use evenkeel_objects::request_header::{
    CONFIG_MAP, HeaderNames, NAMESPACE, RequestHeaders, RequestHeadersError,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::server::tls::{
    Authority, CertificateStore, CertificateUpdate, ClientAuthorities, TlsError,
};
use crate::telemetry::RateLimited;

/// Pause between two looks while nothing is known.
const FIRST: Duration = Duration::from_secs(1);

/// Pause between two looks afterwards: the API server shows an old certificate for longer.
const LATER: Duration = Duration::from_secs(10);

/// The headers by which callers are introduced, where they are known; clones are of the same.
#[derive(Debug, Clone, Default)]
pub struct CallerHeaders(Arc<ArcSwapOption<HeaderNames>>);

impl CallerHeaders {
    /// The names of the headers; `None` if no caller can be identified.
    pub fn names(&self) -> Option<Arc<HeaderNames>> {
        self.0.load_full()
    }
}

/// The reason why no caller can be identified, or none by the new settings.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("ConfigMap {NAMESPACE}/{CONFIG_MAP} does not exist")]
    Absent,
    #[error("ConfigMap {NAMESPACE}/{CONFIG_MAP}: {0}")]
    Config(#[from] RequestHeadersError),
    #[error("ConfigMap {NAMESPACE}/{CONFIG_MAP}: {0}")]
    Authority(#[from] TlsError),
}

impl Error {
    const fn reason(&self) -> &'static str {
        match self {
            Self::Api(_) => "ApiServer",
            Self::Absent => "FrontProxyAbsent",
            Self::Config(error) => error.reason(),
            Self::Authority(error) => error.reason(),
        }
    }

    /// True if the API server says that it identifies no callers.
    const fn takes_back(&self) -> bool {
        match self {
            Self::Absent | Self::Config(RequestHeadersError::Missing(_)) => true,
            Self::Api(_) | Self::Config(_) | Self::Authority(_) => false,
        }
    }
}

pub struct FrontProxy {
    config_maps: Api<ConfigMap>,
    headers: CallerHeaders,
    in_use: Option<RequestHeaders>,
    warned: RateLimited<&'static str>,
}

impl FrontProxy {
    /// A follower of what the API server behind `client` tells, which fills `headers`.
    pub fn new(client: Client, headers: CallerHeaders) -> Self {
        Self {
            config_maps: Api::namespaced(client, NAMESPACE),
            headers,
            in_use: None,
            warned: RateLimited::default(),
        }
    }

    /// Takes what the ConfigMap tells into use, until cancelled.
    pub async fn run(mut self, store: Arc<CertificateStore>, cancel: CancellationToken) {
        let looking = async {
            loop {
                self.look(&store).await;
                let pause = if self.in_use.is_some() { LATER } else { FIRST };
                tokio::time::sleep(pause).await;
            }
        };
        cancel.run_until_cancelled(looking).await;
    }

    /// Looks once. What cannot be read or used leaves what was before.
    async fn look(&mut self, store: &CertificateStore) {
        if let Err(error) = self.follow(store).await {
            if error.takes_back() {
                self.headers.0.store(None);
                self.in_use = None;
            }
            if let Some(suppressed) = self.warned.permit(error.reason(), clock::instant()) {
                warn!(%error, suppressed, "callers of the aggregated API groups cannot be authenticated");
            }
        }
    }

    async fn follow(&mut self, store: &CertificateStore) -> Result<(), Error> {
        let found = self.config_maps.get_opt(CONFIG_MAP).await?;
        let data = found.ok_or(Error::Absent)?.data.unwrap_or_default();
        let told = RequestHeaders::read(&data)?;
        if self.in_use.as_ref() == Some(&told) {
            return Ok(());
        }
        let (pem, names) = (told.client_ca.as_bytes(), told.allowed_names.clone());
        let authorities =
            ClientAuthorities::default().with_names(Authority::FrontProxy, pem, names)?;
        store.replace(CertificateUpdate {
            server: None,
            authorities: Some(authorities),
        });
        self.headers.0.store(Some(Arc::new(told.headers().clone())));
        self.in_use = Some(told);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
