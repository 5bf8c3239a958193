//! Charts, read back from their SVG.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::*;

mod boxes;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn point(second: i64, value: Option<f64>) -> ChartPoint {
    let at = at(second);
    ChartPoint { at, value }
}

fn band(second: i64, upper: f64) -> BandPoint {
    BandPoint {
        at: at(second),
        lower: Some(1.0),
        upper: Some(upper),
    }
}

fn figure(points: Vec<ChartPoint>) -> ChartFigure {
    ChartFigure {
        title: "shop/web & <co>".to_owned(),
        notes: vec![
            "a note".to_owned(),
            "word ".repeat(40).trim_end().to_owned(),
        ],
        from: at(0),
        to: at(3600),
        zone: TimeZone::UTC,
        panels: vec![
            Panel {
                title: "Load (cores)".to_owned(),
                share: 3.0,
                whole: false,
                marks: vec![
                    ChartMark {
                        name: "80 %".to_owned(),
                        colour: Colour::Sky,
                        shape: MarkShape::Band(vec![band(0, 2.0), band(60, 3.0)]),
                    },
                    ChartMark {
                        name: "load".to_owned(),
                        colour: Colour::Ink,
                        shape: MarkShape::Line(points.clone(), Stroke::Solid),
                    },
                ],
            },
            Panel {
                title: "Replicas".to_owned(),
                share: 2.0,
                whole: true,
                marks: vec![ChartMark {
                    name: "plain HPA".to_owned(),
                    colour: Colour::Vermilion,
                    shape: MarkShape::Steps(points, Stroke::Dashed),
                }],
            },
        ],
    }
}

fn paths(svg: &str) -> Vec<&str> {
    let lines = svg
        .lines()
        .filter_map(|line| line.strip_prefix("<path d=\""));
    lines.filter_map(|line| line.split('"').next()).collect()
}

#[test]
fn everything_is_named_and_a_hole_stays_a_hole() {
    let points = vec![
        point(0, Some(1.0)),
        point(900, None),
        point(1800, Some(2.0)),
        point(3600, Some(4.0)),
    ];
    let svg = draw(&figure(points));
    for text in [
        "shop/web &amp; &lt;co&gt;",
        "a note",
        "Load (cores)",
        "Replicas",
        "Time (UTC)",
        "00:15",
        "80 %",
        "plain HPA",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    let moves = |path: &str| path.matches('M').count();
    let all = paths(&svg);
    assert_eq!(
        all.iter().map(|path| moves(path)).collect::<Vec<_>>(),
        [1, 1, 1, 2, 1, 2]
    );
}

#[test]
fn a_peak_of_one_moment_is_seen_among_many_points() {
    let value = |second: i64| if second == 1801 { 9.0 } else { 1.0 };
    let points: Vec<ChartPoint> = (0..3600)
        .map(|second| point(second, Some(value(second))))
        .collect();
    let svg = draw(&figure(points));
    let load = paths(&svg)[3];
    let heights: Vec<f64> = load
        .split(['M', 'L'])
        .filter_map(|place| place.split_once(' ')?.1.parse().ok())
        .collect();
    let (low, high) = (
        heights.iter().copied().fold(0.0, f64::max),
        heights.iter().copied().fold(999.0, f64::min),
    );
    assert!(low - high > 100.0, "{low} {high}");
}

#[test]
fn many_points_make_no_large_picture() {
    let value = |index: i64| f64::from(i32::try_from(index % 97).unwrap());
    let mut figure = figure(
        (0..200_000)
            .map(|index| point(index, Some(value(index))))
            .collect(),
    );
    figure.to = at(200_000);
    let bytes = draw(&figure).len();
    assert!(bytes < 500_000, "{bytes}");
}

fn scatter(points: &[(f64, f64, &str)], side: LabelSide) -> Scatter {
    let points = points.iter().map(|&(x, y, label)| ScatterPoint {
        x,
        y,
        label: label.to_owned(),
    });
    Scatter {
        title: "what safety costs".to_owned(),
        notes: vec!["a note".to_owned()],
        x: "Replica-hours".to_owned(),
        y: "Seconds".to_owned(),
        lines: vec![ScatterLine {
            name: "plain HPA".to_owned(),
            colour: Colour::Vermilion,
            stroke: Stroke::Dashed,
            side,
            points: points.collect(),
        }],
    }
}

fn drawn(scatter: Scatter) -> String {
    page("a page", &[Chart::Scatter(scatter)])
}

#[test]
fn a_scatter_joins_its_points_and_names_them() {
    let points = [(100.0, 50.0, "60%"), (150.0, 10.0, "50%")];
    let svg = drawn(scatter(&points, LabelSide::Above));
    for text in [
        "what safety costs",
        "a note",
        "Replica-hours",
        "Seconds",
        "plain HPA",
        "60%",
        "50%",
        "120",
    ] {
        assert!(svg.contains(&format!(">{text}<")), "{text}: {svg}");
    }
    let paths = paths(&svg);
    let [_legend, line, left, right] = &paths[..] else {
        panic!("{paths:?}")
    };
    let place = |path: &str| {
        let path = path.strip_prefix('M').unwrap().strip_suffix("h0").unwrap();
        path.to_owned()
    };
    assert_eq!(**line, format!("M{}L{}", place(left), place(right)));
    let numbers = |path: &str| {
        let place = place(path);
        let (x, y) = place.split_once(' ').unwrap();
        (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
    };
    let ((left, upper), (right, lower)) = (numbers(left), numbers(right));
    assert!(left < right && upper < lower, "{paths:?}");
}

#[test]
fn labels_that_would_cover_each_other_are_written_as_one() {
    let two = [
        (100.0, 50.0, "2%"),
        (100.1, 50.0, "1%"),
        (150.0, 10.0, "5%"),
    ];
    let svg = drawn(scatter(&two, LabelSide::Below));
    assert!(svg.contains(">2%, 1%<") && svg.contains(">5%<"), "{svg}");
    let all = [(1.0, 5.0, "5%"), (1.0, 5.0, "1%"), (1.0, 5.0, "0.1%")];
    let svg = drawn(scatter(&all, LabelSide::Below));
    assert!(svg.contains(">5% to 0.1%<"), "{svg}");
}

#[test]
fn a_scatter_of_one_point_or_of_none_is_drawn() {
    for points in [&[][..], &[(5.0, 0.0, "60%")]] {
        let svg = drawn(scatter(points, LabelSide::Above));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn charts_of_a_page_stand_below_each_other() {
    let two = [
        Chart::Figure(figure(vec![point(0, Some(1.0))])),
        Chart::Scatter(scatter(&[(1.0, 1.0, "60%")], LabelSide::Above)),
    ];
    let svg = page("both", &two);
    for part in [
        "height=\"1324\"",
        "translate(0 0.0)",
        "translate(0 700.0)",
        "<title>both</title>",
    ] {
        assert!(svg.contains(part), "{part}");
    }
}
