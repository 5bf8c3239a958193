//! The value of a query that belongs to one target. It is one number: the query's author decides
//! how series become one. A value below zero counts as 0; an empty answer, NaN and infinity are
//! errors.

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::sample::ValueSample;
use evenkeel_units::{Bytes, i64_ceil};
use jiff::{SignedDuration, Timestamp};

use super::answer;
use super::answer::PromPoint;
use super::grid::Grid;
use super::look_back::look_back;
use super::source::PrometheusSource;
use crate::metrics::error::MetricsError;

/// The longest answer that is read: one series, whatever its labels.
const LONGEST: Bytes = Bytes(64 * 1024);

impl PrometheusSource {
    /// The value of `promql`, asked for at `now`.
    ///
    /// # Errors
    /// The query failed, or gives no one number.
    pub async fn value(
        &self,
        promql: &str,
        now: Timestamp,
    ) -> Result<MetricsApiReading, MetricsError> {
        let session = self.client.session().await?;
        let body = session.query_within(&self.filled(promql), LONGEST).await?;
        read(&body, now)
    }
}

impl PrometheusSource {
    /// The span before its moment that a value of `promql` is made of.
    pub fn look_back(&self, promql: &str) -> SignedDuration {
        look_back(promql, self.window())
    }

    /// The value of `promql` at each time of `grid`, as far as there is one.
    ///
    /// # Errors
    /// The query failed, or gives several series.
    pub async fn past_of(
        &self,
        promql: &str,
        grid: Grid,
    ) -> Result<Vec<(Timestamp, f64)>, MetricsError> {
        let session = self.client.session().await?;
        let body = session.query_range(&self.filled(promql), &grid).await?;
        read_past(&body, &grid)
    }
}

fn read_past(body: &[u8], grid: &Grid) -> Result<Vec<(Timestamp, f64)>, MetricsError> {
    let (mut past, mut given) = (Vec::new(), 0);
    answer::read_range(body, |_, points| {
        given += 1;
        let points = points.iter().filter(|point| point.value.is_finite());
        past = points
            .filter_map(|point| Some((grid.time(point.time)?, point.value.max(0.0))))
            .collect();
    })?;
    // There may have been nothing to measure then.
    if given > 1 {
        return Err(MetricsError::SeriesCount { given });
    }
    Ok(past)
}

fn read(body: &[u8], now: Timestamp) -> Result<MetricsApiReading, MetricsError> {
    let PromPoint { time, value } = answer::read_one(body)?;
    if !value.is_finite() {
        return Err(MetricsError::NoAmount(value));
    }
    let since = SignedDuration::try_from_secs_f64(time).ok();
    let told = since.and_then(|since| Timestamp::UNIX_EPOCH.checked_add(since).ok());
    Ok(MetricsApiReading::Series(vec![ValueSample {
        timestamp: told.map_or(now, |told| told.min(now)),
        value: i64_ceil(value.max(0.0) * 1000.0),
    }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_one_series_without_what_is_no_amount() {
        let grid = Grid {
            first: Timestamp::from_second(100).unwrap(),
            step: SignedDuration::from_secs(15),
            points: 4,
        };
        let of = |series: &[&str]| {
            let result = series.join(",");
            let data = format!(r#"{{"resultType":"matrix","result":[{result}]}}"#);
            read_past(
                format!(r#"{{"status":"success","data":{data}}}"#).as_bytes(),
                &grid,
            )
        };
        let one =
            r#"{"metric":{},"values":[[100,"2"],[115,"NaN"],[130,"-1"],[145,"+Inf"],[160,"9"]]}"#;
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(of(&[one]).unwrap(), [(at(100), 2.0), (at(130), 0.0)]);
        assert_eq!(of(&[]).unwrap(), []);
        assert_eq!(of(&[one, one]).unwrap_err().reason(), "SeveralValues");
    }

    #[test]
    fn a_number_is_an_amount_and_nonsense_is_an_error() {
        let now = Timestamp::from_second(1000).unwrap();
        let of = |time: &str, value: &str| {
            let result = format!(r#"{{"resultType":"scalar","result":[{time},"{value}"]}}"#);
            read(
                format!(r#"{{"status":"success","data":{result}}}"#).as_bytes(),
                now,
            )
        };
        for (time, value, second, milli) in [
            ("990", "2.5", 990, 2500),
            ("990.5", "0.0001", 990, 1),
            ("2000", "3", 1000, 3000),
            ("990", "-3", 990, 0),
        ] {
            let MetricsApiReading::Series(samples) = of(time, value).unwrap() else {
                panic!("no series");
            };
            let found = (samples[0].timestamp.as_second(), samples[0].value);
            assert_eq!(found, (second, milli), "{value}");
        }
        for value in ["NaN", "+Inf", "-Inf"] {
            assert_eq!(of("990", value).unwrap_err().reason(), "NoAmount");
        }
    }
}
