//! Parts of moments and of spans of time: what EXTRACT reads, and what DATE_TRUNC keeps.
//!
//! Callers: SQL; `interval` for the units of its texts.
//! Sources: PostgreSQL's documentation, "EXTRACT, date_part" and "date_trunc"; ISO 8601 for weeks.

use std::fmt;

use crate::moment::{DAY_US, Date, Timestamp};
use crate::{Interval, Number};

/// A part of a moment or of a span.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// Microseconds, with those of the seconds.
    Microseconds,
    /// Milliseconds, with those of the seconds.
    Milliseconds,
    /// Seconds, with their fraction.
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Days; of a moment, the day of the month.
    Day,
    /// Weeks; of a moment, the week of its ISO year, 1 to 53.
    Week,
    /// Months.
    Month,
    /// Quarters, from 1.
    Quarter,
    /// Years.
    Year,
    /// Decades.
    Decade,
    /// Centuries; 2001 is the first year of the 21st.
    Century,
    /// Millennia; 2001 is the first year of the third.
    Millennium,
    /// The day of the week, 0 for Sunday.
    Dow,
    /// The day of the week, 1 for Monday to 7 for Sunday.
    Isodow,
    /// The day of the year, from 1.
    Doy,
    /// The year to which the week belongs.
    Isoyear,
    /// Seconds after 1970-01-01 00:00:00; of a span, all its seconds.
    Epoch,
    /// Days after noon of 1 January 4713 BC, counted at midnight.
    Julian,
}

/// The names of all parts. The first one of each part is its usual name.
const NAMES: &[(Part, &[&str])] = &[
    (Part::Microseconds, &["microseconds", "microsecond", "us", "usec", "usecs", "usecond"]),
    (Part::Milliseconds, &["milliseconds", "millisecond", "ms", "msec", "msecs", "msecond"]),
    (Part::Second, &["second", "seconds", "s", "sec", "secs"]),
    (Part::Minute, &["minute", "minutes", "m", "min", "mins"]),
    (Part::Hour, &["hour", "hours", "h", "hr", "hrs"]),
    (Part::Day, &["day", "days", "d"]),
    (Part::Week, &["week", "weeks", "w"]),
    (Part::Month, &["month", "months", "mon", "mons"]),
    (Part::Quarter, &["quarter", "quarters", "qtr"]),
    (Part::Year, &["year", "years", "y", "yr", "yrs"]),
    (Part::Decade, &["decade", "decades", "dec", "decs"]),
    (Part::Century, &["century", "centuries", "c", "cent"]),
    (Part::Millennium, &["millennium", "millennia", "mil", "mils"]),
    (Part::Dow, &["dow"]),
    (Part::Isodow, &["isodow"]),
    (Part::Doy, &["doy"]),
    (Part::Isoyear, &["isoyear"]),
    (Part::Epoch, &["epoch"]),
    (Part::Julian, &["julian", "j"]),
];

/// The Julian day of 1970-01-01.
const JULIAN_1970: i32 = 2_440_588;
const SECOND_US: i64 = 1_000_000;

impl Part {
    /// The part of that name, in any case.
    pub fn parse(name: &str) -> Option<Part> {
        let is = |names: &[&str]| names.iter().any(|one| one.eq_ignore_ascii_case(name));
        NAMES.iter().find(|(_, names)| is(names)).map(|(part, _)| *part)
    }

    /// Whether a day has the part, and not only a moment.
    pub fn is_of_days(self) -> bool {
        !matches!(
            self,
            Part::Microseconds | Part::Milliseconds | Part::Second | Part::Minute | Part::Hour
        )
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = NAMES.iter().find(|(part, _)| part == self);
        f.pad(found.expect("all parts have names").1[0])
    }
}

fn whole(value: impl Into<i64>) -> Number {
    Number::from(value.into())
}

/// Microseconds as seconds, or whatever lies `places` digits above them.
fn of_us(us: i64, places: i32) -> Number {
    Number::from_parts(us.into(), places).expect("64 bits fit a number").canonical()
}

impl Timestamp {
    /// The value of a part.
    pub fn part(self, part: Part) -> Number {
        let us = self.us().rem_euclid(DAY_US);
        let of_minute = us % (60 * SECOND_US);
        match part {
            Part::Microseconds => whole(of_minute),
            Part::Milliseconds => of_us(of_minute, 3),
            Part::Second => of_us(of_minute, 6),
            Part::Minute => whole(us / (60 * SECOND_US) % 60),
            Part::Hour => whole(us / (3600 * SECOND_US)),
            Part::Epoch => of_us(self.us(), 6),
            Part::Julian => {
                let fraction = Number::from(us).checked_div(Number::from(DAY_US));
                let sum = fraction.and_then(|time| time.checked_add(self.date().part(part)));
                sum.expect("a day and its fraction")
            }
            _ => self.date().part(part),
        }
    }

