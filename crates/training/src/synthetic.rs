//! Synthetic loads of the kinds that services have, because recorded series are too few to show
//! all. A daily and weekly shape of human use, times slow wandering and noise, plus scheduled jobs
//! and bursts; all by the seed.

use std::f64::consts::TAU;

use evenkeel_forecast::Minutes;
use evenkeel_units::random::RandomSource;

const DAY: u32 = 24 * 60;
const DAY_MINUTES: f64 = 1440.0;

/// Nine days of minutes, so that days of the week recur.
const LENGTH: u32 = 9 * DAY;

/// The series `number` of a seed, around 1.
pub fn synthetic(seed: u64, number: usize) -> Minutes {
    let random = RandomSource::new(seed).stream(&format!("series {number}"));
    let kind = SyntheticLoadSpec::draw(random.stream("kind"));
    let wandering = wandering(random.stream("wandering"), &kind);
    let bursts = bursts(random.stream("bursts"), &kind);
    let noise = random.stream("noise");
    let values = (0..LENGTH).zip(wandering.into_iter().zip(bursts));
    let values = values.map(|(minute, (wandering, burst))| {
        let load = kind.shape(minute) * wandering.exp() + kind.job(minute) + burst;
        let times = 1.0 + kind.noise * noise.normal(u64::from(minute));
        #[expect(clippy::cast_possible_truncation, reason = "a load of the size of one")]
        let load = (load * times).max(0.0) as f32;
        load
    });
    Minutes::new(0, values.collect())
}

#[derive(Debug)]
struct SyntheticLoadSpec {
    /// Heights and phases of the day's waves.
    waves: [(f64, f64); 4],
    /// Sharpness of the day's peak.
    sharpness: f64,
    /// Share of the load on a weekend.
    weekend: f64,
    /// Extent to which the load's logarithm wanders.
    wander: f64,
    /// Minutes in which it returns.
    memory: f64,
    noise: f64,
    job: Option<Job>,
    bursts: Bursts,
}

/// Work by the clock, in minutes.
#[derive(Debug)]
struct Job {
    period: u32,
    begin: u32,
    length: u32,
    height: f64,
}

#[derive(Debug)]
struct Bursts {
    of_a_day: f64,
    height: f64,
    minutes: f64,
}

impl SyntheticLoadSpec {
    fn draw(random: RandomSource) -> Self {
        let unit = |name: &str| random.stream(name).unit(0);
        let daily = if unit("is daily") < 0.2 {
            0.0
        } else {
            unit("daily")
        };
        let wave = |times: u32| {
            let step = u64::from(times);
            let height = daily * random.stream("height").unit(step) / f64::from(times);
            (height, TAU * random.stream("phase").unit(step))
        };
        let weekend = if unit("has weekends") < 0.5 {
            1.0
        } else {
            0.3 + 0.7 * unit("weekend")
        };
        Self {
            waves: [1, 2, 3, 4].map(wave),
            sharpness: 1.0 + 3.0 * unit("sharpness"),
            weekend,
            wander: 0.4 * unit("wander").powi(2),
            memory: 10.0 * 60.0_f64.powf(unit("memory")),
            noise: 0.01 + 0.12 * unit("noise").powi(2),
            job: (unit("has a job") < 0.4).then(|| Job::draw(random.stream("job"))),
            bursts: Bursts {
                of_a_day: 8.0 * unit("bursts").powi(2),
                height: 0.3 + 2.0 * unit("burst height"),
                minutes: 3.0 + 40.0 * unit("burst length"),
            },
        }
    }

    fn shape(&self, minute: u32) -> f64 {
        let turn = TAU * f64::from(minute % DAY) / DAY_MINUTES;
        let waves = self.waves.iter().zip([1.0, 2.0, 3.0, 4.0]);
        let waves = waves.map(|((height, phase), times)| height * (times * turn + phase).sin());
        let day = (0.6 * waves.sum::<f64>() * self.sharpness).exp();
        let is_weekend = matches!(minute / DAY % 7, 5 | 6);
        day * if is_weekend { self.weekend } else { 1.0 }
    }

    fn job(&self, minute: u32) -> f64 {
        let running = self.job.as_ref().filter(|job| {
            let since = (minute + job.period - job.begin) % job.period;
            since < job.length
        });
        running.map_or(0.0, |job| job.height)
    }
}

impl Job {
    fn draw(random: RandomSource) -> Self {
        let periods = [60, 6 * 60, 12 * 60, DAY];
        let period = periods[random.stream("period").below(0, periods.len())];
        let below = |name: &str, most: u32| {
            let drawn = random.stream(name).unit(0) * f64::from(most);
            (1..most)
                .take_while(|&minute| f64::from(minute) <= drawn)
                .last()
                .unwrap_or(0)
        };
        Self {
            period,
            begin: below("begin", period),
            length: (2 + below("length", 60)).min(period / 2),
            height: 0.3 + 2.0 * random.stream("height").unit(0),
        }
    }
}

/// A walk that returns to 0.
fn wandering(random: RandomSource, kind: &SyntheticLoadSpec) -> Vec<f64> {
    let keep = (-1.0 / kind.memory).exp();
    let step = kind.wander * (1.0 - keep * keep).sqrt();
    let mut at = 0.0;
    let walk = (0..u64::from(LENGTH)).map(|minute| {
        at = keep * at + step * random.normal(minute);
        at
    });
    walk.collect()
}

/// Rise in minutes and fade.
fn bursts(random: RandomSource, kind: &SyntheticLoadSpec) -> Vec<f64> {
    let Bursts {
        of_a_day,
        height,
        minutes,
    } = kind.bursts;
    let (heights, lengths) = (random.stream("height"), random.stream("length"));
    let (mut level, mut top, mut left) = (0.0_f64, 0.0_f64, 0.0);
    let levels = (0..u64::from(LENGTH)).map(|minute| {
        if left <= 0.0 && random.unit(minute) < of_a_day / DAY_MINUTES {
            top = height * (0.3 + heights.unit(minute));
            left = minutes * (0.3 + 1.4 * lengths.unit(minute));
        }
        left -= 1.0;
        let wanted = if left > 0.0 { top } else { 0.0 };
        level += (wanted - level) * if wanted > level { 0.4 } else { 0.2 };
        level
    });
    levels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_and_the_number_decide_and_loads_are_loads() {
        let one = synthetic(1, 0);
        assert_eq!(one.values(), synthetic(1, 0).values());
        assert_ne!(one.values(), synthetic(2, 0).values());
        assert_ne!(one.values(), synthetic(1, 1).values());
        for number in 0..20 {
            let series = synthetic(1, number);
            let values = series.values();
            assert!(values.iter().all(|load| load.is_finite() && *load >= 0.0));
            let least = values.iter().copied().fold(f32::MAX, f32::min);
            let most = values.iter().copied().fold(0.0, f32::max);
            assert!(
                most > 1.02 * least && most < 1e3,
                "{number}: {least} {most}"
            );
        }
    }
}
