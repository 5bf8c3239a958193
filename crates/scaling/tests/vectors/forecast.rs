//! Smoothing, D-HPA and the HPA-aware count against an independent implementation.

use evenkeel_forecast::arima::{Arima, Order};
use evenkeel_forecast::{
    AdaptiveAlpha, Alpha, Coefficients, ElasticNet, Gru, Moments, PointModel, Tes, Variant,
};
use evenkeel_hpa::Tolerances;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::load::hpa_aware::{PodCapacity, Thresholds, replicas};
use evenkeel_scaling::recommend::ds_hpa::DynamicThreshold;
use evenkeel_units::{Ratio, count_as_f64, narrowed};
use serde::Deserialize;

use super::{files, traces};

fn assert_close(found: f64, expected: f64, absolute: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs() + absolute,
        "{what}: {found}, expected {expected}"
    );
}

#[derive(Deserialize)]
struct BrownCase {
    name: String,
    alpha: f64,
    y: Vec<f64>,
    s1: f64,
    s2: f64,
    s3: f64,
    brown: Parabola,
    paper: Parabola,
}

#[derive(Deserialize)]
struct Parabola {
    a: f64,
    b: f64,
    c: f64,
    forecast: Vec<f64>,
}

#[test]
fn smoothing_gives_the_coefficients_and_forecasts_expected() {
    for case in files::cases::<BrownCase>("forecast/brown_tes") {
        for (variant, expected) in [(Variant::Brown, &case.brown), (Variant::Paper, &case.paper)] {
            let what = format!("{} at {} as {variant:?}", case.name, case.alpha);
            let mut model = Tes::new(Alpha::new(case.alpha).expect(&what), variant);
            case.y.iter().for_each(|&value| model.observe(value));
            let smoothed = model.brown().smoothed();
            for (found, expected) in smoothed.into_iter().zip([case.s1, case.s2, case.s3]) {
                assert_close(found, expected, 1e-9, &what);
            }
            let Coefficients { a, b, c } = model.brown().coefficients(variant);
            let coefficients = [(a, expected.a), (b, expected.b), (c, expected.c)];
            let mut means = vec![0.0; expected.forecast.len()];
            model.predict(&mut means);
            let means = means.into_iter().zip(expected.forecast.iter().copied());
            for (found, expected) in coefficients.into_iter().chain(means) {
                assert_close(found, expected, 1e-9, &what);
            }
        }
    }
}

#[derive(Deserialize)]
struct AlphaCase {
    name: String,
    x: Vec<f64>,
    mean: f64,
    population_sd: f64,
    mean_last5: f64,
    alpha_raw: Option<f64>,
}

#[test]
fn the_adaptive_factor_is_the_one_expected() {
    for case in files::cases::<AlphaCase>("forecast/adaptive_alpha") {
        let name = &case.name;
        let found = AdaptiveAlpha::of(&case.x);
        assert_close(found.mean, case.mean, 1e-12, name);
        assert_close(found.deviation, case.population_sd, 1e-9, name);
        assert_close(found.recent, case.mean_last5, 1e-12, name);
        assert_eq!(found.raw.is_some(), case.alpha_raw.is_some(), "{name}");
        if let (Some(found), Some(expected)) = (found.raw, case.alpha_raw) {
            assert_close(found, expected, 1e-9, name);
        }
        assert!(
            (Alpha::LEAST..=Alpha::MOST).contains(&found.alpha()),
            "{name}"
        );
    }
}

#[derive(Deserialize)]
struct ThresholdCase {
    name: String,
    #[serde(rename = "T")]
    target: f64,
    x: Vec<f64>,
    current: i32,
    mean: f64,
    growth: f64,
    t_down: f64,
    desired: i32,
}

