//! A past load on coarser grids, as databases keep it for models.

use evenkeel_forecast::RegularSeries;
use evenkeel_units::count_as_f64;
use jiff::{SignedDuration, Timestamp};

/// Means of `load` over steps of `step`, from its begin up to `until`. Steps are whole and begin at
/// multiples of `step` since 1970; one of which less than half is known is a gap. `None` without a
/// whole step.
pub(super) fn means(
    load: &RegularSeries,
    step: SignedDuration,
    until: Timestamp,
) -> Option<RegularSeries> {
    let (fine, coarse) = (load.step().as_secs(), step.as_secs());
    if fine <= 0 || coarse < fine {
        return None;
    }
    let first = load.start().as_second();
    let start = first + (-first).rem_euclid(coarse);
    let after = load.end().min(until.checked_sub(load.step()).ok()?);
    let steps = (after.as_second() + fine - start).div_euclid(coarse);
    let skipped = usize::try_from((start - first) / fine).ok()?;
    let count = usize::try_from(steps).ok()?;
    let length = usize::try_from(coarse / fine).ok()?;
    let values = load.values().get(skipped..)?.chunks_exact(length);
    let values: Vec<_> = values.take(count).map(mean).collect();
    if values.is_empty() {
        return None;
    }
    RegularSeries::new(Timestamp::from_second(start).ok()?, step, values).ok()
}

/// `None` if less than half is known.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let sum: f64 = known.iter().sum();
    (known.len() * 2 >= values.len()).then(|| sum / count_as_f64(known.len()))
}

/// Known values with their times.
pub(super) fn points(series: &RegularSeries) -> impl Iterator<Item = (Timestamp, f64)> {
    let step = series.step();
    let times = std::iter::successors(Some(series.start()), move |time| {
        time.checked_add(step).ok()
    });
    let points = times.zip(series.values());
    points.filter_map(|(time, value)| Some((time, (*value)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_whole_steps_that_are_half_known() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let secs = SignedDuration::from_secs;
        let known = [
            Some(7.0), // 45: no whole minute
            Some(1.0),
            Some(2.0),
            Some(3.0),
            Some(6.0),
            None,
            Some(4.0),
            None,
            Some(8.0),
            None,
            None,
            None,
            Some(5.0),
            Some(1.0),
            Some(1.0),
            Some(1.0),
            Some(1.0),
        ];
        let load = RegularSeries::new(second(45), secs(15), known.to_vec()).unwrap();
        let minutes = |until| {
            let means = means(&load, secs(60), second(until));
            means.map(|means| (means.start().as_second(), means.values().to_vec()))
        };
        let all = vec![Some(3.0), Some(6.0), None, Some(1.0)];
        assert_eq!(minutes(1_000), Some((60, all.clone())));
        assert_eq!(minutes(299), Some((60, all[..3].to_vec())));
        assert_eq!(minutes(120), Some((60, all[..1].to_vec())));
        assert_eq!(minutes(119), None);
        assert_eq!(means(&load, secs(10), second(1_000)), None);
        let means = means(&load, secs(60), second(1_000)).unwrap();
        let points: Vec<_> = points(&means).collect();
        assert_eq!(
            points,
            [(second(60), 3.0), (second(120), 6.0), (second(240), 1.0)]
        );
    }
}
