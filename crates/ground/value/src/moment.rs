//! Days, and microseconds of days: the Gregorian calendar from year 1 to 9999, in no time zone.
//!
//! A DATE is a day, as in the SQL standard and in every client's driver. Oracle's DATE also has a
//! time to the second, which makes `d = DATE '2026-11-22'` miss rows and has no counterpart in the
//! clients' protocol. A user who needs a time declares TIMESTAMP.
//!
//! Invariants
//!   * both count from 1970-01-01, and no value outside the years 1 to 9999 can be made
//!
//! Callers: `value`, `fit`, `row`, `key`; SQL for its literals.
//! Sources: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", for days and civil dates.

use std::fmt;

/// The microseconds of a day.
pub(crate) const DAY_US: i64 = 86_400_000_000;

/// A calendar day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date(i32);

impl Date {
    /// 1 January of year 1.
    pub const MIN: Date = Date(-719_162);
    /// 31 December of year 9999.
    pub const MAX: Date = Date(2_932_896);

    /// The day `days` days after 1970-01-01; none outside the years 1 to 9999.
    pub fn from_days(days: i32) -> Option<Date> {
        (Date::MIN.0..=Date::MAX.0).contains(&days).then_some(Date(days))
    }

    /// The number of days after 1970-01-01.
    pub fn days(self) -> i32 {
        self.0
    }

    /// The day with this year, month and day; none if the calendar doesn't have it.
    pub fn from_calendar(year: i32, month: u32, day: u32) -> Option<Date> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        // Years begin in March here, so that the leap day is the last day of a year.
        let (y, m) = (if month <= 2 { year - 1 } else { year }, (month + 9) % 12);
        let (era, of_era) = (y.div_euclid(400), y.rem_euclid(400));
        let of_year = i32::try_from((153 * m + 2) / 5 + day - 1).ok()?;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
        let date = Date::from_days(days)?;
        // A day that the month doesn't have comes out as a day of the next month.
        (date.calendar() == (year, month, day)).then_some(date)
    }

    /// The year, month and day.
    pub fn calendar(self) -> (i32, u32, u32) {
        let days = self.0 + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let m = (5 * of_year + 2) / 153;
        let day = of_year - (153 * m + 2) / 5 + 1;
        let month = if m < 10 { m + 3 } else { m - 9 };
        let year = year + era * 400 + i32::from(month <= 2);
        (year, month.unsigned_abs(), day.unsigned_abs())
    }

    /// Parses `2026-11-22`.
    pub fn parse(text: &str) -> Option<Date> {
        let mut parts = text.trim().splitn(3, '-');
        let year = number(parts.next()?, 4)?;
        let (month, day) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
        Date::from_calendar(i32::try_from(year).ok()?, month, day)
    }
}

/// Writes `2026-11-22`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.calendar();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// A moment: a microsecond of a day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first microsecond of year 1.
    pub const MIN: Timestamp = Timestamp(Date::MIN.0 as i64 * DAY_US);
    /// The last microsecond of year 9999.
    pub const MAX: Timestamp = Timestamp((Date::MAX.0 as i64 + 1) * DAY_US - 1);

    /// The moment `us` microseconds after 1970-01-01 00:00:00; none outside the years 1 to 9999.
    pub fn from_us(us: i64) -> Option<Timestamp> {
        (Timestamp::MIN.0..=Timestamp::MAX.0).contains(&us).then_some(Timestamp(us))
    }

    /// The number of microseconds after 1970-01-01 00:00:00.
    pub fn us(self) -> i64 {
        self.0
    }

    /// The first moment of a day.
    pub fn midnight(date: Date) -> Timestamp {
        Timestamp(i64::from(date.0) * DAY_US)
    }

    /// The day of this moment.
    pub fn date(self) -> Date {
        Date(i32::try_from(self.0.div_euclid(DAY_US)).expect("a timestamp lies within the dates"))
    }

    /// Parses `2026-11-22 13:19:28.000001`. A `T` may replace the blank, and the text may end after
    /// the minutes or after the seconds. More than six digits of a second are refused.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.trim();
        let Some((date, time)) = text.split_once([' ', 'T']) else {
            return Date::parse(text).map(Timestamp::midnight);
        };
        let mut parts = time.splitn(3, ':');
        let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
        let (second, fraction) = match parts.next() {
            None => (0, 0),
            Some(rest) => {
                let (second, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
                let digits = u32::try_from(fraction.len()).ok()?;
                let unit = 10_u32.pow(6_u32.checked_sub(digits)?);
                (number(second, 2)?, number(fraction, 6)? * unit)
            }
        };
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = i64::from(hour * 3600 + minute * 60 + second);
        let us = seconds * 1_000_000 + i64::from(fraction);
        Some(Timestamp(Timestamp::midnight(Date::parse(date)?).0 + us))
    }
}

