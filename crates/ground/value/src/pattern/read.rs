//! Reads a moment from a text, as a pattern says.
//!
//! A separator of the pattern stands for any separator of the text, or for none. Blanks are passed
//! over. What is left of the text behind the pattern doesn't count, nor what is left of the pattern
//! behind the text.
//!
//! Callers: SQL's TO_DATE and TO_TIMESTAMP.

use super::{DAYS, Field, MONTHS, PatternFault, Piece, Pieces, ROMAN, iso_day};
use crate::moment::DAY_US;
use crate::{Date, Timestamp};

/// The Julian day of 1970-01-01.
const JULIAN_1970: i64 = 2_440_588;

/// What was read so far.
#[derive(Default)]
struct Found {
    year: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    hour: i64,
    /// Whether the hour is one of twelve; then whether it is after noon.
    is_half: bool,
    after_noon: Option<bool>,
    minute: i64,
    second: i64,
    second_of_day: Option<i64>,
    us: i64,
}

/// The moment that the text says by this pattern. What the pattern doesn't have is 1 (month, day)
/// or 0 (time); it must have a year.
pub fn parse_moment(pattern: &str, text: &str) -> Result<Timestamp, PatternFault> {
    let (mut found, mut rest) = (Found::default(), text);
    let pieces: Vec<Piece<'_>> = Pieces(pattern).collect();
    for (at, piece) in pieces.iter().enumerate() {
        if rest.trim_start().is_empty() {
            break;
        }
        match *piece {
            Piece::Text(text) => rest = without_literal(text, rest),
            Piece::Field { field, fills, ordinal, .. } => {
                rest = rest.trim_start();
                // Digits may go on where no other digits follow in the pattern.
                let is_open = !fills || !matches!(pieces.get(at + 1), Some(Piece::Field { .. }));
                found.read(field, &mut rest, is_open)?;
                if ordinal.is_some() {
                    rest = rest.get(2..).unwrap_or("");
                }
            }
        }
    }
    found.moment()
}

/// The text without what a literal of the pattern stands for.
fn without_literal<'t>(literal: &str, text: &'t str) -> &'t str {
    let is_separator = |c: char| !c.is_alphanumeric();
    if literal.chars().all(is_separator) {
        let text = text.trim_start();
        return text.strip_prefix(is_separator).unwrap_or(text);
    }
    let mut rest = text.chars();
    literal.chars().for_each(|_| {
        rest.next();
    });
    rest.as_str()
}

/// Takes a number of at most `digits` digits from the beginning of the text; its digits count too.
fn take_number(text: &mut &str, digits: usize, what: &'static str) -> Result<Digits, PatternFault> {
    let end = text.bytes().take(digits).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(end);
    *text = rest;
    let value = number.parse().map_err(|_| PatternFault::Text(what))?;
    Ok(Digits { value, count: end })
}

struct Digits {
    value: i64,
    count: usize,
}

/// Takes the longest of these words from the beginning of the text; the number of the word, from 1.
fn take_word(
    text: &mut &str,
    words: &mut dyn Iterator<Item = &str>,
    what: &'static str,
) -> Result<i64, PatternFault> {
    let mut best = None;
    for (number, word) in (1..).zip(words) {
        let is_longer = best.is_none_or(|(_, length)| word.len() > length);
        if is_longer && super::starts_with(text, word) {
            best = Some((number, word.len()));
        }
    }
    let (number, length) = best.ok_or(PatternFault::Text(what))?;
    *text = &text[length..];
    Ok(number)
}

impl Found {
    fn read(&mut self, field: Field, text: &mut &str, is_open: bool) -> Result<(), PatternFault> {
        // A number has at most nine digits, so that it fits whatever it is multiplied by.
        let mut number =
            |digits: usize, what| take_number(text, if is_open { 9 } else { digits }, what);
        match field {
            Field::Year(5) => {
                let thousands = number(9, "year")?.value;
                *text = text.strip_prefix(',').ok_or(PatternFault::Text("year"))?;
                self.year = Some(thousands * 1000 + take_number(text, 3, "year")?.value);
            }
            Field::Year(digits) => self.year = Some(full_year(number(digits, "year")?)),
            Field::RoundYear(digits) => {
                let year = number(digits, "year")?;
                let near = if year.value < 50 { 2000 } else { 1900 };
                self.year = Some(if year.count <= 2 { year.value + near } else { year.value });
            }
            Field::IsoYear(digits) => self.iso_year = Some(full_year(number(digits, "year")?)),
            Field::IsoWeek => self.iso_week = Some(number(2, "week")?.value),
            Field::IsoDayOfWeek => self.iso_day = Some(number(1, "day of the week")?.value),
            Field::Month => self.month = Some(number(2, "month")?.value),
            Field::MonthName | Field::MonthShort => {
                let names = MONTHS.iter().flat_map(|name| [*name, &name[..3]]);
                self.month = Some((take_word(text, &mut names.into_iter(), "month")? + 1) / 2);
            }
            Field::MonthRoman => {
                self.month = Some(take_word(text, &mut ROMAN.into_iter(), "month")?);
            }
            Field::Day => self.day = Some(number(2, "day")?.value),
            Field::DayOfYear => self.day_of_year = Some(number(3, "day of the year")?.value),
            Field::Julian => self.julian = Some(number(7, "day")?.value),
            Field::DayName | Field::DayShort => {
                let names = DAYS.iter().flat_map(|name| [*name, &name[..3]]);
                take_word(text, &mut names.into_iter(), "day of the week")?;
            }
            Field::DayOfWeek => {
                number(1, "day of the week")?;
            }
            Field::Quarter => {
                number(1, "quarter")?;
            }
            Field::Era(_) => {
                let words = ["AD", "A.D."];
                take_word(text, &mut words.into_iter(), "AD")?;
            }
            _ => return self.read_time(field, text, is_open),
        }
        Ok(())
    }

