//! Arithmetic of days and moments with spans of time.
//!
//! Invariants
//!   * months are added first, then days, then microseconds; a day that the month doesn't have
//!     becomes its last one
//!   * what lies outside of the years 1 to 9999 is none
//!
//! Callers: SQL. Sources: PostgreSQL's `timestamp + interval` and `age`; Oracle's `ADD_MONTHS`,
//! `LAST_DAY` and `MONTHS_BETWEEN`.

use crate::moment::{DAY_US, Date, Timestamp};
use crate::{Interval, Number};

/// The days of a month of `MONTHS_BETWEEN`.
const MONTH_DAYS: i64 = 31;

impl Date {
    /// The day `days` days later.
    pub fn checked_add_days(self, days: i64) -> Option<Date> {
        let sum = i64::from(self.days()).checked_add(days)?;
        Date::from_days(i32::try_from(sum).ok()?)
    }

    /// The same day of the month `months` months later, or the last one that the month has.
    pub fn checked_add_months(self, months: i64) -> Option<Date> {
        let (year, month, day) = self.calendar();
        let count = i64::from(year) * 12 + i64::from(month) - 1;
        let count = count.checked_add(months)?;
        let year = i32::try_from(count.div_euclid(12)).ok()?;
        let month = u32::try_from(count.rem_euclid(12)).ok()? + 1;
        Date::from_calendar(year, month, day.min(month_days(year, month)))
    }

    /// The last day of the month.
    pub fn last_of_month(self) -> Date {
        let (year, month, _) = self.calendar();
        let last = Date::from_calendar(year, month, month_days(year, month));
        last.expect("each month has a last day")
    }
}

