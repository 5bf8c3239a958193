//! Steps of the work on one target: a panic in a step affects that target alone.

use evenkeel_units::panic_error::{PanicError, caught};

use super::key::TargetKey;

/// A step of the work on one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetWorkStep {
    Begin,
    Tell,
}

/// Does a step of the work on a target.
pub(super) fn isolated<T>(
    key: &TargetKey,
    step: TargetWorkStep,
    work: impl FnOnce() -> T,
) -> Result<T, PanicError> {
    caught(|| {
        #[cfg(test)]
        breaks::at(key, step);
        #[cfg(not(test))]
        let _ = (key, step);
        work()
    })
}

/// Steps that tests let break.
#[cfg(test)]
pub(super) mod breaks {
    use std::cell::RefCell;

    use super::TargetWorkStep;
    use crate::tick::key::TargetKey;

    thread_local! {
        static BREAKS: RefCell<Vec<(TargetKey, TargetWorkStep)>> = const { RefCell::new(Vec::new()) };
    }

    /// Each of these steps breaks the next time it is done on this thread.
    pub(in crate::tick) fn set(breaks: &[(TargetKey, TargetWorkStep)]) {
        BREAKS.with_borrow_mut(|found| *found = breaks.to_vec());
    }

    /// Panics where the step is to break.
    pub(in crate::tick) fn at(key: &TargetKey, step: TargetWorkStep) {
        let breaks = BREAKS.with_borrow_mut(|all| {
            let place = all.iter().position(|one| *one == (key.clone(), step))?;
            Some(all.remove(place))
        });
        assert!(breaks.is_none(), "{step:?} is to break");
    }
}
