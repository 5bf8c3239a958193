//! The columns of each built-in resource.

use crate::meta;
use crate::table::cells::budget;
use crate::table::cells::completions;
use crate::table::cells::count;
use crate::table::cells::created;
use crate::table::cells::event_message;
use crate::table::cells::event_source;
use crate::table::cells::external_address;
use crate::table::cells::first_seen;
use crate::table::cells::involved;
use crate::table::cells::job_duration;
use crate::table::cells::job_status;
use crate::table::cells::last_schedule;
use crate::table::cells::last_seen;
use crate::table::cells::name;
use crate::table::cells::node_selector;
use crate::table::cells::or_none;
use crate::table::cells::ready_of_desired;
use crate::table::cells::selector;
use crate::table::cells::service_ports;
use crate::table::cells::size;
use crate::table::cells::template_containers;
use crate::table::cells::template_images;
use crate::table::column::Column;
use crate::table::column::Columns;
use crate::table::hpa;
use crate::table::node;
use crate::table::pod;

const NAME: Column = Column::text("Name", name);
const AGE: Column = Column::text("Age", created);
const CONTAINERS: Column = Column::wide("Containers", template_containers);
const IMAGES: Column = Column::wide("Images", template_images);
const SELECTOR: Column = Column::wide("Selector", |o, _| selector(o, "/spec/selector"));

/// The columns of kinds without a table of their own; kubectl calls the second one so too.
pub(crate) const NAME_AND_AGE: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Created At", |o, _| {
        or_none(o, "/metadata/creationTimestamp")
    }),
]);

pub(crate) const NAMESPACE: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Status", |o, _| or_none(o, "/status/phase")),
    AGE,
]);

pub(crate) const NODE: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Status", node::status),
    Column::text("Roles", node::roles),
    AGE,
    Column::text("Version", |o, _| node::info(o, "/kubeletVersion")),
    Column::wide("Internal-IP", |o, _| node::address(o, "InternalIP")),
    Column::wide("External-IP", |o, _| node::address(o, "ExternalIP")),
    Column::wide("OS-Image", |o, _| node::info(o, "/osImage")),
    Column::wide("Kernel-Version", |o, _| node::info(o, "/kernelVersion")),
    Column::wide("Container-Runtime", |o, _| {
        node::info(o, "/containerRuntimeVersion")
    }),
]);

pub(crate) const POD: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Ready", pod::ready),
    Column::text("Status", pod::status),
    Column::text("Restarts", pod::restarts),
    AGE,
    Column::wide("IP", |o, _| or_none(o, "/status/podIP")),
    Column::wide("Node", |o, _| or_none(o, "/spec/nodeName")),
    Column::wide("Nominated Node", |o, _| {
        or_none(o, "/status/nominatedNodeName")
    }),
    Column::wide("Readiness Gates", pod::readiness_gates),
]);

pub(crate) const SERVICE: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Type", |o, _| or_none(o, "/spec/type")),
    Column::text("Cluster-IP", |o, _| or_none(o, "/spec/clusterIP")),
    Column::text("External-IP", external_address),
    Column::text("Port(s)", service_ports),
    AGE,
    SELECTOR,
]);

pub(crate) const CONFIG_MAP: Columns =
    Columns::Builtin(&[NAME, Column::number("Data", |o, _| size(o, "/data")), AGE]);

pub(crate) const SECRET: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Type", |o, _| or_none(o, "/type")),
    Column::number("Data", |o, _| size(o, "/data")),
    AGE,
]);

pub(crate) const SERVICE_ACCOUNT: Columns = Columns::Builtin(&[NAME, AGE]);

pub(crate) const EVENT: Columns = Columns::Builtin(&[
    Column::text("Last Seen", last_seen),
    Column::text("Type", |o, _| or_none(o, "/type")),
    Column::text("Reason", |o, _| or_none(o, "/reason")),
    Column::text("Object", involved),
    Column::wide("Subobject", |o, _| {
        meta::text(o, "/involvedObject/fieldPath").into()
    }),
    Column::wide("Source", event_source),
    Column::text("Message", event_message),
    Column::wide("First Seen", first_seen),
    Column::wide("Count", |o, _| {
        meta::number(o, "/count").unwrap_or(1).to_string().into()
    }),
    Column::wide("Name", name),
]);

