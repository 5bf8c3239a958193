//! A child process with its log in a file: signals, the log's end for failure reports, and SIGKILL
//! on drop. If the test program itself is killed, a shell that waits for the end of a pipe from it
//! kills the process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, kill_process};

pub(crate) use rustix::process::Signal;

use super::wait::eventually;

/// Ticks per second of process times in Linux, on every machine.
const TICKS: f64 = 100.0;

#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    guard: Child,
    log: PathBuf,
    /// Length of the log at the start: earlier text is from others of its name.
    begin: usize,
}

impl Process {
    /// With stdout and stderr appended to `FOLDER/NAME.log`.
    pub(crate) fn spawn(name: &str, command: &mut Command, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .expect("the log opens");
        let before = file.metadata().expect("the log has a length").len();
        let begin = usize::try_from(before).expect("a log is no larger than memory");
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("the log's handle is copied"))
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let guard = guard(child.id());
        Self {
            name: name.to_owned(),
            child,
            guard,
            log,
            begin,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Waits until the process has ended by itself or by an earlier signal.
    pub(crate) async fn wait(&mut self) -> ExitStatus {
        let name = self.name.clone();
        eventually(&format!("{name} ends"), async || {
            self.ended().ok_or_else(|| "still running".to_owned())
        })
        .await
    }

    pub(crate) fn processor_seconds(&self) -> f64 {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        // The name, in parentheses, may hold anything; of the fields after it, these are of user
        // and system.
        let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        ticks / TICKS
    }

    /// Panics with the end of the log if the process has ended.
    pub(crate) fn assert_running(&mut self) {
        if let Some(status) = self.ended() {
            panic!("{} ended ({status}):\n{}", self.name, self.log_tail(30));
        }
    }

    pub(crate) fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(bytes.get(self.begin..).unwrap_or_default()).into_owned()
    }

    pub(crate) fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let all: Vec<&str> = log.lines().collect();
        let from = all.len().saturating_sub(lines);
        format!("--- {}\n{}", self.name, all[from..].join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard goes first: the process id may be another's once the child has been waited for.
        for child in [&mut self.guard, &mut self.child] {
            // Both fail only for a child that has been waited for already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A shell that kills `process` if this program's pipe ends before the guard does.
fn guard(process: u32) -> Child {
    Command::new("sh")
        .args(["-c", "trap '' INT TERM HUP; read -r _; kill -9 \"$0\""])
        .arg(process.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell starts")
}

/// With the output of the failing test.
#[allow(
    clippy::print_stderr,
    reason = "the test runner keeps it for failed tests"
)]
pub(crate) fn report(text: &str) {
    eprintln!("{text}");
}
