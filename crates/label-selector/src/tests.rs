//! Selectors as Kubernetes itself reads them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;

/// Objects and texts, each with the text or error of `metav1.LabelSelectorAsSelector` and
/// `labels.Parse` in Kubernetes 1.36.
const KUBERNETES: &str = include_str!("../fixtures/kubernetes-1.36.jsonl");

fn labels() -> BTreeMap<String, String> {
    let labels = [("app", "web"), ("tier", "front"), ("n", "5")];
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn object(json: &Value) -> LabelSelector {
    let labels = json["matchLabels"].as_object().into_iter().flatten();
    let expressions = json["matchExpressions"].as_array().into_iter().flatten();
    let requirement = |one: &Value| LabelSelectorRequirement {
        key: text(&one["key"]),
        operator: text(&one["operator"]).as_str().into(),
        values: one["values"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect(),
    };
    LabelSelector {
        match_labels: labels
            .map(|(key, value)| (key.clone(), text(value)))
            .collect(),
        match_expressions: expressions.map(requirement).collect(),
    }
}

#[test]
fn every_selector_is_read_and_refused_in_the_words_of_kubernetes() {
    for line in KUBERNETES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let given = &case["in"];
        let found = match given.as_str() {
            Some(text) => Selector::parse(text),
            None => Selector::try_from(&object(given)),
        };
        let found = found.map(|selector| selector.to_string());
        let found = found.map_err(|error| error.to_string());
        let error = case["error"].as_str();
        let expected = error.map_or_else(|| Ok(text(&case["text"])), |error| Err(error.to_owned()));
        assert_eq!(found, expected, "{given}");
        if let (true, Ok(text)) = (given.is_object(), expected) {
            assert_eq!(object(given).to_string(), text, "unchecked");
        }
    }
}

#[test]
fn every_form_of_requirement_is_understood() {
    for (text, matches) in [
        ("", true),
        ("app=web", true),
        ("app==web,tier!=back", true),
        ("app in (api, web),!missing", true),
        ("app notin (api,web)", false),
        ("missing notin (a)", true),
        ("missing!=a", true),
        ("tier", true),
        ("missing", false),
        ("n>4,n<6", true),
        ("n>5", false),
        ("app=", false),
    ] {
        let selector = Selector::parse(text).unwrap();
        assert_eq!(selector.matches(&labels()), matches, "{text}");
        assert_eq!(selector.is_empty(), text.is_empty());
        assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }
    assert!(Selector::from_labels(&labels()).matches(&labels()));
    let nothing = Selector::nothing();
    assert!(!nothing.matches(&labels()) && !nothing.matches(&BTreeMap::new()));
    assert!(!nothing.is_empty());
}

#[test]
fn selectors_that_select_the_same_are_the_same() {
    let one = object(&serde_json::json!({
        "matchLabels": {"queue": "q1"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["b", "a"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }));
    let mut turned = one.clone();
    turned.match_expressions[0].values.reverse();
    turned.match_expressions.reverse();
    assert_eq!(turned, one);
    assert_eq!(turned.cmp(&one), std::cmp::Ordering::Equal);
    let go = "&LabelSelector{MatchLabels:map[string]string{queue: q1,},\
        MatchExpressions:[]LabelSelectorRequirement{\
        LabelSelectorRequirement{Key:tier,Operator:In,Values:[b a],},\
        LabelSelectorRequirement{Key:old,Operator:DoesNotExist,Values:[],},},}";
    assert_eq!(go_syntax(Some(&one)), go, "as it was given");
    assert_eq!(go_syntax(None), "nil");
    turned.match_expressions[0].operator = "Exists".into();
    assert_ne!(turned, one);
}

#[test]
fn node_selectors_compare_numbers_as_well() {
    for (key, operator, values, expected) in [
        ("n", "Gt", vec!["4"], Some(true)),
        ("n", "Gt", vec!["5"], Some(false)),
        ("n", "Lt", vec!["6"], Some(true)),
        ("app", "Lt", vec!["6"], Some(false)),
        ("n", "Lt", vec!["x"], None),
        ("n", "Lt", vec![], None),
        ("app", "In", vec!["web"], Some(true)),
        (
            "app",
            "In",
            vec!["a name of more than sixty-three bytes is no label, but may be a field"],
            Some(false),
        ),
        ("app", "In", vec![], None),
        ("app", "Like", vec!["w*"], None),
    ] {
        let texts: Vec<_> = values.iter().map(|&value| value.to_owned()).collect();
        let requirement = Requirement::of_node(key, operator, &texts);
        let found = requirement.map(|requirement| requirement.matches(&labels()));
        assert_eq!(found.ok(), expected, "{key} {operator} {values:?}");
    }
}

#[test]
fn a_text_becomes_the_object_that_requires_the_same() {
    for text in [
        "",
        "app=web",
        "app=web,app=db",
        "app=web,tier in (a,b),track notin (x),old,!new",
    ] {
        let selector = Selector::parse(text).unwrap();
        let object = selector.to_object().unwrap();
        let again = Selector::try_from(&object).unwrap();
        for labels in [labels(), BTreeMap::new()] {
            assert_eq!(again.matches(&labels), selector.matches(&labels), "{text}");
        }
        assert_eq!(again.is_empty(), text.is_empty());
    }
    assert_eq!(Selector::parse("n>4").unwrap().to_object(), None);
    assert_eq!(Selector::nothing().to_object(), None);
}
