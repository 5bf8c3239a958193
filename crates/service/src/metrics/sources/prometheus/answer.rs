//! The answers of `/api/v1/query` and `/api/v1/query_range`, read series by series. An answer for
//! 150,000 Pods is some 25 MB of JSON, so labels borrow from the body, and no list of series is
//! built. An answer is taken whole or not at all: one with an error or of another result type is
//! refused before its first series. An unreadable series is as good as a warning. An answer with a
//! warning is incomplete: it is taken if each series is a node or a Pod, because the others are
//! merely absent; one number or a past may be an incomplete sum, and is refused.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::metrics::error::{MetricsError, excerpt};

#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub(super) struct PromLabels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl PromLabels<'_> {
    /// The value of a label; an empty one is the same as none, as in Prometheus.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(label, _)| label == name)?;
        (!value.is_empty()).then_some(value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The labels on their own, to be looked at after the whole answer is read.
    pub(super) fn detached(&self) -> PromLabels<'static> {
        self.without(&[])
    }

    /// The same without some of them.
    pub(super) fn without(&self, names: &[&str]) -> PromLabels<'static> {
        let own = |text: &str| Cow::Owned(text.to_owned());
        PromLabels(
            self.iter()
                .filter(|(name, _)| !names.contains(name))
                .map(|(name, value)| (own(name), own(value)))
                .collect(),
        )
    }

    #[cfg(test)]
    pub(super) fn of<'a>(labels: &[(&'a str, &'a str)]) -> PromLabels<'a> {
        PromLabels(
            labels
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
        )
    }
}

/// Hands each series of an instant vector to `each`, with its value; histograms and unreadable
/// series have none. Returns the answer's first warning, or the first such series.
///
/// # Errors
/// The answer is no instant vector.
pub(super) fn read(
    body: &[u8],
    mut each: impl FnMut(&PromLabels<'_>, Option<f64>),
) -> Result<Option<String>, MetricsError> {
    let envelope = Envelope::of(body)?;
    let warning = envelope.warning();
    let mut is_any_read = false;
    let RejectedSeries { count, first } =
        envelope.each_series("vector", body, |labels, found| {
            is_any_read = true;
            each(labels, found.value.map(|point| point.value));
        })?;
    let first = match first {
        Some(first) if !is_any_read => return Err(MetricsError::malformed(&first, body)),
        first => first,
    };
    for _ in 0..count {
        each(&PromLabels::default(), None);
    }
    Ok(warning.or(first))
}

/// The one value of an instant query: a scalar, or a vector of one series.
///
/// # Errors
/// The answer is neither, or holds another number of series.
pub(super) fn read_one(body: &[u8]) -> Result<PromPoint, MetricsError> {
    let envelope = Envelope::of(body)?.undoubted()?;
    let is_scalar = |data: &Data<'_>| data.result_type == "scalar";
    if envelope.data.as_ref().is_some_and(is_scalar) {
        let result = envelope.into_result("scalar", body)?;
        return serde_json::from_str(result.get())
            .map_err(|error| MetricsError::malformed(&error, body));
    }
    let (mut found, mut given) = (None, 0);
    let unreadable = envelope.each_series("vector", body, |_, series| {
        given += 1;
        found = series.value;
    })?;
    all_read(unreadable, body)?;
    found
        .filter(|_| given == 1)
        .ok_or(MetricsError::SeriesCount { given })
}

/// Hands each series of a range vector to `each`, with its points in the order of the answer;
/// histograms have none.
///
/// # Errors
/// The answer is no whole, undoubted range vector.
pub(super) fn read_range(
    body: &[u8],
    mut each: impl FnMut(&PromLabels<'_>, &[PromPoint]),
) -> Result<(), MetricsError> {
    let envelope = Envelope::of(body)?.undoubted()?;
    let unreadable =
        envelope.each_series("matrix", body, |labels, found| each(labels, &found.points))?;
    all_read(unreadable, body)
}

/// Refuses an answer with series that cannot be read, where it may be a sum that lacks them.
fn all_read(unreadable: RejectedSeries, body: &[u8]) -> Result<(), MetricsError> {
    match unreadable.first {
        Some(first) => Err(MetricsError::malformed(&first, body)),
        None => Ok(()),
    }
}

#[derive(Default)]
struct RejectedSeries {
    count: u64,
    first: Option<String>,
}

/// The refusal that an answer with an HTTP error status holds, if it is Prometheus's own.
pub(super) fn refusal(body: &[u8]) -> Option<MetricsError> {
    let envelope: Envelope<'_> = serde_json::from_slice(body).ok()?;
    (envelope.status == "error").then(|| envelope.refused())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    data: Option<Data<'a>>,
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    result_type: String,
    #[serde(borrow)]
    result: &'a RawValue,
}

impl<'a> Envelope<'a> {
    fn of(body: &'a [u8]) -> Result<Self, MetricsError> {
        serde_json::from_slice(body).map_err(|error| MetricsError::malformed(&error, body))
    }

    /// The first thing that the server has to say against its answer.
    fn warning(&self) -> Option<String> {
        self.warnings.first().map(|first| excerpt(first))
    }

    /// The same where there is no warning.
    fn undoubted(self) -> Result<Self, MetricsError> {
        match self.warning() {
            Some(first) if self.status == "success" => Err(MetricsError::Warnings { first }),
            _ => Ok(self),
        }
    }

    /// Hands over each series that can be read, and says of each other one what is wrong with it.
    fn each_series(
        self,
        wanted: &'static str,
        body: &[u8],
        mut each: impl FnMut(&PromLabels<'_>, &PromSeriesContent),
    ) -> Result<RejectedSeries, MetricsError> {
        let result = self.into_result(wanted, body)?;
        let mut series = serde_json::Deserializer::from_str(result.get());
        EachSeries(&mut each)
            .deserialize(&mut series)
            .map_err(|error| MetricsError::malformed(&error, body))
    }

    fn refused(&self) -> MetricsError {
        MetricsError::Refused {
            kind: excerpt(&self.error_type),
            message: excerpt(&self.error),
        }
    }

    fn into_result(self, wanted: &'static str, body: &[u8]) -> Result<&'a RawValue, MetricsError> {
        if self.status == "error" {
            return Err(self.refused());
        }
        match self.data {
            Some(data) if self.status == "success" && data.result_type == wanted => Ok(data.result),
            Some(data) if self.status == "success" => Err(MetricsError::ResultType {
                given: excerpt(&data.result_type),
                wanted,
            }),
            _ => Err(MetricsError::malformed(&"neither success nor error", body)),
        }
    }
}

/// Text that borrows from the body unless it holds escapes.
#[derive(Deserialize)]
struct PromText<'a>(#[serde(borrow)] Cow<'a, str>);

/// A value with its time, `[time, "number"]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PromPoint {
    pub(super) time: f64,
    pub(super) value: f64,
}

impl<'de> Deserialize<'de> for PromPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (time, text): (f64, PromText<'de>) = Deserialize::deserialize(deserializer)?;
        let value = text
            .0
            .parse()
            .map_err(|_| D::Error::custom("a value is not a number"))?;
        Ok(Self { time, value })
    }
}

/// Content of a series: one value in an instant vector, points in a range vector.
#[derive(Default)]
struct PromSeriesContent {
    value: Option<PromPoint>,
    points: Vec<PromPoint>,
}

struct EachSeries<'f, F>(&'f mut F);