    /// The moment without what is less than one `part`, the first of its week for weeks; none if
    /// that lies outside of the calendar, or if moments aren't counted in such parts.
    pub fn truncate(self, part: Part) -> Option<Timestamp> {
        let unit = match part {
            Part::Microseconds => 1,
            Part::Milliseconds => 1000,
            Part::Second => SECOND_US,
            Part::Minute => 60 * SECOND_US,
            Part::Hour => 3600 * SECOND_US,
            _ => return self.date().truncate(part).map(Timestamp::midnight),
        };
        Timestamp::from_us(self.us() - self.us().rem_euclid(unit))
    }
}

impl Date {
    /// The value of a part; parts of the time of day are 0.
    pub fn part(self, part: Part) -> Number {
        let (year, month, day) = self.calendar();
        match part {
            Part::Microseconds | Part::Milliseconds | Part::Second | Part::Minute | Part::Hour => {
                Number::ZERO
            }
            Part::Day => whole(day),
            Part::Week => whole(self.iso_week()),
            Part::Month => whole(month),
            Part::Quarter => whole((month - 1) / 3 + 1),
            Part::Year => whole(year),
            Part::Decade => whole(year / 10),
            Part::Century => whole((year + 99) / 100),
            Part::Millennium => whole((year + 999) / 1000),
            Part::Dow => whole(self.day_of_week() % 7),
            Part::Isodow => whole(self.day_of_week()),
            Part::Doy => whole(self.day_of_year()),
            Part::Isoyear => whole(self.iso_year()),
            Part::Epoch => whole(Timestamp::midnight(self).us() / SECOND_US),
            Part::Julian => whole(self.days() + JULIAN_1970),
        }
    }

    /// The first day of the `part` in which the day lies; none if that lies outside of the
    /// calendar, or if days aren't counted in such parts.
    pub fn truncate(self, part: Part) -> Option<Date> {
        let (year, month, _) = self.calendar();
        let of_years = |first: i32| Date::from_calendar(first, 1, 1);
        match part {
            Part::Microseconds
            | Part::Milliseconds
            | Part::Second
            | Part::Minute
            | Part::Hour
            | Part::Day => Some(self),
            Part::Week => {
                let behind = i32::try_from(self.day_of_week()).ok()? - 1;
                Date::from_days(self.days() - behind)
            }
            Part::Month => Date::from_calendar(year, month, 1),
            Part::Quarter => Date::from_calendar(year, (month - 1) / 3 * 3 + 1, 1),
            Part::Year => of_years(year),
            Part::Decade => of_years(year / 10 * 10),
            Part::Century => of_years((year - 1) / 100 * 100 + 1),
            Part::Millennium => of_years((year - 1) / 1000 * 1000 + 1),
            _ => None,
        }
    }

    /// The day of the week, 1 for Monday to 7 for Sunday.
    pub fn day_of_week(self) -> u32 {
        // 1970-01-01 was a Thursday.
        (self.days() + 3).rem_euclid(7).unsigned_abs() + 1
    }

    /// The day of the year, from 1.
    pub fn day_of_year(self) -> u32 {
        let (year, _, _) = self.calendar();
        let first = Date::from_calendar(year, 1, 1).expect("each year has a first day");
        self.days().abs_diff(first.days()) + 1
    }

    /// The year to which the day's week belongs.
    pub fn iso_year(self) -> i32 {
        self.thursday().calendar().0
    }

    /// The week of the ISO year, 1 to 53.
    pub fn iso_week(self) -> u32 {
        (self.thursday().day_of_year() - 1) / 7 + 1
    }

    /// The Thursday of the day's week, which decides to which year the week belongs.
    fn thursday(self) -> Date {
        let by = 4 - self.day_of_week().cast_signed();
        // The calendar begins with a Monday and ends with a Friday.
        Date::from_days(self.days() + by).expect("no week's Thursday lies outside")
    }
}

