//! Looks up the custom resources that the configuration wants scaled, as the service does.

use evenkeel_objects::custom_kind::CustomKind;
use evenkeel_objects::scaled_kind::ScaledKind;
use kube::Client;

use crate::doctor::observation::{DoctorObservation, KindState, ScaledKindSeen};
use evenkeel_service::cluster::read_outcome::ReadOutcome;
use evenkeel_service::cluster::watch::{LookError, look};

pub(super) struct ConfiguredKind {
    pub(super) seen: ScaledKindSeen,
    pub(super) served: Option<ServedKind>,
}

pub(super) struct ServedKind {
    pub(super) kind: CustomKind,
    pub(super) definition: String,
}

/// All that the configuration names; none where it is refused.
pub(super) async fn configured(
    client: &Client,
    seen: &DoctorObservation,
) -> ReadOutcome<Vec<ConfiguredKind>> {
    let config = seen.configured().and_then(Result::ok);
    let mut kinds = Vec::new();
    for scaled in config.iter().flat_map(|config| &config.kinds) {
        kinds.push(one(client, scaled).await);
    }
    seen.configuration.clone().map(|_| kinds)
}

async fn one(client: &Client, scaled: &ScaledKind) -> ConfiguredKind {
    let (state, served) = match look(client, scaled).await {
        Ok(Some(found)) => {
            let kind = found.into_kind();
            let definition = scaled.definition(kind.plural());
            (KindState::Served, Some(ServedKind { kind, definition }))
        }
        Ok(None) => (KindState::Absent, None),
        Err(LookError::Unscalable(why)) => (KindState::Unscalable(why.to_string()), None),
        Err(LookError::Unanswered(error)) => (KindState::Unknown(error.to_string()), None),
    };
    ConfiguredKind {
        seen: ScaledKindSeen {
            kind: scaled.to_string(),
            definition: served.as_ref().map(|served| served.definition.clone()),
            state,
        },
        served,
    }
}
