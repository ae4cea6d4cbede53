//! Days and moments that aren't written as in ISO 8601: `Feb 10 5:32 PM 1997`, `1/8/1999`.
//!
//! A month may be a name, and then stands anywhere. Of three numbers the first one is the month, as
//! PostgreSQL has it unless DateStyle says otherwise; it is the year if it has three digits or
//! more. A year of one or two digits is one of 1970 to 2069. The name of a day of the week says
//! nothing.
//!
//! Callers: `text`. Source: PostgreSQL's documentation, "Date/Time Input".

use value::{Date, Timestamp};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const DAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// The microseconds of half a day, and of an hour.
const HALF_DAY_US: i64 = 12 * HOUR_US;
const HOUR_US: i64 = 3_600_000_000;

/// A number, and how many digits it is written with.
#[derive(Clone, Copy)]
struct Digits {
    number: u32,
    count: usize,
}

/// What was read so far.
#[derive(Default)]
struct Parts<'t> {
    numbers: Vec<Digits>,
    month: Option<u32>,
    time: Option<&'t str>,
    is_afternoon: Option<bool>,
}

/// The moment that a text says; none if it says none.
pub(super) fn read(text: &str) -> Option<Timestamp> {
    let mut parts = Parts::default();
    for word in text.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
        parts.add(word)?;
    }
    parts.moment()
}

impl<'t> Parts<'t> {
    fn add(&mut self, word: &'t str) -> Option<()> {
        if word.contains(':') {
            let time = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let half = &word[time.len()..];
            if !half.is_empty() {
                self.add_half(half)?;
            }
            return self.time.replace(time).is_none().then_some(());
        }
        if self.time.is_some() && self.add_half(word).is_some() {
            return Some(());
        }
        word.split(['-', '/', '.']).try_for_each(|part| self.add_part(part))
    }

    /// AM or PM.
    fn add_half(&mut self, half: &str) -> Option<()> {
        let is_afternoon = half.eq_ignore_ascii_case("pm");
        let is_known = is_afternoon || half.eq_ignore_ascii_case("am");
        (is_known && self.is_afternoon.replace(is_afternoon).is_none()).then_some(())
    }

    /// A number, or a name.
    fn add_part(&mut self, part: &str) -> Option<()> {
        if part.starts_with(|c: char| c.is_ascii_digit()) {
            let number = part.parse().ok()?;
            self.numbers.push(Digits { number, count: part.len() });
            return Some(());
        }
        match place_of(&MONTHS, part) {
            Some(place) => {
                let month = u32::try_from(place + 1).ok()?;
                self.month.replace(month).is_none().then_some(())
            }
            None => place_of(&DAYS, part).map(|_| ()),
        }
    }

    fn moment(&self) -> Option<Timestamp> {
        let [first, second, rest @ ..] = &self.numbers[..] else { return None };
        let (year, month, day) = match (self.month, rest) {
            (Some(month), []) if first.is_year() => (first, month, second.number),
            (Some(month), []) => (second, month, first.number),
            (None, [third]) if first.is_year() => (first, second.number, third.number),
            (None, [third]) => (third, first.number, second.number),
            _ => return None,
        };
        let midnight = Timestamp::midnight(Date::from_calendar(year.year()?, month, day)?);
        Timestamp::from_us(midnight.us() + self.time_us()?)
    }

    /// The microseconds of the time of day.
    fn time_us(&self) -> Option<i64> {
        let Some(time) = self.time else { return self.is_afternoon.is_none().then_some(0) };
        let us = Timestamp::parse(&format!("1970-01-01 {time}"))?.us();
        let Some(is_afternoon) = self.is_afternoon else { return Some(us) };
        // The hour after midnight, and after noon, is the twelfth.
        let is_hour = (1..=12).contains(&(us / HOUR_US));
        let of_half = us % HALF_DAY_US;
        is_hour.then_some(of_half + if is_afternoon { HALF_DAY_US } else { 0 })
    }
}

impl Digits {
    fn is_year(self) -> bool {
        self.count > 2
    }

    fn year(self) -> Option<i32> {
        let century = match self.number {
            _ if self.is_year() => 0,
            70.. => 1900,
            _ => 2000,
        };
        i32::try_from(self.number).ok()?.checked_add(century)
    }
}

/// The place of a name, of which the first three letters or more are written.
fn place_of(names: &[&str], written: &str) -> Option<usize> {
    let is_it = |name: &&str| {
        written.len() >= 3
            && name.get(..written.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(written))
    };
    names.iter().position(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_in_postgresql() {
        let said = |text: &str| read(text).map(|moment| moment.to_string());
        for text in [
            "January 8, 1999",
            "8 January 1999",
            "1/8/1999",
            "1999/1/8",
            "1999-Jan-08",
            "Jan-08-1999",
            "08-JAN-1999",
            "1.8.99",
            "Fri Jan 8 1999",
        ] {
            assert_eq!(said(text).as_deref(), Some("1999-01-08 00:00:00"), "{text}");
        }
        for (text, expected) in [
            ("Mon Feb 10 17:32:01 1997", "1997-02-10 17:32:01"),
            ("Feb 10 5:32PM 1997", "1997-02-10 17:32:00"),
            ("10 feb 1997 12:05 am", "1997-02-10 00:05:00"),
            ("10 feb 1997 12:05:00 PM", "1997-02-10 12:05:00"),
            ("Feb 16 17:32:01 0097", "0097-02-16 17:32:01"),
            ("2/29/04", "2004-02-29 00:00:00"),
        ] {
            assert_eq!(said(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "1/8",
            "13/8/1999",
            "Feb 29 1997",
            "Jan Feb 1 1999",
            "Ja 8 1999",
            "1/2/3/4",
            "Jan 8 1999 pm",
            "Jan 8 1999 13:00 pm",
            "Jan 8 1999 0:30 am",
            "Jan 8 1999 1:00 2:00",
            "Jan 8 1999 BC",
            "8x Jan 1999",
            "1-8--1999",
            "99999999999-1-1",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
