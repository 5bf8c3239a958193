//! A load that an annotation names beside the metrics of its HPA: PromQL of the author's own, where the
//! operator lets it be asked, and a preset.

use serde_json::json;

use super::world::{HPA, condition, with_world};

const QUERY: &str = "evenkeel.dev/query";
const TARGET: &str = "evenkeel.dev/query-target";

#[test]
fn a_query_of_an_annotation_is_a_load_where_the_operator_lets_it_be_asked() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let query = r#"sum(rate(orders_total{namespace="$namespace"}[$window]))"#;
        world
            .annotate(HPA, json!({QUERY: query, TARGET: "50"}))
            .await;
        let service = world.serve(&[]).await;
        let refused = world
            .until_autoscaler("a query is refused", |hpa| {
                condition(hpa, "SignalUnknown").is_some()
            })
            .await;
        let told = condition(&refused, "SignalUnknown").unwrap();
        let told = told["message"].as_str().unwrap();
        assert!(told.contains("scaling.queries is not any"), "{told}");
        service.stop().await;

        let _service = world.serve(&[("scaling.queries", "any")]).await;
        let shown = world
            .until_shown("the load of the query", |shown| {
                shown["loads"][1]["now"].as_f64() > Some(100.0)
            })
            .await;
        let load = &shown["loads"][1];
        assert_eq!(load["resource"], "promql/query");
        assert_eq!(
            (&load["request"], &load["unit"]),
            (&json!(50.0), &json!(""))
        );
        // A past of an hour is there from the beginning.
        world
            .until_shown("the query is forecast", |shown| {
                shown["loads"][1]["forecast"]["mean"].as_f64() > Some(100.0)
            })
            .await;
        world
            .until_autoscaler("it is not refused any more", |hpa| {
                condition(hpa, "SignalUnknown").is_none()
            })
            .await;
        // One that gives several series is an error that names what to do about it.
        world.annotate(HPA, json!({QUERY: "pod_cpu"})).await;
        let several = world
            .until_autoscaler("a query of several series is refused", |hpa| {
                condition(hpa, "SignalUnknown").is_some()
            })
            .await;
        let told = condition(&several, "SignalUnknown").unwrap();
        let told = told["message"].as_str().unwrap();
        assert!(told.contains("aggregate, for example with sum()"), "{told}");
    });
}
