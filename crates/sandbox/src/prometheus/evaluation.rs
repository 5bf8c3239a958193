//! Evaluates an expression at one time, on the series of workloads at that time.

use std::collections::BTreeMap;

use super::expression::{
    Aggregation, Expression, Function, PromQlOperator, RangeFunction, Selector,
};

pub(super) type VectorLabels = BTreeMap<String, String>;
pub(super) type Vector = Vec<(VectorLabels, f64)>;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExporterSeries {
    pub(super) name: &'static str,
    pub(super) labels: VectorLabels,
    /// Value of a gauge, or the growth of a counter per second.
    pub(super) value: f64,
    pub(super) is_counter: bool,
    /// Seconds since its first sample.
    pub(super) sampled: f64,
}

enum Value {
    Scalar(f64),
    Vector(Vector),
}

/// Times are in seconds since 1970.
pub(super) struct PromQlContext<'s> {
    pub(super) seconds: f64,
    pub(super) series: &'s [ExporterSeries],
    /// Samples of a metric in so many seconds up to the time.
    pub(super) samples: &'s dyn Fn(&str, f64) -> Vec<ExporterSeries>,
    /// Names that have series at some time.
    pub(super) names: &'s [&'s str],
}

impl PromQlContext<'_> {
    /// A number counts as a series without labels.
    pub(super) fn vector(&self, expression: &Expression) -> Result<Vector, String> {
        Ok(match self.value(expression)? {
            Value::Scalar(value) => vec![(VectorLabels::new(), value)],
            Value::Vector(vector) => vector,
        })
    }

    fn value(&self, expression: &Expression) -> Result<Value, String> {
        Ok(match expression {
            Expression::Number(value) => Value::Scalar(*value),
            Expression::Time => Value::Scalar(self.seconds),
            Expression::Call(Function::Vector, of) => match self.value(of)? {
                Value::Scalar(value) => Value::Vector(vec![(VectorLabels::new(), value)]),
                Value::Vector(_) => return Err("vector() takes a number, not series".to_owned()),
            },
            Expression::Call(Function::Timestamp, of) => {
                let of = self.timed(of)?.into_iter();
                Value::Vector(of.map(|(labels, _)| (labels, self.seconds)).collect())
            }
            Expression::Series(selector) => Value::Vector(self.select(selector, false)?),
            Expression::Aggregate { by, operator, of } => {
                Value::Vector(aggregated(self.of_series(of)?, by, *operator))
            }
            Expression::Binary(left, operator, right) => {
                binary(self.value(left)?, *operator, self.value(right)?)?
            }
            Expression::And { left, on, right } => {
                let (mut left, right) = (self.of_series(left)?, self.of_series(right)?);
                let is_same = |one: &VectorLabels, other: &VectorLabels| {
                    on.iter().all(|label| one.get(label) == other.get(label))
                };
                left.retain(|(labels, _)| right.iter().any(|(other, _)| is_same(labels, other)));
                Value::Vector(left)
            }
            Expression::Before(of, seconds) => {
                let known = self.series.iter().filter(|one| one.sampled >= *seconds);
                let series: Vec<_> = known.cloned().collect();
                let before = PromQlContext {
                    series: &series,
                    ..*self
                };
                before.value(of)?
            }
        })
    }

    /// For `timestamp`, which also accepts counters.
    fn timed(&self, of: &Expression) -> Result<Vector, String> {
        match of {
            Expression::Series(selector) => self.select(selector, true),
            of => self.of_series(of),
        }
    }

    /// For operators that need series.
    fn of_series(&self, of: &Expression) -> Result<Vector, String> {
        match self.value(of)? {
            Value::Vector(vector) => Ok(vector),
            Value::Scalar(value) => Err(format!("{value} is a number where series are needed")),
        }
    }

    fn select(&self, selector: &Selector, timed: bool) -> Result<Vector, String> {
        let Selector {
            name,
            matchers,
            over,
        } = selector;
        if !self.names.contains(&&**name) {
            let names = self.names.join(", ");
            return Err(format!("there is no metric {name}; there are {names}"));
        }
        let accepted = |series: &&ExporterSeries| {
            let label = |label: &str| series.labels.get(label).map(String::as_str);
            series.name == name && matchers.iter().all(|matcher| matcher.accepts(label))
        };
        let is_counter = || format!("{name} is a counter: ask for its rate or increase");
        if let Some((RangeFunction::Values(operator), seconds)) = over {
            let samples = (self.samples)(name, *seconds);
            let mut values: BTreeMap<VectorLabels, Vec<f64>> = BTreeMap::new();
            for sample in samples.iter().filter(accepted) {
                if sample.is_counter {
                    return Err(is_counter());
                }
                let labels = sample.labels.clone();
                values.entry(labels).or_default().push(sample.value);
            }
            return Ok(put_together(values, *operator));
        }
        let mut found = Vector::new();
        for series in self.series.iter().filter(accepted) {
            let value = match (series.is_counter, over) {
                (_, None) if timed => self.seconds,
                (true, Some((RangeFunction::Rate, _)))
                | (false, None | Some((RangeFunction::Newest, _))) => series.value,
                (true, Some((RangeFunction::Increase, seconds))) => {
                    series.value * seconds.min(series.sampled)
                }
                (true, _) => return Err(is_counter()),
                (false, _) => return Err(format!("{name} is a gauge: it has no rate")),
            };
            found.push((series.labels.clone(), value));
        }
        Ok(found)
    }
}

