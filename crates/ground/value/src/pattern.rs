//! Moments as texts by a pattern such as `YYYY-MM-DD HH24:MI:SS`, and back: TO_CHAR and TO_DATE.
//!
//! | in a pattern | means |
//! |---|---|
//! | `YYYY` `YYY` `YY` `Y` `Y,YYY` `RRRR` `RR` `CC` | year and century |
//! | `IYYY` `IYY` `IY` `I` | ISO year |
//! | `Q` `MM` `MON` `MONTH` `RM` | quarter and month |
//! | `WW` `W` `IW` `DDD` `IDDD` `DD` `D` `ID` `DY` `DAY` `J` | week and day |
//! | `HH24` `HH12` `HH` `MI` `SS` `SSSS` `MS` `US` `FF1` to `FF6` `AM` `PM` | time of day |
//! | `FM` in front | no blanks and zeros that fill |
//! | `TH` `th` behind | the ending of an ordinal number |
//! | `"text"`, other characters | themselves |
//!
//! Words are written in the case of the pattern (`MON` NOV, `Mon` Nov, `mon` nov).
//!
//! Invariants
//!   * any text by any pattern is a moment or a fault
//!
//! Callers: SQL. Sources: PostgreSQL's documentation, "Data Type Formatting Functions", also for
//! what is skipped in a text that is read; `RR` and `RRRR` are Oracle's.

mod read;

use std::fmt;

use crate::{Date, Part, Timestamp};
pub use read::parse_moment;

/// The reason why a text can't be read by a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternFault {
    /// The text isn't what the pattern says at this part of the pattern.
    Text(&'static str),
    /// A part of the text is outside of its range, or the calendar lacks the day.
    Range(&'static str),
    /// The pattern has no year, or has a part that can't be read.
    Pattern(&'static str),
}

impl fmt::Display for PatternFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternFault::Text(part) => {
                write!(f, "the text has no {part} where the pattern asks for it")
            }
            PatternFault::Range(part) => write!(f, "the {part} is out of range"),
            PatternFault::Pattern(say) => f.write_str(say),
        }
    }
}

impl std::error::Error for PatternFault {}

/// A field of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    /// The last so many digits of the year; 5: `Y,YYY`.
    Year(usize),
    /// As `Year`; read, two digits are of the fifty years before or after 2000.
    RoundYear(usize),
    /// The last so many digits of the ISO year.
    IsoYear(usize),
    Century,
    Quarter,
    Month,
    MonthName,
    MonthShort,
    MonthRoman,
    Week,
    WeekOfMonth,
    IsoWeek,
    DayOfYear,
    IsoDayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayName,
    DayShort,
    Julian,
    Hour24,
    Hour12,
    Minute,
    Second,
    SecondOfDay,
    Millisecond,
    Microsecond,
    /// The first so many digits behind the second.
    Fraction(usize),
    /// AM or PM; whether with points.
    HalfDay(bool),
    /// BC or AD; whether with points.
    Era(bool),
}

/// The keywords; of those that begin alike the longer one comes first.
const KEYWORDS: &[(&str, Field)] = &[
    ("A.D.", Field::Era(true)),
    ("A.M.", Field::HalfDay(true)),
    ("AD", Field::Era(false)),
    ("AM", Field::HalfDay(false)),
    ("B.C.", Field::Era(true)),
    ("BC", Field::Era(false)),
    ("CC", Field::Century),
    ("DAY", Field::DayName),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("DY", Field::DayShort),
    ("D", Field::DayOfWeek),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("FF", Field::Fraction(6)),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("I", Field::IsoYear(1)),
    ("J", Field::Julian),
    ("MI", Field::Minute),
    ("MM", Field::Month),
    ("MONTH", Field::MonthName),
    ("MON", Field::MonthShort),
    ("MS", Field::Millisecond),
    ("P.M.", Field::HalfDay(true)),
    ("PM", Field::HalfDay(false)),
    ("Q", Field::Quarter),
    ("RM", Field::MonthRoman),
    ("RRRR", Field::RoundYear(4)),
    ("RR", Field::RoundYear(2)),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("US", Field::Microsecond),
    ("WW", Field::Week),
    ("W", Field::WeekOfMonth),
    ("Y,YYY", Field::Year(5)),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
/// The width to which names of months and days are filled with blanks.
const NAME_WIDTH: usize = 9;

/// How a word is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Case {
    Upper,
    Capital,
    Lower,
}

/// A piece of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Piece<'p> {
    Field {
        field: Field,
        case: Case,
        /// Whether blanks and zeros fill it.
        fills: bool,
        /// Whether the ending of an ordinal number follows, and whether in capitals.
        ordinal: Option<bool>,
    },
    /// What stands for itself.
    Text(&'p str),
}

/// The pieces of a pattern, from left to right.
struct Pieces<'p>(&'p str);

