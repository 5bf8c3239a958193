//! The view of `evenkeel dev` on a pseudo terminal: what is drawn, which keys end it, and that
//! the terminal is given back.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// However busy the machine is.
const PATIENCE: Duration = Duration::from_mins(2);

/// The sequence that takes the screen, and those that give it back with its cursor.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: [&str; 2] = ["\u{1b}[?1049l", "\u{1b}[?25h"];

/// The output so far, and a signal that there is more of it.
#[derive(Default)]
struct Shown {
    text: Mutex<String>,
    more: Condvar,
}

/// A run on a terminal of its own.
struct Terminal {
    keys: File,
    end: OwnedFd,
    shown: Arc<Shown>,
    run: Child,
}

impl Terminal {
    fn start() -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let end = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        resize(&keys, 100, 30);
        let stdio = || Stdio::from(end.try_clone().unwrap());
        let run = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["dev", "--patience", "10s"])
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .unwrap();
        let keys = File::from(keys);
        let shown: Arc<Shown> = Arc::default();
        let (mut screen, written) = (keys.try_clone().unwrap(), Arc::clone(&shown));
        // It ends with the test's process.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read) = screen.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                written.text.lock().unwrap().push_str(&text);
                written.more.notify_all();
            }
        });
        Self {
            keys,
            end,
            shown,
            run,
        }
    }

    /// Waits until all of `parts` were shown since the last call.
    fn shows(&self, parts: &[&str]) {
        let Shown { text, more } = &*self.shown;
        let missing = |shown: &mut String| !parts.iter().all(|part| shown.contains(part));
        let waited = more.wait_timeout_while(text.lock().unwrap(), PATIENCE, missing);
        let (mut shown, waited) = waited.unwrap();
        assert!(!waited.timed_out(), "{parts:?} in {shown}");
        shown.clear();
    }

    fn press(&mut self, key: u8) {
        self.keys.write_all(&[key]).unwrap();
    }

    /// True if keys reach the program one by one and unseen.
    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.end).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// The run has ended well, with the comparison below the terminal as it was.
    fn ends(mut self) {
        self.shows(&[GIVEN_BACK[0], GIVEN_BACK[1], "Default scheduler"]);
        assert_eq!(self.run.wait().unwrap().code(), Some(0));
        assert!(!self.is_raw());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

fn resize(keys: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(keys, size).unwrap();
}

#[test]
fn the_view_follows_the_size_of_the_terminal_and_q_ends_it() {
    let mut terminal = Terminal::start();
    assert!(!terminal.is_raw());
    terminal.shows(&[TAKEN, "Evenkeel", "q ends"]);
    assert!(terminal.is_raw());
    let keys = OwnedFd::from(terminal.keys.try_clone().unwrap());
    resize(&keys, 40, 10);
    terminal.shows(&["This terminal is 40x10."]);
    resize(&keys, 120, 40);
    terminal.shows(&["Pod or workload", "q ends"]);
    terminal.press(b'x');
    terminal.press(b'q');
    terminal.ends();
}

#[test]
fn ctrl_c_and_sigterm_give_the_terminal_back() {
    let mut pressed = Terminal::start();
    pressed.shows(&[TAKEN, "q ends"]);
    // In raw mode it is a key like any other.
    pressed.press(3);
    pressed.ends();
    let ended = Terminal::start();
    ended.shows(&[TAKEN, "q ends"]);
    let process = Pid::from_child(&ended.run);
    kill_process(process, Signal::TERM).unwrap();
    ended.ends();
}
