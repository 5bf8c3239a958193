//! Queries as written in parameters or messages, and their checks. A field that the kind of query
//! does not take is refused, like a missing one: an answer to another query than intended is worse
//! than none.

use evenkeel_label_selector::Selector;
use evenkeel_objects::truncate::{OF_VALUE, excerpt};
use evenkeel_units::Resource;

use super::{
    GroupKind, ObjectSelection, QueryKind, SeriesQuery, SeriesSubject, UsageSubject,
    WorkloadReference,
};
use crate::signal::MetricIdentifier;

const LABEL: usize = 63;
const SUBDOMAIN: usize = 253;

/// The longest selector, in bytes.
const SELECTOR: usize = 4096;

/// A question as it is written; a field that is empty is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenQuery {
    pub namespace: String,
    pub name: String,
    pub selector: String,
    /// The API group of the workload or the object; `v1` is accepted for the core group too.
    pub group: String,
    pub kind: String,
    pub resource: String,
    pub container: String,
    pub ready_pods_only: bool,
    pub metric: String,
    pub metric_selector: String,
}

/// A question that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    #[error("{field}: {given:?} is not accepted; accepted: {accepted}")]
    Value {
        field: &'static str,
        given: String,
        accepted: &'static str,
    },
    #[error("{field} is missing; {kind} needs it")]
    Missing {
        field: &'static str,
        kind: &'static str,
    },
    #[error("{kind} does not accept {field}")]
    NotTaken {
        field: &'static str,
        kind: &'static str,
    },
    #[error("name and selector are both given; accepted: one of the two")]
    Both,
    #[error("{field}: {problem}")]
    Selector {
        field: &'static str,
        problem: String,
    },
}

impl WrittenQuery {
    /// The question of this kind.
    ///
    /// # Errors
    /// The first field that is wrong, missing or too much.
    pub fn check(&self, kind: QueryKind) -> Result<SeriesQuery, QueryFault> {
        self.takes_all(kind)?;
        let namespace = label("namespace", &self.namespace, kind)?;
        let subject = match kind {
            QueryKind::PodResource | QueryKind::ContainerResource => SeriesSubject::Pods {
                pods: self.choice(kind)?,
                usage: self.usage(kind)?,
            },
            QueryKind::WorkloadResource | QueryKind::WorkloadContainerResource => {
                SeriesSubject::Workload {
                    workload: self.workload(kind)?,
                    usage: self.usage(kind)?,
                    ready_only: self.ready_pods_only,
                }
            }
            QueryKind::Object => SeriesSubject::Object {
                kind: self.group_kind(kind)?,
                objects: self.choice(kind)?,
                metric: self.metric(kind)?,
            },
            QueryKind::External => SeriesSubject::External(self.metric(kind)?),
            QueryKind::WorkloadExternal => SeriesSubject::WorkloadMetric {
                workload: self.workload(kind)?,
                metric: self.metric(kind)?,
            },
        };
        Ok(SeriesQuery {
            namespace: namespace.into(),
            subject,
        })
    }

    fn takes_all(&self, kind: QueryKind) -> Result<(), QueryFault> {
        use QueryKind as K;
        let has_container = matches!(kind, K::ContainerResource | K::WorkloadContainerResource);
        let of_pods = matches!(kind, K::PodResource | K::ContainerResource);
        let of_workload_use = matches!(kind, K::WorkloadResource | K::WorkloadContainerResource);
        let of_workload = of_workload_use || kind == K::WorkloadExternal;
        let is_use = of_pods || of_workload_use;
        let given = [
            ("name", !self.name.is_empty(), kind != K::External),
            (
                "selector",
                !self.selector.is_empty(),
                of_pods || kind == K::Object,
            ),
            (
                "group",
                !self.group.is_empty(),
                of_workload || kind == K::Object,
            ),
            (
                "kind",
                !self.kind.is_empty(),
                of_workload || kind == K::Object,
            ),
            ("resource", !self.resource.is_empty(), is_use),
            ("container", !self.container.is_empty(), has_container),
            ("readyPodsOnly", self.ready_pods_only, of_workload_use),
            ("metric", !self.metric.is_empty(), !is_use),
            ("metricSelector", !self.metric_selector.is_empty(), !is_use),
        ];
        let unwanted = given
            .into_iter()
            .find(|(_, is_given, is_taken)| *is_given && !is_taken);
        match unwanted {
            None => Ok(()),
            Some((field, ..)) => Err(QueryFault::NotTaken {
                field,
                kind: kind.as_str(),
            }),
        }
    }

    fn choice(&self, kind: QueryKind) -> Result<ObjectSelection, QueryFault> {
        match (self.name.is_empty(), self.selector.is_empty()) {
            (false, false) => Err(QueryFault::Both),
            (true, true) => Err(missing("name or selector", kind)),
            (false, true) => Ok(ObjectSelection::Named(subdomain("name", &self.name, kind)?)),
            (true, false) => {
                let selector = selector("selector", &self.selector)?;
                Ok(ObjectSelection::Selected(selector.to_string().into()))
            }
        }
    }