    fn read_time(
        &mut self,
        field: Field,
        text: &mut &str,
        is_open: bool,
    ) -> Result<(), PatternFault> {
        let mut number = |digits: usize, what| {
            take_number(text, if is_open { 9 } else { digits }, what).map(|digits| digits.value)
        };
        match field {
            Field::Hour24 => self.hour = number(2, "hour")?,
            Field::Hour12 => {
                self.hour = number(2, "hour")?;
                self.is_half = true;
            }
            Field::HalfDay(_) => {
                let words = ["AM", "PM", "A.M.", "P.M."];
                let word = take_word(text, &mut words.into_iter(), "AM or PM")?;
                self.after_noon = Some(word % 2 == 0);
                self.is_half = true;
            }
            Field::Minute => self.minute = number(2, "minute")?,
            Field::Second => self.second = number(2, "second")?,
            Field::SecondOfDay => self.second_of_day = Some(number(5, "second of the day")?),
            Field::Millisecond => self.us = take_places(text, 3, "millisecond")?,
            Field::Microsecond => self.us = take_places(text, 6, "microsecond")?,
            Field::Fraction(places) => self.us = take_places(text, places, "fraction")?,
            _ => {
                let say = "a part of the pattern can be written, and can't be read: leave it out";
                return Err(PatternFault::Pattern(say));
            }
        }
        Ok(())
    }

    /// The moment that the fields say.
    fn moment(self) -> Result<Timestamp, PatternFault> {
        let within = |value: i64, most: i64, what| match value {
            0.. if value <= most => Ok(value),
            _ => Err(PatternFault::Range(what)),
        };
        let hour = match self.is_half {
            true if !(1..=12).contains(&self.hour) => return Err(PatternFault::Range("hour")),
            true => self.hour % 12 + if self.after_noon == Some(true) { 12 } else { 0 },
            false => within(self.hour, 23, "hour")?,
        };
        let minute = within(self.minute, 59, "minute")?;
        let second = within(self.second, 59, "second")?;
        let seconds = match self.second_of_day {
            Some(seconds) => within(seconds, 86_399, "second of the day")?,
            None => hour * 3600 + minute * 60 + second,
        };
        let us = seconds * 1_000_000 + self.us;
        let midnight = Timestamp::midnight(self.date()?);
        debug_assert!(us < DAY_US);
        Timestamp::from_us(midnight.us() + us).ok_or(PatternFault::Range("year"))
    }

    fn date(&self) -> Result<Date, PatternFault> {
        if let Some(julian) = self.julian {
            let days = i32::try_from(julian - JULIAN_1970).ok().and_then(Date::from_days);
            return days.ok_or(PatternFault::Range("day"));
        }
        let of_year = |year: i64| {
            let year = i32::try_from(year).ok().filter(|year| (1..=9999).contains(year));
            year.ok_or(PatternFault::Range("year"))
        };
        if let Some(year) = self.iso_year {
            let (week, day) = (self.iso_week.unwrap_or(1), self.iso_day.unwrap_or(1));
            if !(1..=53).contains(&week) || !(1..=7).contains(&day) {
                return Err(PatternFault::Range("week"));
            }
            return iso_day(of_year(year)?, week, day).ok_or(PatternFault::Range("week"));
        }
        let none = PatternFault::Pattern("the pattern has no year, so it makes no day: add YYYY");
        let year = of_year(self.year.ok_or(none)?)?;
        if let (Some(day), None) = (self.day_of_year, self.month) {
            let first = Date::from_calendar(year, 1, 1);
            let found = first.and_then(|first| first.checked_add_days(day - 1));
            let found = found.filter(|date| day > 0 && date.calendar().0 == year);
            return found.ok_or(PatternFault::Range("day of the year"));
        }
        let month = u32::try_from(self.month.unwrap_or(1)).ok();
        let month = month.filter(|month| (1..=12).contains(month));
        let month = month.ok_or(PatternFault::Range("month"))?;
        let day = u32::try_from(self.day.unwrap_or(1)).ok();
        day.and_then(|day| Date::from_calendar(year, month, day)).ok_or(PatternFault::Range("day"))
    }
}

