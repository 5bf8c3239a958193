//! Recommends values for a container's template from days of its use: the largest target of `[CLBP]
//! (4.18)` in that time, within the bounds of a resize in place. A resize follows five minutes and
//! can follow again, but a template must fit the next restart at any hour. Throttling and OOM kills
//! raise the limit, because the full need was never seen.

use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::request_and_limit::RequestAndLimit;
use evenkeel_units::{Amount, count_as_f64};

use super::bounds::{Bound, Ends, LEAST_CPU, Range, above_use, kept};
use super::samples::SAMPLES;
use super::target::Elasticity;

/// Share of throttled periods from which a limit is too low.
const THROTTLED: f64 = 0.05;
/// Share of samples that a request covers: kube-scheduler sets aside what is nearly always used.
const REQUESTED: f64 = 0.9;
/// Samples from which a day's course is likely in them.
const FEW: usize = 288;

/// One resource of a container over days.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContainerHistory<'a> {
    pub resource: TunedResource,
    pub current: RequestAndLimit,
    /// In a Guaranteed Pod the request moves with the limit.
    pub guaranteed: bool,
    /// An autoscaler counts replicas by its request, which then stays.
    pub scaled_by: bool,
    pub allowed: Range,
    /// By Pod, in the order of time; cpu as means, memory as peaks.
    pub samples: &'a [Vec<f64>],
    /// Share of the periods in which it was throttled.
    pub throttled: Option<f64>,
    /// Kills for lack of memory.
    pub oom_kills: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TemplateRecommendation {
    pub values: RequestAndLimit,
    /// The median, the request's percentile, and the highest.
    pub used: Percentiles,
    /// Moved the limit away from the target.
    pub limited_by: Option<Bound>,
    pub reasons: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Percentiles {
    pub p50: Amount,
    pub p90: Amount,
    pub p99: Amount,
    pub peak: Amount,
}

impl Percentiles {
    fn of(samples: &[Vec<f64>]) -> Option<Self> {
        let mut all: Vec<f64> = samples.iter().flatten().copied().collect();
        all.retain(|value| value.is_finite());
        all.sort_by(f64::total_cmp);
        let last = all.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = Amount::from_f64(count_as_f64(last) * share).get();
            let place = usize::try_from(place).unwrap_or(last).min(last);
            Amount::from_f64(all[place].ceil())
        };
        Some(Self {
            p50: at(0.5),
            p90: at(REQUESTED),
            p99: at(0.99),
            peak: at(1.0),
        })
    }
}

/// `None` without a measurement.
pub fn lasting(
    history: &ContainerHistory<'_>,
    elasticity: Elasticity,
) -> Option<TemplateRecommendation> {
    let used = Percentiles::of(history.samples)?;
    let mut reasons = Vec::new();
    let number = history.samples.iter().map(Vec::len).max();
    if number.unwrap_or(0) < FEW {
        reasons.push("no Pod has a day of samples");
    }
    let (limit, limited_by) = limit(history, used, elasticity, &mut reasons);
    let request = request(history, used, limit, &mut reasons);
    Some(TemplateRecommendation {
        values: RequestAndLimit { request, limit },
        used,
        limited_by,
        reasons,
    })
}

