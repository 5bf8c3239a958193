//! `tracing`: the collector that spans go to, and the share of traces that are recorded.

use evenkeel_http_client::{Uri, join};
use evenkeel_objects::yaml_values::YamlText;

use super::check::Checker;
use super::section::section;
use super::value::Count;
use crate::metrics::{Authorization, EndpointAccess};
use crate::span_export::Settings;

section! {
    /// `tracing` as it is written; the rate has the name and the default of Kubernetes' TracingConfiguration.
    TracingSection {
        endpoint: Option<YamlText> = None,
        sampling_rate_per_million: Count = Count(0),
        ca_file: Option<YamlText> = None,
        bearer_token_file: Option<YamlText> = None,
    }
}

const ALL: u32 = 1_000_000;

impl TracingSection {
    /// The settings; `None` without an endpoint.
    pub(super) fn check(&self, check: &mut Checker) -> Option<Settings> {
        let Self {
            endpoint,
            sampling_rate_per_million: Count(rate),
            ca_file,
            bearer_token_file,
        } = self;
        if *rate > ALL {
            let accepted = "a whole number from 0 to 1000000";
            check.refuse_value("tracing.samplingRatePerMillion", rate, accepted);
        }
        let address = endpoint.as_ref().map(|url| address(url.as_ref(), check))?;
        Some(Settings {
            address,
            sampling: f64::from(*rate) / f64::from(ALL),
            access: EndpointAccess {
                authorization: bearer_token_file
                    .as_ref()
                    .map_or(Authorization::None, |file| {
                        Authorization::Bearer(file.as_ref().into())
                    }),
                ca_file: ca_file.as_ref().map(|file| file.as_ref().into()),
                identity: None,
            },
        })
    }
}

/// The address below the collector's where OTLP takes traces.
fn address(url: &str, check: &mut Checker) -> Uri {
    const PATH: &str = "tracing.endpoint";
    let example = "http://otel-collector.observability.svc:4318";
    let credentials = "tracing.bearerTokenFile for a file with a token";
    let base = check.server_url(PATH, url, example, credentials);
    check.take(PATH, join(&base, "v1/traces", &[]), base)
}
