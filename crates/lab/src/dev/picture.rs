//! The view at the end of a run as a file (`--picture`), drawn by the same function as on a
//! terminal. Each run of cells of one tone is given its width, so that a viewer's font cannot shift
//! what follows.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use jiff::SignedDuration;

use super::canvas::{Canvas, Cell, Tone};
use super::model::Model;
use super::show::{ClusterStartSummary, RunDisplay};
use super::view::{self, HEIGHT, WIDTH};
use crate::dev::cluster::events::TimedEvent;
use evenkeel_terminal::output::CliFailure;

/// Size of a cell in pixels, and the space around all cells.
const CELL_WIDTH: usize = 8;
const CELL_HEIGHT: usize = 17;
const MARGIN: usize = 12;

/// A file that the view is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PictureFile {
    path: PathBuf,
    form: PictureFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PictureFormat {
    Svg,
    Text,
}

impl FromStr for PictureFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = PathBuf::from(text);
        let form = match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => PictureFormat::Svg,
            Some("txt") => PictureFormat::Text,
            _ => return Err("accepted: a file name that ends in .svg or .txt".to_owned()),
        };
        Ok(Self { path, form })
    }
}

pub(super) struct PictureShow {
    show: Box<dyn RunDisplay>,
    file: Option<PictureFile>,
    model: Option<Model>,
}

impl PictureShow {
    pub(super) fn new(show: Box<dyn RunDisplay>, file: Option<PictureFile>) -> Self {
        Self {
            show,
            file,
            model: None,
        }
    }

    /// Writes the picture where one is wanted and there was something to see.
    pub(super) fn write(&self) -> Result<(), CliFailure> {
        let Some((file, model)) = self.file.as_ref().zip(self.model.as_ref()) else {
            return Ok(());
        };
        let canvas = view::render(model, WIDTH, HEIGHT);
        let content = match file.form {
            PictureFormat::Svg => svg(&canvas),
            PictureFormat::Text => text(&canvas),
        };
        std::fs::write(&file.path, content)
            .map_err(|error| CliFailure::work(format_args!("{}: {error}", file.path.display())))
    }
}

impl RunDisplay for PictureShow {
    fn started(&mut self, started: &ClusterStartSummary) -> Result<(), CliFailure> {
        if self.file.is_some() {
            self.model = Some(Model::new(started.clone()));
        }
        self.show.started(started)
    }

    fn happened(&mut self, happened: &TimedEvent) -> Result<(), CliFailure> {
        if let Some(model) = &mut self.model {
            model.take(happened);
        }
        self.show.happened(happened)
    }

    fn missed(&mut self, count: u64) -> Result<(), CliFailure> {
        if let Some(model) = &mut self.model {
            model.missed += count;
        }
        self.show.missed(count)
    }

    fn tick(&mut self, at: SignedDuration) -> Result<(), CliFailure> {
        if let Some(model) = &mut self.model {
            model.at = at;
        }
        self.show.tick(at)
    }

    fn leave(&mut self) {
        self.show.leave();
    }

    fn wants_end(&mut self) -> bool {
        self.show.wants_end()
    }
}

fn text(canvas: &Canvas) -> String {
    let mut page = String::new();
    for row in canvas.rows() {
        let line: String = row.iter().map(|(character, _)| character).collect();
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page
}

fn svg(canvas: &Canvas) -> String {
    let width = canvas.width() * CELL_WIDTH + 2 * MARGIN;
    let height = canvas.height() * CELL_HEIGHT + 2 * MARGIN;
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, \
         monospace\" font-size=\"13\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#1b1f24\"/>\n"
    );
    for (number, row) in canvas.rows().iter().enumerate() {
        let baseline = MARGIN + number * CELL_HEIGHT + 13;
        let mut column = 0;
        for run in row.chunk_by(|one, next| one.1 == next.1) {
            put(&mut page, run, column, baseline);
            column += run.len();
        }
    }
    page.push_str("</svg>\n");
    page
}

/// Writes cells of one tone, without the empty ones around them.
fn put(page: &mut String, run: &[Cell], column: usize, baseline: usize) {
    let cells: String = run.iter().map(|(character, _)| character).collect();
    let shown = cells.trim_end();
    let begin = shown.len() - shown.trim_start().len();
    let shown = &shown[begin..];
    let (Some((_, tone)), false) = (run.first(), shown.is_empty()) else {
        return;
    };
    let (fill, weight) = match tone {
        Tone::Plain => ("#d5dae0", ""),
        Tone::Quiet => ("#8b949e", ""),
        Tone::Strong => ("#ffffff", " font-weight=\"bold\""),
        Tone::Alarm => ("#ff7b72", ""),
    };
    let (x, length) = (
        MARGIN + (column + begin) * CELL_WIDTH,
        shown.chars().count() * CELL_WIDTH,
    );
    let escaped = shown
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    // Writing to a text cannot fail.
    let _ = writeln!(
        page,
        "<text x=\"{x}\" y=\"{baseline}\" textLength=\"{length}\" \
         lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{weight}>{escaped}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_endings_that_say_a_form_are_accepted() {
        assert_eq!(
            "a.svg".parse::<PictureFile>().unwrap().form,
            PictureFormat::Svg
        );
        assert_eq!(
            "a/b.txt".parse::<PictureFile>().unwrap().form,
            PictureFormat::Text
        );
        for refused in ["a", "a.png", ".svg"] {
            let told = refused.parse::<PictureFile>().unwrap_err();
            assert!(told.contains(".svg or .txt"), "{told}");
        }
    }

    #[test]
    fn each_run_of_a_meaning_stands_at_its_own_place() {
        let mut canvas = Canvas::new(12, 2);
        canvas.put(0, 0, "ab", Tone::Strong);
        canvas.put(1, 3, "<5", Tone::Alarm);
        assert_eq!(text(&canvas), "ab\n   <5\n");
        let page = svg(&canvas);
        assert!(page.contains(">ab</text>"), "{page}");
        let placed = format!(
            "x=\"{}\" y=\"{}\"",
            MARGIN + 3 * CELL_WIDTH,
            MARGIN + CELL_HEIGHT + 13
        );
        assert!(page.contains(&placed) && page.contains("&lt;5"), "{page}");
    }
}