/// The number of days of a month.
fn month_days(year: i32, month: u32) -> u32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Timestamp {
    /// The moment a span later.
    pub fn checked_add(self, span: Interval) -> Option<Timestamp> {
        let time = self.us().rem_euclid(DAY_US);
        let day = self.date().checked_add_months(span.months().into())?;
        let day = day.checked_add_days(span.days().into())?;
        let us = Timestamp::midnight(day).us() + time;
        Timestamp::from_us(us.checked_add(span.us())?)
    }

    /// The moment a span earlier.
    pub fn checked_sub(self, span: Interval) -> Option<Timestamp> {
        self.checked_add(span.checked_neg()?)
    }

    /// The time from `earlier` to this moment in days and microseconds, both of one sign.
    pub fn since(self, earlier: Timestamp) -> Interval {
        let us = self.us() - earlier.us();
        let days = i32::try_from(us / DAY_US).expect("the calendar has fewer days");
        Interval::new(0, days, us % DAY_US)
    }

    /// The time from `earlier` to this moment in years, months and days, as a person counts an age.
    pub fn age(self, earlier: Timestamp) -> Interval {
        if self < earlier {
            return earlier.age(self).checked_neg().expect("an age is short");
        }
        let (year, month, day) = self.date().calendar();
        let (from_year, from_month, from_day) = earlier.date().calendar();
        let mut us = self.us().rem_euclid(DAY_US) - earlier.us().rem_euclid(DAY_US);
        let mut days = day.cast_signed() - from_day.cast_signed();
        let mut months = (year - from_year) * 12 + month.cast_signed() - from_month.cast_signed();
        if us < 0 {
            (us, days) = (us + DAY_US, days - 1);
        }
        if days < 0 {
            days += month_days(from_year, from_month).cast_signed();
            months -= 1;
        }
        Interval::new(months, days, us)
    }

    /// The same time of day `months` months later: of the last day of a month, the last one again,
    /// as in Oracle.
    pub fn checked_add_months_keeping_last(self, months: i64) -> Option<Timestamp> {
        let day = self.date();
        let mut later = day.checked_add_months(months)?;
        if day == day.last_of_month() {
            later = later.last_of_month();
        }
        let time = self.us().rem_euclid(DAY_US);
        Timestamp::from_us(Timestamp::midnight(later).us() + time)
    }

    /// The months from `earlier` to this moment, with a fraction of months of 31 days; whole if
    /// both are the same day of the month, or both the last one.
    pub fn months_since(self, earlier: Timestamp) -> Number {
        let (of, from) = (self.date(), earlier.date());
        let ((year, month, day), (from_year, from_month, from_day)) =
            (of.calendar(), from.calendar());
        let months = i64::from(year - from_year) * 12 + i64::from(month) - i64::from(from_month);
        let both_last = of == of.last_of_month() && from == from.last_of_month();
        if day == from_day || both_last {
            return Number::from(months);
        }
        let time = self.us().rem_euclid(DAY_US) - earlier.us().rem_euclid(DAY_US);
        let us = (i64::from(day) - i64::from(from_day)) * DAY_US + time;
        let fraction = Number::from(us).checked_div(Number::from(MONTH_DAYS * DAY_US));
        let sum = fraction.and_then(|fraction| fraction.checked_add(Number::from(months)));
        sum.expect("the calendar has fewer months")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a moment")
    }

    fn span(text: &str) -> Interval {
        Interval::parse(text).expect("a span")
    }

    #[test]
    fn a_month_later_is_the_same_day_or_the_last_one() {
        let later =
            |at: &str, by: &str| moment(at).checked_add(span(by)).map(|moment| moment.to_string());
        let all = [
            ("2026-01-31", "1 mon", "2026-02-28 00:00:00"),
            ("2024-01-31", "1 mon", "2024-02-29 00:00:00"),
            ("2024-02-29", "1 year", "2025-02-28 00:00:00"),
            ("2026-03-31", "-1 mon", "2026-02-28 00:00:00"),
            ("2026-01-31", "1 mon 1 day", "2026-03-01 00:00:00"),
            ("2026-11-27 23:30:00", "01:00:00", "2026-11-28 00:30:00"),
            ("2026-12-31 10:00:00", "1 mon", "2027-01-31 10:00:00"),
            ("2026-01-01", "-00:00:00.000001", "2025-12-31 23:59:59.999999"),
        ];
        for (at, by, expected) in all {
            assert_eq!(later(at, by).as_deref(), Some(expected), "{at} + {by}");
        }
        assert_eq!(later("9999-12-31", "1 day"), None);
        assert_eq!(later("0001-01-01", "-1 mon"), None);
        assert_eq!(later("2026-01-01", "100000000 years"), None);
        assert_eq!(moment("2026-01-01").checked_sub(Interval::new(i32::MIN, 0, 0)), None);
    }

    #[test]
    fn a_difference_is_in_days_and_an_age_in_years_months_and_days() {
        let since = |a: &str, b: &str| moment(a).since(moment(b)).to_string();
        assert_eq!(since("2026-11-27 10:00", "2026-11-25 12:00"), "1 day 22:00:00");
        assert_eq!(since("2026-11-25 12:00", "2026-11-27 10:00"), "-1 days -22:00:00");
        let age = |a: &str, b: &str| moment(a).age(moment(b)).to_string();
        assert_eq!(age("2001-04-10", "1957-06-13"), "43 years 9 mons 27 days");
        assert_eq!(age("1957-06-13", "2001-04-10"), "-43 years -9 mons -27 days");
        assert_eq!(age("2026-03-01 01:00", "2026-02-28 02:00"), "23:00:00");
        assert_eq!(age("2026-03-30", "2026-02-28"), "1 mon 2 days");
    }

    /// The values are those of Oracle's documentation.
    #[test]
    fn oracles_functions_of_months_mind_the_last_day() {
        let later = moment("2026-02-28 10:00").checked_add_months_keeping_last(1);
        assert_eq!(later, Some(moment("2026-03-31 10:00")));
        let between = |a: &str, b: &str| moment(a).months_since(moment(b)).to_string();
        assert_eq!(between("1995-02-02", "1995-01-01")[..18], *"1.0322580645161290");
        assert_eq!(between("2026-02-28", "2026-01-31"), "1");
        assert_eq!(between("2026-01-15 12:00", "2026-03-15"), "-2");
        assert_eq!(Date::parse("2024-02-01").map(|d| d.last_of_month().to_string()).as_deref(), {
            Some("2024-02-29")
        });
    }
}
