//! The rules for labels and values, and Kubernetes' words on violations.

use crate::error::SelectorError;
use crate::go_format;
use crate::operator::SelectorOperator;

/// Most bytes of a label without its prefix, and of a value.
const LONGEST: usize = 63;
const LONGEST_PREFIX: usize = 253;

/// On an invalid label.
const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
    validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
/// On an invalid value.
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', \
    '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
    'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
/// On an invalid prefix of a label.
const PREFIX: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
    used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// `values` are named by index in errors.
///
/// # Errors
/// All faults.
pub(crate) fn requirement(
    key: &str,
    operator: SelectorOperator,
    values: &[&str],
) -> Result<(), SelectorError> {
    let mut faults: Vec<String> = self::key("key", key).err().into_iter().collect();
    faults.extend(arity(operator, values));
    for (index, value) in values.iter().enumerate() {
        let found = value_faults(value);
        if !found.is_empty() {
            faults.push(invalid(&format!("values[{index}][{key}]"), value, &found));
        }
    }
    all(&faults)
}

/// Checks the number of values, and that operands of comparisons are numbers.
///
/// # Errors
/// All faults.
pub(crate) fn values(operator: SelectorOperator, values: &[&str]) -> Result<(), SelectorError> {
    all(&arity(operator, values))
}

fn all(faults: &[String]) -> Result<(), SelectorError> {
    match faults {
        [] => Ok(()),
        [one] => Err(SelectorError::Invalid(one.clone())),
        _ => Err(SelectorError::Invalid(format!("[{}]", faults.join(", ")))),
    }
}

/// Checks a label, which errors call `field`.
///
/// # Errors
/// The faults, in the words of Kubernetes.
pub(crate) fn key(field: &str, key: &str) -> Result<(), String> {
    let faults = key_faults(key);
    if faults.is_empty() {
        return Ok(());
    }
    Err(invalid(field, key, &faults))
}

fn invalid(field: &str, found: &str, faults: &[String]) -> String {
    let (found, faults) = (go_format::quoted(found), faults.join("; "));
    format!("{field}: Invalid value: {found}: {faults}")
}

/// Faults in the number of values, or in a value that must be a number.
fn arity(operator: SelectorOperator, values: &[&str]) -> Vec<String> {
    let wrong = |why| {
        vec![format!(
            "values: Invalid value: {}: {why}",
            go_format::json_list(values)
        )]
    };
    match operator {
        SelectorOperator::In | SelectorOperator::NotIn if values.is_empty() => {
            wrong("for 'in', 'notin' operators, values set can't be empty")
        }
        SelectorOperator::Exists | SelectorOperator::DoesNotExist if !values.is_empty() => {
            wrong("values set must be empty for exists and does not exist")
        }
        SelectorOperator::Equals | SelectorOperator::NotEquals if values.len() != 1 => {
            wrong("exact-match compatibility requires one single value")
        }
        SelectorOperator::GreaterThan | SelectorOperator::LessThan => {
            let count = (values.len() != 1)
                .then(|| wrong("for 'Gt', 'Lt' operators, exactly one value is required"));
            let odd = values.iter().enumerate();
            let odd = odd.filter(|(_, value)| value.parse::<i64>().is_err());
            let odd = odd.map(|(index, value)| {
                let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                let value = go_format::quoted(value);
                format!("values[{index}]: Invalid value: {value}: {why}")
            });
            count.into_iter().flatten().chain(odd).collect()
        }
        _ => Vec::new(),
    }
}

fn key_faults(key: &str) -> Vec<String> {
    let parts: Vec<&str> = key.split('/').collect();
    let (mut faults, name) = match parts[..] {
        [name] => (Vec::new(), name),
        [prefix, name] => (prefix_faults(prefix), name),
        _ => {
            let more = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {KEY} {more}")];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > LONGEST {
        faults.push(format!("name part {}", too_long(LONGEST)));
    }
    if !is_name(name) {
        faults.push(format!("name part {KEY}"));
    }
    faults
}

fn prefix_faults(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut faults = Vec::new();
    if prefix.len() > LONGEST_PREFIX {
        faults.push(format!("prefix part {}", too_long(LONGEST_PREFIX)));
    }
    if !prefix.split('.').all(is_dns_label) {
        faults.push(format!("prefix part {PREFIX}"));
    }
    faults
}

fn value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > LONGEST {
        faults.push(too_long(LONGEST));
    }
    if !value.is_empty() && !is_name(value) {
        faults.push(VALUE.to_owned());
    }
    faults
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    begins_and_ends(text, |byte| byte.is_ascii_alphanumeric()) && text.bytes().all(inner)
}

fn is_dns_label(text: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    begins_and_ends(text, end) && text.bytes().all(|byte| end(byte) || byte == b'-')
}

fn begins_and_ends(text: &str, with: impl Fn(u8) -> bool) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.into_iter().all(|end| end.is_some_and(&with))
}
