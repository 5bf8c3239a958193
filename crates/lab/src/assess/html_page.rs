//! An assessment as one self-contained HTML page: no script, no external content, and each text
//! from the cluster escaped.

use std::fmt::{Arguments, Write as _};

use super::report::Assessment;
use super::table::FIGURES;
use super::target_report::{LoadReport, TargetReport};
use super::verdict::AssessVerdict;
use crate::forecast::chart;
use crate::forecast::chart::{Chart, escaped};
use crate::forecast::replay::picture;
use crate::forecast::replay::picture::LoadDisplayUnit;
use crate::forecast::replay::report::{PolicyCost, ReplayedSeries};

const STYLE: &str = "\
body{font:15px/1.5 'Open Sans','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;color:#202020;\
max-width:1200px;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;width:100%;font-size:13px}\
th,td{text-align:left;padding:.25em .6em;border-bottom:1px solid #e6e6e6;vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
.worthEnabling{color:#00664b;font-weight:bold}.aside{color:#505050}\
pre{white-space:pre-wrap;user-select:all}svg{max-width:100%;height:auto}section{margin-top:2.5em}a{color:#0072b2}\
.wide{overflow-x:auto}\
@media(prefers-color-scheme:dark){body{background:#16181a;color:#e4e4e4}\
th,td{border-color:#3a3d40}.worthEnabling{color:#5fd3ae}.aside{color:#a8a8a8}a{color:#6fb7e9}\
svg{filter:invert(.91) hue-rotate(180deg)}}";

const READING: &str = "Under-provisioned: the ready Pods carried more than 1.1 times the target \
(the HPA's tolerance). Overloaded: they carried more than they request. At equal cost: the seconds \
with floors, as a share of those of a plain HPA whose lower target costs as many replica-hours \
(under-provisioned / overloaded); below 1 is better. Best rule: its share of the time under-provisioned at equal cost. A rule is a second metric of the \
HPA: the highest load of the coming half hour, one day or one week ago, times a factor. Recommended: \
floors only if they pay, and no rule is as good for no more replica-hours. As safe at: the highest \
target at which the plain HPA is under-provisioned for no longer than with floors. Half days: how \
many were better and how many worse with floors at equal cost, and the range of the shares. \
Everything is a replay of the past with the same load for each way of scaling.";

struct AssessHtmlPage(String);

pub(super) fn html(assessment: &Assessment) -> String {
    let mut page = AssessHtmlPage(String::new());
    page.put(format_args!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Would scaling ahead pay?</title><style>{STYLE}</style></head><body>\n\
         <h1>Would scaling ahead pay?</h1>\n<p><b>{}</b></p>\n",
        escaped(&assessment.summary.told())
    ));
    page.put(format_args!(
        "<p class=\"aside\">Up to {} days before {:.0}, from Prometheus at {}, by Evenkeel {}.</p>\n",
        assessment.days,
        assessment.until,
        escaped(&assessment.prometheus),
        env!("CARGO_PKG_VERSION")
    ));
    page.put(format_args!("<p>{}</p>\n", saved(assessment)));
    for note in &assessment.notes {
        page.put(format_args!("<p>Note: {}.</p>\n", escaped(note)));
    }
    page.table(assessment);
    page.put(format_args!("<p class=\"aside\">{READING}</p>\n"));
    for (place, one) in assessment.targets.iter().enumerate() {
        page.section(place, one);
    }
    page.put(format_args!("</body></html>\n"));
    page.0
}

/// The savings of floors over the targets worth enabling; empty without such targets.
fn saved(assessment: &Assessment) -> String {
    let summary = &assessment.summary;
    if summary.worth_enabling == 0 {
        return String::new();
    }
    let hours = -summary.saved.replica_hours;
    let word = if hours < 0.0 { "fewer" } else { "more" };
    format!(
        "On the judged days of the targets worth enabling, floors would have saved {:.0} s of \
         under-provisioned time, for {:.1} replica-hours {word}.",
        summary.saved.under_provisioned_seconds,
        hours.abs()
    )
}

impl AssessHtmlPage {
    fn put(&mut self, text: Arguments<'_>) {
        self.0
            .write_fmt(text)
            .expect("a string takes whatever is written");
    }

    fn table(&mut self, assessment: &Assessment) {
        self.put(format_args!(
            "<div class=\"wide\"><table><thead><tr><th>HPA</th><th>Verdict</th>"
        ));
        for heading in FIGURES {
            self.put(format_args!(
                "<th class=\"n\">{}</th>",
                heading.to_lowercase()
            ));
        }
        self.put(format_args!("</tr></thead><tbody>\n"));
        for (place, one) in assessment.targets.iter().enumerate() {
            self.put(format_args!(
                "<tr><td><a href=\"#t{place}\">{}</a></td><td class=\"{}\">{}</td>",
                escaped(&one.full_name()),
                class(one.verdict),
                one.verdict.as_str()
            ));
            for figure in one.figures() {
                self.put(format_args!("<td class=\"n\">{}</td>", escaped(&figure)));
            }
            self.put(format_args!("</tr>\n"));
        }
        self.put(format_args!("</tbody></table></div>\n"));
    }

    fn section(&mut self, place: usize, one: &TargetReport) {
        self.put(format_args!(
            "<section id=\"t{place}\"><h2>{}: <span class=\"{}\">{}</span></h2>\n<p>{}.</p>\n",
            escaped(&one.full_name()),
            class(one.verdict),
            one.verdict.as_str(),
            escaped(&sentence(&one.because))
        ));
        if let Some(advice) = &one.recommended {
            if let Some(told) = &advice.told {
                self.put(format_args!("<p>{}</p>\n", escaped(told)));
            }
            if let Some(promql) = &advice.promql {
                self.put(format_args!("<pre>{}</pre>\n", escaped(promql)));
            }
        }
        self.put(format_args!(
            "<p class=\"aside\">{}</p>\n",
            escaped(&one.terms())
        ));
        for note in &one.notes {
            self.put(format_args!("<p class=\"aside\">{}</p>\n", escaped(note)));
        }
        let charts = one.series.as_ref().map(|series| charts(one, series));
        if let Some(charts) = charts.filter(|charts| !charts.is_empty()) {
            self.put(format_args!("{}\n", chart::page(&one.full_name(), &charts)));
        }
        self.put(format_args!("</section>\n"));
    }
}

/// A text that begins as a sentence does.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// The chart of the judged time and, if more than one policy was replayed, the cost of safety.
fn charts(one: &TargetReport, series: &ReplayedSeries) -> Vec<Chart> {
    let frontier = (series.policies.len() > 1).then(|| Chart::Scatter(picture::frontier(series)));
    let plain: Option<&PolicyCost> = series.policies.first();
    let floors = series.by_default().map(|(_, floors)| floors);
    let shown = one.load.as_ref().map(LoadReport::shown);
    let timeline = plain
        .zip(shown)
        .and_then(|(plain, shown)| picture::timeline(series, plain, floors, &shown));
    let timeline = timeline.map(Chart::Figure);
    [timeline, frontier].into_iter().flatten().collect()
}

const fn class(verdict: AssessVerdict) -> &'static str {
    match verdict {
        AssessVerdict::WorthEnabling => "worthEnabling",
        AssessVerdict::NotWorthEnabling
        | AssessVerdict::TooLittleData
        | AssessVerdict::NotForecast => "other",
    }
}

impl TargetReport {
    fn terms(&self) -> String {
        let object = self.scaled_object.as_ref();
        let object = object.map(|object| format!("for ScaledObject {object}"));
        let load = self.load.as_ref().map(LoadReport::told);
        let workload = Some(format!("Scales {}", self.workload));
        let terms = [workload, object, load].into_iter().flatten();
        terms.collect::<Vec<_>>().join(", ")
    }
}

impl LoadReport {
    fn shown(&self) -> LoadDisplayUnit {
        let (title, factor) = match self.unit {
            "millicores" => ("CPU load (cores, all Pods)", 1000.0),
            "bytes" => ("Memory (GiB, all Pods)", f64::from(1_u32 << 30)),
            "bytes/s" => ("Load (MB/s, all Pods)", 1e6),
            _ => ("Load (in the unit of the metric)", 1.0),
        };
        LoadDisplayUnit { title, factor }
    }

    fn told(&self) -> String {
        let start = if self.start_up_is_measured {
            "as its Pods took"
        } else {
            "as --start-up says"
        };
        format!(
            "by {}: {:.0} of {:.0} {} a Pod, {} to {} replicas, Pods ready after {} s, {start}",
            self.signal,
            self.request * self.target,
            self.request,
            self.unit,
            self.min_replicas,
            self.max_replicas,
            self.start_up_seconds
        )
    }
}
