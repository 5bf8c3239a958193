//! Models of processes that are known.

use super::*;
use crate::noise::normal as noise;

fn follow(model: &mut Arima, values: &[f64]) {
    for &value in values {
        model.observe(value);
    }
}

fn forecast(model: &Arima) -> Vec<f64> {
    let mut means = vec![0.0; 4];
    model.predict(&mut means);
    means
}

#[test]
fn a_line_goes_on_as_a_line() {
    let line: Vec<f64> = (0..200_i32)
        .map(|index| 5.0 + 0.5 * f64::from(index))
        .collect();
    let mut model = Arima::fitted(&line).unwrap();
    follow(&mut model, &line);
    for (found, expected) in forecast(&model)
        .into_iter()
        .zip([105.0, 105.5, 106.0, 106.5])
    {
        assert!((found - expected).abs() < 1e-6, "{model:?}");
    }
}

#[test]
fn differences_are_summed_up_again() {
    let values: Vec<f64> = (0..100_i32)
        .zip(noise(1, 100))
        .map(|(index, noise)| f64::from(index * index) + 0.1 * noise)
        .collect();
    for (d, slack) in [(1, 250.0), (2, 3.0)] {
        let order = Order {
            p: 1,
            d,
            q: 0,
            has_mean: d < 2,
        };
        let mut model = Arima::of_order(order, &values).unwrap();
        follow(&mut model, &values);
        let found = forecast(&model);
        assert!((found[0] - 10_000.0).abs() < slack, "{d}: {found:?}");
        assert!(
            found.windows(2).all(|pair| pair[0] < pair[1]),
            "{d}: {found:?}"
        );
    }
}

#[test]
fn after_a_gap_it_starts_again_with_the_parameters_that_it_has() {
    let values: Vec<f64> = noise(9, 300).iter().map(|noise| 50.0 + noise).collect();
    let mut model = Arima::fitted(&values).unwrap();
    follow(&mut model, &values);
    let before = forecast(&model);
    model.restart();
    follow(&mut model, &values);
    assert_eq!(forecast(&model), before);
    assert!(model.is_fitted() && model.need() == 1);
}

#[test]
fn too_few_values_are_refused_and_change_nothing() {
    let values = noise(2, 500);
    let mut model = Arima::default();
    assert_eq!((model.need(), model.is_fitted()), (40, false));
    assert_eq!(
        model.fit(&values[..39], None),
        Err(NotEnoughHistory { need: 40, have: 39 })
    );
    assert!(!model.is_fitted() && model.summary().is_none());
    assert_eq!(model.fit(&values, None), Ok(500));
    let told = model.summary().unwrap();
    assert!(
        told.starts_with("ARIMA(") && told.contains("Ljung-Box"),
        "{told}"
    );
    assert!(model.fit(&values[..3], None).is_err() && model.is_fitted());
}

#[test]
fn residuals_that_are_no_noise_are_named() {
    let model = Arima::fitted(&noise(4, 400)).unwrap();
    assert_eq!(model.passes_checks(), Some(true));
    let told = model.summary().unwrap();
    assert!(told.ends_with("even spread (ARCH-LM): passed"), "{told}");
    let mut values = noise(4, 400);
    for value in values.iter_mut().step_by(37) {
        *value += 40.0;
    }
    let model = Arima::fitted(&values).unwrap();
    assert_eq!(model.passes_checks(), Some(false));
    let told = model.summary().unwrap();
    assert!(
        told.contains("failed (") && told.contains("no normal distribution"),
        "{told}"
    );
    // Of 40 values that grow, 39 changes are too few for the tests.
    let growth = noise(4, 40).into_iter().scan(0.0, |sum, step| {
        *sum += 5.0 + step.abs();
        Some(*sum)
    });
    let few = Arima::fitted(&growth.collect::<Vec<_>>()).unwrap();
    assert_eq!(few.diagnosis(), None);
    assert_eq!(few.passes_checks(), Some(false));
}

#[test]
fn an_estimation_is_the_same_each_time() {
    let values = noise(4, 400);
    let [one, other] = [0, 1].map(|_| Arima::fitted(&values).unwrap());
    assert_eq!(one.estimate(), other.estimate());
}
