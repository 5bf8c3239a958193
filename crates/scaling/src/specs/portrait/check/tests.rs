//! Portraits as they are written, and what becomes of them.

use evenkeel_api::portrait_data::{ResultData, ResultError, read_result};
use evenkeel_cron::ScheduleCache;
use serde_json::{Value, json};

use super::*;
use crate::merge::recommendation::{Ask, Unavailable};

fn checked(data: Value) -> Result<Portrait, String> {
    let data: PortraitData = serde_json::from_value(data).unwrap();
    portrait(&data, "status.portraitData").map_err(|error| error.to_string())
}

fn asked(portrait: &Portrait, second: i64) -> (Ask, Option<Timestamp>) {
    portrait.at(
        &mut ScheduleCache::default(),
        Timestamp::from_second(second).unwrap(),
    )
}

#[test]
fn each_type_is_read_by_its_own_field() {
    let portrait = checked(json!({"type": "Static", "static": {"replicas": 3}})).unwrap();
    assert_eq!(asked(&portrait, 0), (Ask::Exactly(3), None));
    let portrait = checked(json!({"type": "Cron", "cron": {"crons": [{"name": "a",
        "start": "0 8 * * *", "end": "0 9 * * *", "replicas": 4, "timeZone": "Asia/Shanghai"}]}}));
    let outcome = asked(&portrait.unwrap(), 1800);
    assert_eq!(outcome.0, Ask::Exactly(4));
    let portrait = checked(
        json!({"type": "TimeSeries", "expireTime": "1970-01-01T01:00:00Z",
        "timeSeries": {"timeSeries": [{"timestamp": 60, "replicas": 5}]}}),
    )
    .unwrap();
    assert_eq!(asked(&portrait, 60).0, Ask::Exactly(5));
    let expired = asked(&portrait, 3600).0;
    assert_eq!(expired, Ask::Unavailable(Unavailable::Expired));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (data, words) in [
        (
            json!({"type": "Static"}),
            "status.portraitData.type: \"Static\"",
        ),
        (
            json!({"type": "Static", "static": {"replicas": -1}}),
            "portraitData.static.replicas: -1",
        ),
        (
            json!({"type": "Curve"}),
            "portraitData.type: \"Curve\" is not accepted",
        ),
        (
            json!({"type": "Cron", "cron": {"crons": [{"name": "a", "start": "x",
            "end": "0 9 * * *", "replicas": 4}]}}),
            "status.portraitData.cron.crons[0].start: ",
        ),
        (
            json!({"type": "Cron", "cron": {"crons": []}}),
            "status.portraitData.cron.crons: there is no rule",
        ),
        (
            json!({"type": "TimeSeries", "timeSeries": {"timeSeries": []}}),
            "portraitData.expireTime: is missing",
        ),
        (
            json!({"type": "TimeSeries", "expireTime": "2026-11-23T08:00:00Z", "timeSeries": {"timeSeries": []}}),
            "portraitData.timeSeries.timeSeries: there is no point",
        ),
        (
            json!({"type": "TimeSeries", "expireTime": "2026-11-23T08:00:00Z",
            "timeSeries": {"timeSeries": [{"timestamp": i64::MAX, "replicas": 1}]}}),
            "timeSeries[0].timestamp: 9223372036854775807 is not a time",
        ),
    ] {
        let error = checked(data.clone()).unwrap_err();
        assert!(error.contains(words), "{data}: {error}");
    }
}

fn result(kind: &str, expires: &str, series: &str) -> Result<PortraitData, ResultError> {
    read_result(&ResultData {
        kind: Some(kind.to_owned()),
        expire_time: Some(expires.to_owned()),
        time_series: Some(series.to_owned()),
    })
}

#[test]
fn a_result_is_read_as_python_writes_it() {
    let series = "{\"1700001200.0\": 4.0, \"1700000600.0\": 3.0, \"1700001800\": 5}";
    let data = result("TimeSeries", "2023-11-14T22:43:20.12Z", series).unwrap();
    let points = data.time_series.clone().unwrap().time_series;
    let points: Vec<_> = points
        .iter()
        .map(|point| (point.timestamp, point.replicas))
        .collect();
    assert_eq!(
        points,
        [(1_700_000_600, 3), (1_700_001_200, 4), (1_700_001_800, 5)]
    );
    assert!(portrait(&data, "status.portraitData").is_ok());
}

#[test]
fn a_damaged_result_is_no_result() {
    let time = "2023-11-14T22:43:20Z";
    for (kind, expires, series, reason) in [
        ("Static", time, "{}", "ResultType"),
        ("TimeSeries", "tomorrow", "{}", "ResultExpireTime"),
        ("TimeSeries", time, "", "ResultTimeSeries"),
        ("TimeSeries", time, "[1]", "ResultTimeSeries"),
        (
            "TimeSeries",
            time,
            "{\"1700001200\": NaN}",
            "ResultTimeSeries",
        ),
        (
            "TimeSeries",
            time,
            "{\"1700001200\": 2.5}",
            "ResultTimeSeries",
        ),
        (
            "TimeSeries",
            time,
            "{\"1700001200\": null}",
            "ResultTimeSeries",
        ),
        (
            "TimeSeries",
            time,
            "{\"1700001200\": 1e300}",
            "ResultTimeSeries",
        ),
        ("TimeSeries", time, "{\"noon\": 2}", "ResultTimeSeries"),
        ("TimeSeries", time, "{\"1700001200\": 2", "ResultTimeSeries"),
    ] {
        let error = result(kind, expires, series).unwrap_err();
        assert_eq!(error.reason(), reason, "{kind} {expires} {series}: {error}");
        assert!(error.to_string().contains("accepted"), "{error}");
    }
    let missing = read_result(&ResultData::default()).unwrap_err();
    assert_eq!(missing, ResultError::Missing("type"));
}
