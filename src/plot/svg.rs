//! The few elements of SVG that the pictures are made of, written as text.

use std::fmt::Write as _;

/// What text is set in; a viewer without the first takes what it has.
pub(super) const FONT: &str = "Open Sans";

/// Which end of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows.
#[derive(Debug)]
pub(super) struct Svg(String);

impl Svg {
    /// An empty white page with a name for those who do not see it.
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut svg = Self(String::new());
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"'{FONT}', 'Helvetica Neue', Arial, sans-serif\">\n\
             <title>{}</title>\n",
            escaped(title)
        ));
        svg.rectangle((0.0, 0.0), (width, height), "#ffffff");
        svg
    }

    pub(super) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), fill: &str) {
        let ((x, y), (width, height)) = (at, size);
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{fill}\"/>\n"
        ));
    }

    /// A thin straight line.
    pub(super) fn rule(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"{stroke}\" stroke-width=\"1\"/>\n"
        ));
    }

    /// A path with these attributes; nothing where it has no points.
    pub(super) fn path(&mut self, data: &str, attributes: &str) {
        if !data.is_empty() {
            self.put(format_args!("<path d=\"{data}\" {attributes}/>\n"));
        }
    }

    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, style: (f64, &str), text: &str) {
        let ((x, y), (size, fill)) = (at, style);
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{fill}\">{}</text>\n",
            escaped(text)
        ));
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("a String takes all text");
    }
}

/// Text as it may stand in XML. Control characters, which XML has no place for, become blanks.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_sound_xml() {
        assert_eq!(
            escaped("a<b> & \"c\"\u{7}"),
            "a&lt;b&gt; &amp; &quot;c&quot; "
        );
    }
}