fn limit(
    history: &ContainerHistory<'_>,
    used: Percentiles,
    elasticity: Elasticity,
    reasons: &mut Vec<&'static str>,
) -> (Option<Amount>, Option<Bound>) {
    let Some(current) = history.current.limit else {
        reasons.push("it has no limit, and none is added");
        return (None, None);
    };
    if history.guaranteed && history.scaled_by {
        reasons.push("an autoscaler scales by its request, which would change with its limit");
        return (Some(current), None);
    }
    let mut ends = Ends::default();
    let (least, bound) = above_use(history.resource, used.peak);
    ends.at_least(least, bound);
    // A limit of 0 would be none, and one near it starves the container at its next start.
    let most = history.allowed.most.unwrap_or(current);
    ends.at_least(kept(history.resource, current.min(most)), Bound::Kept);
    if history.throttled.is_some_and(|share| share > THROTTLED) {
        reasons.push("it was throttled, so it needed more than it used");
        ends.at_least(scaled(current, 1.0 + elasticity.get()), Bound::Throttled);
    }
    if history.oom_kills.is_some_and(|kills| kills >= 1.0) {
        reasons.push("it was OOM-killed");
        ends.at_least(scaled(current, 1.0 + elasticity.get()), Bound::OomKilled);
    }
    if let Some(request) = history.current.request.filter(|_| history.scaled_by) {
        ends.at_least(request, Bound::Request);
    }
    if let Some(least) = history.allowed.least {
        ends.at_least(least, Bound::MinAllowed);
    }
    if let Some(most) = history.allowed.most {
        ends.at_most(most, Bound::MaxAllowed);
    }
    let wanted = scaled(highest_mean(history.samples), 1.0 + elasticity.get());
    if let Ok((limit, bound)) = ends.clamp(wanted) {
        let limit = history.resource.rounded(limit, ends.highest());
        (Some(limit), bound)
    } else {
        reasons.push("it used more than evenkeel.dev/max-allowed");
        (Some(current), None)
    }
}

fn request(
    history: &ContainerHistory<'_>,
    used: Percentiles,
    limit: Option<Amount>,
    reasons: &mut Vec<&'static str>,
) -> Option<Amount> {
    let current = history.current.request?;
    if history.scaled_by {
        reasons.push("an autoscaler scales by its request, which stays as it is");
        return Some(current);
    }
    if history.guaranteed {
        return limit.or(Some(current));
    }
    let least = history.allowed.least.unwrap_or_default();
    let wanted = history.resource.rounded(used.p90.max(least), limit);
    // The API server refuses a request of 0 for a class that has one.
    let least = match history.resource {
        TunedResource::Cpu => LEAST_CPU.min(current).max(Amount::new(1)),
        TunedResource::Memory => history.resource.rounded(Amount::new(1), limit),
    };
    let wanted = wanted.max(least);
    Some(limit.map_or(wanted, |limit| wanted.min(limit)))
}

/// The highest mean of five consecutive samples of any Pod, or of the samples there are.
fn highest_mean(samples: &[Vec<f64>]) -> Amount {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count_as_f64(values.len().max(1));
    let windows = samples.iter().flat_map(|of_pod| {
        let length = SAMPLES.min(of_pod.len()).max(1);
        of_pod.windows(length)
    });
    Amount::from_f64(windows.map(mean).fold(0.0, f64::max))
}

