//! The one place where environment variables are read.

use super::layers::ENVIRONMENT_PREFIX;

/// The variables with our prefix.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            // Text that is not Unicode becomes a value that the check of its field refuses.
            let value = value.to_string_lossy().into_owned();
            name.starts_with(ENVIRONMENT_PREFIX)
                .then_some((name, value))
        })
        .collect()
}

/// True where the user wants no colours (<https://no-color.org>).
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// The time zone of the machine, or that of TZ.
pub fn local_time_zone() -> jiff::tz::TimeZone {
    jiff::tz::TimeZone::system()
}
