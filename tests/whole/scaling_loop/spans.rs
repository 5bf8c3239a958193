//! The spans of the scaling loop at a collector, and those that wait when the service ends.

use super::world::with_world;
use crate::support::collector;
use crate::support::collector::attribute;

#[test]
fn each_tick_has_a_span() {
    with_world(async |world| {
        let (endpoint, mut exports) = collector::start([]).await;
        let every = ("tracing.samplingRatePerMillion", "1000000");
        let service = world.serve(&[("tracing.endpoint", &endpoint), every]).await;
        world.until_shown("the target", |_| true).await;
        service.stop().await;
        let mut spans = Vec::new();
        while let Ok(export) = exports.try_recv() {
            assert_eq!(
                export.resource("k8s.namespace.name").as_deref(),
                Some("evenkeel-system")
            );
            spans.extend(export.into_spans());
        }
        let targets = |count: &str| {
            let mut ticks = spans.iter().filter(|span| span.name == "tick");
            ticks.any(|tick| attribute(tick, "evenkeel.targets").as_deref() == Some(count))
        };
        assert!(targets("1"), "{spans:?}");
        for key in ["evenkeel.writes", "evenkeel.leader"] {
            assert!(attribute(&spans[0], key).is_some(), "{key}");
        }
        assert!(spans.iter().all(|span| span.parent_span_id.is_empty()));
    });
}
