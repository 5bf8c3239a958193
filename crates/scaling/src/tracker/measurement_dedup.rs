//! Which answers of the metrics sources are new measurements of a target.
//!
//! A query that is slower than a round leaves its answer to several rounds. It is one measurement all
//! the same, of the time that it speaks of, and taken once.

use evenkeel_metrics::signal::Signal;
use jiff::Timestamp;

use super::{ScaledSignal, UNSCALED};

/// The answers that one target has taken.
#[derive(Debug, Default)]
pub(crate) struct AnswersTaken {
    /// When the last answer for each signal was asked for.
    asked: Vec<(Signal, Timestamp)>,
}

impl AnswersTaken {
    /// True where the answer for a signal that was asked for at `asked` has not been taken before `now`.
    /// From here on it counts as taken.
    pub(crate) fn take(&mut self, signal: &Signal, asked: Timestamp, now: Timestamp) -> bool {
        let of_signal = self.asked.iter_mut().find(|(of, _)| of == signal);
        match of_signal {
            // One that was taken later than now was so before the clock was set back.
            Some((_, last)) if asked <= *last && *last <= now => return false,
            Some((_, last)) => *last = asked,
            None => self.asked.push((signal.clone(), asked)),
        }
        true
    }

    /// Forgets the signals that the target does not scale by any more, once they are more than a few.
    pub(crate) fn forget_but(&mut self, scaled: &[ScaledSignal]) {
        if self.asked.len() > scaled.len() + UNSCALED {
            let is_scaled = |of: &Signal| scaled.iter().any(|one| one.signal == *of);
            self.asked.retain(|(of, _)| is_scaled(of));
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::signal::{ResourceName, ValueScope};
    use evenkeel_units::Ratio;

    use super::*;
    use crate::load::hpa_aware::PodCapacity;

    #[test]
    fn an_answer_is_taken_once_and_again_after_the_clock_was_set_back() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let (cpu, memory) = (
            Signal::Resource(ResourceName::Cpu),
            Signal::Resource(ResourceName::Memory),
        );
        let mut taken = AnswersTaken::default();
        assert!(taken.take(&cpu, at(100), at(110)));
        assert!(!taken.take(&cpu, at(100), at(125)), "left to a later round");
        assert!(taken.take(&memory, at(100), at(125)), "another signal");
        assert!(
            !taken.take(&cpu, at(90), at(125)),
            "older than what is known"
        );
        assert!(taken.take(&cpu, at(115), at(125)));
        assert!(taken.take(&cpu, at(50), at(60)), "the clock went back");
    }

    #[test]
    fn signals_that_are_renamed_again_and_again_leave_nothing_behind() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut taken = AnswersTaken::default();
        for number in 0..100 {
            let name = format!("queue-{number}");
            let signal = Signal::Resource(name.as_str().into());
            assert!(taken.take(&signal, at(number), at(number)));
            let scaled = ScaledSignal {
                signal,
                capacity: PodCapacity::new(1.0, Ratio::new(1.0).unwrap()).unwrap(),
                scope: ValueScope::Whole,
                is_forecast: true,
                only_here: false,
            };
            taken.forget_but(std::slice::from_ref(&scaled));
            assert!(taken.asked.len() <= 1 + UNSCALED);
            assert!(!taken.take(&scaled.signal, at(number), at(number)));
        }
    }
}
