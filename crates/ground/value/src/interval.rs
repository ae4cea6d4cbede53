//! Spans of time: months, days and microseconds, which don't turn into each other by themselves.
//!
//! Invariants
//!   * months and days are kept apart, for neither has one length: 1 month after 31 January is the
//!     end of February
//!   * spans compare as if a month had 30 days and a day 24 hours, as in PostgreSQL; so 1 month and
//!     30 days are equal, though they differ when they are added
//!
//! No column holds a span. Callers: SQL. Sources: PostgreSQL's `interval`: its comparison, its
//! products, and the form that it is written in.

mod text;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::moment::DAY_US;

/// The days of a month in a comparison or a product.
const MONTH_DAYS: i64 = 30;
const SECOND_US: i64 = 1_000_000;
const HOUR_US: i64 = 3600 * SECOND_US;
const MINUTE_US: i64 = 60 * SECOND_US;

/// A span of time.
#[derive(Clone, Copy)]
pub struct Interval {
    months: i32,
    days: i32,
    us: i64,
}

impl Interval {
    /// No time.
    pub const ZERO: Interval = Interval { months: 0, days: 0, us: 0 };

    /// A span of so many months, days and microseconds; each may be negative.
    pub fn new(months: i32, days: i32, us: i64) -> Interval {
        Interval { months, days, us }
    }

    /// The months.
    pub fn months(self) -> i32 {
        self.months
    }

    /// The days, without those of the months.
    pub fn days(self) -> i32 {
        self.days
    }

    /// The microseconds, without those of the days.
    pub fn us(self) -> i64 {
        self.us
    }

    /// The microseconds in all, with months of 30 days.
    pub(crate) fn span(self) -> i128 {
        let days = i64::from(self.months) * MONTH_DAYS + i64::from(self.days);
        i128::from(days) * i128::from(DAY_US) + i128::from(self.us)
    }

