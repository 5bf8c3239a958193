//! The annotations by which KEDA is told to pause, or to keep a workload active.

use serde_json::Value;

use crate::migration::conversion::{MigrateError, is_kedas};

const PAUSED: &str = "autoscaling.keda.sh/paused";
const PAUSED_REPLICAS: &str = "autoscaling.keda.sh/paused-replicas";
const FORCED: &str = "autoscaling.keda.sh/force-activation";

/// Those that hold one direction, which a CronHPA has no word for.
const ONE_DIRECTION: [&str; 2] = [
    "autoscaling.keda.sh/paused-scale-in",
    "autoscaling.keda.sh/paused-scale-out",
];

/// The content of a ScaledObject's annotations.
pub(super) struct KedaAnnotations {
    /// The note on a ScaledObject that is paused.
    pub(super) paused: Option<String>,
    /// True where its workload is kept from zero while no trigger is active.
    pub(super) is_forced: bool,
    /// Notes on annotations of KEDA's that say nothing to a CronHPA.
    pub(super) left_out: Vec<String>,
}

impl KedaAnnotations {
    /// # Errors
    /// An annotation that holds scaling in one direction.
    pub(super) fn read(document: &Value) -> Result<Self, MigrateError> {
        let text = |name: &str| document["metadata"]["annotations"][name].as_str();
        for name in ONE_DIRECTION {
            if text(name).is_some_and(is_true) {
                let message = "stops scaling in one direction, which a CronHPA cannot do; remove \
                               it, or suspend the CronHPA for that time";
                let path = format!("metadata.annotations[{name}]");
                return Err(MigrateError::new(path, message));
            }
        }
        let paused = text(PAUSED_REPLICAS).map(|count| {
            format!(
                "the ScaledObject is paused, and KEDA holds its workload at {count} replicas ({PAUSED_REPLICAS}): the \
                 CronHPA is suspended; set the replicas to {count} yourself, and suspend to false when the calendar is \
                 to count again"
            )
        });
        let paused = paused.or_else(|| {
            text(PAUSED).filter(|text| is_true(text)).map(|_| {
                format!(
                    "the ScaledObject is paused ({PAUSED}), and KEDA leaves its workload as it is: the CronHPA is \
                     suspended; set suspend to false when the calendar is to count again"
                )
            })
        });
        let decided = |name: &str| {
            [PAUSED, PAUSED_REPLICAS, FORCED].contains(&name) || ONE_DIRECTION.contains(&name)
        };
        let all = document["metadata"]["annotations"].as_object();
        let names = all.into_iter().flatten().map(|(name, _)| name.as_str());
        let left_out = names.filter(|name| is_kedas(name) && !decided(name));
        Ok(Self {
            paused,
            is_forced: text(FORCED).is_some_and(is_true),
            left_out: left_out
                .map(|name| format!("annotation {name} is left out: only KEDA reads it"))
                .collect(),
        })
    }
}

/// As KEDA reads it: what is no boolean counts as true.
fn is_true(text: &str) -> bool {
    !matches!(text, "0" | "f" | "F" | "false" | "FALSE" | "False")
}