    fn usage(&self, kind: QueryKind) -> Result<UsageSubject, QueryFault> {
        if self.resource.is_empty() {
            return Err(missing("resource", kind));
        }
        let of_container = matches!(
            kind,
            QueryKind::ContainerResource | QueryKind::WorkloadContainerResource
        );
        let resource = self.resource.parse::<Resource>().ok();
        // Containers of a Pod share its network.
        let resource =
            resource.filter(|resource| !of_container || *resource != Resource::NetworkIo);
        let resource = resource.ok_or_else(|| QueryFault::Value {
            field: "resource",
            given: excerpt(&self.resource, OF_VALUE),
            accepted: if of_container {
                "cpu, memory, diskIo or disk"
            } else {
                "cpu, memory, networkIo, diskIo or disk"
            },
        })?;
        let container = if of_container {
            Some(label("container", &self.container, kind)?)
        } else {
            None
        };
        Ok(UsageSubject {
            resource,
            container,
        })
    }

    fn workload(&self, kind: QueryKind) -> Result<WorkloadReference, QueryFault> {
        Ok(WorkloadReference {
            kind: self.group_kind(kind)?,
            name: subdomain("name", &self.name, kind)?,
        })
    }

    fn group_kind(&self, of: QueryKind) -> Result<GroupKind, QueryFault> {
        let accepted = "an API group such as apps, or none for the core group";
        // A client that sends the part of an apiVersion before its slash sends `v1` for the core
        // group.
        let group = if self.group.is_empty() || self.group == "v1" {
            String::new()
        } else {
            checked("group", &self.group, accepted, is_subdomain(&self.group))?
        };
        if self.kind.is_empty() {
            return Err(missing("kind", of));
        }
        let is_kind = self.kind.len() <= LABEL
            && self.kind.starts_with(|c: char| c.is_ascii_alphabetic())
            && self.kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let kind = checked("kind", &self.kind, "a kind such as Deployment", is_kind)?;
        Ok(GroupKind { group, kind })
    }

    fn metric(&self, kind: QueryKind) -> Result<MetricIdentifier, QueryFault> {
        if self.metric.is_empty() {
            return Err(missing("metric", kind));
        }
        let is_name = self.metric.len() <= SUBDOMAIN
            && !matches!(self.metric.as_str(), "." | ".." | "*")
            && !self.metric.contains(['/', '%'])
            && !self.metric.contains(char::is_control);
        let accepted = "the name of a metric, without / and %";
        let name = checked("metric", &self.metric, accepted, is_name)?;
        let selector = if self.metric_selector.is_empty() {
            None
        } else {
            let selector = selector("metricSelector", &self.metric_selector)?;
            let object = selector.to_object();
            Some(object.ok_or_else(|| QueryFault::Selector {
                field: "metricSelector",
                problem: "labels of metrics cannot be compared as numbers".to_owned(),
            })?)
        };
        Ok(MetricIdentifier { name, selector })
    }
}

fn label(field: &'static str, text: &str, kind: QueryKind) -> Result<String, QueryFault> {
    if text.is_empty() {
        return Err(missing(field, kind));
    }
    let accepted = "lower case letters, digits and hyphens, of at most 63 characters";
    checked(field, text, accepted, is_label(text))
}

fn subdomain(field: &'static str, text: &str, kind: QueryKind) -> Result<String, QueryFault> {
    if text.is_empty() {
        return Err(missing(field, kind));
    }
    let accepted = "the name of an object: lower case letters, digits, hyphens and dots";
    checked(field, text, accepted, is_subdomain(text))
}

fn selector(field: &'static str, text: &str) -> Result<Selector, QueryFault> {
    let fault = |problem: String| QueryFault::Selector {
        field,
        problem: excerpt(&problem, 2 * OF_VALUE),
    };
    if text.len() > SELECTOR {
        return Err(fault(format!("longer than {SELECTOR} bytes")));
    }
    Selector::parse(text).map_err(|error| fault(error.to_string()))
}

fn checked(
    field: &'static str,
    given: &str,
    accepted: &'static str,
    is_accepted: bool,
) -> Result<String, QueryFault> {
    if is_accepted {
        return Ok(given.to_owned());
    }
    Err(QueryFault::Value {
        field,
        given: excerpt(given, OF_VALUE),
        accepted,
    })
}

