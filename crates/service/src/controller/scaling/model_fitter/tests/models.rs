//! Models that targets name: fitted, or read from a file that may be missing or damaged.

use evenkeel_forecast::{ModelSet, SWISH_STEPS, SwishNet, SwishShape};
use evenkeel_training::{LearntLoad, MODEL_VERSION, SwishDescription, SwishFile};

use super::*;

/// The loads of some names, which are to be forecast by these models.
fn named(models: ModelSet, names: &[&str]) -> FitBatch {
    let mut batch = batch(cpu(), names);
    for load in &mut batch.loads {
        load.lesson = FitTask::Model(models);
    }
    batch
}

/// A network that knows one load, with all weights 0: it answers the last value.
fn flat() -> SwishFile {
    let shape = SwishShape { categories: 1 };
    let parameters = vec![0.0; shape.counts().iter().sum()];
    SwishFile {
        description: SwishDescription {
            kind: ModelSet::SwishNet.as_str().to_owned(),
            version: MODEL_VERSION,
            scaling: "none".to_owned(),
            window: SWISH_STEPS,
            horizon: SWISH_STEPS,
            loads: vec![LearntLoad {
                name: "regular".to_owned(),
                step_seconds: 60,
                learnt_from: end(),
                learnt_to: end(),
                accuracy: Vec::new(),
            }],
        },
        net: SwishNet::new(shape, &parameters).unwrap(),
    }
}

#[tokio::test(start_paused = true)]
async fn models_are_fitted_where_the_past_is_long_enough() {
    let batches = [ModelSet::Arima, ModelSet::Gbdt].map(|models| {
        let names = ["regular", "new", "damaged"];
        named(models, &names)
    });
    let outcome = Outcome::of(batches.into()).await;
    let each = [
        ("Deployment/regular", "model"),
        // Ten hours are enough for either.
        ("Deployment/new", "model"),
        ("Deployment/damaged", "too short"),
    ];
    assert_eq!(outcome.ends(), [each, each].concat());
    assert_eq!(outcome.ended("Fitted"), 4, "{}", outcome.metrics);
    assert_eq!(outcome.ended("TooShort"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_network_is_read_from_its_file_and_a_bad_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let bytes = flat().encode();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let files = [
        (Some(write("good", &bytes)), "model"),
        (Some(write("damaged", &damaged)), "failed"),
        (Some(write("foreign", b"a page")), "failed"),
        (Some(folder.path().join("missing")), "failed"),
    ];
    for (file, end) in files {
        let batches = vec![named(ModelSet::SwishNet, &["regular", "unknown"])];
        let outcome = Outcome::with_swish_net(batches, file.clone()).await;
        let ends = outcome.ends();
        assert_eq!(ends[0], ("Deployment/regular", end), "{file:?}");
        let refused = if end == "failed" { 2 } else { 0 };
        assert_eq!(outcome.ended("NoNetwork"), refused, "{file:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_file_one_network_is_trained_on_the_loads_that_name_it() {
    let batches = vec![
        named(ModelSet::SwishNet, &["regular", "new", "damaged"]),
        named(ModelSet::SwishNet, &["regular"]),
    ];
    let outcome = Outcome::of(batches).await;
    let expected = [
        ("Deployment/regular", "model"),
        ("Deployment/new", "model"),
        ("Deployment/damaged", "too short"),
        ("Deployment/regular", "model"),
    ];
    assert_eq!(outcome.ends(), expected);
    assert_eq!(outcome.ended("NoNetwork"), 0, "{}", outcome.metrics);
    // Four fits and one training: the second batch brings nothing new. The damaged past is tried as well.
    let counted = "scaling_own_fit_duration_seconds_count 5";
    assert!(outcome.metrics.contains(counted), "{}", outcome.metrics);

    let alone = Outcome::of(vec![named(ModelSet::SwishNet, &["damaged"])]).await;
    assert_eq!(alone.ends(), [("Deployment/damaged", "too short")]);
    assert_eq!(
        alone.ended("TooShort"),
        1,
        "no network, and none is missing"
    );
}