impl Interval {
    /// The value of a part; none if a span has no such part.
    pub fn part(self, part: Part) -> Option<Number> {
        let of_minute = self.us() % (60 * SECOND_US);
        let (years, months) = (self.months() / 12, self.months() % 12);
        Some(match part {
            Part::Microseconds => whole(of_minute),
            Part::Milliseconds => of_us(of_minute, 3),
            Part::Second => of_us(of_minute, 6),
            Part::Minute => whole(self.us() / (60 * SECOND_US) % 60),
            Part::Hour => whole(self.us() / (3600 * SECOND_US)),
            Part::Day => whole(self.days()),
            Part::Month => whole(months),
            Part::Quarter => whole(months / 3 + 1),
            Part::Year => whole(years),
            Part::Decade => whole(years / 10),
            Part::Century => whole(years / 100),
            Part::Millennium => whole(years / 1000),
            // A year has 365.25 days here, and a month 30, as in PostgreSQL.
            Part::Epoch => {
                let hours = i128::from(years) * 8766 + i128::from(months) * 720;
                let hours = hours + i128::from(self.days()) * 24;
                let us = hours * 3_600_000_000 + i128::from(self.us());
                Number::from_parts(us, 6).expect("a span has less than 38 digits").canonical()
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Date {
        Date::parse(text).expect("a day")
    }

    fn moment(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a moment")
    }

    /// The values are those of PostgreSQL's documentation where it has them.
    #[test]
    fn parts_of_moments_are_those_of_postgresql() {
        let all = [
            ("2001-02-16 20:38:40", "century", "21"),
            ("2000-12-16 12:21:13", "century", "20"),
            ("2001-02-16 20:38:40", "day", "16"),
            ("2001-02-16 20:38:40", "decade", "200"),
            ("2001-02-16 20:38:40", "dow", "5"),
            ("2001-02-16 20:38:40", "doy", "47"),
            ("2001-02-16 20:38:40.12", "epoch", "982355920.12"),
            ("2001-02-16 20:38:40", "hour", "20"),
            ("2001-02-18 20:38:40", "isodow", "7"),
            ("2001-02-18 20:38:40", "dow", "0"),
            ("2006-01-01 00:00:00", "isoyear", "2005"),
            ("2006-01-02 00:00:00", "isoyear", "2006"),
            ("2006-01-01 12:00:00", "julian", "2453737.5"),
            ("2001-02-16 20:38:28.5", "microseconds", "28500000"),
            ("2001-02-16 20:38:40", "millennium", "3"),
            ("2001-02-16 20:38:28.5", "milliseconds", "28500"),
            ("2001-02-16 20:38:40", "minute", "38"),
            ("2001-02-16 20:38:40", "month", "2"),
            ("2001-02-16 20:38:40", "quarter", "1"),
            ("2001-02-16 20:38:28.5", "second", "28.5"),
            ("2001-02-16 20:38:40", "week", "7"),
            ("2005-01-01 00:00:00", "week", "53"),
            ("2012-12-31 00:00:00", "week", "1"),
            ("2001-02-16 20:38:40", "year", "2001"),
        ];
        for (text, part, expected) in all {
            let found = moment(text).part(Part::parse(part).expect("a part"));
            assert_eq!(found.to_string(), expected, "{part} of {text}");
        }
    }

    #[test]
    fn a_moment_is_cut_down_to_the_first_of_its_unit() {
        let cut = |text: &str, part: &str| {
            let part = Part::parse(part).expect("a part");
            moment(text).truncate(part).map(|moment| moment.to_string())
        };
        let at = "2001-02-16 20:38:40.123456";
        let all = [
            ("milliseconds", "2001-02-16 20:38:40.123000"),
            ("second", "2001-02-16 20:38:40"),
            ("hour", "2001-02-16 20:00:00"),
            ("day", "2001-02-16 00:00:00"),
            ("week", "2001-02-12 00:00:00"),
            ("month", "2001-02-01 00:00:00"),
            ("quarter", "2001-01-01 00:00:00"),
            ("year", "2001-01-01 00:00:00"),
            ("decade", "2000-01-01 00:00:00"),
            ("century", "2001-01-01 00:00:00"),
            ("millennium", "2001-01-01 00:00:00"),
        ];
        for (part, expected) in all {
            assert_eq!(cut(at, part).as_deref(), Some(expected), "{part}");
        }
        assert_eq!(cut("1969-12-31 23:59:59.5", "hour").as_deref(), Some("1969-12-31 23:00:00"));
        assert_eq!(cut(at, "dow"), None);
        assert_eq!(cut("0005-01-01", "decade"), None);
    }

    #[test]
    fn weeks_at_the_ends_of_the_calendar_have_numbers() {
        for at in [Date::MIN, Date::MAX, day("9999-12-27"), day("0001-01-07")] {
            let (week, year) = (at.iso_week(), at.iso_year());
            assert!((1..=53).contains(&week) && (1..=9999).contains(&year), "{at}");
        }
        assert_eq!((Date::MIN.day_of_week(), Date::MIN.iso_week()), (1, 1));
    }

    #[test]
    fn parts_of_spans_are_those_of_postgresql() {
        let of = |text: &str, part: &str| {
            let part = Part::parse(part).expect("a part");
            let span = Interval::parse(text).expect("a span");
            span.part(part).map(|number| number.to_string())
        };
        assert_eq!(of("5 days 3 hours", "epoch").as_deref(), Some("442800"));
        assert_eq!(of("1 year 1 month", "epoch").as_deref(), Some("34149600"));
        assert_eq!(of("40 days 30:00:00.5", "hour").as_deref(), Some("30"));
        assert_eq!(of("14 months", "month").as_deref(), Some("2"));
        assert_eq!(of("14 months", "year").as_deref(), Some("1"));
        assert_eq!(of("1 hour", "dow"), None);
    }
}