/// The year that one to four digits say: 70 to 99 are of the last century, 0 to 69 of this one.
fn full_year(year: Digits) -> i64 {
    match (year.count, year.value) {
        (1 | 2, 70..) => year.value + 1900,
        (1 | 2, _) => year.value + 2000,
        (3, 520..) => year.value + 1000,
        (3, _) => year.value + 2000,
        _ => year.value,
    }
}

/// Takes digits behind a second: `5` are five tenths. The result is in microseconds.
fn take_places(text: &mut &str, places: usize, what: &'static str) -> Result<i64, PatternFault> {
    let digits = take_number(text, places, what)?;
    Ok(digits.value * 10_i64.pow(6 - digits.count as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_moment;
    use proptest::prelude::*;

    #[test]
    fn texts_are_read_by_patterns_as_in_postgresql() {
        let read = |text: &str, pattern: &str| {
            parse_moment(pattern, text).map(|moment| moment.to_string()).map_err(|f| f.to_string())
        };
        let all = [
            ("05 Dec 2000", "DD Mon YYYY", "2000-12-05 00:00:00"),
            ("20261107", "YYYYMMDD", "2026-11-07 00:00:00"),
            ("2026/11/7", "YYYY-MM-DD", "2026-11-07 00:00:00"),
            ("2026-11-07 15:04:05.5", "YYYY-MM-DD HH24:MI:SS.MS", "2026-11-07 15:04:05.500000"),
            ("2026-11-07 03:04 pm", "YYYY-MM-DD HH:MI AM", "2026-11-07 15:04:00"),
            ("12:00 a.m. 1.2.26", "HH12:MI A.M. DD.MM.YY", "2026-02-01 00:00:00"),
            ("7-NOV-99", "DD-MON-RR", "1999-11-07 00:00:00"),
            ("november 7, 2026", "FMMonth DD, YYYY", "2026-11-07 00:00:00"),
            ("2026-045", "YYYY-DDD", "2026-02-14 00:00:00"),
            ("2026-45-6", "IYYY-IW-ID", "2026-11-07 00:00:00"),
            ("2461352", "J", "2026-11-07 00:00:00"),
            ("2026-11-07T15:04:05", "YYYY-MM-DD\"T\"HH24:MI:SS", "2026-11-07 15:04:05"),
            ("2026", "YYYY-MM-DD", "2026-01-01 00:00:00"),
            ("2026-11-07 and more", "YYYY-MM-DD", "2026-11-07 00:00:00"),
            ("  2026 - 11", "YYYY-MM", "2026-11-01 00:00:00"),
            ("XI 2026", "RM YYYY", "2026-11-01 00:00:00"),
            ("2026 54245", "YYYY SSSS", "2026-01-01 15:04:05"),
        ];
        for (text, pattern, expected) in all {
            assert_eq!(read(text, pattern).as_deref(), Ok(expected), "{text} {pattern}");
        }
        let refused = [
            ("2026-13-01", "YYYY-MM-DD", "the month is out of range"),
            ("2026-02-30", "YYYY-MM-DD", "the day is out of range"),
            ("2026-02-01 25", "YYYY-MM-DD HH24", "the hour is out of range"),
            ("2026-02-01 13", "YYYY-MM-DD HH12", "the hour is out of range"),
            ("abc", "YYYY", "the text has no year where the pattern asks for it"),
            ("99999", "YYYY", "the year is out of range"),
        ];
        for (text, pattern, expected) in refused {
            assert_eq!(read(text, pattern), Err(expected.to_string()), "{text} {pattern}");
        }
        assert!(read("10:30", "HH24:MI").is_err_and(|say| say.contains("no year")));
        assert!(read("2026 3", "YYYY WW").is_err_and(|say| say.contains("can't be read")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_written_moment_is_read_back(us in Timestamp::MIN.us()..=Timestamp::MAX.us()) {
            let moment = Timestamp::from_us(us).expect("within the range");
            for pattern in [
                "YYYY-MM-DD HH24:MI:SS.US",
                "YYYYMMDDHH24MISSFF6",
                "Dy DD Month YYYY HH12:MI:SS.US AM",
                "IYYY-IW-ID HH24:MI:SS.FF6",
                "YYYY-DDD SSSS.US",
                "J HH24:MI:SS US",
            ] {
                let mut text = String::new();
                format_moment(pattern, moment, &mut text).expect("a text takes it");
                prop_assert_eq!(parse_moment(pattern, &text), Ok(moment), "{} {}", pattern, text);
            }
        }

        #[test]
        fn any_text_is_a_moment_or_a_fault(
            pattern in "[-YMDHISF0-9:. TAPMRWQJCU\"é]{0,20}",
            text in "[-0-9:. TAPMNové]{0,30}",
        ) {
            let _ = parse_moment(&pattern, &text);
            let mut out = String::new();
            format_moment(&pattern, Timestamp::MAX, &mut out).expect("a text takes it");
        }
    }
}
