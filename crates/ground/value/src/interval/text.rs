//! Reads spans of time: with units, as `hours:minutes:seconds`, as `years-months`, and in the two
//! forms of ISO 8601.
//!
//! Invariants
//!   * any text is a span or none; what is too large is none
//!   * a fraction of a unit goes into the units below: 1.5 days are 1 day and 12 hours
//!
//! Callers: SQL, for its literals and casts.
//! Sources: PostgreSQL's documentation, "Interval Input".

use super::{DAY_US, HOUR_US, Interval, MINUTE_US, MONTH_DAYS, SECOND_US};
use crate::Part;

/// Parts as they are summed up; whole numbers that can't overflow before they are checked.
#[derive(Clone, Copy, Default)]
struct Sum {
    months: i128,
    days: i128,
    us: i128,
}

/// A decimal as it is written: `whole` and `fraction` have the sign.
#[derive(Clone, Copy)]
struct Decimal {
    whole: i128,
    /// Billionths.
    fraction: i128,
}

const BILLION: i128 = 1_000_000_000;

impl Interval {
    /// Reads a span: `1 year 2 mons 3 days 04:05:06`, `3 4:05`, `1-2`, `2 hours ago`,
    /// `P1Y2M3DT4H5M6S`. A number without a unit is in seconds.
    pub fn parse(text: &str) -> Option<Interval> {
        read(text, Part::Second, false)
    }

    /// Reads what stands before a qualifier, as in `INTERVAL '3' DAY` or `INTERVAL '1:30' MINUTE TO
    /// SECOND`. A number without a unit is in units of `last`, and what is below `last` is cut off;
    /// seconds keep their fraction.
    pub fn parse_fields(text: &str, first: Part, last: Part) -> Option<Interval> {
        let minutes_first = first == Part::Minute && last == Part::Second;
        let span = read(text, last, minutes_first)?;
        match last {
            Part::Second => Some(span),
            last => span.without_below(last),
        }
    }

    /// The span without what is less than one `part`; none if a span has no such part.
    pub fn without_below(self, part: Part) -> Option<Interval> {
        let time = |unit: i64| Interval { us: self.us / unit * unit, ..self };
        let months = |unit: i32| Interval { months: self.months / unit * unit, days: 0, us: 0 };
        Some(match part {
            Part::Microseconds => self,
            Part::Milliseconds => time(1000),
            Part::Second => time(SECOND_US),
            Part::Minute => time(MINUTE_US),
            Part::Hour => time(HOUR_US),
            Part::Day => Interval { us: 0, ..self },
            Part::Month => months(1),
            Part::Quarter => months(3),
            Part::Year => months(12),
            Part::Decade => months(120),
            Part::Century => months(1200),
            Part::Millennium => months(12_000),
            _ => return None,
        })
    }
}

fn read(text: &str, unit: Part, minutes_first: bool) -> Option<Interval> {
    let text = text.trim();
    let sum = match text.strip_prefix(['P', 'p']) {
        Some(rest) => read_iso(rest)?,
        None => read_units(text, unit, minutes_first)?,
    };
    Some(Interval {
        months: i32::try_from(sum.months).ok()?,
        days: i32::try_from(sum.days).ok()?,
        us: i64::try_from(sum.us).ok()?,
    })
}

/// Reads numbers with and without units, and times of day.
fn read_units(text: &str, unit: Part, minutes_first: bool) -> Option<Sum> {
    let text = text.strip_prefix('@').unwrap_or(text).to_ascii_lowercase();
    let (text, is_ago) = match text.strip_suffix("ago") {
        Some(before) => (before.trim_end(), true),
        None => (text.trim_end(), false),
    };
    let (mut sum, mut rest, mut any) = (Sum::default(), text.trim_start(), false);
    let mut has_bare = false;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | ':');
        let end = rest.find(|c: char| !is_number(c)).unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let behind = behind.trim_start();
        let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (word, behind) = behind.split_at(end);
        if number.contains(':') {
            sum.add_time(number, minutes_first)?;
            // A time has no unit: the word would be one of the next number.
            if !word.is_empty() {
                return None;
            }
        } else if !number.trim_start_matches(['+', '-']).contains('-') {
            let part = match word {
                "" if is_days(behind, unit) => Part::Day,
                // Which of two numbers without a unit it is, is unclear.
                "" if std::mem::replace(&mut has_bare, true) => return None,
                "" => unit,
                word => Part::parse(word)?,
            };
            sum.add(part, Decimal::parse(number)?)?;
        } else if word.is_empty() {
            sum.add_years_months(number)?;
        } else {
            return None;
        }
        (rest, any) = (behind.trim_start(), true);
    }
    if is_ago {
        sum = Sum { months: -sum.months, days: -sum.days, us: -sum.us };
    }
    any.then_some(sum)
}

