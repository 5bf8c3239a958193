//! The parts of a Pod that may need provisioning between the choice of its node and its binding:
//! volumes of claims, and devices. kube-scheduler notifies its choice only after that.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::json::list;

/// A volume as far as it tells its kind.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    persistent_volume_claim: Option<IgnoredAny>,
    /// A claim that is made for the Pod and goes with it.
    ephemeral: Option<IgnoredAny>,
}

pub(super) fn any_claim<'de, D: Deserializer<'de>>(volumes: D) -> Result<bool, D::Error> {
    let volumes: Vec<Volume> = list(volumes)?;
    Ok(volumes
        .iter()
        .any(|volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some()))
}

/// True where the list has any element.
pub(super) fn any_item<'de, D: Deserializer<'de>>(items: D) -> Result<bool, D::Error> {
    let items: Vec<IgnoredAny> = list(items)?;
    Ok(!items.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::pod::Pod;

    #[test]
    fn claims_of_volumes_and_devices_are_seen_among_all_others() {
        let name = json!({"name": "data"});
        let claim = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}});
        let ephemeral = json!({"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}});
        let scratch = json!({"name": "scratch", "emptyDir": {}, "persistentVolumeClaim": null});
        for (spec, volumes, devices) in [
            (json!({}), false, false),
            (
                json!({"volumes": null, "resourceClaims": null}),
                false,
                false,
            ),
            (
                json!({"volumes": [scratch, null], "resourceClaims": []}),
                false,
                false,
            ),
            (json!({"volumes": [scratch, claim]}), true, false),
            (json!({"volumes": [ephemeral]}), true, false),
            (
                json!({"volumes": [scratch], "resourceClaims": [name]}),
                false,
                true,
            ),
        ] {
            let pod: Pod = serde_json::from_value(json!({"spec": spec})).unwrap();
            let found = (pod.spec.claims_volumes, pod.spec.claims_devices);
            assert_eq!(found, (volumes, devices), "{spec}");
        }
    }
}