impl<'p> Iterator for Pieces<'p> {
    type Item = Piece<'p>;

    fn next(&mut self) -> Option<Piece<'p>> {
        // FX asks for exactness where a text is read; nothing is read less exactly without it.
        let mut fills = true;
        while let Some(rest) = without_prefix(self.0, "FM").or(without_prefix(self.0, "FX")) {
            fills &= !starts_with(self.0, "FM");
            self.0 = rest;
        }
        if let Some(rest) = self.0.strip_prefix("\\\"") {
            self.0 = rest;
            return Some(Piece::Text("\""));
        }
        if let Some(rest) = self.0.strip_prefix('"') {
            let (text, behind) = rest.split_once('"').unwrap_or((rest, ""));
            self.0 = behind;
            return Some(Piece::Text(text));
        }
        let found = KEYWORDS.iter().find(|(word, _)| starts_with(self.0, word));
        let Some((word, field)) = found else {
            let first = self.0.chars().next()?;
            let (text, rest) = self.0.split_at(first.len_utf8());
            self.0 = rest;
            return Some(Piece::Text(text));
        };
        let (word, mut rest) = self.0.split_at(word.len());
        let is_lower = |at: usize| word.as_bytes().get(at).is_some_and(u8::is_ascii_lowercase);
        let case = match (is_lower(0), is_lower(1)) {
            (true, _) => Case::Lower,
            (false, true) => Case::Capital,
            (false, false) => Case::Upper,
        };
        let mut ordinal = None;
        if let Some(behind) = without_prefix(rest, "TH") {
            ordinal = Some(rest.starts_with('T'));
            rest = behind;
        }
        self.0 = rest;
        Some(Piece::Field { field: *field, case, fills, ordinal })
    }
}

fn starts_with(text: &str, word: &str) -> bool {
    text.as_bytes().get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
}

fn without_prefix<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    starts_with(text, word).then(|| &text[word.len()..])
}

/// Writes a moment as the pattern says.
pub fn format_moment(pattern: &str, moment: Timestamp, out: &mut dyn fmt::Write) -> fmt::Result {
    for piece in Pieces(pattern) {
        match piece {
            Piece::Text(text) => out.write_str(text)?,
            Piece::Field { field, case, fills, ordinal } => {
                write_field(field, moment, case, fills, ordinal, out)?;
            }
        }
    }
    Ok(())
}

fn write_field(
    field: Field,
    moment: Timestamp,
    case: Case,
    fills: bool,
    ordinal: Option<bool>,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    if let Some((word, width)) = word_of(field, moment) {
        let word = match case {
            Case::Upper => word.to_uppercase(),
            Case::Capital => word.to_string(),
            Case::Lower => word.to_lowercase(),
        };
        let width = if fills { width } else { 0 };
        return write!(out, "{word:<width$}");
    }
    let (number, width) = number_of(field, moment);
    match field {
        Field::Year(5) => write!(out, "{},{:03}", number / 1000, number % 1000)?,
        _ if fills => write!(out, "{number:0width$}")?,
        // The digits of a fraction are places, and not a number.
        Field::Fraction(_) | Field::Millisecond | Field::Microsecond => {
            write!(out, "{number:0width$}")?;
        }
        _ => write!(out, "{number}")?,
    }
    match ordinal {
        Some(true) => out.write_str(&ending(number).to_uppercase()),
        Some(false) => out.write_str(ending(number)),
        None => Ok(()),
    }
}

/// The ending of an ordinal number.
fn ending(number: i64) -> &'static str {
    match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// The word of a field and the width to which it is filled; none if the field is a number.
fn word_of(field: Field, moment: Timestamp) -> Option<(&'static str, usize)> {
    let day = moment.date();
    let month = day.calendar().1 as usize - 1;
    let day_name = DAYS[day.day_of_week() as usize - 1];
    let is_morning = moment.part(Part::Hour).to_i64().is_some_and(|hour| hour < 12);
    Some(match field {
        Field::MonthName => (MONTHS[month], NAME_WIDTH),
        Field::MonthShort => (&MONTHS[month][..3], 0),
        Field::MonthRoman => (ROMAN[month], 4),
        Field::DayName => (day_name, NAME_WIDTH),
        Field::DayShort => (&day_name[..3], 0),
        Field::HalfDay(false) => (if is_morning { "AM" } else { "PM" }, 0),
        Field::HalfDay(true) => (if is_morning { "A.M." } else { "P.M." }, 0),
        Field::Era(false) => ("AD", 0),
        Field::Era(true) => ("A.D.", 0),
        _ => return None,
    })
}