impl<'de, F: FnMut(&PromLabels<'_>, &PromSeriesContent)> DeserializeSeed<'de>
    for EachSeries<'_, F>
{
    type Value = RejectedSeries;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(&PromLabels<'_>, &PromSeriesContent)> Visitor<'de> for EachSeries<'_, F> {
    type Value = RejectedSeries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut labels, mut unreadable) = (PromLabels::default(), RejectedSeries::default());
        // The text of each is set apart first, so that its faults are its own.
        while let Some(text) = list.next_element::<&RawValue>()? {
            let mut series = serde_json::Deserializer::from_str(text.get());
            match OneSeries(&mut labels).deserialize(&mut series) {
                Ok(found) => (self.0)(&labels, &found),
                Err(error) => {
                    unreadable.count += 1;
                    let named = || format!("{error} in the series {}", excerpt(text.get()));
                    unreadable.first.get_or_insert_with(named);
                }
            }
        }
        Ok(unreadable)
    }
}

/// Reads one series, its labels into a buffer that is used again for the next.
struct OneSeries<'l, 'de>(&'l mut PromLabels<'de>);

impl<'de> DeserializeSeed<'de> for OneSeries<'_, 'de> {
    type Value = PromSeriesContent;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<PromSeriesContent, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneSeries<'_, 'de> {
    type Value = PromSeriesContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a series")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut series: A) -> Result<PromSeriesContent, A::Error> {
        self.0.0.clear();
        let mut found = PromSeriesContent::default();
        while let Some(PromText(key)) = series.next_key()? {
            match &*key {
                "metric" => series.next_value_seed(LabelList(self.0))?,
                "value" => found.value = Some(series.next_value::<PromPoint>()?),
                "values" => found.points = series.next_value()?,
                _ => drop(series.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

struct LabelList<'l, 'de>(&'l mut PromLabels<'de>);

impl<'de> DeserializeSeed<'de> for LabelList<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LabelList<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the labels of a series")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut labels: A) -> Result<(), A::Error> {
        while let Some((PromText(name), PromText(value))) = labels.next_entry()? {
            self.0.0.push((name, value));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(body: &str) -> Result<Vec<(String, Option<f64>)>, MetricsError> {
        let mut found = Vec::new();
        read(body.as_bytes(), |labels, value| {
            found.push((labels.get("pod").unwrap_or("-").to_owned(), value));
        })?;
        Ok(found)
    }

    #[test]
    fn every_series_is_handed_over_with_its_own_labels() {
        let body = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"pod":"a","n\u006f":"x"},"value":[1700000000.1,"1.5"]},
            {"metric":{},"value":[1700000000,"NaN"]},
            {"metric":{"pod":"b\n"},"value":[1,"+Inf"],"new":{"field":[1]}},
            {"metric":{"pod":"h"},"histogram":[1,{"count":"2"}]}]},"infos":["harmless"]}"#;
        let found = values(body).unwrap();
        assert_eq!(found[0], ("a".to_owned(), Some(1.5)));
        assert_eq!(found[1].0, "-");
        assert!(found[1].1.unwrap().is_nan());
        assert_eq!(found[2], ("b\n".to_owned(), Some(f64::INFINITY)));
        assert_eq!(found[3], ("h".to_owned(), None));
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn what_is_no_whole_instant_vector_is_refused_with_its_reason() {
        let success = |result: &str| {
            format!(r#"{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}"#)
        };
        for (body, reason) in [
            (String::new(), "Malformed"),
            ("garbage".to_owned(), "Malformed"),
            ("<html><body>Sign in</body></html>".to_owned(), "Malformed"),
            ("null".to_owned(), "Malformed"),
            (r#"{"status":"success"}"#.to_owned(), "Malformed"),
            (r#"{"status":"maybe","data":null}"#.to_owned(), "Malformed"),
            (success("[{}")[..60].to_owned(), "Malformed"),
            (success("{}"), "Malformed"),
            (success("[1]"), "Malformed"),
            (
                success(r#"[{"metric":{"pod":1},"value":[1,"1"]}]"#),
                "Malformed",
            ),
            (success(r#"[{"metric":{},"value":[1,"one"]}]"#), "Malformed"),
            (success(r#"[{"metric":{},"value":[1]}]"#), "Malformed"),
            (
                r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#.to_owned(),
                "ResultType",
            ),
            (
                r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#.to_owned(),
                "QueryRefused",
            ),
        ] {
            assert_eq!(values(&body).unwrap_err().reason(), reason, "{body}");
        }
        assert_eq!(values(&success("[]")).unwrap(), []);
    }

    /// The harm: one series took the measurements of all nodes away.
    #[test]
    fn a_series_that_cannot_be_read_is_named_and_leaves_the_others() {
        for broken in [
            r#"{"metric":{"pod":"bad"},"value":[1,"one"]}"#,
            r#"{"metric":{"pod":7},"value":[1,"1"]}"#,
            r#"{"metric":{"pod":"bad"},"value":null}"#,
            "null",
            "[]",
        ] {
            let body = |kind: &str, value: &str| {
                let good = |pod: &str| format!(r#"{{"metric":{{"pod":"{pod}"}},{value}}}"#);
                format!(
                    r#"{{"status":"success","data":{{"resultType":"{kind}","result":[{},{broken},{}]}}}}"#,
                    good("a"),
                    good("b")
                )
            };
            let vector = body("vector", r#""value":[1,"2"]"#);
            let mut found = Vec::new();
            let warning = read(vector.as_bytes(), |labels, value| {
                found.push((labels.get("pod").map(str::to_owned), value));
            });
            let warning = warning.unwrap().unwrap();
            assert!(warning.ends_with(broken), "{warning}");
            let good = |pod: &str| (Some(pod.to_owned()), Some(2.0));
            assert_eq!(found, [good("a"), good("b"), (None, None)], "{broken}");
            let matrix = body("matrix", r#""values":[[1,"2"]]"#);
            let past = read_range(matrix.as_bytes(), |_, _| ());
            assert_eq!(past.unwrap_err().reason(), "Malformed", "{broken}");
        }
    }

    #[test]
    fn a_part_of_the_nodes_is_taken_with_its_warning_and_a_part_of_a_sum_is_not() {
        let body = |kind: &str, point: &str| {
            format!(
                r#"{{"status":"success","data":{{"resultType":"{kind}","result":[
                {{"metric":{{"pod":"a"}},{point}}}]}},"warnings":["no store for\n7d"],"infos":["x"]}}"#
            )
        };
        let vector = body("vector", r#""value":[1,"2"]"#);
        let mut taken = 0;
        let warning = read(vector.as_bytes(), |_, _| taken += 1).unwrap();
        assert_eq!((taken, warning.as_deref()), (1, Some("no store for 7d")));
        let matrix = body("matrix", r#""values":[[1,"2"]]"#);
        let past = read_range(matrix.as_bytes(), |_, _| panic!("taken"));
        assert_eq!(past.unwrap_err().reason(), "Warnings");
        let one = read_one(vector.as_bytes());
        assert_eq!(one.unwrap_err().reason(), "Warnings");
    }

    #[test]
    fn only_an_answer_of_prometheus_itself_is_a_refusal() {
        let error =
            refusal(br#"{"status":"error","errorType":"execution","error":"many-to-many"}"#);
        assert_eq!(
            error.unwrap().to_string(),
            "query refused (execution): many-to-many"
        );
        assert!(refusal(b"{\"message\":\"no healthy upstream\"}").is_none());
        assert!(refusal(b"upstream").is_none());
    }

    #[test]
    fn a_range_is_handed_over_point_by_point() {
        let body = r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"pod":"a"},"values":[[1700000000.5,"1.5"],[1700000015.5,"NaN"]]},
            {"metric":{"pod":"h"},"histograms":[[1,{"count":"2"}]]}]}}"#;
        let mut found = Vec::new();
        read_range(body.as_bytes(), |labels, points| {
            found.push((labels.get("pod").unwrap().to_owned(), points.to_vec()));
        })
        .unwrap();
        assert_eq!(found[0].0, "a");
        assert_eq!(found[0].1[0].time.to_string(), "1700000000.5");
        assert_eq!(found[0].1[0].value.to_string(), "1.5");
        assert!(found[0].1[1].value.is_nan());
        assert_eq!(found[1], ("h".to_owned(), Vec::new()));
        let vector = body.replace("matrix", "vector");
        let error = read_range(vector.as_bytes(), |_, _| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the query returns a vector, not a matrix"
        );
        let cut = read_range(&body.as_bytes()[..body.len() - 4], |_, _| ());
        assert_eq!(cut.unwrap_err().reason(), "Malformed");
    }

    #[test]
    fn one_value_is_a_scalar_or_a_vector_of_one_series() {
        let of = |kind: &str, result: &str| {
            let data = format!(r#"{{"resultType":"{kind}","result":{result}}}"#);
            read_one(format!(r#"{{"status":"success","data":{data}}}"#).as_bytes())
        };
        let one = r#"{"metric":{},"value":[1700000000,"2.5"]}"#;
        let point = PromPoint {
            time: 1_700_000_000.0,
            value: 2.5,
        };
        assert_eq!(of("scalar", r#"[1700000000,"2.5"]"#).unwrap(), point);
        assert_eq!(of("vector", &format!("[{one}]")).unwrap(), point);
        for (kind, result, reason) in [
            ("vector", "[]".to_owned(), "NoValues"),
            ("vector", format!("[{one},{one}]"), "SeveralValues"),
            (
                "vector",
                r#"[{"metric":{},"histogram":[1,{}]}]"#.to_owned(),
                "SeveralValues",
            ),
            ("string", r#"[1,"x"]"#.to_owned(), "ResultType"),
            ("matrix", "[]".to_owned(), "ResultType"),
            ("scalar", "[1]".to_owned(), "Malformed"),
        ] {
            assert_eq!(of(kind, &result).unwrap_err().reason(), reason, "{result}");
        }
        let refused = br#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        assert_eq!(read_one(refused).unwrap_err().reason(), "QueryRefused");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(body in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = read(&body, |_, _| ());
            let _ = read_range(&body, |_, _| ());
            let _ = read_one(&body);
        }

        #[test]
        fn no_cut_makes_it_take_part_of_an_answer(cut in 0_usize..120) {
            let whole = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"1"]},{"metric":{},"value":[1,"2"]}]}}"#;
            let mut taken = 0;
            proptest::prop_assert!(read(&whole.as_bytes()[..cut], |_, _| taken += 1).is_err());
            proptest::prop_assert_eq!(taken, 0);
        }
    }
}
