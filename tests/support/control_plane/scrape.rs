//! Reading one sample out of an OpenMetrics text.

/// The sum of the samples of `name` that carry all of `labels`; `None` where there is none.
pub fn sum(text: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let mut found = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(rest) = line.strip_prefix(name) else {
            continue;
        };
        let (shown, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.split_once("} ").unwrap_or_default(),
            None => ("", rest.strip_prefix(' ').unwrap_or_default()),
        };
        let carries = |&(key, value): &(&str, &str)| {
            let pair = format!("{key}=\"{value}\"");
            shown.split(',').any(|shown| shown == pair)
        };
        let number = value
            .split(' ')
            .next()
            .and_then(|text| text.parse::<f64>().ok());
        if let Some(number) = number.filter(|_| labels.iter().all(carries)) {
            *found.get_or_insert(0.0) += number;
        }
    }
    found
}
