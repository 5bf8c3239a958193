//! The times of a range query.

use std::collections::BTreeMap;

/// Most points of a series, as in Prometheus.
const MOST_POINTS: usize = 11_000;

/// In seconds since 1970.
pub(super) fn grid(form: &BTreeMap<String, String>) -> Result<Vec<f64>, String> {
    let number = |field: &str| {
        let text = form.get(field).map_or("", String::as_str);
        let (digits, scale) = match text.strip_suffix("ms") {
            Some(digits) => (digits, 0.001),
            None => (text.strip_suffix('s').unwrap_or(text), 1.0),
        };
        let number = digits
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let number = number.map(|number| number * scale);
        number.ok_or_else(|| {
            format!("{field}: {text:?} is not accepted: seconds, such as 1700000000 or 60s")
        })
    };
    let (start, end, step) = (number("start")?, number("end")?, number("step")?);
    if step <= 0.0 {
        return Err("step has to be above 0".to_owned());
    }
    let mut times = Vec::new();
    let mut at = start;
    while at <= end {
        if times.len() == MOST_POINTS {
            return Err(format!(
                "exceeded maximum resolution of {MOST_POINTS} points per timeseries"
            ));
        }
        times.push(at);
        at += step;
    }
    Ok(times)
}
