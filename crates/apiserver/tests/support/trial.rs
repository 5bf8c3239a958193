//! Tests with requirements to the machine. Without them, a test is reported as ignored with the
//! reason. The order is shuffled by a seed, so that no test depends on another.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

/// Seed of the order; random if unset.
const SEED: &str = "EVENKEEL_TEST_SEED";

/// Not available on every machine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Requirement {
    /// On the PATH.
    Program(&'static str),
    /// The error says why it does not hold.
    Condition(fn() -> Result<(), String>),
}

impl Requirement {
    fn check(self) -> Result<(), String> {
        match self {
            Self::Condition(holds) => holds(),
            Self::Program(name) => {
                let folders = variable("PATH").unwrap_or_default();
                let found = std::env::split_paths(&folders).any(|path| path.join(name).is_file());
                found
                    .then_some(())
                    .ok_or_else(|| format!("no `{name}` on the PATH"))
            }
        }
    }
}

/// If it is not empty.
#[allow(
    clippy::disallowed_methods,
    reason = "the one place where tests learn what the machine has"
)]
pub(crate) fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Runs if the machine has all requirements. `name` begins with the crate, which is cut off.
pub(crate) fn trial(name: &'static str, requirements: &'static [Requirement], test: fn()) -> Trial {
    let name = name.split_once("::").map_or(name, |(_, name)| name);
    Trial::ignorable_test(name, move || {
        for requirement in requirements {
            if let Err(reason) = requirement.check() {
                return Ok(Completion::ignored_with(reason));
            }
        }
        let _named = NameOnPanic(name);
        test();
        Ok(Completion::Completed)
    })
}

/// Prints the test's name after the message of a panic, which has none.
struct NameOnPanic(&'static str);

impl Drop for NameOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tell(&format!("the test {} failed", self.0));
        }
    }
}

/// In an order by the seed, which is printed.
pub(crate) fn run(arguments: &Arguments, mut trials: Vec<Trial>) -> ExitCode {
    let seed = match variable(SEED) {
        Some(text) => text
            .to_str()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("{SEED} is a number, not {}", text.display())),
        None => RandomState::new().build_hasher().finish(),
    };
    trials.sort_by_cached_key(|trial| {
        let mut hasher = DefaultHasher::new();
        (seed, trial.name()).hash(&mut hasher);
        hasher.finish()
    });
    if !arguments.list {
        tell(&format!("shuffled; {SEED}={seed} gives this order again"));
    }
    libtest_mimic::run(arguments, trials).exit_code()
}

fn tell(line: &str) {
    // The runner may be gone.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Makes `suite()` of a module: its tests, grouped by requirements. `async` comes first for async
/// tests.
macro_rules! suite {
    (@ $($requirements:expr, $test:ident, $run:expr;)*) => {
        /// The tests of this module.
        pub(crate) fn suite() -> Vec<libtest_mimic::Trial> {
            vec![$($crate::support::trial::trial(
                concat!(module_path!(), "::", stringify!($test)),
                &$requirements,
                $run,
            )),*]
        }
    };
    (async $requirements:expr => [$($test:ident),* $(,)?] $(,)?) => {
        $crate::support::trial::suite!(@ $($requirements, $test, || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
            runtime.block_on($test());
        };)*);
    };
    ($($requirements:expr => [$($test:ident),* $(,)?]),* $(,)?) => {
        $crate::support::trial::suite!(@ $($($requirements, $test, $test;)*)*);
    };
}

pub(crate) use suite;
