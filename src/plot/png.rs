//! The drawing as pixels, with the font that is compiled in: what a PNG looks like does not depend
//! on the fonts of the machine that made it.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::svg::FONT;

/// See `assets/fonts/README.md`.
const OPEN_SANS: &[u8] = include_bytes!("../../assets/fonts/OpenSans-Regular.ttf");

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// It is no drawing.
    #[error("the SVG cannot be read: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// It has no size that memory could hold.
    #[error("a picture of {0} by {1} pixels is not accepted")]
    Size(u32, u32),
    /// The pixels could not be packed.
    #[error("the picture cannot be packed as PNG: {0}")]
    Encode(String),
}

impl PngError {
    /// The kind of error.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Svg(_) => "Svg",
            Self::Size(..) => "Size",
            Self::Encode(_) => "Encode",
        }
    }
}

/// An SVG, in its own size, as PNG.
///
/// # Errors
/// Text that is no SVG, or one that is too large.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let options = Options {
        font_family: FONT.to_owned(),
        fontdb: fonts(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size();
    let (width, height) = (size.width(), size.height());
    let mut pixels = Pixmap::new(width, height).ok_or(PngError::Size(width, height))?;
    resvg::render(&tree, Transform::default(), &mut pixels.as_mut());
    let encoded = pixels.encode_png();
    encoded.map_err(|error| PngError::Encode(error.to_string()))
}

fn fonts() -> Arc<fontdb::Database> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(OPEN_SANS.to_vec());
        fonts.set_sans_serif_family(FONT);
        Arc::new(fonts)
    };
    Arc::clone(FONTS.get_or_init(load))
}
