//! Annotations with invalid names or values, on every kind of object with annotations.

use evenkeel_objects::annotated_object::AnnotatedObject;
use evenkeel_objects::annotations::{InvalidAnnotation, PROFILE};
use evenkeel_objects::meta::{Meta, RelevantAnnotations};
use evenkeel_objects::suggestion::{did_you_mean, nearest};

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::count;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::{Look as _, ObjectsOfKind};
use evenkeel_service::annotation_check::{AnnotationFault, Carrier, check as faults_of};

pub(super) const ANNOTATIONS: &str = "annotations";

/// The most findings of this check: after so many the rest is counted.
const MOST: usize = 20;

struct AnnotationLocation<'a> {
    /// The kind for `kubectl`.
    resource: String,
    namespace: Option<&'a str>,
    name: &'a str,
    is_template: bool,
    carrier: Carrier,
    annotations: &'a RelevantAnnotations,
}

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let seen = evidence.seen;
    let namespaces = seen.namespaces.look(ANNOTATIONS, "the namespaces")?;
    let nodes = seen.nodes.look(ANNOTATIONS, "the nodes")?;
    let namespaces = namespaces.into_iter().flatten();
    let namespaces = namespaces
        .map(|one| AnnotationLocation::of("namespace", Carrier::Namespace, &one.metadata));
    let nodes = nodes.into_iter().flatten();
    let nodes = nodes.map(|one| AnnotationLocation::of("node", Carrier::Node, &one.metadata));
    let objects = evidence.objects();
    let objects = objects.flat_map(|(of, object)| places(of, object));
    let mut found: Vec<DoctorFinding> = namespaces
        .chain(nodes)
        .chain(objects)
        .flat_map(|place| place.findings(evidence))
        .collect();
    if found.len() > MOST {
        let more = count(found.len() - MOST, "more annotation");
        found.truncate(MOST);
        found.push(DoctorFinding::warning(
            ANNOTATIONS,
            format!("{more} are not accepted"),
            "fix those above, then run doctor again",
        ));
    }
    if found.is_empty() {
        let what = "the annotations on all objects are understood";
        found.push(DoctorFinding::ok(ANNOTATIONS, what));
    }
    found.extend(unread_kinds(evidence));
    Ok(found)
}

fn unread_kinds(evidence: &Evidence<'_>) -> impl Iterator<Item = DoctorFinding> {
    evidence.seen.objects.iter().filter_map(|of| {
        let subject = format!("the annotations on objects of kind {}", of.kind);
        of.objects.look(ANNOTATIONS, &subject).err()
    })
}

fn places<'a>(of: &ObjectsOfKind, object: &'a AnnotatedObject) -> Vec<AnnotationLocation<'a>> {
    let own = AnnotationLocation::of(&of.resource(), of.carrier(), &object.metadata);
    let template = object.template().map(|annotations| AnnotationLocation {
        is_template: true,
        carrier: Carrier::Pod,
        annotations,
        ..AnnotationLocation::of(&of.resource(), Carrier::Pod, &object.metadata)
    });
    std::iter::once(own).chain(template).collect()
}

impl<'a> AnnotationLocation<'a> {
    fn of(resource: &str, carrier: Carrier, metadata: &'a Meta) -> Self {
        Self {
            resource: resource.to_owned(),
            namespace: metadata.namespace.as_deref(),
            name: metadata.name.as_deref().unwrap_or_default(),
            is_template: false,
            carrier,
            annotations: &metadata.annotations,
        }
    }

    fn findings(&self, evidence: &Evidence<'_>) -> Vec<DoctorFinding> {
        let faults = faults_of(self.carrier, self.annotations).into_iter();
        let faults = faults.map(|fault| match fault {
            AnnotationFault::Invalid(invalid) => self.invalid(&invalid),
            AnnotationFault::Unknown { key, nearest } => self.unknown(&key, nearest),
            AnnotationFault::Unread { key, read_of } => self.unread(key, read_of),
        });
        faults.chain(self.profile(evidence)).collect()
    }

    fn words(&self) -> String {
        let Self {
            resource,
            namespace,
            name,
            is_template,
            ..
        } = self;
        let name = match namespace {
            Some(namespace) => format!("{resource} {namespace}/{name}"),
            None => format!("{resource} {name}"),
        };
        if *is_template {
            format!("{name}, Pod template")
        } else {
            name
        }
    }

    /// The command that sets or removes an annotation.
    fn annotate(&self, change: &str) -> String {
        let Self {
            resource,
            namespace,
            name,
            is_template,
            ..
        } = self;
        let namespace = namespace.map_or_else(String::new, |namespace| format!(" -n {namespace}"));
        if *is_template {
            let change = change.strip_suffix('-').map_or_else(
                || format!("set {}", change.replace('=', ": ")),
                |key| format!("remove {key}"),
            );
            return format!(
                "kubectl edit{namespace} {resource} {name}, and {change} in the annotations of its Pod template"
            );
        }
        format!("kubectl annotate --overwrite{namespace} {resource} {name} {change}")
    }

    fn invalid(&self, invalid: &InvalidAnnotation) -> DoctorFinding {
        let InvalidAnnotation {
            key,
            value,
            accepted,
        } = invalid;
        let meant = invalid.suggestion();
        let suggestion = meant.map_or_else(String::new, |word| format!("; did you mean {word:?}?"));
        let change = format!("{key}={}", meant.unwrap_or("VALUE"));
        DoctorFinding::warning(
            ANNOTATIONS,
            format!(
                "{}: {key}: {value:?} is not accepted, the default applies{suggestion}",
                self.words()
            ),
            format!("{}; accepted: {accepted}", self.annotate(&change)),
        )
    }

    fn unknown(&self, key: &str, nearest: Option<&'static str>) -> DoctorFinding {
        let suggestion =
            nearest.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        DoctorFinding::warning(
            ANNOTATIONS,
            format!(
                "{}: {key} is no annotation of Evenkeel{suggestion}",
                self.words()
            ),
            self.annotate(&format!("{key}-")),
        )
    }

    fn unread(&self, key: &str, read_of: &[Carrier]) -> DoctorFinding {
        let places: Vec<&str> = read_of.iter().map(|carrier| carrier.as_str()).collect();
        DoctorFinding::warning(
            ANNOTATIONS,
            format!("{}: {key} has no effect there", self.words()),
            format!(
                "set it on {}; {}",
                places.join(" or "),
                self.annotate(&format!("{key}-"))
            ),
        )
    }

    /// A profile that the configuration does not have.
    fn profile(&self, evidence: &Evidence<'_>) -> Option<DoctorFinding> {
        let given = self.annotations.get(PROFILE)?;
        let config = evidence.config().filter(|_| self.carrier == Carrier::Pod)?;
        let names: Vec<&str> = config.policy.profiles.names().collect();
        if names.contains(&given.as_str()) {
            return None;
        }
        let change = format!(
            "{PROFILE}={}",
            nearest(given, names.iter().copied()).unwrap_or("VALUE")
        );
        Some(DoctorFinding::warning(
            ANNOTATIONS,
            format!(
                "{}: {PROFILE}: {given:?} is not accepted, the default applies{}",
                self.words(),
                did_you_mean(given, names.iter().copied())
            ),
            format!("{}; accepted: {}", self.annotate(&change), names.join(", ")),
        ))
    }
}