#[test]
fn d_hpa_lowers_its_target_as_expected() {
    let tolerances = Tolerances::default();
    for case in files::cases::<ThresholdCase>("forecast/dhpa_threshold") {
        let what = format!("{} at {}", case.name, case.target);
        let target = Ratio::new(case.target).expect(&what);
        let capacity = PodCapacity::new(1.0, target).expect(&what);
        let of_one_pod = DynamicThreshold::of(&case.x, 1, capacity).expect(&what);
        assert_close(of_one_pod.mean, case.mean, 1e-12, &what);
        assert_close(of_one_pod.growth, case.growth, 1e-12, &what);
        assert_close(of_one_pod.target, case.t_down, 1e-12, &what);
        assert_eq!(
            of_one_pod.desired(case.current, tolerances),
            case.desired,
            "{what}"
        );
    }
}

#[derive(Deserialize)]
struct AwareCase {
    name: String,
    current: i32,
    min: i32,
    max: i32,
    tolerance: f64,
    resources: Vec<OnePod>,
    desired: i32,
    max_threshold: f64,
    min_threshold: f64,
    literal: f64,
    replicas: i32,
}

#[derive(Deserialize)]
struct OnePod {
    used: f64,
    requested: f64,
    target: f64,
}

#[test]
fn the_hpa_aware_count_is_the_one_expected() {
    for case in files::cases::<AwareCase>("forecast/hpa_aware") {
        let name = &case.name;
        let desired = case.resources.iter().map(|resource| {
            let target = Ratio::new(resource.target).expect(name);
            let capacity = PodCapacity::new(resource.requested, target).expect(name);
            capacity.desired(case.current, resource.used)
        });
        let desired = desired.max().expect(name);
        assert_eq!(desired, case.desired, "{name}");
        let bounds = ReplicaBounds::new(case.min, case.max).expect(name);
        let thresholds = Thresholds::new(bounds, case.tolerance);
        assert_close(thresholds.max, case.max_threshold, 0.0, name);
        assert_close(thresholds.min, case.min_threshold, 0.0, name);
        let literal = thresholds.limit(case.current, desired);
        assert_close(literal, case.literal, 0.0, name);
        assert_eq!(
            replicas(case.current, desired, bounds),
            case.replicas,
            "{name}"
        );
    }
}

#[derive(Deserialize)]
struct ArimaCase {
    series: String,
    n: usize,
    order: [usize; 3],
    #[serde(rename = "const")]
    has_mean: bool,
    loglik: f64,
    aic: f64,
    aicc: f64,
    bic: f64,
    forecast12: Vec<f64>,
}

#[test]
fn arima_is_as_likely_as_exact_maximum_likelihood_makes_it() {
    let mut compared = 0;
    for case in files::cases::<ArimaCase>("forecast/arima") {
        let [p, d, q] = case.order;
        let what = format!("{} {:?}", case.series, case.order);
        // A folder with more vectors may be of loads that are not here.
        let Some(samples) = traces::samples(&case.series) else {
            continue;
        };
        let values: Vec<f64> = samples[..case.n].iter().map(|&(_, value)| value).collect();
        let order = Order {
            p,
            d,
            q,
            has_mean: case.has_mean,
        };
        let mut model = Arima::of_order(order, &values).expect(&what);
        for &value in &values {
            model.observe(value);
        }
        let estimate = model.estimate().expect(&what);
        for (name, found, expected) in [
            ("log-likelihood", estimate.log_likelihood, case.loglik),
            ("AIC", estimate.aic(), case.aic),
            ("AICc", estimate.aicc(), case.aicc),
            ("SC", estimate.sc(), case.bic),
        ] {
            // A likelier model than the reference's is no error: its optimiser stopped short of it.
            let is_likelihood = name == "log-likelihood";
            let worse = if is_likelihood {
                expected - found
            } else {
                found - expected
            };
            assert!(
                (-0.5..0.25).contains(&worse),
                "{what}: {name} {found}, expected {expected}"
            );
        }
        let mut means = vec![0.0; case.forecast12.len()];
        model.predict(&mut means);
        let n = count_as_f64(values.len());
        let mean = values.iter().sum::<f64>() / n;
        let spread = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / n;
        for (found, expected) in means.into_iter().zip(case.forecast12) {
            let off = (found - expected).abs() / spread.sqrt();
            assert!(off < 0.01, "{what}: {found}, expected {expected}");
        }
        compared += 1;
    }
    assert!(compared >= 18, "{compared} cases");
}

