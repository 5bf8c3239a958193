use super::*;

/// A length-delimited field.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("short");
    assert!(length < 128, "one byte of length");
    [&[number << 3 | 2, length][..], content].concat()
}

fn varint(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC, &bytes(1, &meta), &bytes(2, raw)].concat()
}

#[test]
fn a_deployment_is_read() {
    let container = [bytes(1, b"a"), bytes(2, b"nginx")].concat();
    let pod = bytes(2, &bytes(2, &container));
    let label = [bytes(1, b"app"), bytes(2, b"web")].concat();
    let spec = [
        varint(1, 0),
        bytes(2, &bytes(1, &label)),
        bytes(3, &pod),
        varint(5, 0),
    ]
    .concat();
    let raw = [bytes(1, &bytes(1, b"web")), bytes(2, &spec)].concat();
    let read = to_json(&body("apps/v1", "Deployment", &raw));
    let expected = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [{"name": "a", "image": "nginx"}]}}},
    });
    assert_eq!(read, Ok(expected));
}

#[test]
fn times_quantities_and_choices_have_their_own_forms() {
    assert_eq!(
        value("T", &WireValue::Bytes(&[8, 60])),
        Ok(json!("1970-01-01T00:01:00Z"))
    );
    assert_eq!(value("T", &WireValue::Bytes(&[])), Ok(Value::Null));
    assert_eq!(
        value("Q", &WireValue::Bytes(&bytes(1, b"5Mi"))),
        Ok(json!("5Mi"))
    );
    assert_eq!(value("I", &WireValue::Bytes(&varint(2, 80))), Ok(json!(80)));
    let percent = [varint(1, 1), bytes(3, b"25%")].concat();
    assert_eq!(value("I", &WireValue::Bytes(&percent)), Ok(json!("25%")));
}

#[test]
fn what_is_cut_or_strange_is_refused() {
    assert_eq!(to_json(b"{}"), Err(ProtobufError::Prefix));
    let whole = body("v1", "Namespace", &bytes(1, &bytes(1, b"a")));
    assert!(to_json(&whole).is_ok());
    assert_eq!(to_json(&whole[..whole.len() - 1]), Err(ProtobufError::Wire));
    let other = body("x/v1", "Fish", &[]);
    assert_eq!(to_json(&other), Err(ProtobufError::Kind("Fish".to_owned())));
}

#[test]
fn every_type_in_the_table_is_known() {
    for (name, message) in MESSAGES.iter() {
        for field in message.values() {
            let known = field.kind.len() == 1 || MESSAGES.contains_key(field.kind);
            assert!(known, "{name}.{}: {}", field.name, field.kind);
        }
    }
}
