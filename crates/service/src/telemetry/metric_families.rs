//! Tables of the metrics that a part of the service exports: each line has the name of a family,
//! its kind, its labels and its help text.

use std::borrow::Cow;
use std::sync::atomic::AtomicU64;

pub(crate) use prometheus_client::metrics::counter::Counter;
pub(crate) use prometheus_client::metrics::family::Family;
pub(crate) use prometheus_client::metrics::gauge::Gauge;
pub(crate) use prometheus_client::metrics::histogram::Histogram;

pub(crate) type FloatGauge = Gauge<f64, AtomicU64>;
pub(crate) type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// The value of a gauge that counts things.
pub(crate) fn count(things: usize) -> i64 {
    i64::try_from(things).unwrap_or(i64::MAX)
}

/// Declares a struct of metric families. A line is
/// `field: Kind[labels] = "name" in Unit, "help";`, where labels and unit are optional, and `Kind`
/// is `Counter`, `Gauge`, `FloatGauge` or `Histogram(buckets)`. The struct gets `Default` and
/// `register`. A family with labels also gets a method of the field's name: it takes the values of
/// the labels and returns that metric.
macro_rules! families {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {$(
            $field:ident: $kind:ident $(($buckets:expr))? $([$($label:ident),+])?
                = $metric:literal $(in $unit:ident)?, $help:literal;
        )*}
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone)]
        $visibility struct $name {$(
            $field: $crate::telemetry::metric_families::families!(@type $kind $($($label)+)?),
        )*}

        impl Default for $name {
            fn default() -> Self {
                Self {$(
                    $field: $crate::telemetry::metric_families::families!(
                        @default [$($buckets)?] [$($($label)+)?]
                    ),
                )*}
            }
        }

        impl $name {
            /// Registers the families for `/metrics`.
            $visibility fn register(&self, registry: &mut $crate::telemetry::Registry) {$(
                let family = self.$field.clone();
                $crate::telemetry::metric_families::families!(
                    @register registry, $metric, $help, family $(, $unit)?
                );
            )*}

            $($(
                pub(crate) fn $field(
                    &self,
                    $($label: impl Into<std::borrow::Cow<'static, str>>,)+
                ) -> $crate::telemetry::metric_families::$kind {
                    let labels = [$((stringify!($label), $label.into())),+];
                    self.$field.get_or_create_owned(&labels)
                }
            )?)*
        }
    };

    (@type $kind:ident) => { $crate::telemetry::metric_families::$kind };
    (@type $kind:ident $($label:ident)+) => {
        $crate::telemetry::metric_families::Family<
            $crate::telemetry::metric_families::Labels<{ [$(stringify!($label)),+].len() }>,
            $crate::telemetry::metric_families::$kind,
        >
    };

    (@default [] $labels:tt) => { Default::default() };
    (@default [$buckets:expr] []) => {
        $crate::telemetry::metric_families::Histogram::new($buckets)
    };
    (@default [$buckets:expr] $labels:tt) => {
        $crate::telemetry::metric_families::Family::new_with_constructor(|| {
            $crate::telemetry::metric_families::Histogram::new($buckets)
        })
    };

    (@register $registry:ident, $metric:literal, $help:literal, $family:ident) => {
        $registry.register($metric, $help, $family)
    };
    (@register $registry:ident, $metric:literal, $help:literal, $family:ident, $unit:ident) => {
        $registry.register_with_unit(
            $metric,
            $help,
            prometheus_client::registry::Unit::$unit,
            $family,
        )
    };
}

pub(crate) use families;

#[cfg(test)]
mod tests {
    use super::count;
    use crate::telemetry::{Registry, encode};

    const SECONDS: [f64; 1] = [1.0];

    mod table {
        use super::SECONDS;

        crate::telemetry::metric_families::families! {
            pub(super) struct ShopMetrics {
                sales: Counter[goods, till] = "shop_sales", "Sales by goods and till";
                open: Gauge = "shop_open", "1 while the shop is open";
                wait: FloatGauge[till] = "shop_wait" in Seconds, "The wait at a till";
                visits: Histogram(SECONDS) = "shop_visit" in Seconds, "The time of a visit";
                queues: Histogram(SECONDS)[till] = "shop_queue_length", "Customers in a queue";
            }
        }

        impl ShopMetrics {
            pub(super) fn visited(&self, seconds: f64) {
                self.open.set(super::count(1));
                self.visits.observe(seconds);
            }
        }
    }

    #[test]
    fn the_page_shows_what_the_table_says() {
        let (metrics, mut registry) = (table::ShopMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        metrics.visited(2.0);
        metrics.sales("tea", String::from("left")).inc();
        metrics.sales("tea", "left").inc();
        metrics.wait("left").set(1.5);
        metrics.queues("left").observe(0.5);
        let expected = r#"# HELP shop_sales Sales by goods and till.
# TYPE shop_sales counter
shop_sales_total{goods="tea",till="left"} 2
# HELP shop_open 1 while the shop is open.
# TYPE shop_open gauge
shop_open 1
# HELP shop_wait_seconds The wait at a till.
# TYPE shop_wait_seconds gauge
# UNIT shop_wait_seconds seconds
shop_wait_seconds{till="left"} 1.5
# HELP shop_visit_seconds The time of a visit.
# TYPE shop_visit_seconds histogram
# UNIT shop_visit_seconds seconds
shop_visit_seconds_sum 2.0
shop_visit_seconds_count 1
shop_visit_seconds_bucket{le="1.0"} 0
shop_visit_seconds_bucket{le="+Inf"} 1
# HELP shop_queue_length Customers in a queue.
# TYPE shop_queue_length histogram
shop_queue_length_sum{till="left"} 0.5
shop_queue_length_count{till="left"} 1
shop_queue_length_bucket{le="1.0",till="left"} 1
shop_queue_length_bucket{le="+Inf",till="left"} 1
# EOF
"#;
        assert_eq!(encode(&registry).unwrap(), expected);
    }
}