fn scaled(amount: Amount, factor: f64) -> Amount {
    Amount::from_f64((amount.as_f64() * factor).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(resource: TunedResource, samples: &[Vec<f64>]) -> ContainerHistory<'_> {
        ContainerHistory {
            resource,
            current: RequestAndLimit {
                request: Some(Amount::new(600)),
                limit: Some(Amount::new(1000)),
            },
            guaranteed: false,
            scaled_by: false,
            allowed: Range::default(),
            samples,
            throttled: None,
            oom_kills: None,
        }
    }

    fn cpu(history: &ContainerHistory<'_>) -> (u64, u64) {
        let RequestAndLimit { request, limit } =
            lasting(history, Elasticity::default()).unwrap().values;
        (request.unwrap().get(), limit.unwrap().get())
    }

    #[test]
    fn a_template_covers_the_highest_hour_and_requests_what_is_used_nearly_always() {
        // Nine tenths of a day at 100, and a tenth at 200.
        let day: Vec<f64> = (0..1000)
            .map(|at| if at < 901 { 100.0 } else { 200.0 })
            .collect();
        let day = [day];
        let one = history(TunedResource::Cpu, &day);
        assert_eq!(cpu(&one), (100, 240));
        let throttled = ContainerHistory {
            throttled: Some(0.2),
            ..one
        };
        assert_eq!(cpu(&throttled), (100, 1200));
        let scaled = ContainerHistory {
            scaled_by: true,
            ..one
        };
        assert_eq!(
            cpu(&scaled),
            (600, 600),
            "no limit is below the request that stays"
        );
        let guaranteed = ContainerHistory {
            guaranteed: true,
            ..one
        };
        assert_eq!(cpu(&guaranteed), (240, 240));
        let bounded = ContainerHistory {
            allowed: Range {
                least: Some(Amount::new(150)),
                most: Some(Amount::new(220)),
            },
            ..one
        };
        assert_eq!(cpu(&bounded), (150, 220));
        let impossible = ContainerHistory {
            allowed: Range {
                least: None,
                most: Some(Amount::new(205)),
            },
            ..one
        };
        assert_eq!(cpu(&impossible).1, 1000, "it stays as it is");
    }

    #[test]
    fn memory_is_never_below_what_was_held_and_a_kill_raises_it() {
        let mebibytes = |value: f64| value * 1024.0 * 1024.0;
        let held = [vec![mebibytes(100.0); 400]];
        let mut one = history(TunedResource::Memory, &held);
        one.current.limit = Some(Amount::new(400 << 20));
        one.current.request = Some(Amount::new(50 << 20));
        let found = lasting(&one, Elasticity::default()).unwrap();
        assert_eq!(found.values.limit, Some(Amount::new(120 << 20)));
        one.oom_kills = Some(2.0);
        let found = lasting(&one, Elasticity::default()).unwrap();
        assert_eq!(found.values.limit, Some(Amount::new(480 << 20)));
        assert_eq!(found.limited_by, Some(Bound::OomKilled));
    }

    #[test]
    fn what_uses_next_to_nothing_keeps_the_least_amounts_of_a_resize() {
        let idle = [vec![0.0; 400]];
        let hardly = [vec![0.3; 400]];
        for samples in [&idle, &hardly] {
            let one = history(TunedResource::Cpu, samples);
            assert_eq!(cpu(&one), (10, 100));
            let guaranteed = ContainerHistory {
                guaranteed: true,
                ..one
            };
            assert_eq!(cpu(&guaranteed), (100, 100));
            // A container made with less than the minimum keeps its original limit.
            let mut small = one;
            small.current.limit = Some(Amount::new(60));
            assert_eq!(cpu(&small), (10, 10));
            small.current = RequestAndLimit {
                request: Some(Amount::new(4)),
                limit: Some(Amount::new(5)),
            };
            assert_eq!(cpu(&small), (4, 5));
            let bounded = ContainerHistory {
                allowed: Range {
                    least: None,
                    most: Some(Amount::new(50)),
                },
                ..one
            };
            assert_eq!(cpu(&bounded), (10, 10), "of what its owner still allows");
        }
        let mut memory = history(TunedResource::Memory, &idle);
        memory.current = RequestAndLimit {
            request: Some(Amount::new(200 << 20)),
            limit: Some(Amount::new(400 << 20)),
        };
        let found = lasting(&memory, Elasticity::default()).unwrap().values;
        assert_eq!(found.limit, Some(Amount::new(40 << 20)));
        assert_eq!(found.request, Some(Amount::new(1 << 20)));
    }

    #[test]
    fn a_day_is_one_of_a_pod_and_not_of_many_together() {
        let of = |samples: &[Vec<f64>]| {
            let found = lasting(&history(TunedResource::Cpu, samples), Elasticity::default());
            found.unwrap().reasons.len()
        };
        let hour = vec![100.0; 12];
        assert_eq!(of(&vec![hour; 100]), 1);
        assert_eq!(of(&[vec![100.0; 288]]), 0);
    }

    #[test]
    fn nothing_measured_is_no_recommendation() {
        assert_eq!(
            lasting(&history(TunedResource::Cpu, &[]), Elasticity::default()),
            None
        );
        let absent = [vec![1.0]];
        let mut one = history(TunedResource::Cpu, &absent);
        one.current = RequestAndLimit::default();
        let found = lasting(&one, Elasticity::default()).unwrap();
        assert_eq!(found.values, RequestAndLimit::default());
    }
}