/// Whether a number without a unit stands before a time of day, as in `3 04:05:06`, or before the
/// hours, as in `INTERVAL '3 04' DAY TO HOUR`: it is in days.
fn is_days(behind: &str, unit: Part) -> bool {
    let rest = behind.trim_start();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    rest[..end].contains(':') || (unit == Part::Hour && Decimal::parse(rest).is_some())
}

/// Reads what follows the P of ISO 8601: `1Y2M3DT4H5M6S` or `0001-02-03T04:05:06`.
fn read_iso(text: &str) -> Option<Sum> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut sum = Sum::default();
    let is_plain = |part: &str| !part.contains(|c: char| c.is_ascii_alphabetic());
    if is_plain(date) && is_plain(time.unwrap_or_default()) {
        let mut parts = date.splitn(3, '-');
        for unit in [Part::Year, Part::Month, Part::Day] {
            if let Some(part) = parts.next().filter(|part| !part.is_empty()) {
                sum.add(unit, Decimal::parse(part)?)?;
            }
        }
        if let Some(time) = time {
            sum.add_time(time, false)?;
        }
        return (!text.is_empty()).then_some(sum);
    }
    let units = [('y', Part::Year), ('m', Part::Month), ('w', Part::Week), ('d', Part::Day)];
    sum.add_designated(date, &units)?;
    if let Some(time) = time {
        let units = [('h', Part::Hour), ('m', Part::Minute), ('s', Part::Second)];
        if time.is_empty() {
            return None;
        }
        sum.add_designated(time, &units)?;
    }
    Some(sum)
}