    /// The sum, part by part; none if a part is too large.
    pub fn checked_add(self, other: Interval) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            us: self.us.checked_add(other.us)?,
        })
    }

    /// The difference, part by part; none if a part is too large.
    pub fn checked_sub(self, other: Interval) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_sub(other.months)?,
            days: self.days.checked_sub(other.days)?,
            us: self.us.checked_sub(other.us)?,
        })
    }

    /// The span with all signs turned; none if a part is too large.
    pub fn checked_neg(self) -> Option<Interval> {
        Interval::ZERO.checked_sub(self)
    }

    /// The product. A fraction of a month becomes days, and a fraction of a day microseconds. None
    /// if a part is too large, or the factor is no number.
    pub fn checked_mul(self, factor: f64) -> Option<Interval> {
        let us = self.us as f64 * factor;
        self.scaled(&|part| f64::from(part) * factor, us)
    }

    /// The quotient, as [`Interval::checked_mul`]; none also if the divisor is zero.
    pub fn checked_div(self, divisor: f64) -> Option<Interval> {
        if divisor == 0.0 {
            return None;
        }
        let us = self.us as f64 / divisor;
        self.scaled(&|part| f64::from(part) / divisor, us)
    }

    /// The span whose months and days are `scale` of these, and whose microseconds are `us`.
    fn scaled(self, scale: &dyn Fn(i32) -> f64, us: f64) -> Option<Interval> {
        let (all_months, all_days) = (scale(self.months), scale(self.days));
        let (months, whole_days) = (to_i32(all_months)?, to_i32(all_days)?);
        let from_months = to_us_places((all_months - f64::from(months)) * MONTH_DAYS as f64);
        let fraction = all_days - f64::from(whole_days) + from_months - from_months.trunc();
        let (day_seconds, mut days) = (86_400.0, whole_days);
        let mut seconds = to_us_places(fraction * day_seconds);
        if seconds.abs() >= day_seconds {
            let more = to_i32(seconds / day_seconds)?;
            days = days.checked_add(more)?;
            seconds -= f64::from(more) * day_seconds;
        }
        days = days.checked_add(to_i32(from_months)?)?;
        let us = (us + seconds * SECOND_US as f64).round_ties_even();
        let limit = -(i64::MIN as f64);
        (us >= -limit && us < limit).then_some(Interval { months, days, us: us as i64 })
    }

    /// The span whose whole days of 24 hours are days: 30 hours become 1 day and 6 hours.
    pub fn justify_hours(self) -> Option<Interval> {
        let more = i32::try_from(self.us / DAY_US).ok()?;
        let (mut days, mut us) = (self.days.checked_add(more)?, self.us % DAY_US);
        if days > 0 && us < 0 {
            (days, us) = (days - 1, us + DAY_US);
        } else if days < 0 && us > 0 {
            (days, us) = (days + 1, us - DAY_US);
        }
        Some(Interval { days, us, ..self })
    }

    /// The span whose whole months of 30 days are months: 35 days become 1 month and 5 days.
    pub fn justify_days(self) -> Option<Interval> {
        let month = MONTH_DAYS as i32;
        let (mut months, mut days) =
            (self.months.checked_add(self.days / month)?, self.days % month);
        if months > 0 && days < 0 {
            (months, days) = (months - 1, days + month);
        } else if months < 0 && days > 0 {
            (months, days) = (months + 1, days - month);
        }
        Some(Interval { months, days, ..self })
    }

    /// The span whose whole days are days and whose whole months of 30 days are months, all of one
    /// sign: 1 month and -1 hour become 29 days and 23 hours.
    pub fn justify(self) -> Option<Interval> {
        let month = MONTH_DAYS as i32;
        let mut us = self.us % DAY_US;
        let mut days = self.days.checked_add(i32::try_from(self.us / DAY_US).ok()?)?;
        let mut months = self.months.checked_add(days / month)?;
        days %= month;
        if months > 0 && (days < 0 || (days == 0 && us < 0)) {
            (months, days) = (months - 1, days + month);
        } else if months < 0 && (days > 0 || (days == 0 && us > 0)) {
            (months, days) = (months + 1, days - month);
        }
        if days > 0 && us < 0 {
            (days, us) = (days - 1, us + DAY_US);
        } else if days < 0 && us > 0 {
            (days, us) = (days + 1, us - DAY_US);
        }
        Some(Interval { months, days, us })
    }

    /// Whether all three parts are the same, unlike in a comparison.
    pub fn is_identical(self, other: Interval) -> bool {
        (self.months, self.days, self.us) == (other.months, other.days, other.us)
    }
}

/// The whole part of a number; none if it has more than 32 bits.
fn to_i32(value: f64) -> Option<i32> {
    let whole = value.trunc();
    let fits = whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX);
    fits.then_some(whole as i32)
}

/// Rounds to six places, so that what a product leaves behind them doesn't count.
fn to_us_places(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

impl Ord for Interval {
    fn cmp(&self, other: &Interval) -> Ordering {
        self.span().cmp(&other.span())
    }
}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Interval) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Interval) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Interval {}

impl Hash for Interval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.span().hash(state);
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m {}d {}us", self.months, self.days, self.us)
    }
}