const fn missing(field: &'static str, kind: QueryKind) -> QueryFault {
    QueryFault::Missing {
        field,
        kind: kind.as_str(),
    }
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL).contains(&text.len())
        && text.bytes().all(plain)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(plain)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= SUBDOMAIN && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;

    use super::*;

    fn written(fields: &[(&str, &str)]) -> WrittenQuery {
        let mut query = WrittenQuery {
            namespace: "shop".to_owned(),
            ..WrittenQuery::default()
        };
        for (field, value) in fields {
            let place = match *field {
                "namespace" => &mut query.namespace,
                "name" => &mut query.name,
                "selector" => &mut query.selector,
                "group" => &mut query.group,
                "kind" => &mut query.kind,
                "resource" => &mut query.resource,
                "container" => &mut query.container,
                "metric" => &mut query.metric,
                "metricSelector" => &mut query.metric_selector,
                other => panic!("{other}"),
            };
            (*value).clone_into(place);
        }
        query
    }

    const WEB: [(&str, &str); 3] = [("group", "apps"), ("kind", "Deployment"), ("name", "web")];

    #[test]
    fn each_kind_of_question_is_taken() {
        for (kind, fields) in [
            (
                QueryKind::PodResource,
                vec![("name", "web-0"), ("resource", "cpu")],
            ),
            (
                QueryKind::PodResource,
                vec![("selector", "app in (web)"), ("resource", "networkIo")],
            ),
            (
                QueryKind::ContainerResource,
                vec![
                    ("name", "web-0"),
                    ("resource", "memory"),
                    ("container", "app"),
                ],
            ),
            (
                QueryKind::WorkloadResource,
                [&WEB[..], &[("resource", "cpu")]].concat(),
            ),
            (
                QueryKind::WorkloadContainerResource,
                [&WEB[..], &[("resource", "cpu"), ("container", "app")]].concat(),
            ),
            (
                QueryKind::Object,
                vec![
                    ("group", "v1"),
                    ("kind", "Service"),
                    ("name", "web"),
                    ("metric", "rps"),
                    ("metricSelector", "verb=GET"),
                ],
            ),
            (QueryKind::External, vec![("metric", "queue|length")]),
            (
                QueryKind::WorkloadExternal,
                [&WEB[..], &[("metric", "ready_pods_count")]].concat(),
            ),
        ] {
            let query = written(&fields).check(kind).unwrap();
            assert_eq!(query.kind(), kind);
            assert_eq!(&*query.namespace, "shop");
        }
    }

    #[test]
    fn the_core_group_has_two_names() {
        let of = |group: &str| {
            let fields = [
                ("group", group),
                ("kind", "Pod"),
                ("name", "a"),
                ("metric", "m"),
            ];
            let query = written(&fields).check(QueryKind::Object).unwrap();
            let SeriesSubject::Object { kind, .. } = query.subject else {
                panic!("an object is asked about");
            };
            kind.known()
        };
        assert_eq!(of(""), Some(Kind::Pod));
        assert_eq!(of("v1"), Some(Kind::Pod));
        assert_eq!(of("example.com"), None);
    }

    type Parameters = &'static [(&'static str, &'static str)];

    const CPU: (&str, &str) = ("resource", "cpu");

    /// Questions that cannot be asked, with what is said of each.
    const REFUSED: &[(QueryKind, Parameters, &str)] = &[
        (
            QueryKind::PodResource,
            &[("namespace", "shop\",pod=~\".*"), ("name", "a"), CPU],
            "namespace: ",
        ),
        (
            QueryKind::PodResource,
            &[("namespace", ""), ("name", "a"), CPU],
            "namespace is missing",
        ),
        (
            QueryKind::PodResource,
            &[("name", "a|.*"), CPU],
            "name: \"a|.*\"",
        ),
        (QueryKind::PodResource, &[CPU], "name or selector"),
        (
            QueryKind::PodResource,
            &[("name", "a"), ("selector", "a=b"), CPU],
            "both",
        ),
        (
            QueryKind::PodResource,
            &[("selector", "a in"), CPU],
            "selector: ",
        ),
        (
            QueryKind::PodResource,
            &[("name", "a"), ("resource", "gpu")],
            "networkIo",
        ),
        (
            QueryKind::PodResource,
            &[("name", "a"), CPU, ("container", "app")],
            "does not accept container",
        ),
        (
            QueryKind::ContainerResource,
            &[
                ("name", "a"),
                ("resource", "networkIo"),
                ("container", "app"),
            ],
            "cpu, memory, diskIo or disk",
        ),
        (
            QueryKind::ContainerResource,
            &[("name", "a"), CPU],
            "container is missing",
        ),
        (
            QueryKind::WorkloadResource,
            &[("kind", "Dep/loyment"), ("name", "web"), CPU],
            "kind: ",
        ),
        (
            QueryKind::WorkloadResource,
            &[
                ("group", "a//b"),
                ("kind", "Deployment"),
                ("name", "web"),
                CPU,
            ],
            "group: ",
        ),
        (
            QueryKind::External,
            &[("metric", "../../secrets")],
            "metric: ",
        ),
        (QueryKind::External, &[], "metric is missing"),
        (
            QueryKind::External,
            &[("metric", "queue"), ("metricSelector", "n>4")],
            "numbers",
        ),
    ];

    #[test]
    fn what_is_no_name_is_refused_with_its_field() {
        for (kind, fields, says) in REFUSED {
            let fault = written(fields).check(*kind).unwrap_err().to_string();
            assert!(fault.contains(says), "{kind:?} {fields:?}: {fault}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_taken_for_a_name_closes_no_string_and_no_path(text in "\\PC{0,80}") {
            if let Ok(name) = subdomain("name", &text, QueryKind::PodResource) {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
                proptest::prop_assert!(name.chars().all(plain));
            }
        }
    }
}
