//! The few elements of SVG that a chart is made of, written as text.

use std::fmt::Write as _;

/// Fonts that nearly every viewer has one of.
const FONTS: &str = "'Open Sans', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// A place on the page, from the left upper corner, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PagePosition {
    pub x: f64,
    pub y: f64,
}

impl PagePosition {
    pub(super) const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// End of a text that stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TextStyle {
    /// Height of the letters in pixels.
    pub size: f64,
    pub fill: &'static str,
    pub anchor: Anchor,
}

/// A finished drawing, 1200 pixels wide.
#[derive(Debug, Clone)]
pub(super) struct Drawing {
    pub height: f64,
    pub text: String,
}

#[derive(Debug)]
pub(super) struct Svg {
    height: f64,
    text: String,
}

impl Svg {
    /// An empty white page with a title for screen readers.
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let text = String::new();
        let mut svg = Self { height, text };
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONTS}\">\n\
             <title>{}</title>\n\
             <rect x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(title)
        ));
        svg
    }

    /// A thin straight line.
    pub(super) fn rule(&mut self, from: PagePosition, to: PagePosition, stroke: &str) {
        let (PagePosition { x: x1, y: y1 }, PagePosition { x: x2, y: y2 }) = (from, to);
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"{stroke}\" stroke-width=\"1\"/>\n"
        ));
    }

    pub(super) fn path(&mut self, data: &str, attributes: &str) {
        if !data.is_empty() {
            self.put(format_args!("<path d=\"{data}\" {attributes}/>\n"));
        }
    }

    pub(super) fn text(&mut self, at: PagePosition, style: TextStyle, text: &str) {
        let TextStyle { size, fill, anchor } = style;
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{fill}\">{}</text>\n",
            at.x,
            at.y,
            escaped(text)
        ));
    }

    /// Another drawing, with its upper edge at `upper`.
    pub(super) fn at(&mut self, upper: f64, drawing: &str) {
        self.put(format_args!(
            "<g transform=\"translate(0 {upper:.1})\">\n{drawing}</g>\n"
        ));
    }

    pub(super) fn finish(mut self) -> Drawing {
        self.text.push_str("</svg>\n");
        Drawing {
            height: self.height,
            text: self.text,
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("a String takes all text");
    }
}

/// Text as it may stand in XML. Control characters, which XML has no place for, become blanks.
pub(crate) fn escaped(text: &str) -> String {
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
