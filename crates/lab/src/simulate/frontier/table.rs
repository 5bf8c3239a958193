//! Ways of scaling as tables for people, one for each group of workloads.

use std::io::{self, Write};

use comfy_table::Cell;

use super::report::{FrontierGroup, RelativeSeconds, WayReport, Ways};
use crate::simulate::table::{runs, told};
use evenkeel_terminal::output::{Report, Style, fit_to_width, right};

impl Report for Ways {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let hours = self.duration_seconds / 3600.0;
        let title = format!("{}: {hours:.1} h, {}", self.scenario, runs(&self.seeds));
        writeln!(to, "{}", style.emphasis(&title))?;
        self.background.print(to)?;
        for group in &self.groups {
            group.print(to, style)?;
        }
        writeln!(
            to,
            "\n\
             At equal replica-hours: seconds under-provisioned / overloaded, as a share of those \
             of the plain HPA whose lower target costs\n\
             as many replica-hours; the geometric mean over workloads and seeds; below 1 is \
             better. By seed: the lowest and the highest\n\
             of the first share. A run that costs more than the plain HPA at its lowest target is \
             not compared."
        )
    }
}

impl FrontierGroup {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let title = format!("{}, workloads: {}", self.name, self.workloads);
        writeln!(to, "\n{}\n", style.emphasis(&title))?;
        let titles = [
            "REPLICA-HOURS",
            "UNDER-PROVISIONED s",
            "OVERLOADED s",
            "UNSERVED %",
            "RESPONSE ms",
            "AT EQUAL REPLICA-HOURS",
            "BY SEED",
        ];
        let header = [Cell::new("WAY")].into_iter();
        let mut table = style.table(header.chain(titles.map(right)));
        for way in &self.ways {
            let cells = [Cell::new(self.name_of(way))].into_iter();
            table.add_row(cells.chain(figures(way).map(right)));
        }
        writeln!(to, "{}", fit_to_width(&table))
    }

    /// The name of a way, with how many workloads have it where these are not all.
    fn name_of(&self, way: &WayReport) -> String {
        let WayReport { way, workloads, .. } = way;
        if *workloads == self.workloads {
            way.clone()
        } else {
            format!("{way} ({workloads} of {})", self.workloads)
        }
    }
}

fn figures(way: &WayReport) -> [String; 7] {
    let beside = way.at_equal_replica_hours;
    let percent = way.unserved_share.times(100.0);
    let milliseconds = way.mean_response_seconds.times(1000.0);
    [
        told(way.replica_hours, 0),
        told(way.under_provisioned_seconds, 0),
        told(way.overloaded_seconds, 0),
        told(percent, 2),
        told(milliseconds, 1),
        beside.map_or_else(String::new, RelativeSeconds::told),
        beside.map_or_else(String::new, RelativeSeconds::by_seed),
    ]
}

impl RelativeSeconds {
    /// `0.51 / 0.58`, and how many runs cannot be compared.
    fn told(self) -> String {
        let ratios = format!("{} / {}", one(self.under_provisioned), one(self.overloaded));
        match self.more {
            0 => ratios,
            more => format!("{ratios}, {more} of {} cost more", self.compared + more),
        }
    }

    fn by_seed(self) -> String {
        format!("{} to {}", one(self.lowest), one(self.highest))
    }
}

fn one(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
}