/// Writes `1 year 2 mons 3 days 04:05:06.5`, as PostgreSQL does. Parts that are zero are left out.
/// A part behind a negative one has its sign written.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut is_first, mut after_negative) = (true, false);
        let parts = [(self.months / 12, "year"), (self.months % 12, "mon"), (self.days, "day")];
        for (count, unit) in parts.into_iter().filter(|(count, _)| *count != 0) {
            let space = if is_first { "" } else { " " };
            let sign = if after_negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            write!(f, "{space}{sign}{count} {unit}{plural}")?;
            (is_first, after_negative) = (false, count < 0);
        }
        if !is_first && self.us == 0 {
            return Ok(());
        }
        let space = if is_first { "" } else { " " };
        let sign = match self.us {
            ..0 => "-",
            _ if after_negative => "+",
            _ => "",
        };
        let us = self.us.unsigned_abs();
        let (hour, minute) = (us / HOUR_US as u64, us / MINUTE_US as u64 % 60);
        let (second, fraction) = (us / SECOND_US as u64 % 60, us % SECOND_US as u64);
        write!(f, "{space}{sign}{hour:02}:{minute:02}:{second:02}")?;
        if fraction != 0 {
            let digits = format!("{fraction:06}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> Interval {
        Interval::parse(text).expect("a span")
    }

    #[test]
    fn spans_are_written_as_in_postgresql() {
        let written = [
            (Interval::new(14, 3, 4 * HOUR_US + 5 * MINUTE_US + 6 * SECOND_US), {
                "1 year 2 mons 3 days 04:05:06"
            }),
            (Interval::ZERO, "00:00:00"),
            (Interval::new(-1, 0, 0), "-1 mons"),
            (Interval::new(12, -1, 0), "1 year -1 days"),
            (Interval::new(-12, 1, 0), "-1 years +1 day"),
            (Interval::new(0, -1, SECOND_US), "-1 days +00:00:01"),
            (Interval::new(0, 1, -SECOND_US / 2), "1 day -00:00:00.5"),
            (Interval::new(0, 0, 100 * HOUR_US + 1), "100:00:00.000001"),
        ];
        for (interval, text) in written {
            assert_eq!(interval.to_string(), text);
            assert!(span(text).is_identical(interval), "{text}");
        }
    }

    #[test]
    fn spans_compare_with_months_of_30_days_and_days_of_24_hours() {
        assert_eq!(span("1 mon"), span("30 days"));
        assert_eq!(span("1 day"), span("24:00:00"));
        assert!(span("1 year") > span("359 days") && span("1 year") < span("361 days"));
        assert!(span("-1 day") < span("-23:59:59"));
        let widest = Interval::new(i32::MAX, i32::MAX, i64::MAX);
        assert!(widest > span("1000 years"));
    }

    #[test]
    fn products_and_quotients_hand_fractions_down_as_in_postgresql() {
        let product = |text: &str, by: f64| span(text).checked_mul(by).map(|i| i.to_string());
        assert_eq!(product("1 mon", 1.5).as_deref(), Some("1 mon 15 days"));
        assert_eq!(product("1 day", 0.5).as_deref(), Some("12:00:00"));
        let mixed = product("1 mon 1 day 1 hour", -2.0);
        assert_eq!(mixed.as_deref(), Some("-2 mons -2 days -02:00:00"));
        assert_eq!(product("1 year", 0.1).as_deref(), Some("1 mon 6 days"));
        assert_eq!(product("1000000 years", 1e9), None);
        assert_eq!(product("1 day", f64::NAN), None);
        let quotient = |text: &str, by: f64| span(text).checked_div(by).map(|i| i.to_string());
        assert_eq!(quotient("1 hour", 1.5).as_deref(), Some("00:40:00"));
        assert_eq!(quotient("1 mon", 4.0).as_deref(), Some("7 days 12:00:00"));
        assert_eq!(quotient("1 hour", 0.0), None);
    }

    #[test]
    fn hours_become_days_and_days_become_months_only_when_asked() {
        let hours = span("30:00:00").justify_hours().expect("few days");
        assert!(hours.is_identical(Interval::new(0, 1, 6 * HOUR_US)));
        let mixed = span("1 day -01:00:00").justify_hours().expect("few days");
        assert!(mixed.is_identical(Interval::new(0, 0, 23 * HOUR_US)));
        let days = span("-1 mon 35 days").justify_days().expect("few months");
        assert!(days.is_identical(Interval::new(0, 5, 0)));
        let all = span("1 mon -1 hour").justify().expect("few months");
        assert!(all.is_identical(Interval::new(0, 29, 23 * HOUR_US)));
        let back = span("-1 mon 1 hour").justify().expect("few months");
        assert!(back.is_identical(Interval::new(0, -29, -23 * HOUR_US)));
    }
}
