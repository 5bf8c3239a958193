use std::path::Path;

use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::recommend::traffic::{Demand, needed};
use evenkeel_units::random::RandomSource;

use super::*;

const WEEK: usize = 1008;
const TARGET: f64 = 60.0;

fn settings(trees: usize, threads: usize) -> TrafficSettings {
    let mut settings = TrafficSettings::with(NonZeroUsize::new(threads).unwrap());
    settings.residual.trees = trees;
    settings
}

fn names(components: &[&str]) -> TrafficNames {
    TrafficNames {
        components: components.iter().map(ToString::to_string).collect(),
        utilisation: "cpu".to_owned(),
        zone: "UTC".to_owned(),
        calendar: Calendar::default(),
    }
}

/// The recorded samples, each with its author's noise-free count.
fn recorded() -> Vec<(TrafficSample, f64)> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/traffic/synthetic_a.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<f64> = line
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        let [second, http, rpc, replicas, cpu, _, oracle] = fields[..] else {
            panic!("{line}")
        };
        let since = SignedDuration::try_from_secs_f64(second).unwrap();
        let sample = TrafficSample {
            at: Timestamp::from_duration(since).unwrap(),
            traffic: vec![http, rpc],
            replicas,
            utilisation: cpu,
        };
        (sample, oracle)
    });
    rows.collect()
}

/// Sunday, 03:00 to 05:00.
fn is_in_job(sample: &TrafficSample) -> bool {
    let hour = (sample.at.as_second() - 4 * 86_400).rem_euclid(7 * 86_400) / 3600;
    (6 * 24 + 3..6 * 24 + 5).contains(&hour)
}

/// Share of samples with the noise-free count.
fn right(function: &LinearResidual, samples: &[(TrafficSample, f64)]) -> f64 {
    let bounds = ReplicaBounds::new(3, 300).unwrap();
    let same = samples.iter().filter(|(sample, oracle)| {
        let demand = Demand {
            traffic: &sample.traffic,
            moment: CalendarInputs::of(sample.at, &Calendar::default()),
        };
        let found = needed(function, &demand, TARGET, bounds);
        (f64::from(found.replicas) - oracle).abs() < 0.5
    });
    count_as_f64(same.count()) / count_as_f64(samples.len())
}

#[test]
fn the_residual_model_sees_the_weekly_job_and_the_linear_one_does_not() {
    let recorded = recorded();
    assert_eq!(recorded.len(), 8 * WEEK);
    let (older, newest) = recorded.split_at(6 * WEEK);
    let learnt: Vec<TrafficSample> = older.iter().map(|(sample, _)| sample.clone()).collect();
    let calendar = Calendar::default();
    let function = fit_function(&learnt, &calendar, &settings(200, 2)).unwrap();
    let alone = LinearResidual::new(
        function.linear().clone(),
        1.0,
        (0.0, 0.0),
        evenkeel_forecast::Trees::new(0.0, &[]).unwrap(),
    );
    let job = newest.iter().filter(|(sample, _)| is_in_job(sample));
    let job: Vec<TrafficSample> = job.map(|(sample, _)| sample.clone()).collect();
    assert_eq!(job.len(), 24);
    let told = |function: &LinearResidual| {
        error(&job, |sample| {
            let moment = CalendarInputs::of(sample.at, &calendar);
            function.utilisation(&sample.traffic, sample.replicas, moment)
        })
    };
    let (errors, shares) = (
        [&alone, &function].map(told),
        [&alone, &function].map(|function| right(function, newest)),
    );
    assert!(errors[0] > 25.0 && errors[1] <= 4.1, "{errors:?}");
    assert!(shares[1] > shares[0] && shares[1] >= 0.92, "{shares:?}");
}

#[test]
fn a_day_of_the_recorded_law_is_explained_by_its_traffic() {
    let samples: Vec<TrafficSample> = recorded().into_iter().map(|(sample, _)| sample).collect();
    // Up to the second Saturday.
    let days = &samples[..13 * 144];
    let model = fit_traffic(days, names(&["http", "rpc"]), &settings(60, 2)).unwrap();
    let HeldOutDay {
        samples: count,
        error,
        linear_error,
        explained,
        explained_without,
    } = model.held_out;
    assert_eq!(count, 144);
    assert!(error < 2.0 && linear_error < 3.0, "{error} {linear_error}");
    assert!(explained > 0.9 && explained_without < 0.9);
    assert_eq!(model.step, SignedDuration::from_mins(10));
    assert_eq!(model.learnt, (days[0].at, days[days.len() - 1].at));
    // The costs of a request and a call are as 1 to 2.
    let [http, rpc] = model.function.linear().coefficients[..] else {
        panic!("{model:?}")
    };
    assert!((1.5..2.5).contains(&(rpc / http)), "{http} {rpc}");
}