/// The number of a field, and the digits to which it is filled with zeros.
fn number_of(field: Field, moment: Timestamp) -> (i64, usize) {
    let day = moment.date();
    let part = |part: Part| moment.part(part).truncate(0).to_i64().expect("a part is short");
    let last = |year: i64, digits: usize| year % 10_i64.pow(digits.min(4) as u32);
    let us = part(Part::Microseconds) % 1_000_000;
    match field {
        Field::Year(digits) | Field::RoundYear(digits) => (last(part(Part::Year), digits), digits),
        Field::IsoYear(digits) => (last(day.iso_year().into(), digits), digits),
        Field::Century => (part(Part::Century), 2),
        Field::Quarter => (part(Part::Quarter), 0),
        Field::Month => (part(Part::Month), 2),
        Field::Week => ((part(Part::Doy) - 1) / 7 + 1, 2),
        Field::WeekOfMonth => ((part(Part::Day) - 1) / 7 + 1, 0),
        Field::IsoWeek => (day.iso_week().into(), 2),
        Field::DayOfYear => (part(Part::Doy), 3),
        Field::IsoDayOfYear => (i64::from(day.iso_week() - 1) * 7 + part(Part::Isodow), 3),
        Field::Day => (part(Part::Day), 2),
        Field::DayOfWeek => (part(Part::Dow) + 1, 0),
        Field::IsoDayOfWeek => (part(Part::Isodow), 0),
        Field::Julian => (day.part(Part::Julian).to_i64().expect("a day is short"), 0),
        Field::Hour24 => (part(Part::Hour), 2),
        Field::Hour12 => ((part(Part::Hour) + 11) % 12 + 1, 2),
        Field::Minute => (part(Part::Minute), 2),
        Field::Second => (part(Part::Second), 2),
        Field::SecondOfDay => {
            (part(Part::Hour) * 3600 + part(Part::Minute) * 60 + part(Part::Second), 0)
        }
        Field::Millisecond => (us / 1000, 3),
        Field::Microsecond => (us, 6),
        Field::Fraction(digits) => (us / 10_i64.pow(6 - digits as u32), digits),
        Field::MonthName
        | Field::MonthShort
        | Field::MonthRoman
        | Field::DayName
        | Field::DayShort
        | Field::HalfDay(_)
        | Field::Era(_) => unreachable!("these are words"),
    }
}

/// The day `day` of week `week` of an ISO year; none if it lies outside of the calendar.
fn iso_day(year: i32, week: i64, day: i64) -> Option<Date> {
    // 4 January is in the first week.
    let first = Date::from_calendar(year, 1, 4)?.truncate(Part::Week)?;
    first.checked_add_days((week - 1) * 7 + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pattern: &str, at: &str) -> String {
        let mut text = String::new();
        let moment = Timestamp::parse(at).expect("a moment");
        format_moment(pattern, moment, &mut text).expect("a text takes it");
        text
    }

    #[test]
    fn moments_are_written_by_patterns_as_in_postgresql() {
        let at = "2026-11-07 15:04:05.678901";
        let all = [
            ("YYYY-MM-DD HH24:MI:SS", "2026-11-07 15:04:05"),
            ("yyyy-mm-dd hh24:mi:ss.ms", "2026-11-07 15:04:05.678"),
            ("Day, DD  HH12:MI:SS", "Saturday , 07  03:04:05"),
            ("FMDay, FMDD  HH12:MI:SS", "Saturday, 7  03:04:05"),
            ("DD Mon YYYY", "07 Nov 2026"),
            ("MONTH|Month|month|MON|mon", "NOVEMBER |November |november |NOV|nov"),
            ("FMMonth FMDDth, YYYY", "November 7th, 2026"),
            ("DY Dy dy D ID", "SAT Sat sat 7 6"),
            ("HH:MI AM", "03:04 PM"),
            ("HH:MI a.m.", "03:04 p.m."),
            ("YY Y YYY Y,YYY", "26 6 026 2,026"),
            ("IYYY-IW-ID", "2026-45-6"),
            ("DDD WW W Q CC", "311 45 1 4 21"),
            ("SSSS US FF3 FF6", "54245 678901 678 678901"),
            ("J", "2461352"),
            ("RM|FMRM|rm", "XI  |XI|xi  "),
            ("\"Today is \"Day", "Today is Saturday "),
            ("YYYYMMDD\"T\"HH24MISS", "20261107T150405"),
            ("DDTH, DDth", "07TH, 07th"),
            ("BC", "AD"),
        ];
        for (pattern, expected) in all {
            assert_eq!(written(pattern, at), expected, "{pattern}");
        }
        assert_eq!(written("HH12 HH24 AM", "2026-01-01 00:30"), "12 00 AM");
        assert_eq!(written("DDth FMDDth", "2026-01-21"), "21st 21st");
        assert_eq!(written("FMDDth", "2026-01-12"), "12th");
        assert_eq!(written("YYYY", "0005-01-01"), "0005");
    }
}
