//! Fitting of `global` and `own`: the largest load of a window, learnt from series of minutes.

use std::num::NonZeroUsize;

use evenkeel_forecast::{
    GlobalPeaks, INPUTS, Inputs, LEVELS, Lookback as _, Masks, Minutes, OwnPeaks, inputs,
};
use evenkeel_units::random::RandomSource;

use crate::boosting::{BoostingError, BoostingSettings, LibraryRows, Rows};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GlobalSettings {
    pub boosting: BoostingSettings,
    /// Most rows per series, so that a long one does not dominate.
    pub rows_of_series: usize,
    /// Draws windows and masks of rows.
    pub seed: u64,
    /// Windows to serve, in minutes.
    pub windows: [usize; 8],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnSettings {
    pub boosting: BoostingSettings,
    /// Newest minutes of the past to learn from.
    pub minutes: usize,
    /// Minutes of the past to read: the same, and the week before that their inputs look back.
    pub past: usize,
    pub least: usize,
    /// Proven trees are fitted anew on the whole past; without it they stay, which takes half the
    /// time.
    pub refits: bool,
}

impl GlobalSettings {
    pub const fn with(threads: NonZeroUsize) -> Self {
        Self {
            boosting: BoostingSettings {
                trees: 120,
                leaves: 15,
                rate: 0.08,
                leaf_weight: 50.0,
                bins: 128,
                shares: [1.0; 2],
                threads,
            },
            rows_of_series: 8_000,
            seed: 1,
            windows: [2, 3, 4, 5, 7, 9, 12, 16],
        }
    }
}

impl Default for OwnSettings {
    fn default() -> Self {
        Self {
            boosting: BoostingSettings {
                trees: 60,
                leaves: 7,
                rate: 0.05,
                leaf_weight: 30.0,
                bins: 64,
                shares: [1.0; 2],
                threads: NonZeroUsize::MIN,
            },
            minutes: 8_000,
            past: 8_000 + 8 * 1_440,
            least: 720,
            refits: true,
        }
    }
}

/// The known inputs at a minute, and the rise that came.
#[derive(Debug, Clone)]
pub(crate) struct PeakTrainingRow {
    /// Index of the minute in its series.
    pub(crate) index: usize,
    pub(crate) inputs: Inputs,
    pub(crate) rise: f32,
}

/// `None` if too little is known before or after the minute.
pub(crate) fn row(
    series: &Minutes,
    index: usize,
    window: usize,
    masks: Masks,
) -> Option<PeakTrainingRow> {
    let inputs = inputs(&series.past(index), window, masks)?;
    let end = series.past(index + window);
    if index + window >= series.values().len() {
        return None;
    }
    let loads = (0..window).map(|ago| end.minute(ago));
    let largest = loads
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::max)?;
    #[expect(clippy::cast_possible_truncation, reason = "inputs are coarser by far")]
    let rise = ((largest - inputs.last) / inputs.scale) as f32;
    // A larger rise means that a load of almost 0 came alive; one such row outweighs thousands.
    Some(PeakTrainingRow {
        index,
        inputs,
        rise: rise.clamp(-8.0, 8.0),
    })
}

/// Fits `global` on many series.
///
/// # Errors
/// No series has a row.
pub fn fit_global(
    series: &[Minutes],
    settings: &GlobalSettings,
) -> Result<GlobalPeaks, BoostingError> {
    let mut rows = Rows::new(INPUTS);
    for (number, series) in series.iter().enumerate() {
        let random = RandomSource::new(settings.seed).stream(&format!("rows {number}"));
        add_rows(&mut rows, series, settings, random);
    }
    let (given, begins) = (LibraryRows::of(&rows)?, vec![0.0; rows.len()]);
    let level = |index: usize| given.fit(LEVELS[index], &begins, &settings.boosting);
    Ok(GlobalPeaks::new([
        level(0)?,
        level(1)?,
        level(2)?,
        level(3)?,
    ]))
}

/// Each row gets one of the windows to serve.
fn add_rows(rows: &mut Rows, series: &Minutes, settings: &GlobalSettings, random: RandomSource) {
    let length = series.values().len();
    let stride = length.div_ceil(settings.rows_of_series).max(1);
    let (windows, ages) = (random.stream("window"), random.stream("age"));
    for (place, index) in (0_u64..).zip((0..length).step_by(stride)) {
        let window = settings.windows[windows.below(place, settings.windows.len())];
        let masks = Masks {
            // A fifth of the rows stands for new targets.
            minutes: if ages.below(place, 5) == 0 {
                15 + ages.stream("minutes").below(place, 225)
            } else {
                usize::MAX
            },
            // A third has no day before.
            day: random.stream("day").below(place, 10) >= 3,
            // Of those with one, four of ten have no week.
            week: random.stream("week").below(place, 10) >= 4,
        };
        if let Some(row) = row(series, index, window, masks) {
            rows.push(&row.inputs.values, row.rise, 0.0);
        }
    }
}

/// With the forecast that own trees correct.
#[derive(Debug, Clone)]
pub(crate) struct OwnRow {
    pub(crate) row: PeakTrainingRow,
    /// Forecast of `global`, at each of [`LEVELS`].
    pub(crate) rises: [f32; LEVELS.len()],
}

/// Rows for own trees, oldest first.
pub(crate) fn own_rows(
    global: &GlobalPeaks,
    past: &Minutes,
    window: usize,
    settings: &OwnSettings,
) -> Vec<OwnRow> {
    let length = past.values().len();
    let minutes = length.saturating_sub(settings.minutes)..length;
    let rows = minutes.filter_map(|index| row(past, index, window, Masks::NONE));
    let rows = rows.map(|row| OwnRow {
        rises: global.rises(&row.inputs),
        row,
    });
    rows.collect()
}

/// Fits own trees.
///
/// # Errors
/// No rows, or a refusal by the library.
pub(crate) fn fit_own(
    rows: &[OwnRow],
    window: usize,
    settings: &OwnSettings,
) -> Result<OwnPeaks, BoostingError> {
    let mut given = Rows::new(INPUTS);
    for OwnRow { row, .. } in rows {
        given.push(&row.inputs.values, row.rise, 0.0);
    }
    let given = LibraryRows::of(&given)?;
    let level = |index: usize| {
        let begins: Vec<f32> = rows.iter().map(|row| row.rises[index]).collect();
        given.fit(LEVELS[index], &begins, &settings.boosting)
    };
    Ok(OwnPeaks::new(window, [level(1)?, level(2)?, level(3)?]))
}

/// The newest part, of at most `newest` rows, and the rows with windows that end before it.
pub(crate) fn part(rows: &[OwnRow], newest: usize, window: usize) -> (&[OwnRow], &[OwnRow]) {
    let (older, newest) = rows.split_at(rows.len().saturating_sub(newest));
    let begin = newest.first().map_or(usize::MAX, |one| one.row.index);
    let over = older.partition_point(|one| one.row.index.saturating_add(window) <= begin);
    (&older[..over], newest)
}
