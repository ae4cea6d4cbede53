//! Numbers on the command line, whose refusals say what is allowed.
//!
//! Callers: `laboratory`, `load`.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// A parser of numbers within this range, for clap.
pub(crate) fn within<N>(
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + std::fmt::Display + Clone + Send + Sync + 'static,
{
    move |text| match text.trim().parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("choose {} to {}", range.start(), range.end())),
    }
}