fn aggregated(of: Vector, by: &[String], operator: Aggregation) -> Vector {
    let mut groups: BTreeMap<VectorLabels, Vec<f64>> = BTreeMap::new();
    for (mut labels, value) in of {
        labels.retain(|label, _| by.contains(label));
        groups.entry(labels).or_default().push(value);
    }
    put_together(groups, operator)
}

fn put_together(groups: BTreeMap<VectorLabels, Vec<f64>>, operator: Aggregation) -> Vector {
    let of_group = |values: Vec<f64>| {
        let count = values.iter().map(|_| 1.0).sum::<f64>();
        let sum = values.iter().sum::<f64>();
        match operator {
            Aggregation::Sum => sum,
            Aggregation::Avg => sum / count,
            Aggregation::Count => count,
            Aggregation::Min => values.into_iter().fold(f64::INFINITY, f64::min),
            Aggregation::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    };
    let groups = groups.into_iter();
    groups
        .map(|(labels, values)| (labels, of_group(values)))
        .collect()
}

fn binary(left: Value, operator: PromQlOperator, right: Value) -> Result<Value, String> {
    let of_number = |vector: Vector, of: &dyn Fn(f64) -> Option<f64>| {
        let kept = vector.into_iter();
        Value::Vector(
            kept.filter_map(|(labels, value)| Some((labels, of(value)?)))
                .collect(),
        )
    };
    Ok(match (left, right) {
        (Value::Scalar(_), _) | (_, Value::Scalar(_)) if operator == PromQlOperator::Or => {
            return Err("\"or\" is for series, not for numbers: vector(1) is a series".to_owned());
        }
        (Value::Scalar(left), Value::Scalar(right)) => {
            let value = computed(left, operator, right).filter(|_| !operator.compares());
            Value::Scalar(value.ok_or("two numbers are not compared: one side has to be series")?)
        }
        (Value::Vector(left), Value::Scalar(right)) => {
            of_number(left, &|value| computed(value, operator, right))
        }
        (Value::Scalar(left), Value::Vector(right)) => of_number(right, &|value| {
            let found = computed(left, operator, value)?;
            Some(if operator.compares() { value } else { found })
        }),
        (Value::Vector(mut left), Value::Vector(right)) if operator == PromQlOperator::Or => {
            let known: Vec<VectorLabels> = left.iter().map(|(labels, _)| labels.clone()).collect();
            left.extend(
                right
                    .into_iter()
                    .filter(|(labels, _)| !known.contains(labels)),
            );
            Value::Vector(left)
        }
        (Value::Vector(left), Value::Vector(right)) => {
            let right: BTreeMap<VectorLabels, f64> = right.into_iter().collect();
            let both = left.into_iter().filter_map(|(labels, value)| {
                let other = right.get(&labels)?;
                Some((labels, computed(value, operator, *other)?))
            });
            Value::Vector(both.collect())
        }
    })
}

/// `None` if a comparison drops the first number.
fn computed(left: f64, operator: PromQlOperator, right: f64) -> Option<f64> {
    Some(match operator {
        PromQlOperator::Or => left,
        PromQlOperator::Greater => return (left > right).then_some(left),
        PromQlOperator::Less => return (left < right).then_some(left),
        PromQlOperator::Plus => left + right,
        PromQlOperator::Minus => left - right,
        PromQlOperator::Times => left * right,
        PromQlOperator::By => left / right,
    })
}

#[cfg(test)]
mod tests {
    use super::super::expression::parse;
    use super::*;

    const NAMES: [&str; 3] = ["cpu_total", "memory", "kills_total"];

    fn asked(text: &str) -> Result<Vec<(String, f64)>, String> {
        let series = |name, pod: &str, value, is_counter| ExporterSeries {
            name,
            labels: [("namespace", "shop"), ("pod", pod)]
                .map(|(label, value)| (label.to_owned(), value.to_owned()))
                .into(),
            value,
            is_counter,
            sampled: 60.0,
        };
        let memory = |value| series("memory", "web-1", value, false);
        let samples = |name: &str, seconds: f64| {
            let mut all = [300.0, 50.0, 100.0].map(memory).to_vec();
            if seconds < 3600.0 {
                all.remove(0);
            }
            if name == "cpu_total" {
                all = vec![series("cpu_total", "web-1", 0.5, true)];
            }
            all
        };
        let series = [
            series("cpu_total", "web-1", 0.5, true),
            series("cpu_total", "web-2", 1.5, true),
            series("cpu_total", "store-1", 9.0, true),
            series("memory", "web-1", 100.0, false),
        ];
        let moment = PromQlContext {
            seconds: 1_000.0,
            series: &series,
            samples: &samples,
            names: &NAMES,
        };
        let found = moment.vector(&parse(text)?)?.into_iter();
        let told = found.map(|(labels, value)| {
            let labels: Vec<String> = labels.into_values().collect();
            (labels.join("/"), value)
        });
        Ok(told.collect())
    }

    #[test]
    fn what_people_ask_is_answered() {
        let one = |value| vec![(String::new(), value)];
        for (text, expected) in [
            ("sum(rate(cpu_total{pod=~\"web-.+\"}[5m]))", one(2.0)),
            (
                "sum(rate(cpu_total{namespace=\"shop\",pod!~\"web-.+\"}[1m30s]))",
                one(9.0),
            ),
            (
                "100 * avg(rate(cpu_total{pod=~\"web-.+\"}[5m])) / 0.5",
                one(200.0),
            ),
            ("count(irate(cpu_total[5m]) > 1)", one(2.0)),
            (
                "sum by (namespace) (rate(cpu_total[1m]))",
                vec![("shop".to_owned(), 11.0)],
            ),
            (
                "max(rate(cpu_total[1m])) by (namespace)",
                vec![("shop".to_owned(), 9.0)],
            ),
            (
                "memory{pod=\"web-1\"}",
                vec![("shop/web-1".to_owned(), 100.0)],
            ),
            (
                "max_over_time(memory[1h]) or vector(1)",
                vec![("shop/web-1".to_owned(), 300.0), (String::new(), 1.0)],
            ),
            ("sum(max_over_time(memory[30m]))", one(100.0)),
            ("sum(min_over_time(memory[1h]))", one(50.0)),
            ("sum(avg_over_time(memory[1h]))", one(150.0)),
            ("sum(last_over_time(memory[1h]))", one(100.0)),
            ("max_over_time(memory{pod=\"web-2\"}[1h])", Vec::new()),
            (
                "1 < rate(cpu_total{pod=~\"web-.+\"}[5m])",
                vec![("shop/web-2".to_owned(), 1.5)],
            ),
            (
                "1 > rate(cpu_total{pod=~\"web-.+\"}[5m])",
                vec![("shop/web-1".to_owned(), 0.5)],
            ),
            ("sum(increase(cpu_total{pod=\"web-2\"}[1d]))", one(90.0)),
            ("sum(increase(cpu_total{pod=\"web-2\"}[10s]))", one(15.0)),
            (
                "max by (pod) (timestamp(cpu_total{pod=\"web-2\"}))",
                vec![("web-2".to_owned(), 1_000.0)],
            ),
            (
                "increase(cpu_total{pod=\"web-1\"}[10s]) / (increase(cpu_total[10s]) > 0)",
                vec![("shop/web-1".to_owned(), 1.0)],
            ),
            ("sum(increase(kills_total[1d]))", Vec::new()),
            ("vector(time())", one(1_000.0)),
            ("1 + 2 * 3", one(7.0)),
        ] {
            assert_eq!(asked(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn pods_that_were_measured_before_are_told() {
        for (text, expected) in [
            ("avg((rate(cpu_total[1m]) and on (pod) memory))", vec![0.5]),
            // Sampled for a minute.
            (
                "count((memory and on (pod) last_over_time((memory)[1s:1s] offset 60000ms)))",
                vec![1.0],
            ),
            (
                "count((memory and on (pod) last_over_time((memory)[1s:1s] offset 60001ms)))",
                Vec::new(),
            ),
        ] {
            let found = asked(text).unwrap().into_iter();
            let found: Vec<f64> = found.map(|(_, value)| value).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (text, why) in [
            (
                "up",
                "there is no metric up; there are cpu_total, memory, kills_total",
            ),
            ("cpu_total", "cpu_total is a counter"),
            ("max_over_time(cpu_total[1m])", "cpu_total is a counter"),
            ("1 > 2", "two numbers are not compared"),
            ("2 > time() - 5", "two numbers are not compared"),
            ("memory or 1", "\"or\" is for series"),
            ("1 or memory", "\"or\" is for series"),
            ("1 or 2", "\"or\" is for series"),
            ("memory and 1", "\"and 1\" is not known"),
            ("memory unless 1", "\"unless 1\" is not known"),
            ("sum(1)", "1 is a number where series are needed"),
            ("timestamp(1)", "1 is a number where series are needed"),
            ("vector(memory)", "vector() takes a number"),
            ("rate(memory[1m])", "memory is a gauge"),
            (
                "histogram_quantile(0.9, memory)",
                "\"histogram_quantile(0.9, memory)\" is not known",
            ),
            ("sum(memory", "\")\" is missing"),
            ("memory offset 1h", "\"offset 1h\" is not known"),
            ("rate(cpu_total[1y])", "\"y\" is no unit of time"),
            ("", "is not known"),
        ] {
            let error = asked(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    /// A query of so many parentheses ended the whole process.
    #[test]
    fn a_query_of_many_parts_is_refused() {
        let many = 1_000_000;
        for (begin, middle, end) in [
            ("(", "1", ")"),
            ("-", "1", ""),
            ("vector(", "1", ")"),
            ("sum(", "memory", ")"),
            ("max by (pod) (", "memory", ")"),
            ("timestamp(", "memory", ")"),
            ("rate(", "cpu_total[1m]", ")"),
            ("1+", "1", ""),
            ("memory or ", "memory", ""),
            ("1*(1+", "1", ")"),
        ] {
            let text = [&begin.repeat(many), middle, &end.repeat(many)].concat();
            let error = parse(&text).unwrap_err();
            assert!(error.len() < 200, "{begin}: {error}");
        }
        let nested = |count| ["(".repeat(count), "1".to_owned(), ")".repeat(count)].concat();
        assert_eq!(asked(&nested(63)), Ok(vec![(String::new(), 1.0)]));
        let error = asked(&nested(64)).unwrap_err();
        assert!(error.contains("more than 64 parts"), "{error}");
    }
}
