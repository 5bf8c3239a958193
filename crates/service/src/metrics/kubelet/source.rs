//! A source with rounds that take the disk usage from the answers of the kubelets.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use super::disks::Disks;
use crate::metrics::answer::{Answers, QueryAnswer};
use crate::metrics::blocking_pool::aside;
use crate::metrics::error::MetricsError;
use crate::metrics::query::UsageQuery;
use crate::metrics::source::MetricsSource;

pub struct WithDisks {
    source: Arc<dyn MetricsSource>,
    disks: Disks,
    queries: Vec<UsageQuery>,
}

impl WithDisks {
    pub fn new(source: Arc<dyn MetricsSource>, disks: Disks) -> Self {
        let mut queries = source.queries().to_vec();
        queries.push(UsageQuery::KubeletDisk);
        Self {
            source,
            disks,
            queries,
        }
    }
}

#[async_trait]
impl MetricsSource for WithDisks {
    fn name(&self) -> &'static str {
        self.source.name()
    }

    fn queries(&self) -> &[UsageQuery] {
        &self.queries
    }

    async fn fetch(
        &self,
        query: UsageQuery,
        before: &Answers,
        now: Timestamp,
    ) -> Result<QueryAnswer, MetricsError> {
        if query != UsageQuery::KubeletDisk {
            return self.source.fetch(query, before, now).await;
        }
        let disks = self.disks.clone();
        // A column is of up to 150,000 Pods.
        aside(move || disks.answer()).await
    }
}
