//! Answers to queries as they are kept, and those of one round together. An answer is a part of the
//! usage in columns, or the times that date other answers. A round's usage shares the columns of
//! its answers.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_metrics::usage::UsageSample;
use evenkeel_units::Resource;
use jiff::Timestamp;

use super::query::UsageQuery;
use super::rejected_samples::RejectedSamples;

#[derive(Debug, Default)]
pub struct QueryAnswer {
    pub content: Content,
    /// Values that were not taken.
    pub dropped: RejectedSamples,
    /// A warning of the source about its own answer, which may lack nodes or Pods.
    pub warning: Option<String>,
}

#[derive(Debug)]
pub enum Content {
    /// A part of the usage; all else is empty.
    Usage(UsageSample),
    /// When exporters were read.
    Times(SampleTimes),
}

impl Default for Content {
    fn default() -> Self {
        Self::Usage(UsageSample::default())
    }
}

/// The node that each `instance` is, with the time of the series that says so.
pub type Instances = HashMap<Box<str>, (Timestamp, Arc<str>)>;

/// When the exporters of the nodes were last read.
#[derive(Debug, Default)]
pub struct SampleTimes {
    pub by_node: HashMap<Arc<str>, NodeTimes>,
    pub instances: Instances,
}

/// When the exporters of one node were last read.
#[derive(Debug)]
pub struct NodeTimes {
    pub newest: Timestamp,
    /// Each for itself.
    pub by_instance: Vec<(Box<str>, Timestamp)>,
}

impl NodeTimes {
    /// When this exporter was last read.
    pub(crate) fn of(&self, instance: &str) -> Option<Timestamp> {
        let mut known = self.by_instance.iter();
        let (_, at) = known.find(|(known, _)| **known == *instance)?;
        Some(*at)
    }
}

impl QueryAnswer {
    pub(crate) fn newest(&self) -> Option<Timestamp> {
        let Content::Usage(usage) = &self.content else {
            return None;
        };
        let columns = usage.nodes.values().iter();
        let measured = columns.flat_map(|column| column.values());
        measured.map(|measurement| measurement.at).max()
    }
}

impl From<UsageSample> for QueryAnswer {
    fn from(usage: UsageSample) -> Self {
        Self {
            content: Content::Usage(usage),
            ..Self::default()
        }
    }
}

/// The answers that a round has had so far, in the order asked; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Answers(Vec<(UsageQuery, Arc<QueryAnswer>)>);

impl Answers {
    pub(crate) fn push(&mut self, query: UsageQuery, answer: Arc<QueryAnswer>) {
        self.0.push((query, answer));
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn hold(&self, query: UsageQuery) -> bool {
        self.0.iter().any(|(answered, _)| *answered == query)
    }

    /// The times of the exporters behind a resource of the nodes.
    pub(crate) fn times(&self, resource: Resource) -> Option<&SampleTimes> {
        let mut times = self.all_times();
        let (_, times) = times.find(|(query, _)| *query == UsageQuery::SampleTime(resource))?;
        Some(times)
    }

    /// All that says which instance is which node.
    pub(crate) fn instances(&self) -> impl Iterator<Item = &Instances> {
        self.all_times().map(|(_, times)| &times.instances)
    }

    pub(crate) fn usage(&self) -> UsageSample {
        let mut usage = UsageSample::default();
        for (_, answer) in &self.0 {
            if let Content::Usage(part) = &answer.content {
                usage.share(part);
            }
        }
        usage
    }

    fn all_times(&self) -> impl Iterator<Item = (UsageQuery, &SampleTimes)> {
        self.0.iter().filter_map(|(query, answer)| {
            let Content::Times(times) = &answer.content else {
                return None;
            };
            Some((*query, times))
        })
    }
}
