use super::*;
use crate::scenario::Scenario;

fn by_workload(pods: &str) -> String {
    let sums = |pods: &str| {
        format!(
            "sum by (namespace, workload) (label_replace(label_replace(label_join({pods}, \
             \"pod_path\", \"/\", \"namespace\", \"pod\"), \"workload\", \"StatefulSet/$2\", \"pod_path\", \
             \"(shop)/(.+)-[0-9]+\"), …)"
        )
    };
    let new = format!(
        "({pods} unless on (namespace, pod) last_over_time(({pods})[1s:1s] offset 20000ms))"
    );
    let (all, new) = (sums(pods), sums(&new));
    format!("{all} unless on (namespace, workload) ({new} * 51 > on (namespace, workload) {all})")
}

fn past_of(length: SignedDuration) -> PrometheusHistory {
    let scenario = Scenario {
        past: length,
        ..Scenario::mixed()
    };
    PrometheusHistory::after(PreRunHistory::of(&scenario, 1))
}

#[test]
fn what_was_before_the_start_is_answered_where_the_scenario_knows_it() {
    let timeline = Timeline::begun(Timestamp::from_second(100_000).unwrap());
    let query = by_workload("pod_cpu");
    let fields = [
        ("query", query.as_str()),
        ("start", "96300"),
        ("end", "99999"),
        ("step", "900000ms"),
    ];
    let fields = fields.map(|(field, value)| (field.to_owned(), value.to_owned()));
    let form = BTreeMap::from(fields);
    let points = |length| {
        let found = past_of(length).answer(&form, &timeline).unwrap();
        let is_web = |series: &&Value| series["metric"]["workload"] == "Deployment/web";
        found
            .iter()
            .find(is_web)
            .map(|series| series["values"].as_array().unwrap().len())
    };
    assert_eq!(points(SignedDuration::ZERO), None);
    assert_eq!(points(SignedDuration::from_mins(30)), Some(2));
    assert_eq!(points(SignedDuration::from_hours(48)), Some(5));
}

#[test]
fn the_past_is_answered_as_far_as_it_is_known() {
    let timeline = Timeline::begun(Timestamp::from_second(1_000).unwrap());
    let past = past_of(SignedDuration::ZERO);
    for (second, cores) in [(0, 1.0), (15, 2.0)] {
        let used = Resources::from_fn(|_| cores * 1000.0);
        let sum = |workload: &str, newest| {
            let name = ("shop".to_owned(), workload.to_owned());
            let pod = |second| KnownPod {
                name: None,
                used: Resources::default(),
                since: SignedDuration::from_secs(second),
            };
            let mut pods = vec![pod(newest)];
            let others: usize = if workload == "large" { 50 } else { 2 };
            pods.extend(vec![pod(-60); others]);
            (name, Sum { used, pods })
        };
        // Two have a new Pod at each scrape, of which it is one of many in one.
        let sums = ScrapeSums::from([sum("web", -60), sum("new", second), sum("large", second)]);
        past.note(SignedDuration::from_secs(second), sums);
    }
    let form = |query: String| {
        [
            ("query", query),
            ("start", "985".to_owned()),
            ("end", "1030".to_owned()),
            ("step", "22500ms".to_owned()),
        ]
        .map(|(field, value)| (field.to_owned(), value))
        .into()
    };
    let found = past.answer(&form(by_workload("pod_cpu")), &timeline);
    let labels = json!({"namespace": "shop", "workload": "Deployment/web"});
    let points = json!([[1007.5, "1"], [1030.0, "2"]]);
    let large = json!({"namespace": "shop", "workload": "Deployment/large"});
    let both = [large, labels].map(|labels| json!({"metric": labels, "values": points}));
    assert_eq!(found, Ok(both.to_vec()));
    let counts = by_workload("pod_cpu").replace("sum by", "count by");
    let found = past.answer(&form(counts), &timeline).unwrap();
    assert_eq!(found[0]["values"], json!([[1007.5, "51"], [1030.0, "51"]]));
    assert_eq!(found[1]["values"], json!([[1007.5, "3"], [1030.0, "3"]]));
    let each = past.answer(&form("sum(pod_cpu{pod=~\"web-.+\"})".to_owned()), &timeline);
    let points = json!([[985.0, "0"]]);
    assert_ne!(each.unwrap()[0]["values"], points);
    let unsettled = by_workload("pod_cpu");
    let (unsettled, _) = unsettled.split_once(" unless on (namespace, w").unwrap();
    assert!(past.answer(&form(unsettled.to_owned()), &timeline).is_err());
    let unknown = past.answer(&form(by_workload("up")), &timeline);
    assert_eq!(unknown.unwrap_err(), "the query by Pod is not known here");
}

#[test]
fn functions_over_a_range_go_by_the_samples_in_it() {
    let past = past_of(SignedDuration::ZERO);
    for (second, bytes) in [(0, 300.0), (15, 100.0), (30, 200.0)] {
        let pod = KnownPod {
            name: Some("web-a".into()),
            used: Resources::from_fn(|_| bytes),
            since: SignedDuration::ZERO,
        };
        let sum = Sum {
            used: Resources::from_fn(|_| bytes),
            pods: vec![pod],
        };
        let sums = ScrapeSums::from([(("shop".to_owned(), "web".to_owned()), sum)]);
        past.note(SignedDuration::from_secs(second), sums);
    }
    let asked = |past: &PrometheusHistory, text: &str, at| {
        let expression = expression::parse(text).unwrap();
        let found = past.evaluate(&expression, 0.0, SignedDuration::from_secs(at));
        found.unwrap().first().map(|(_, value)| *value)
    };
    for (text, expected) in [
        ("max_over_time(pod_memory[20s])", Some(200.0)),
        ("max_over_time(pod_memory[1d])", Some(300.0)),
        ("min_over_time(pod_memory[30s])", Some(100.0)),
        ("avg_over_time(pod_memory[30s])", Some(200.0)),
        (
            "increase(container_network_receive_bytes_total[1d])",
            Some(6_000.0),
        ),
    ] {
        assert_eq!(asked(&past, text, 30), expected, "{text}");
    }
    let past = past_of(SignedDuration::from_mins(30));
    let periods = "increase(container_cpu_cfs_periods_total[1d])";
    assert_eq!(asked(&past, periods, -600), Some(12_000.0));
    let peak = asked(&past, "max_over_time(pod_cpu[1d])", -1).unwrap();
    let least = asked(&past, "min_over_time(pod_cpu[1d])", -1).unwrap();
    assert!(least > 0.0 && least <= peak, "{least} {peak}");
    assert_eq!(asked(&past, "max_over_time(pod_cpu[1h])", -3600), None);
}
