//! No text of a chart covers another or leaves the page: every text's box, read back from the SVG.

use proptest::prelude::*;

use super::*;
use crate::forecast::chart::text_width;

struct TextBox {
    text: String,
    left: f64,
    right: f64,
    upper: f64,
    lower: f64,
}

impl TextBox {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.upper < other.lower
            && other.upper < self.lower
    }
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, value) = element.split_once(&format!(" {name}=\"")).unwrap();
    value.split_once('"').unwrap().0
}

fn number(element: &str, name: &str) -> f64 {
    attribute(element, name).parse().unwrap()
}

fn boxes(svg: &str) -> Vec<TextBox> {
    let mut moved = 0.0;
    let mut boxes = Vec::new();
    for line in svg.lines() {
        if let Some(place) = line.strip_prefix("<g transform=\"translate(0 ") {
            moved = place.split_once(')').unwrap().0.parse().unwrap();
        } else if line.starts_with("<text ") {
            let (element, rest) = line.split_once('>').unwrap();
            let text = rest.strip_suffix("</text>").unwrap();
            let text = text.replace("&lt;", "<").replace("&gt;", ">");
            let text = text.replace("&quot;", "\"").replace("&amp;", "&");
            let size = number(element, "font-size");
            let (x, y) = (number(element, "x"), number(element, "y") + moved);
            let width = text_width::width(&text, size);
            let left = match attribute(element, "text-anchor") {
                "start" => x,
                "middle" => x - width / 2.0,
                _ => x - width,
            };
            boxes.push(TextBox {
                text,
                left,
                right: left + width,
                upper: y - 0.8 * size,
                lower: y + 0.24 * size,
            });
        }
    }
    boxes
}

/// Fails where two texts meet, or one leaves the page.
fn hold(svg: &str) {
    let boxes = boxes(svg);
    let page = svg.lines().next().unwrap();
    let (width, height) = (number(page, "width"), number(page, "height"));
    for (index, one) in boxes.iter().enumerate() {
        let inside = 0.0 <= one.left && one.right <= width && 0.0 <= one.upper;
        assert!(
            inside && one.lower <= height,
            "{:?} leaves the page",
            one.text
        );
        for other in &boxes[index + 1..] {
            assert!(!one.meets(other), "{:?} meets {:?}", one.text, other.text);
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}",
        "[A-Za-z0-9 /&<>µ-]{1,60}",
        "[mW]{1,150}",
        "[\u{4e00}-\u{4e80}]{1,100}",
        Just(String::new()),
    ]
}

fn value() -> impl Strategy<Value = f64> {
    (0.0..1.0_f64, -3..15_i32).prop_map(|(value, power)| value * 10_f64.powi(power))
}

fn panel() -> impl Strategy<Value = Panel> {
    let marks = prop::collection::vec((name(), value()), 0..9);
    let share = prop_oneof![Just(1.0), Just(3.0)];
    (name(), marks, share, any::<bool>()).prop_map(|(title, marks, share, whole)| Panel {
        title,
        share,
        whole,
        marks: marks
            .into_iter()
            .map(|(name, value)| ChartMark {
                name,
                colour: Colour::Ink,
                shape: MarkShape::Line(vec![point(0, Some(value))], Stroke::Solid),
            })
            .collect(),
    })
}

fn any_figure() -> impl Strategy<Value = ChartFigure> {
    let panels = prop::collection::vec(panel(), 1..9);
    let span = (0..2_000_000_000_i64, 1..100_000_000_i64);
    let zone = prop_oneof![Just("UTC"), Just("Europe/Berlin"), Just("Asia/Kolkata")];
    let notes = prop::collection::vec(name(), 0..4);
    (name(), notes, panels, span, zone).prop_map(|(title, notes, panels, (from, span), zone)| {
        ChartFigure {
            title,
            notes,
            from: at(from),
            to: at(from + span),
            zone: TimeZone::get(zone).unwrap(),
            panels,
        }
    })
}

fn any_scatter() -> impl Strategy<Value = Scatter> {
    let spread = prop_oneof![Just(1.0), Just(1e-3), Just(1e7)];
    let points = prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, name()), 0..14);
    let side = prop_oneof![Just(LabelSide::Above), Just(LabelSide::Below)];
    let line = (name(), points, side);
    let lines = prop::collection::vec(line, 0..=8);
    (name(), name(), name(), lines, value(), spread).prop_map(
        |(title, x, y, lines, high, spread)| {
            let line = |((name, points, side), colour): ((String, Vec<_>, _), _)| ScatterLine {
                name,
                colour,
                stroke: Stroke::Solid,
                side,
                points: points
                    .into_iter()
                    .map(|(x, y, label)| ScatterPoint {
                        x: 1000.0 + x * spread,
                        y: y * high,
                        label,
                    })
                    .collect(),
            };
            let lines = lines.into_iter().zip(Colour::SERIES).map(line);
            Scatter {
                notes: vec![title.clone()],
                title,
                x,
                y,
                lines: lines.collect(),
            }
        },
    )
}

proptest! {
    #[test]
    fn no_text_of_a_figure_meets_another(figure in any_figure()) {
        hold(&draw(&figure));
    }

    #[test]
    fn no_text_of_a_scatter_meets_another(one in any_scatter(), figure in any_figure()) {
        hold(&page("both", &[Chart::Scatter(one), Chart::Figure(figure)]));
    }
}

/// Seven ways of scaling, three of them in one place, which legend and labels once covered.
#[test]
fn every_line_is_named_where_many_points_are_close() {
    let ways = [
        "reactive",
        "cron",
        "cron + reactive",
        "cron + predictive + reactive",
    ];
    let lines = ways.into_iter().zip(Colour::SERIES).enumerate();
    let lines = lines.map(|(index, (way, colour))| ScatterLine {
        name: way.to_owned(),
        colour,
        stroke: Stroke::Solid,
        side: LabelSide::Below,
        points: vec![ScatterPoint {
            x: if index == 0 { 100.0 } else { 700.0 },
            y: 1.0,
            label: way.to_owned(),
        }],
    });
    let scatter = Scatter {
        lines: lines.collect(),
        ..scatter(&[], LabelSide::Above)
    };
    let svg = page("ways", &[Chart::Scatter(scatter)]);
    hold(&svg);
    for way in ways {
        assert_eq!(svg.matches(&format!(">{way}<")).count(), 1, "{way}: {svg}");
    }
}
