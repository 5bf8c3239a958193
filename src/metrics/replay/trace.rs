//! The file format of traces: CSV with the names of the columns in the first row. `seconds` (since
//! the beginning, fractions allowed) is the time of a row; `node`, or `pod` as `namespace/name`, is
//! its subject. `cpu`, `memory` and `disk` are Kubernetes quantities. `networkIo`, `diskIo` and
//! `networkCapacity` are rates such as `10MB/s` or `5Mbps`. Columns are optional and in any order;
//! an empty value was not measured. A row replaces the previous one of its subject. Lines that
//! begin with `#` are remarks.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Amount, Resource, Resources};

/// A text that is no trace, with the line and what is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {given:?} is not accepted; accepted: {accepted}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    pub given: String,
    /// Description of what is accepted.
    pub accepted: String,
}

/// The node or Pod that a row describes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum UsageTraceSubject {
    Node(Arc<str>),
    Pod(PodName),
}

#[derive(Debug, Clone)]
pub(super) struct UsageTraceRow {
    pub(super) seconds: f64,
    pub(super) amounts: Resources<Option<Amount>>,
    pub(super) network_capacity: Option<Amount>,
}

#[derive(Debug, Clone, Default)]
pub struct UsageTrace {
    /// The rows of each subject, in the order of time.
    rows: HashMap<UsageTraceSubject, Vec<UsageTraceRow>>,
}

impl UsageTrace {
    /// The newest row of each subject at `position` seconds.
    pub(super) fn at(
        &self,
        position: f64,
    ) -> impl Iterator<Item = (&UsageTraceSubject, &UsageTraceRow)> {
        self.rows.iter().filter_map(move |(subject, rows)| {
            let past = rows.partition_point(|row| row.seconds <= position);
            Some((subject, rows.get(past.checked_sub(1)?)?))
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsageTraceColumn {
    Seconds,
    Node,
    Pod,
    Use(Resource),
    NetworkCapacity,
}

impl FromStr for UsageTraceColumn {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "seconds" => Self::Seconds,
            "node" => Self::Node,
            "pod" => Self::Pod,
            "networkCapacity" => Self::NetworkCapacity,
            resource => Self::Use(resource.parse().map_err(|_| {
                "a column is seconds, node, pod, cpu, memory, networkIo, diskIo, disk or \
                 networkCapacity"
            })?),
        })
    }
}

impl FromStr for UsageTrace {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, header) = lines
            .next()
            .ok_or_else(|| refused(1, "", "a row with the names of the columns"))?;
        let columns = header
            .split(',')
            .map(|name| {
                name.trim()
                    .parse()
                    .map_err(|accepted| refused(number, name, accepted))
            })
            .collect::<Result<Vec<UsageTraceColumn>, TraceError>>()?;
        if !columns.contains(&UsageTraceColumn::Seconds) {
            return Err(refused(number, header, "a column seconds is needed"));
        }
        let mut trace = Self::default();
        for (number, line) in lines {
            let (subject, row) = parse_row(&columns, line).map_err(|error| TraceError {
                line: number,
                ..error
            })?;
            trace.rows.entry(subject).or_default().push(row);
        }
        for rows in trace.rows.values_mut() {
            rows.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        }
        Ok(trace)
    }
}

fn parse_row(
    columns: &[UsageTraceColumn],
    line: &str,
) -> Result<(UsageTraceSubject, UsageTraceRow), TraceError> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        let accepted = format!("{} values, as many as columns", columns.len());
        return Err(refused(0, line, &accepted));
    }
    let mut subject = None;
    let mut row = UsageTraceRow {
        seconds: f64::NAN,
        amounts: Resources::default(),
        network_capacity: None,
    };
    for (column, field) in columns.iter().zip(fields) {
        match column {
            UsageTraceColumn::Seconds => row.seconds = seconds(field)?,
            _ if field.is_empty() => {}
            UsageTraceColumn::Node => {
                name_once(&mut subject, UsageTraceSubject::Node(field.into()), field)?;
            }
            UsageTraceColumn::Pod => {
                name_once(&mut subject, UsageTraceSubject::Pod(pod(field)?), field)?;
            }
            UsageTraceColumn::Use(resource) => {
                row.amounts[*resource] = Some(amount(*resource, field)?);
            }
            UsageTraceColumn::NetworkCapacity => {
                row.network_capacity = Some(amount(Resource::NetworkIo, field)?);
            }
        }
    }
    subject
        .map(|subject| (subject, row))
        .ok_or_else(|| refused(0, line, "a row names a node or a pod"))
}

fn name_once(
    known: &mut Option<UsageTraceSubject>,
    new: UsageTraceSubject,
    field: &str,
) -> Result<(), TraceError> {
    match known.replace(new) {
        None => Ok(()),
        Some(_) => Err(refused(0, field, "a row names a node or a pod, not both")),
    }
}

fn seconds(field: &str) -> Result<f64, TraceError> {
    field
        .parse()
        .ok()
        .filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
        .ok_or_else(|| refused(0, field, "a number of seconds, 0 or more"))
}

fn pod(field: &str) -> Result<PodName, TraceError> {
    match field.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok(PodName::new(namespace, name))
        }
        _ => Err(refused(0, field, "a Pod as namespace/name")),
    }
}

fn amount(resource: Resource, field: &str) -> Result<Amount, TraceError> {
    let amount = resource.parse_amount(field);
    amount.map_err(|error| refused(0, field, error.accepted()))
}

fn refused(line: usize, given: &str, accepted: &str) -> TraceError {
    TraceError {
        line,
        given: given.to_owned(),
        accepted: accepted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line, given) in [
            ("", 1, ""),
            ("node,cpu\n", 1, "node,cpu"),
            ("seconds,host\n", 1, "host"),
            ("# remark\n\nseconds,node\n1\n", 4, "1"),
            ("seconds,node\nx,a\n", 2, "x"),
            ("seconds,node\n-1,a\n", 2, "-1"),
            ("seconds,node\nNaN,a\n", 2, "NaN"),
            ("seconds,node\n1,\n", 2, "1,"),
            ("seconds,node,pod\n1,a,b/c\n", 2, "b/c"),
            ("seconds,pod\n1,b\n", 2, "b"),
            ("seconds,node,cpu\n1,a,1x\n", 2, "1x"),
            ("seconds,node,networkIo\n1,a,1xps\n", 2, "1xps"),
        ] {
            let error = text.parse::<UsageTrace>().unwrap_err();
            assert_eq!((error.line, &*error.given), (line, given), "{text:?}");
        }
    }

    #[test]
    fn rows_need_not_stand_in_the_order_of_time() {
        let trace: UsageTrace = "seconds,node,cpu\n10,a,2\n0,a,1\n".parse().unwrap();
        let cpu = |position| {
            let (_, row) = trace.at(position).next().unwrap();
            row.amounts[Resource::Cpu].unwrap().get()
        };
        assert_eq!(cpu(9.9), 1000);
        assert_eq!(cpu(10.0), 2000);
    }
}
