use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::load::horizon::Horizon;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_units::Ratio;

use super::*;
use crate::boosting::BoostingSettings;

/// Few trees on little past.
fn settings() -> OwnSettings {
    let plain = OwnSettings::default();
    OwnSettings {
        boosting: BoostingSettings {
            trees: 20,
            ..plain.boosting
        },
        ..plain
    }
}

/// 100, and 160 for two minutes at each minute of `spikes` in a period of 40.
fn series(minutes: usize, spikes: impl Fn(usize) -> bool) -> Minutes {
    let values = (0..minutes).map(|minute| {
        let wobble = [0.0, 1.5, -1.0, 0.5, -2.0, 2.5, -0.5][minute % 7];
        let spike = minute % 40 < 2 && spikes(minute);
        if spike { 160.0 } else { 100.0 + wobble }
    });
    Minutes::new(1_800_000_000, values.collect())
}

fn checked(past: &Minutes) -> Option<HeldOut> {
    let rows = own_rows(&GlobalPeaks::shipped(), past, 4, &settings());
    let held_out = hold_out(&rows, 4, &settings());
    held_out.unwrap().map(|(_, held_out)| held_out)
}

#[test]
fn what_comes_again_and_again_is_learnt_and_pays() {
    let held_out = checked(&series(2000, |_| true)).unwrap();
    assert!(held_out.pays(), "{held_out:?}");
    assert!(held_out.own < 0.8 * held_out.global, "{held_out:?}");
}

/// Trees with a habit that the load has left would raise floors for nothing.
#[test]
fn a_habit_that_has_ended_does_not_pay() {
    let held_out = checked(&series(2000, |minute| minute < 1400)).unwrap();
    assert!(!held_out.pays(), "{held_out:?}");
}

#[test]
fn too_short_a_past_is_not_judged() {
    assert_eq!(checked(&series(700, |_| true)), None);
    assert_eq!(checked(&series(0, |_| true)), None);
    let gaps = Minutes::new(0, vec![f32::NAN; 5000]);
    assert_eq!(checked(&gaps), None);
}

#[test]
fn what_is_held_out_is_seen_by_no_window_that_is_learnt_from() {
    let past = series(1000, |_| true);
    for window in [2, 16] {
        let rows = own_rows(&GlobalPeaks::shipped(), &past, window, &settings());
        let (older, newest) = part(&rows, 100, window);
        assert_eq!(newest.len(), 100);
        // The windows of the last rows, a window's length less one, reach into it.
        assert_eq!(older.len(), rows.len() - 100 - (window - 1));
    }
}

#[test]
fn the_same_past_is_judged_the_same() {
    let past = series(1500, |minute| minute % 80 < 40);
    assert_eq!(checked(&past), checked(&past));
}

#[test]
fn trees_that_are_not_fitted_anew_are_those_that_were_judged() {
    let (global, past) = (GlobalPeaks::shipped(), series(2000, |_| true));
    let rows = own_rows(&global, &past, 4, &settings());
    let (older, _) = hold_out(&rows, 4, &settings()).unwrap().unwrap();
    let capacity = PodCapacity::new(50.0, Ratio::share(0.6).unwrap()).unwrap();
    let pods = TrialPods::new(
        capacity,
        ReplicaBounds::new(1, 20).unwrap(),
        &Horizon::default(),
    );
    let learnt = |refits| {
        let settings = OwnSettings {
            refits,
            ..settings()
        };
        let learnt = learn(&global, &past, 4, &pods, &settings).unwrap().unwrap();
        (learnt.own.unwrap(), learnt.trial)
    };
    let ((kept, trial), (anew, same)) = (learnt(false), learnt(true));
    assert_eq!(*kept, older);
    assert_ne!(kept, anew);
    assert_eq!(trial, same);
}
