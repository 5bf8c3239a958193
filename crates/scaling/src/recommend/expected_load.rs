//! The load that the replicas of a target have to be ready for: as large as it is now, or as a trusted
//! forecast says that it will be when Pods that are started now are ready.

use evenkeel_units::words;

/// A load that replicas have to be ready for, in the base unit of its signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedLoad {
    pub load: f64,
    pub basis: LoadBasis,
}

words! {
    /// The basis of an expected load.
    pub enum LoadBasis {
        /// A trusted forecast, which is above the load as it is now.
        Forecast = "forecast",
        /// The load as it is now.
        Measured = "measured",
    }
}

impl ExpectedLoad {
    /// The larger of the load `now` and of what is forecast of it by a trusted model.
    pub fn of(now: f64, forecast: Option<f64>) -> Self {
        match forecast {
            Some(load) if load > now => Self {
                load,
                basis: LoadBasis::Forecast,
            },
            Some(_) | None => Self {
                load: now,
                basis: LoadBasis::Measured,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_never_lowers_what_is_measured() {
        for (now, forecast, load, basis) in [
            (10.0, None, 10.0, LoadBasis::Measured),
            (10.0, Some(12.5), 12.5, LoadBasis::Forecast),
            (10.0, Some(10.0), 10.0, LoadBasis::Measured),
            (10.0, Some(3.0), 10.0, LoadBasis::Measured),
            (10.0, Some(f64::NAN), 10.0, LoadBasis::Measured),
        ] {
            assert_eq!(
                ExpectedLoad::of(now, forecast),
                ExpectedLoad { load, basis }
            );
        }
    }
}
