//! Forecasts and replica counts against independent implementations: reference numbers beside the tests of the service,
//! and the experiment of the paper DS-HPA.

mod vectors {
    mod backtest;
    mod ds_hpa_experiment;
    mod files;
    mod forecast;
    mod traces;
}
