//! The columns of Evenkeel's own kinds in `kubectl get`.

use serde_json::{Value, json};

/// The columns that are always shown, and those that `-o wide` shows as well: name, type, path and description of each.
macro_rules! columns {
    (shown {$($name:ident $kind:ident $path:literal $description:literal)*}
     wide {$($wide:ident $wide_kind:ident $wide_path:literal $wide_description:literal)*}) => {
        json!([
            $({"name": stringify!($name), "type": stringify!($kind), "jsonPath": $path, "description": $description},)*
            $({"name": stringify!($wide), "type": stringify!($wide_kind), "jsonPath": $wide_path,
                "description": $wide_description, "priority": 1},)*
        ])
    };
}

pub(super) fn cron_hpa() -> Value {
    columns! {shown {
        Target string ".spec.scaleTargetRef.name" "The name of what is scaled."
        Ready string r#".status.conditions[?(@.type=="Ready")].status"# "True if the crons are in effect."
        Min integer ".status.active.minReplicas" "The requested minimum of replicas, or the requested replicas."
        Last string ".status.lastRun.cron" "The cron that ran last."
        Next string ".status.nextRuns[0].localTime" "The next run or window."
        Suspended boolean ".spec.suspend" "Whether all crons are suspended."
        Age date ".metadata.creationTimestamp" "The age of the object."
    } wide {
        Kind string ".spec.scaleTargetRef.kind" "The kind of what is scaled."
        Reason string r#".status.conditions[?(@.type=="Ready")].reason"# "Why the crons are in effect, or why not."
    }}
}

pub(super) fn replica_profile() -> Value {
    columns! {shown {
        Target string ".spec.scaleTargetRef.name" "The name of the workload."
        Online integer ".status.onlineReplicas" "The Pods that take traffic once they are ready."
        Ready integer ".status.readyReplicas" "The Pods that take traffic."
        Cutoff integer ".status.cutoffReplicas" "The Pods that run and take no traffic."
        Standby integer ".status.standbyReplicas" "The Pods that take no traffic and have less resources than they request."
        Ensured string r#".status.conditions[?(@.type=="Ensured")].status"# "True if the Pods are as requested."
        Age date ".metadata.creationTimestamp" "The age of the object."
    } wide {
        Kind string ".spec.scaleTargetRef.kind" "The kind of the workload."
        Reason string r#".status.conditions[?(@.type=="Ensured")].reason"# "Why the Pods are as requested, or why not."
    }}
}

pub(super) fn ihpa() -> Value {
    columns! {shown {
        Target string ".spec.scaleTargetRef.name" "The name of the workload."
        Provider string ".status.currentPortraitValue.provider" "The provider whose value applies."
        Wanted integer ".status.currentPortraitValue.replicas" "The replicas that it asks for."
        Online integer ".status.desired.onlineReplicas" "The replicas that should be online now."
        Gray string ".status.gray.phase" "The phase of the staged change in progress."
        Active string r#".status.conditions[?(@.type=="ScalingActive")].status"# "True if the workload is scaled."
        Mode string ".spec.scaleMode" "Auto: the workload gets the computed replicas. Preview: the status shows them."
        Age date ".metadata.creationTimestamp" "The age of the object."
    } wide {
        Kind string ".spec.scaleTargetRef.kind" "The kind of the workload."
        Min integer ".spec.minReplicas" "The minimum of replicas."
        Max integer ".spec.maxReplicas" "The maximum of replicas."
        Cutoff integer ".status.desired.cutoffReplicas" "The replicas that should run without traffic."
        Standby integer ".status.desired.standbyReplicas" "The replicas that should be on standby with less resources."
        Reason string r#".status.conditions[?(@.type=="ScalingActive")].reason"# "Why the workload is scaled, or why not."
    }}
}

pub(super) fn horizontal_portrait() -> Value {
    columns! {shown {
        Target string ".spec.scaleTargetRef.name" "The name of the workload."
        Type string ".spec.portraitType" "The type of the portrait."
        Generated string r#".status.conditions[?(@.type=="PortraitGenerated")].status"# "True if there is a portrait."
        Expires string ".status.portraitData.expireTime" "When it expires."
        Age date ".metadata.creationTimestamp" "The age of the object."
    } wide {
        Algorithm string ".spec.algorithm.type" "The source of the portrait."
        Generator string ".spec.externalGeneratorName" "The external generator that makes the portrait, if Evenkeel does not."
        Reason string r#".status.conditions[?(@.type=="PortraitGenerated")].reason"# "Why there is a portrait, or why not."
    }}
}
