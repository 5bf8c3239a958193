//! One field of a cron expression, from the forms of robfig/cron v3 to the form that `croner` reads alike.
//!
//! Where the two read a text differently, robfig's meaning holds: `5/15` goes on to the end of the field,
//! a field with `*`, `?` or `*/1` among its parts restricts nothing, and names stand in their own field
//! alone.

/// The values that a field accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CronField {
    name: &'static str,
    most: u32,
    names: &'static [&'static str],
    /// The number of the first of the names.
    first: u32,
    /// The letters that may stand for themselves, alone or after a number.
    letters: &'static [&'static str],
}

impl CronField {
    const fn of_numbers(name: &'static str, most: u32) -> Self {
        Self {
            name,
            most,
            names: &[],
            first: 0,
            letters: &[],
        }
    }
}

const MONTHS: &[&str] = &[
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// All fields, with seconds first.
pub(crate) const FIELDS: [CronField; 6] = [
    CronField::of_numbers("seconds", 59),
    CronField::of_numbers("minutes", 59),
    CronField::of_numbers("hours", 23),
    CronField {
        letters: &["L", "W", "LW"],
        ..CronField::of_numbers("the day of month", 31)
    },
    CronField {
        names: MONTHS,
        first: 1,
        ..CronField::of_numbers("the month", 12)
    },
    CronField {
        names: WEEKDAYS,
        letters: &["L"],
        ..CronField::of_numbers("the day of week", 6)
    },
];

/// Larger steps than any field has values mean its first value alone.
const LARGEST_STEP: u32 = 1000;

/// A field as `croner` reads it.
///
/// # Errors
/// Text that no field of this kind holds.
pub(crate) fn normalized(field: &CronField, text: &str) -> Result<String, String> {
    // Only the day of week has it: croner refuses it elsewhere.
    let (both, parts) = text
        .strip_prefix('+')
        .map_or(("", text), |parts| ("+", parts));
    let parts = parts.split(',').filter(|part| !part.is_empty());
    let parts: Vec<String> = parts
        .map(|part| normalized_part(field, part))
        .collect::<Result<_, _>>()?;
    if parts.iter().any(|part| part == "*") {
        return Ok(format!("{both}*"));
    }
    if parts.is_empty() {
        return Ok(",".to_owned());
    }
    Ok(format!("{both}{}", parts.join(",")))
}

fn normalized_part(field: &CronField, part: &str) -> Result<String, String> {
    let part = numbered(field, part)?;
    let (base, step) = match part.split_once('/') {
        None => (part.as_str(), None),
        Some((base, step)) => (base, Some(step)),
    };
    let base = if base == "?" { "*" } else { base };
    let Some(step) = step else {
        return Ok(base.to_owned());
    };
    let Ok(step) = step.parse::<u64>() else {
        // croner reads the forms of its own, such as a step of the first weekdays, and refuses the rest.
        return Ok(part);
    };
    let step = u32::try_from(step)
        .unwrap_or(LARGEST_STEP)
        .min(LARGEST_STEP);
    if base == "*" && step == 1 {
        return Ok(base.to_owned());
    }
    let is_number = !base.is_empty() && base.bytes().all(|byte| byte.is_ascii_digit());
    Ok(if is_number {
        format!("{base}-{}/{step}", field.most)
    } else {
        format!("{base}/{step}")
    })
}

/// The same with names as numbers.
fn numbered(field: &CronField, part: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = part;
    while !rest.is_empty() {
        let is_word = rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        let end = rest.find(|c: char| c.is_ascii_alphanumeric() != is_word);
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        if is_word {
            text.push_str(&word(field, token)?);
        } else {
            text.push_str(token);
        }
        rest = after;
    }
    Ok(text)
}

/// A number, a name, or a letter with a meaning of its own, perhaps after one of them.
fn word(field: &CronField, token: &str) -> Result<String, String> {
    let upper = token.to_ascii_uppercase();
    let number = |text: &str| {
        let place = field.names.iter().position(|name| *name == text);
        let number = place.and_then(|place| u32::try_from(place).ok());
        number.map_or_else(
            || {
                text.bytes()
                    .all(|byte| byte.is_ascii_digit())
                    .then(|| text.to_owned())
            },
            |place| Some((field.first + place).to_string()),
        )
    };
    if let Some(number) = number(&upper) {
        return Ok(number);
    }
    for letter in field.letters {
        if let Some(before) = upper.strip_suffix(letter)
            && let Some(number) = number(before)
        {
            return Ok(format!("{number}{letter}"));
        }
    }
    Err(format!("{token:?} has no meaning in {}", field.name))
}