pub(crate) const DEPLOYMENT: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Ready", ready_of_desired),
    Column::number("Up-to-date", |o, _| count(o, "/status/updatedReplicas")),
    Column::number("Available", |o, _| count(o, "/status/availableReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const REPLICA_SET: Columns = Columns::Builtin(&[
    NAME,
    Column::number("Desired", |o, _| count(o, "/spec/replicas")),
    Column::number("Current", |o, _| count(o, "/status/replicas")),
    Column::number("Ready", |o, _| count(o, "/status/readyReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const STATEFUL_SET: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Ready", ready_of_desired),
    AGE,
    CONTAINERS,
    IMAGES,
]);

pub(crate) const DAEMON_SET: Columns = Columns::Builtin(&[
    NAME,
    Column::number("Desired", |o, _| count(o, "/status/desiredNumberScheduled")),
    Column::number("Current", |o, _| count(o, "/status/currentNumberScheduled")),
    Column::number("Ready", |o, _| count(o, "/status/numberReady")),
    Column::number("Up-to-date", |o, _| {
        count(o, "/status/updatedNumberScheduled")
    }),
    Column::number("Available", |o, _| count(o, "/status/numberAvailable")),
    Column::text("Node Selector", node_selector),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const JOB: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Status", job_status),
    Column::text("Completions", completions),
    Column::text("Duration", job_duration),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const CRON_JOB: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Schedule", |o, _| or_none(o, "/spec/schedule")),
    Column::text("Timezone", |o, _| or_none(o, "/spec/timeZone")),
    Column::text("Suspend", |o, _| {
        (o["spec"]["suspend"] == true).to_string().into()
    }),
    Column::number("Active", |o, _| size(o, "/status/active")),
    Column::text("Last Schedule", last_schedule),
    AGE,
    Column::wide("Containers", |o, now| {
        template_containers(&o["spec"]["jobTemplate"], now)
    }),
    Column::wide("Images", |o, now| {
        template_images(&o["spec"]["jobTemplate"], now)
    }),
    Column::wide("Selector", |o, _| {
        selector(o, "/spec/jobTemplate/spec/selector")
    }),
]);

pub(crate) const HORIZONTAL_POD_AUTOSCALER: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Reference", hpa::reference),
    Column::text("Targets", hpa::targets),
    Column::text("MinPods", hpa::minimum),
    Column::number("MaxPods", |o, _| count(o, "/spec/maxReplicas")),
    Column::number("Replicas", |o, _| count(o, "/status/currentReplicas")),
    AGE,
]);

pub(crate) const LEASE: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Holder", |o, _| or_none(o, "/spec/holderIdentity")),
    AGE,
]);

pub(crate) const POD_DISRUPTION_BUDGET: Columns = Columns::Builtin(&[
    NAME,
    Column::text("Min Available", |o, _| budget(o, "/spec/minAvailable")),
    Column::text("Max Unavailable", |o, _| budget(o, "/spec/maxUnavailable")),
    Column::number("Allowed Disruptions", |o, _| {
        count(o, "/status/disruptionsAllowed")
    }),
    AGE,
]);

pub(crate) const PRIORITY_CLASS: Columns = Columns::Builtin(&[
    NAME,
    Column::number("Value", |o, _| count(o, "/value")),
    Column::text("Global-Default", |o, _| {
        (o["globalDefault"] == true).to_string().into()
    }),
    AGE,
]);

pub(crate) const MUTATING_WEBHOOK_CONFIGURATION: Columns = Columns::Builtin(&[
    NAME,
    Column::number("Webhooks", |o, _| size(o, "/webhooks")),
    AGE,
]);

pub(crate) const CUSTOM_RESOURCE_DEFINITION: Columns = NAME_AND_AGE;