impl Sum {
    /// Adds numbers, each with one letter behind it.
    fn add_designated(&mut self, text: &str, units: &[(char, Part)]) -> Option<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
            let letter = rest[end..].chars().next()?.to_ascii_lowercase();
            let (_, part) = units.iter().find(|(of, _)| *of == letter)?;
            self.add(*part, Decimal::parse(&rest[..end])?)?;
            rest = &rest[end + 1..];
        }
        Some(())
    }

    /// Adds so many of a unit.
    fn add(&mut self, part: Part, count: Decimal) -> Option<()> {
        match part {
            Part::Microseconds => self.add_us(1, count),
            Part::Milliseconds => self.add_us(1000, count),
            Part::Second => self.add_us(SECOND_US, count),
            Part::Minute => self.add_us(MINUTE_US, count),
            Part::Hour => self.add_us(HOUR_US, count),
            Part::Day => self.add_days(1, count),
            Part::Week => self.add_days(7, count),
            Part::Month => self.add_months(1, count),
            Part::Quarter => self.add_months(3, count),
            Part::Year => self.add_months(12, count),
            Part::Decade => self.add_months(120, count),
            Part::Century => self.add_months(1200, count),
            Part::Millennium => self.add_months(12_000, count),
            _ => return None,
        }
        Some(())
    }

    fn add_us(&mut self, unit: i64, count: Decimal) {
        let unit = i128::from(unit);
        self.us += count.whole * unit + rounded(count.fraction * unit);
    }

    fn add_days(&mut self, unit: i64, count: Decimal) {
        let fraction = count.fraction * i128::from(unit);
        self.days += count.whole * i128::from(unit) + fraction / BILLION;
        self.us += rounded(fraction % BILLION * i128::from(DAY_US));
    }

    fn add_months(&mut self, unit: i64, count: Decimal) {
        let fraction = count.fraction * i128::from(unit);
        if unit == 1 {
            self.months += count.whole;
            let days = Decimal { whole: 0, fraction: fraction * i128::from(MONTH_DAYS) };
            self.add_days(1, days);
        } else {
            // A fraction of a year is rounded to whole months, as in PostgreSQL.
            self.months += count.whole * i128::from(unit) + rounded(fraction);
        }
    }

    /// Adds `4:05:06.5`, `4:05` or, with minutes first, `5:06`. The sign in front is that of all.
    fn add_time(&mut self, text: &str, minutes_first: bool) -> Option<()> {
        let (sign, text) = match text.strip_prefix(['+', '-']) {
            Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
            None => (1, text),
        };
        let parts: Vec<&str> = text.split(':').collect();
        let digits = |text: &str| {
            let sound = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if sound { text.parse::<i64>().ok() } else { None }
        };
        let (hours, minutes, seconds) = match parts[..] {
            [minutes, seconds] if minutes_first || seconds.contains('.') => {
                ("0", digits(minutes)?, seconds)
            }
            [hours, minutes] => (hours, digits(minutes)?, "0"),
            [hours, minutes, seconds] => (hours, digits(minutes)?, seconds),
            _ => return None,
        };
        let seconds = Decimal::parse(seconds).filter(|seconds| (0..60).contains(&seconds.whole))?;
        if seconds.fraction < 0 || !(0..60).contains(&minutes) {
            return None;
        }
        let mut of_time = Sum::default();
        of_time.add_us(HOUR_US, Decimal { whole: digits(hours)?.into(), fraction: 0 });
        of_time.add_us(MINUTE_US, Decimal { whole: minutes.into(), fraction: 0 });
        of_time.add_us(SECOND_US, seconds);
        self.us += sign * of_time.us;
        Some(())
    }

    /// Adds `1-2`: 1 year and 2 months. The sign in front is that of both.
    fn add_years_months(&mut self, text: &str) -> Option<()> {
        let (sign, text) = match text.strip_prefix(['+', '-']) {
            Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
            None => (1, text),
        };
        let (years, months) = text.split_once('-')?;
        let (years, months) = (Decimal::parse(years)?, Decimal::parse(months)?);
        let is_whole = years.fraction == 0 && months.fraction == 0;
        if !is_whole || !(0..12).contains(&months.whole) || years.whole < 0 {
            return None;
        }
        self.months += sign * (years.whole * 12 + months.whole);
        Some(())
    }
}

/// Billionths rounded to whole units, half away from zero.
fn rounded(billionths: i128) -> i128 {
    (billionths + billionths.signum() * (BILLION / 2)) / BILLION
}

impl Decimal {
    /// Reads `-12.5`, `.5` or `3`.
    fn parse(text: &str) -> Option<Decimal> {
        let (sign, text) = match text.strip_prefix(['+', '-']) {
            Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
            None => (1, text),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
            return None;
        }
        // A part has 64 bits at most, so more digits are too many.
        let whole = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()? };
        let billionths = format!("{fraction:0<9}");
        let fraction = billionths[..9].parse::<i128>().ok()?;
        Some(Decimal { whole: sign * i128::from(whole), fraction: sign * fraction })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECONDS: i64 = SECOND_US;

