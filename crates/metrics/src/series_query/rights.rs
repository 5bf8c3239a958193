//! The rights that a query needs: its own, and that of the metrics API behind it. So a caller
//! without access to that API learns nothing through Evenkeel.

use evenkeel_objects::kinds::{Kind, guessed_plural};
use k8s_openapi::api::authorization::v1::ResourceAttributes;

use super::{GroupKind, ObjectSelection, SeriesQuery, SeriesSubject};

impl SeriesQuery {
    pub fn rights(&self) -> [ResourceAttributes; 2] {
        let own = ResourceAttributes {
            name: Some(self.kind().as_str().to_owned()),
            ..self.right(Kind::MetricSeries, "get", Kind::MetricSeries.plural())
        };
        let behind = match &self.subject {
            SeriesSubject::Pods { .. } | SeriesSubject::Workload { .. } => {
                self.right(Kind::PodMetrics, "list", Kind::PodMetrics.plural())
            }
            SeriesSubject::Object {
                kind,
                objects,
                metric,
            } => ResourceAttributes {
                subresource: Some(metric.name.clone()),
                name: match objects {
                    ObjectSelection::Named(name) => Some(name.clone()),
                    ObjectSelection::Selected(_) => None,
                },
                ..self.right(Kind::CustomMetrics, "get", &described(kind))
            },
            // The API server takes names of metrics for resources, which are in lower case.
            SeriesSubject::External(metric) => {
                let resource = metric.name.to_lowercase();
                self.right(Kind::ExternalMetrics, "list", &resource)
            }
            SeriesSubject::WorkloadMetric { metric, .. } => ResourceAttributes {
                subresource: Some(metric.name.clone()),
                ..self.right(Kind::CustomMetrics, "get", Kind::Pod.plural())
            },
        };
        [own, behind]
    }

    fn right(&self, kind: Kind, verb: &str, resource: &str) -> ResourceAttributes {
        ResourceAttributes {
            group: Some(kind.group().to_owned()),
            version: Some(kind.version().to_owned()),
            resource: Some(resource.to_owned()),
            namespace: Some(self.namespace.as_ref().to_owned()),
            verb: Some(verb.to_owned()),
            ..ResourceAttributes::default()
        }
    }
}

/// The resource of a described object, as the paths of custom metrics have it.
fn described(kind: &GroupKind) -> String {
    if let Some(known) = kind.known() {
        return known.qualified();
    }
    let plural = guessed_plural(&kind.kind);
    if kind.group.is_empty() {
        plural
    } else {
        format!("{plural}.{}", kind.group)
    }
}

/// A right in words, such as `list queue.external.metrics.k8s.io in the namespace "shop"`.
pub fn words(right: &ResourceAttributes) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let part = right.subresource.as_ref();
    let part = part.map_or(String::new(), |part| format!("/{part}"));
    let name = right.name.as_ref();
    let name = name.map_or(String::new(), |name| format!(" {name:?}"));
    format!(
        "{} {}{part}.{}{name} in the namespace {:?}",
        text(&right.verb),
        text(&right.resource),
        text(&right.group),
        text(&right.namespace),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series_query::{QueryKind, WrittenQuery};

    fn rights(kind: QueryKind, change: impl FnOnce(&mut WrittenQuery)) -> [String; 2] {
        let mut written = WrittenQuery {
            namespace: "shop".to_owned(),
            ..WrittenQuery::default()
        };
        change(&mut written);
        let rights = written.check(kind).unwrap().rights();
        [words(&rights[0]), words(&rights[1])]
    }

    #[test]
    fn a_question_takes_its_own_right_and_that_of_the_api_behind_it() {
        let own = |kind: &str| {
            format!("get series.metrics.evenkeel.dev \"{kind}\" in the namespace \"shop\"")
        };
        let external = rights(QueryKind::External, |query| {
            "Queue".clone_into(&mut query.metric);
        });
        let behind = "list queue.external.metrics.k8s.io in the namespace \"shop\"";
        assert_eq!(external, [own("external"), behind.to_owned()]);
        let object = |group: &str, kind: &str| {
            let (group, kind) = (group.to_owned(), kind.to_owned());
            let [_, behind] = rights(QueryKind::Object, |query| {
                query.group = group;
                query.kind = kind;
                "web".clone_into(&mut query.name);
                "rps".clone_into(&mut query.metric);
            });
            behind
        };
        let end = "\"web\" in the namespace \"shop\"";
        assert_eq!(
            object("", "Service"),
            format!("get services/rps.custom.metrics.k8s.io {end}")
        );
        assert_eq!(
            object("networking.k8s.io", "Ingress"),
            format!("get ingresses.networking.k8s.io/rps.custom.metrics.k8s.io {end}")
        );
        let [pods, behind] = rights(QueryKind::PodResource, |query| {
            "a".clone_into(&mut query.name);
            "cpu".clone_into(&mut query.resource);
        });
        assert_eq!(pods, own("pod-resource"));
        assert_eq!(behind, "list pods.metrics.k8s.io in the namespace \"shop\"");
    }
}
