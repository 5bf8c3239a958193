//! The view on a terminal: takes the screen, draws changes, and restores the screen at the end of
//! the run.

use std::io::{self, Read as _, Write as _};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::{QueueableCommand as _, cursor, terminal};
use jiff::SignedDuration;

use super::canvas::{Canvas, Cell, Tone};
use super::model::Model;
use super::show::{ClusterStartSummary, RunDisplay};
use super::view;
use crate::dev::cluster::events::TimedEvent;
use evenkeel_terminal::output::CliFailure;

/// Byte that Ctrl-C sends to a program that reads each key.
const CTRL_C: u8 = 3;

pub(super) struct View {
    model: Option<Model>,
    screen: Option<Screen>,
    end: Arc<AtomicBool>,
}

impl View {
    pub(super) fn new() -> Self {
        // If standard error is closed, the text cannot be shown anywhere.
        let _ = writeln!(io::stderr(), "Starting a cluster on this machine ...");
        Self {
            model: None,
            screen: None,
            end: Arc::default(),
        }
    }
}

impl RunDisplay for View {
    fn started(&mut self, started: &ClusterStartSummary) -> Result<(), CliFailure> {
        self.model = Some(Model::new(started.clone()));
        self.screen = Some(Screen::take()?);
        let end = Arc::clone(&self.end);
        // It waits for a key when the program ends, which ends it too.
        thread::spawn(move || {
            let mut key = [0];
            while io::stdin().read_exact(&mut key).is_ok() {
                if matches!(key, [b'q' | b'Q' | CTRL_C]) {
                    end.store(true, Ordering::Relaxed);
                }
            }
        });
        Ok(())
    }

    fn happened(&mut self, happened: &TimedEvent) -> Result<(), CliFailure> {
        if let Some(model) = &mut self.model {
            model.take(happened);
        }
        Ok(())
    }

    fn missed(&mut self, count: u64) -> Result<(), CliFailure> {
        if let Some(model) = &mut self.model {
            model.missed += count;
        }
        Ok(())
    }

    fn tick(&mut self, at: SignedDuration) -> Result<(), CliFailure> {
        if let (Some(model), Some(screen)) = (&mut self.model, &mut self.screen) {
            model.at = at;
            screen.draw(model)?;
        }
        Ok(())
    }

    fn leave(&mut self) {
        if self.screen.take().is_some() {
            // As above.
            let _ = writeln!(io::stderr(), "Comparing with the default scheduler ...");
        }
    }

    fn wants_end(&mut self) -> bool {
        self.end.load(Ordering::Relaxed)
    }
}

/// The terminal while it is the view's; given back when dropped.
struct Screen {
    last: Option<Canvas>,
    size: (u16, u16),
    colour: bool,
    taken: Arc<AtomicBool>,
    /// Messages of panics in other threads, kept because they would garble the view.
    panics: Arc<Mutex<Vec<String>>>,
}

impl Screen {
    fn take() -> io::Result<Self> {
        let screen = Self {
            last: None,
            size: (0, 0),
            colour: !evenkeel_service::config::no_colour(),
            taken: Arc::new(AtomicBool::new(true)),
            panics: Arc::default(),
        };
        screen.watch_panics();
        terminal::enable_raw_mode()?;
        io::stdout()
            .queue(terminal::EnterAlternateScreen)?
            .queue(cursor::Hide)?
            .flush()?;
        Ok(screen)
    }

    /// A panic message of the view is shown on the restored terminal; that of a task, which the
    /// service survives, when the view is over.
    fn watch_panics(&self) {
        let previous = panic::take_hook();
        let (taken, panics) = (Arc::clone(&self.taken), Arc::clone(&self.panics));
        let own = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            if taken.load(Ordering::Relaxed) && thread::current().id() != own {
                let mut panics = panics.lock().unwrap_or_else(PoisonError::into_inner);
                panics.push(info.to_string());
                return;
            }
            if taken.swap(false, Ordering::Relaxed) {
                restore();
            }
            previous(info);
        }));
    }

    fn draw(&mut self, model: &Model) -> io::Result<()> {
        // A pseudo-terminal without a size says 0 columns.
        let size = match terminal::size()? {
            (0, _) | (_, 0) => (80, 24),
            size => size,
        };
        let (width, height) = (usize::from(size.0), usize::from(size.1));
        let canvas = view::render(model, width, height);
        let mut out = io::stdout().lock();
        if self.size != size {
            out.queue(terminal::Clear(terminal::ClearType::All))?;
            self.last = None;
        }
        let known = self.last.as_ref().map_or(&[][..], Canvas::rows);
        let rows = canvas.rows().iter().enumerate();
        for (number, (row, cells)) in (0..).zip(rows) {
            if known.get(row) != Some(cells) {
                out.queue(cursor::MoveTo(0, number))?;
                self.draw_row(&mut out, cells)?;
            }
        }
        out.flush()?;
        self.size = size;
        self.last = Some(canvas);
        Ok(())
    }

    fn draw_row(&self, out: &mut io::StdoutLock<'_>, cells: &[Cell]) -> io::Result<()> {
        for run in cells.chunk_by(|(_, a), (_, b)| a == b) {
            let text: String = run.iter().map(|(character, _)| character).collect();
            match run.first().map_or(Tone::Plain, |(_, tone)| *tone) {
                Tone::Quiet if self.colour => {
                    out.queue(SetForegroundColor(Color::DarkGrey))?;
                }
                Tone::Plain | Tone::Quiet => {}
                Tone::Strong => {
                    out.queue(SetAttribute(Attribute::Bold))?;
                }
                Tone::Alarm if self.colour => {
                    out.queue(SetForegroundColor(Color::Red))?;
                }
                // Alarms must be visible without colour too.
                Tone::Alarm => {
                    out.queue(SetAttribute(Attribute::Reverse))?;
                }
            }
            out.queue(Print(text))?
                .queue(SetAttribute(Attribute::Reset))?
                .queue(ResetColor)?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.taken.swap(false, Ordering::Relaxed) {
            restore();
        }
        let mut panics = self.panics.lock().unwrap_or_else(PoisonError::into_inner);
        for panic in panics.drain(..) {
            // If standard error is closed, the text cannot be shown anywhere.
            let _ = writeln!(io::stderr(), "{panic}");
        }
    }
}

/// Gives the terminal back; where that fails there is none any more.
fn restore() {
    let mut out = io::stdout();
    let shown = out
        .queue(cursor::Show)
        .and_then(|out| out.queue(terminal::LeaveAlternateScreen));
    if let Ok(out) = shown {
        let _ = out.flush();
    }
    let _ = terminal::disable_raw_mode();
}