    #[test]
    fn all_forms_of_a_span_are_read() {
        let one = Interval::new(14, 3, 4 * HOUR_US + 5 * MINUTE_US + 6 * SECONDS);
        let forms = [
            "1 year 2 mons 3 days 04:05:06",
            "@ 1 year 2 months 3 days 4 hours 5 minutes 6 seconds",
            "1y 2mon 3d 4h 5m 6s",
            "1-2 3 4:05:06",
            "P1Y2M3DT4H5M6S",
            "p0001-02-03T04:05:06",
            "-1 year -2 mons -3 days -04:05:06 ago",
        ];
        for text in forms {
            let read = Interval::parse(text);
            assert!(read.is_some_and(|read| read.is_identical(one)), "{text}: {read:?}");
        }
        let more = [
            ("5", Interval::new(0, 0, 5 * SECONDS)),
            ("-1.5", Interval::new(0, 0, -1_500_000)),
            ("1.5 days", Interval::new(0, 1, 12 * HOUR_US)),
            ("1.5 months", Interval::new(1, 15, 0)),
            ("1.5 years", Interval::new(18, 0, 0)),
            ("2 weeks", Interval::new(0, 14, 0)),
            ("1 decade", Interval::new(120, 0, 0)),
            ("10 ms 5 us", Interval::new(0, 0, 10_005)),
            ("P1W", Interval::new(0, 7, 0)),
            ("PT0.5S", Interval::new(0, 0, 500_000)),
            ("-1-2", Interval::new(-14, 0, 0)),
            ("04:05", Interval::new(0, 0, 4 * HOUR_US + 5 * MINUTE_US)),
            ("5:06.5", Interval::new(0, 0, 5 * MINUTE_US + 6 * SECONDS + 500_000)),
            ("1 day -00:00:01", Interval::new(0, 1, -SECONDS)),
            ("0.0000015 seconds", Interval::new(0, 0, 2)),
        ];
        for (text, expected) in more {
            let read = Interval::parse(text);
            assert!(read.is_some_and(|read| read.is_identical(expected)), "{text}: {read:?}");
        }
    }

    #[test]
    fn what_is_no_span_is_none() {
        let none = ["", "ago", "1 banana", "1:2:3:4", "1:99", "x", "P", "PT", "P1H", "1 day day"];
        let more = ["99999999999 years", "1-13", "--1", "1 dow", "1:2 h", "1 2"];
        for text in none.into_iter().chain(more) {
            assert!(Interval::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_qualifier_gives_the_unit_and_cuts_off_what_is_below() {
        let read = |text: &str, first, last| {
            Interval::parse_fields(text, first, last).map(|interval| interval.to_string())
        };
        let (day, hour, minute) = (Part::Day, Part::Hour, Part::Minute);
        assert_eq!(read("3", day, day).as_deref(), Some("3 days"));
        assert_eq!(read("1", Part::Year, Part::Year).as_deref(), Some("1 year"));
        assert_eq!(read("1-2", Part::Year, Part::Month).as_deref(), Some("1 year 2 mons"));
        assert_eq!(read("1 2:03:04", day, hour).as_deref(), Some("1 day 02:00:00"));
        assert_eq!(read("1 2:03:04", day, minute).as_deref(), Some("1 day 02:03:00"));
        assert_eq!(read("1 2", day, hour).as_deref(), Some("1 day 02:00:00"));
        assert_eq!(read("1 2", day, minute), None);
        let words = "2 days 10:20:30";
        assert_eq!(read(words, day, Part::Second).as_deref(), Some("2 days 10:20:30"));
        assert_eq!(read("5:06", minute, Part::Second).as_deref(), Some("00:05:06"));
        assert_eq!(read("5:06", hour, minute).as_deref(), Some("05:06:00"));
        assert_eq!(read("1.5", hour, hour).as_deref(), Some("01:00:00"));
        assert_eq!(read("1.5", Part::Second, Part::Second).as_deref(), Some("00:00:01.5"));
        assert_eq!(read("1:02.5", minute, Part::Second).as_deref(), Some("00:01:02.5"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_written_span_is_read_back(
            months in any::<i32>(),
            days in any::<i32>(),
            us in any::<i64>(),
        ) {
            let one = Interval::new(months, days, us);
            let read = Interval::parse(&one.to_string());
            prop_assert!(read.is_some_and(|read| read.is_identical(one)), "{} {:?}", one, read);
        }

        #[test]
        fn any_text_is_a_span_or_none(text in "[-+0-9:. PTYMDHSadyghourmin]{0,30}|\\PC{0,10}") {
            let _ = Interval::parse(&text);
            let _ = Interval::parse_fields(&text, Part::Minute, Part::Second);
        }
    }
}
