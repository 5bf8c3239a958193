use evenkeel_core::forecast::*;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::scaling::trial::TrialPods;
use evenkeel_core::scaling::{Bounds, Risk};
use evenkeel_core::units::{Ratio, Resource};
use evenkeel_sandbox::scrape::Timing;
use evenkeel_sandbox::target::{self, *};
use evenkeel_training::{OwnSettings, learn};
use jiff::{SignedDuration, Timestamp};
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex};
use std::time::Instant;
fn cores(own: f64, at: f64) -> f64 {
    let day = 2.4 - 1.5 * ((at / 86_400.0 + own / 24.0) * TAU).cos();
    let within = (at + own * 97.0).rem_euclid(3_600.0);
    let job = (within / 120.0).min(1.0) * f64::from(u8::from(within < 600.0));
    let unrest = (at * 0.013 + own).sin() * (at * 0.0071).sin();
    day * (1.0 + 0.6 * job + 0.05 * unrest) * 1000.0
}
fn main() {
    let n: usize = std::env::args().nth(1).map_or(4, |a| a.parse().unwrap());
    let only = std::env::args().nth(2);
    let end = 1_773_532_800i64;
    let start = end - 14 * 86400;
    let global = GlobalPeaks::shipped();
    let (mut tl, mut tp, mut tf) = (0.0, 0.0, 0.0);
    for i in 0..n {
        let minute = |m: i64| cores(i as f64, (m * 60 + 30) as f64);
        let v: Vec<Option<f64>> = (0..14 * 1440 * 4)
            .map(|k| {
                let t = start + k * 15;
                let m = (t - 30).div_euclid(60);
                let f = ((t - 30).rem_euclid(60)) as f64 / 60.0;
                Some(minute(m) * (1.0 - f) + minute(m + 1) * f)
            })
            .collect();
        let s = Series::new(Timestamp::from_second(start).unwrap(), GRID, v).unwrap();
        let load = ReplayLoad::new(s, Timestamp::from_second(end - 86400).unwrap()).unwrap();
        let target = Target {
            resource: Resource::Cpu,
            capacity: PodCapacity::new(500.0, Ratio::new(0.6).unwrap()).unwrap(),
            bounds: Bounds::new(2, 30).unwrap(),
            start_up: SignedDuration::from_secs(60),
            metrics: Timing::default(),
            edges: Edges::default(),
            initial: None,
        };
        let spent = Mutex::new(0.0);
        let l = |past: &Minutes, window: usize, pods: &TrialPods| {
            let t = Instant::now();
            let r = learn(&global, past, window, pods, &OwnSettings::default()).unwrap();
            *spent.lock().unwrap() += t.elapsed().as_secs_f64();
            r
        };
        let k = Knowledge {
            global: Arc::clone(&global),
            own: Some(&l),
        };
        let all = Policy::frontier(&target, ModelSet::Auto);
        let plain: Vec<_> = all
            .iter()
            .filter(|p| matches!(p, Policy::Hpa { .. }))
            .copied()
            .collect();
        let t = Instant::now();
        if only.as_deref() != Some("floors") {
            for p in [plain[0], plain[4], plain[8]] {
                let r = target::replay(&target, p, &load, &k, false);
                println!("{i} {p:?} {:?}", r.cost);
            }
        }
        tp += t.elapsed().as_secs_f64();
        if only.as_deref() != Some("plain") {
            let t = Instant::now();
            let p = Policy::Evenkeel {
                models: ModelSet::Auto,
                risk: Risk::default(),
            };
            let r = target::replay(&target, p, &load, &k, false);
            println!("{i} {p:?} {:?}", r.cost);
            tf += t.elapsed().as_secs_f64();
        }
        tl += *spent.lock().unwrap();
    }
    let n = n as f64;
    eprintln!(
        "per target: plain x3 {:.3} floors {:.3} (of it learn {:.3})",
        tp / n,
        tf / n,
        tl / n
    );
}
