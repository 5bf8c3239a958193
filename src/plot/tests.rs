//! What a picture has in it, read back from the SVG and from the pixels.

use resvg::tiny_skia::Pixmap;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn figure(points: Vec<Point>) -> Figure {
    Figure {
        title: "shop/web & <co>".to_owned(),
        notes: vec!["a note".to_owned()],
        from: at(0),
        to: at(3600),
        zone: TimeZone::UTC,
        panels: vec![
            Panel {
                title: "Load (cores)".to_owned(),
                share: 3.0,
                whole: false,
                marks: vec![
                    Mark {
                        name: "80 %".to_owned(),
                        colour: Colour::Sky,
                        shape: Shape::Band(vec![
                            (at(0), Some((1.0, 2.0))),
                            (at(60), Some((1.0, 3.0))),
                        ]),
                    },
                    Mark {
                        name: "load".to_owned(),
                        colour: Colour::Ink,
                        shape: Shape::Line(points.clone(), Stroke::Solid),
                    },
                ],
            },
            Panel {
                title: "Replicas".to_owned(),
                share: 2.0,
                whole: true,
                marks: vec![Mark {
                    name: "plain HPA".to_owned(),
                    colour: Colour::Vermilion,
                    shape: Shape::Steps(points, Stroke::Dashed),
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
        (at(0), Some(1.0)),
        (at(900), None),
        (at(1800), Some(2.0)),
        (at(3600), Some(4.0)),
    ];
    let svg = figure(points).svg();
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
    let points: Vec<Point> = (0..3600)
        .map(|second| (at(second), Some(value(second))))
        .collect();
    let svg = figure(points).svg();
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
            .map(|index| (at(index), Some(value(index))))
            .collect(),
    );
    figure.to = at(200_000);
    let bytes = figure.svg().len();
    assert!(bytes < 500_000, "{bytes}");
}

/// How many pixels have this colour.
fn pixels(of: &Pixmap, [red, green, blue]: [u8; 3]) -> usize {
    let same = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| {
        (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue)
    };
    of.pixels().iter().filter(same).count()
}

#[test]
fn the_png_shows_lines_and_letters() {
    let points = vec![(at(0), Some(1.0)), (at(3600), Some(1.0))];
    let picture = Pixmap::decode_png(&png(&figure(points).svg()).unwrap()).unwrap();
    assert_eq!((picture.width(), picture.height()), (1200, 700));
    assert!(pixels(&picture, [0x40, 0x40, 0x40]) > 900, "the load");
    // The core of the strokes of the title's letters.
    assert!(pixels(&picture, [0x20, 0x20, 0x20]) > 100, "the letters");
}

#[test]
fn what_is_no_drawing_is_refused() {
    assert_eq!(png("<svg").unwrap_err().reason(), "Svg");
}