#[derive(Deserialize)]
struct ElasticNetCase {
    alpha: f64,
    l1_ratio: f64,
    #[serde(rename = "X")]
    rows: Vec<Vec<f64>>,
    y: Vec<f64>,
    coef: Vec<f64>,
    intercept: f64,
}

#[test]
fn coefficients_are_held_as_expected() {
    // The library that made them stops at 1e-6.
    const CLOSE: f64 = 1e-6;
    for case in files::cases::<ElasticNetCase>("forecast/elasticnet") {
        let what = format!("{} at {}", case.alpha, case.l1_ratio);
        let mut moments = Moments::new(case.coef.len());
        for (row, &outcome) in case.rows.iter().zip(&case.y) {
            moments.push(row, outcome);
        }
        let net = ElasticNet {
            alpha: case.alpha,
            l1_ratio: case.l1_ratio,
            positive: false,
        };
        let linear = net.fit(&moments).expect(&what);
        assert_eq!(linear.coefficients.len(), case.coef.len(), "{what}");
        assert_close(linear.intercept, case.intercept, CLOSE, &what);
        for (found, expected) in linear.coefficients.into_iter().zip(case.coef) {
            assert_close(found, expected, CLOSE, &what);
        }
    }
}

#[derive(Deserialize)]
struct GruCase {
    input_size: usize,
    hidden: usize,
    layers: usize,
    weights: serde_json::Map<String, serde_json::Value>,
    x: Vec<Vec<f64>>,
    outputs: Vec<Vec<f64>>,
}

impl GruCase {
    /// The weights of a layer in the order of [`Gru::new`]; the file has those to one gate together.
    fn layer(&self, layer: usize) -> Vec<f32> {
        let named = |kind: &str| self.weights[&format!("{kind}_l{layer}")].clone();
        let matrix = |kind: &str| {
            let rows: Vec<Vec<f64>> = serde_json::from_value(named(kind)).expect(kind);
            let columns = 0..rows[0].len();
            let turned = columns.flat_map(|column| rows.iter().map(move |row| row[column]));
            turned.collect::<Vec<f64>>()
        };
        let biases = |kind: &str| serde_json::from_value::<Vec<f64>>(named(kind)).expect(kind);
        let parts = [
            matrix("weight_ih"),
            matrix("weight_hh"),
            biases("bias_ih"),
            biases("bias_hh"),
        ];
        narrow(&parts.concat())
    }
}

fn narrow(values: &[f64]) -> Vec<f32> {
    let each = values
        .iter()
        .map(|&value| narrowed(value).expect("a number of a file of vectors is near one"));
    each.collect()
}

#[test]
fn recurrent_units_are_those_of_pytorch() {
    for case in files::cases::<GruCase>("forecast/gru") {
        let what = format!("{} units, {} layers", case.hidden, case.layers);
        let mut inputs = case.input_size;
        let mut steps = narrow(&case.x.concat());
        for layer in 0..case.layers {
            let units = Gru::new(inputs, case.hidden, &case.layer(layer)).expect(&what);
            let ends = (1..=case.x.len()).map(|end| end * inputs);
            let states = ends.map(|end| units.follow(&steps[..end]).state);
            steps = states.collect::<Vec<_>>().concat();
            inputs = case.hidden;
        }
        let expected = case.outputs.concat();
        assert_eq!(steps.len(), expected.len(), "{what}");
        for (found, expected) in steps.into_iter().zip(expected) {
            let off = (f64::from(found) - expected).abs();
            assert!(off < 2e-6, "{what}: {found}, expected {expected}");
        }
    }
}