/// Three days of samples, a quarter of an hour apart. `of` computes the utilisation from the
/// traffic per replica, the share of the day and a normal number.
fn days(of: impl Fn(f64, f64, f64) -> f64) -> Vec<TrafficSample> {
    let random = RandomSource::new(7);
    let sample = |step: i32| {
        let day = f64::from(step % 96) / 96.0;
        let place = u64::try_from(step).unwrap();
        let traffic = 100.0 + 40.0 * random.stream("traffic").normal(place).clamp(-2.0, 2.0);
        let replicas = f64::from(2 + step * 7 % 5);
        let noise = random.stream("noise").normal(place);
        TrafficSample {
            at: Timestamp::from_second(1_800_000_000 + i64::from(step) * 900).unwrap(),
            traffic: vec![traffic],
            replicas,
            utilisation: of(traffic / replicas, day, noise).max(0.0),
        }
    };
    (0..3 * 96).map(sample).collect()
}

fn reason(samples: &[TrafficSample]) -> &'static str {
    let fitted = fit_traffic(samples, names(&["rps"]), &settings(40, 1));
    fitted.map_or_else(|error| error.reason(), |_| "accepted")
}

#[test]
fn a_model_is_taken_only_where_traffic_explains_the_newest_day() {
    for (expected, samples) in [
        ("accepted", days(|each, _, noise| 10.0 + each + noise)),
        (
            "Unexplained",
            days(|each, _, noise| 50.0 + 0.5 * each + 15.0 * noise),
        ),
        ("NoTraffic", days(|each, _, _| 100.0 - each)),
        // The time tells it all, and traffic hardly adds to it.
        (
            "NotByTraffic",
            days(|each, day, noise| {
                50.0 + 0.05 * each + noise + if day < 0.5 { 40.0 } else { 0.0 }
            }),
        ),
        ("Steady", days(|_, _, noise| 60.0 + 0.1 * noise)),
        ("Steady", days(|_, _, _| 0.0)),
    ] {
        assert_eq!(reason(&samples), expected);
    }
}

#[test]
fn too_little_is_named() {
    let samples = days(|each, _, noise| 10.0 + each + noise);
    for short in [0, 1, 96, 2 * 96] {
        assert_eq!(reason(&samples[..short]), "TooShort", "{short}");
    }
    assert_eq!(reason(&samples[..=2 * 96]), "accepted");
    // A gap in place of the newest day but for its end.
    let gap: Vec<TrafficSample> = [&samples[..2 * 96], &samples[3 * 96 - 10..]].concat();
    assert_eq!(reason(&gap), "TooShort");
    let told = fit_traffic(&gap, names(&["rps"]), &settings(1, 1)).unwrap_err();
    assert_eq!(
        told.to_string(),
        "the samples are too few: 192 before the newest day and 10 on it; needed: a day and 24 samples before it, \
         and 24 on it"
    );
}

#[test]
fn what_is_not_whole_is_left_out() {
    let samples = days(|each, _, noise| 10.0 + each + noise);
    let fit = |samples: &[TrafficSample]| {
        fit_traffic(samples, names(&["rps"]), &settings(20, 1)).unwrap()
    };
    let mut holed = samples.clone();
    for (place, sample) in holed.iter_mut().enumerate().skip(1).step_by(20) {
        match place % 3 {
            0 => sample.replicas = 0.0,
            1 => sample.utilisation = f64::NAN,
            _ => sample.traffic.clear(),
        }
    }
    let whole = holed.iter().filter(|sample| sample.is_whole(1)).cloned();
    let whole: Vec<TrafficSample> = whole.collect();
    assert!(whole.len() < samples.len());
    assert_eq!(fit(&holed), fit(&whole));
}

#[test]
fn the_same_samples_give_the_same_model_on_any_number_of_threads() {
    let samples = days(|each, day, noise| 10.0 + each + 5.0 * day + noise);
    let fit = |threads| {
        let fitted = fit_traffic(&samples, names(&["rps"]), &settings(30, threads));
        fitted.unwrap().encode()
    };
    assert_eq!(fit(1), fit(3));
}
