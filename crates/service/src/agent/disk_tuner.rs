//! Limits of disk I/O that follow the use of their Pods, for annotations that end in `tuned`.
//!
//! Each minute the bytes of such a Pod are counted; its rate in a direction is that of the disk that it used most.
//! Each interval of `tuning` its limit moves by the five newest rates ([`disk_limit`]). What is known is lost
//! with the agent: a new one begins with the limits of the annotations.

use std::collections::{BTreeMap, HashMap, HashSet};

use evenkeel_disk_io::cgroup::{Device, IoByteCounts};
use evenkeel_disk_io::disk_io_limit::DiskIoLimit;
use evenkeel_tuning::decision::{
    DiskLimitBounds, Elasticity, MinuteSamples, SampleWindow, disk_limit,
};
use evenkeel_units::{Amount, BytesPerSecond};
use jiff::{SignedDuration, Timestamp};

use super::host::Host;
use super::limiter::PodDiskLimit;

const MINUTE: SignedDuration = SignedDuration::from_mins(1);
/// The oldest newest sample by which a limit moves.
const FRESH: SignedDuration = SignedDuration::from_secs(150);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskTuning {
    pub interval: SignedDuration,
    pub elasticity: Elasticity,
    /// The least rate that a Pod is limited to.
    pub least: BytesPerSecond,
}

/// Follows the Pods of a node with limits that are tuned.
#[derive(Debug)]
pub(super) struct DiskTuner {
    host: Host,
    settings: DiskTuning,
    /// By the kubelet's UIDs.
    pods: HashMap<String, TunedPod>,
}

#[derive(Debug)]
struct TunedPod {
    /// The limit in the annotation.
    annotated: DiskIoLimit,
    limit: DiskIoLimit,
    counted: Option<(Timestamp, BTreeMap<Device, IoByteCounts>)>,
    rates: SampleWindow<IoRates>,
    /// When its limit could move last.
    turn: Timestamp,
}

/// Bytes a second on the disk that was used most.
#[derive(Debug, Clone, Copy, Default)]
struct IoRates {
    read: Amount,
    write: Amount,
}

impl DiskTuner {
    pub(super) fn new(host: Host, settings: DiskTuning) -> Self {
        Self {
            host,
            settings,
            pods: HashMap::new(),
        }
    }

    /// Puts the limits that follow the use in place of those of the annotations.
    pub(super) fn tune(&mut self, asked: &mut [PodDiskLimit], now: Timestamp) {
        let mut seen = HashSet::new();
        for PodDiskLimit { pod, limit } in asked.iter_mut().filter(|one| one.limit.is_tuned) {
            let (Some(uid), Some(cgroup)) = (pod.kubelet_uid(), self.host.cgroup(pod)) else {
                continue;
            };
            seen.insert(uid.to_owned());
            let known = self.pods.entry(uid.to_owned());
            let tuned = known.or_insert_with(|| TunedPod::new(*limit, now));
            if tuned.annotated != *limit {
                (tuned.annotated, tuned.limit) = (*limit, *limit);
            }
            let counted = tuned
                .is_count_due(now)
                .then(|| self.host.transferred(&cgroup));
            if let Some(counted) = counted.flatten() {
                tuned.count(counted, now);
            }
            tuned.follow(self.settings, now);
            *limit = tuned.limit;
        }
        self.pods.retain(|uid, _| seen.contains(uid));
    }
}

impl TunedPod {
    fn new(annotated: DiskIoLimit, now: Timestamp) -> Self {
        Self {
            annotated,
            limit: annotated,
            counted: None,
            rates: SampleWindow::default(),
            turn: now,
        }
    }

    fn is_count_due(&self, now: Timestamp) -> bool {
        let counted = self.counted.as_ref();
        // A clock that was set back begins anew.
        counted.is_none_or(|(at, _)| now.duration_since(*at) >= MINUTE || now < *at)
    }

    fn count(&mut self, bytes: BTreeMap<Device, IoByteCounts>, now: Timestamp) {
        if let Some((at, before)) = self.counted.as_ref().filter(|(at, _)| *at < now) {
            let seconds = u64::try_from(now.duration_since(*at).as_secs()).unwrap_or(0);
            let rate = |of: fn(&IoByteCounts) -> u64| {
                let disks = bytes.iter();
                let moved = disks.map(|(device, now)| {
                    let before = before.get(device).map_or(0, of);
                    of(now).saturating_sub(before)
                });
                Amount::new(moved.max().unwrap_or(0) / seconds.max(1))
            };
            let rates = IoRates {
                read: rate(|bytes| bytes.read),
                write: rate(|bytes| bytes.written),
            };
            self.rates.push(now, rates, MINUTE);
        }
        self.counted = Some((now, bytes));
    }

    /// Moves the limit where it is its turn and enough is known.
    fn follow(&mut self, settings: DiskTuning, now: Timestamp) {
        let DiskTuning {
            interval,
            elasticity,
            least,
        } = settings;
        let since = now.duration_since(self.turn);
        let rates = self.rates.samples(now, FRESH);
        let Some(rates) = rates.filter(|_| since >= interval || since.is_negative()) else {
            return;
        };
        self.turn = now;
        let moved = |current: Option<BytesPerSecond>,
                     annotated: Option<BytesPerSecond>,
                     of: fn(&IoRates) -> Amount| {
            let (current, annotated) = current.zip(annotated)?;
            let bounds = DiskLimitBounds {
                least: Amount::new(least.0),
                most: Amount::new(annotated.0),
            };
            let samples = MinuteSamples(rates.each_ref().map(of));
            let limit = disk_limit(&samples, Amount::new(current.0), bounds, elasticity);
            Some(BytesPerSecond(rounded(limit.get()).min(annotated.0)))
        };
        self.limit = DiskIoLimit {
            read: moved(self.limit.read, self.annotated.read, |rates| rates.read),
            write: moved(self.limit.write, self.annotated.write, |rates| rates.write),
            ..self.annotated
        };
    }
}

/// Up to whole MiB, or for small rates to whole 64 KiB, so that people can read it.
const fn rounded(rate: u64) -> u64 {
    const MI: u64 = 1 << 20;
    let step = if rate >= 16 * MI { MI } else { MI / 16 };
    rate.div_ceil(step).saturating_mul(step)
}