/// Writes `2026-11-22 13:19:28`, and six more digits if it isn't a whole second.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0.rem_euclid(DAY_US);
        let (seconds, fraction) = (us / 1_000_000, us % 1_000_000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{} {hour:02}:{minute:02}:{second:02}", self.date())?;
        if fraction != 0 {
            write!(f, ".{fraction:06}")?;
        }
        Ok(())
    }
}

/// Parses a number of one to `digits_max` digits.
fn number(text: &str, digits_max: usize) -> Option<u32> {
    let sound = (1..=digits_max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if sound { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_day_that_no_month_has_is_no_date() {
        for (month, day) in [(5, u32::MAX), (3, i32::MAX as u32), (3, u32::MAX), (2, 30), (1, 32)] {
            assert_eq!(Date::from_calendar(2026, month, day), None);
        }
    }

    #[test]
    fn every_day_of_the_calendar_comes_back_and_they_follow_each_other() {
        let (mut year, mut month, mut day) = (1, 1, 1);
        for days in Date::MIN.0..=Date::MAX.0 {
            let date = Date::from_days(days).expect("within the range");
            assert_eq!(date.calendar(), (year, month, day));
            assert_eq!(Date::from_calendar(year, month, day), Some(date));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (10_000, 1, 1));
    }

    #[test]
    fn days_that_the_calendar_lacks_are_no_dates() {
        for text in ["2026-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "0000-01-01"] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        for text in ["2026-1", "26-+1-02", "12026-01-01", "", "2026-01-01x", "2026-11-"] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        assert_eq!(Date::from_days(Date::MAX.0 + 1), None);
        assert_eq!(Date::parse("1970-01-01").map(Date::days), Some(0));
        assert_eq!(Date::parse("2024-02-29").map(|d| d.to_string()), Some("2024-02-29".into()));
    }

    #[test]
    fn timestamps_are_read_with_and_without_their_tails() {
        let us = |text: &str| Timestamp::parse(text).map(Timestamp::us);
        assert_eq!(us("1970-01-01"), Some(0));
        assert_eq!(us("1970-01-01 00:01"), Some(60_000_000));
        assert_eq!(us("1970-01-01T00:00:01.5"), Some(1_500_000));
        assert_eq!(us("1969-12-31 23:59:59.999999"), Some(-1));
        for text in ["1970-01-01 24:00", "1970-01-01 00:60", "1970-01-01 00:00:00.1234567"] {
            assert_eq!(us(text), None, "{text}");
        }
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31 23:59:59.999999");
        assert_eq!(Timestamp::MIN.to_string(), "0001-01-01 00:00:00");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_written_timestamp_is_read_back(us in Timestamp::MIN.0..=Timestamp::MAX.0) {
            let moment = Timestamp::from_us(us).expect("within the range");
            prop_assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
            prop_assert!(Timestamp::midnight(moment.date()) <= moment);
        }

        #[test]
        fn any_text_is_a_moment_or_none(text in "[-0-9:. T+é]{0,30}") {
            let _ = (Date::parse(&text), Timestamp::parse(&text));
        }
    }
}
