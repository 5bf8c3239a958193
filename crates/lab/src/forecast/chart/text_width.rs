//! Widths of texts, so that none covers another. The font is the viewer's, so widths are those of
//! DejaVu Sans, the widest font that a chart asks for.

/// Widths of the characters from the space to the tilde, in thousandths of the font's size.
const ASCII: [u16; 95] = [
    318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337, 637, 637, 637,
    637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531, 1000, 685, 687, 699, 771, 632,
    576, 775, 752, 295, 295, 656, 558, 863, 749, 788, 604, 788, 695, 635, 611, 732, 685, 989, 686,
    611, 686, 391, 337, 391, 838, 500, 500, 613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580,
    278, 975, 634, 612, 635, 635, 412, 521, 393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838,
];
/// Width of other letters of European scripts, and of all others, which may be square.
const EUROPEAN: u16 = 800;
const SQUARE: u16 = 1000;

const CUT: char = '…';

/// Width of a text in pixels, where letters are `size` pixels high.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let thousandths: f64 = text.chars().map(|letter| f64::from(of(letter))).sum();
    thousandths * size / 1000.0
}

fn of(letter: char) -> u16 {
    let code = u32::from(letter);
    let ascii = code.checked_sub(32).and_then(|at| usize::try_from(at).ok());
    match ascii.and_then(|at| ASCII.get(at)) {
        Some(width) => *width,
        None if code < 0x0500 => EUROPEAN,
        None => SQUARE,
    }
}

/// The text, or its beginning where it is wider than `room` pixels.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = f64::from(of(CUT)) * size / 1000.0;
    for letter in text.chars() {
        used += f64::from(of(letter)) * size / 1000.0;
        if used > room {
            break;
        }
        kept.push(letter);
    }
    kept.push(CUT);
    kept
}

/// The text in lines of at most `room` pixels, broken at spaces. A word that is wider is cut off.
pub(super) fn lines(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (longer, lines.last_mut()) {
            (Some(longer), Some(line)) if width(&longer, size) <= room => *line = longer,
            _ => lines.push(fitted(word, size, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_broken_or_cut() {
        assert!((width("il", 10.0) - 5.56).abs() < 1e-9);
        assert_eq!(fitted("plain HPA", 13.0, 200.0), "plain HPA");
        let cut = fitted(&"m".repeat(90), 13.0, 200.0);
        assert!(cut.ends_with('…') && width(&cut, 13.0) <= 200.0, "{cut}");
        let text = "a note of some words ".repeat(9);
        let broken = lines(&text, 13.0, 200.0);
        assert!(broken.len() > 3, "{broken:?}");
        assert!(
            broken.iter().all(|line| width(line, 13.0) <= 200.0),
            "{broken:?}"
        );
        assert_eq!(broken.join(" "), text.trim_end());
        assert_eq!(lines("", 13.0, 200.0), Vec::<String>::new());
    }
}
