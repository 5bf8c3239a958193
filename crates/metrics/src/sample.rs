//! Measurements as the three metrics APIs of Kubernetes return them. Values are in thousandths of
//! their unit, rounded away from zero as Kubernetes rounds a quantity.

use jiff::{SignedDuration, Timestamp};

use super::pod::ResourceRequests;
use super::signal::ResourceName;

/// Usage of the containers of one Pod (`PodMetrics` of `metrics.k8s.io`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodMetrics {
    /// The name of the Pod.
    pub pod: String,
    /// The end of the window that the usage is the mean of.
    pub timestamp: Timestamp,
    /// The length of that window.
    pub window: SignedDuration,
    /// The containers that are measured.
    pub containers: Vec<ContainerMetrics>,
}

/// Usage of one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerMetrics {
    /// The name of the container.
    pub name: String,
    /// The usage by resource.
    pub usage: ResourceRequests,
}

impl PodMetrics {
    /// The usage of a resource by the whole Pod, or by one container of it.
    ///
    /// A Pod of which no container is measured, or one container lacks the resource, is as good as
    /// not measured; for one container only that container counts.
    pub fn measurement(
        &self,
        resource: &ResourceName,
        container: Option<&str>,
    ) -> Option<Measurement> {
        let value = match container {
            Some(name) => {
                let named = self.containers.iter().find(|one| one.name == name)?;
                named.usage.get(resource)?
            }
            None if self.containers.is_empty() => return None,
            None => self.containers.iter().try_fold(0_i64, |sum, one| {
                Some(sum.wrapping_add(one.usage.get(resource)?))
            })?,
        };
        Some(Measurement {
            timestamp: self.timestamp,
            window: self.window,
            value,
        })
    }
}

/// One value of one Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodSample {
    /// The name of the Pod.
    pub pod: String,
    /// The measurement of the Pod.
    pub measurement: Measurement,
}

/// A value that is the mean over a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    /// The end of the window.
    pub timestamp: Timestamp,
    /// The length of the window.
    pub window: SignedDuration,
    /// The value, in thousandths.
    pub value: i64,
}

impl Measurement {
    /// The begin of the window.
    pub fn start(&self) -> Timestamp {
        self.before_its_end(self.window)
    }

    /// The time that the mean over the window speaks of best.
    pub fn centre(&self) -> Timestamp {
        self.before_its_end(self.window / 2)
    }

    fn before_its_end(&self, by: SignedDuration) -> Timestamp {
        self.timestamp.checked_sub(by).unwrap_or(Timestamp::MIN)
    }
}

/// One value of an object or of something outside of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueSample {
    /// When the value was measured.
    pub timestamp: Timestamp,
    /// The value, in thousandths.
    pub value: i64,
}
