//! Functions and operators of days, moments and spans: what they are worth, mostly as PostgreSQL's
//! documentation says.

#![forbid(unsafe_code)]

mod common;

use common::{day, dbl, int, lit, moment, null, num, said, span};
use expression::{Operator, Typed, build};

fn of(left: Typed, operator: Operator, right: Typed) -> String {
    said(build::arithmetic(left, operator, right))
}

#[test]
fn operators_of_moments() {
    use Operator::{Add, Divide, Multiply, Subtract};
    let all = [
        (of(day("2001-09-28"), Add, int(7)), "2001-10-05"),
        (of(day("2001-09-28"), Add, span("1 hour")), "2001-09-28 01:00:00"),
        (of(day("2001-10-01"), Subtract, day("2001-09-28")), "3"),
        (of(day("2001-10-01"), Subtract, int(7)), "2001-09-24"),
        (of(day("2001-09-28"), Subtract, span("1 hour")), "2001-09-27 23:00:00"),
        (of(moment("2001-09-28 01:00"), Add, span("23 hours")), "2001-09-29 00:00:00"),
        (of(moment("2001-09-28 23:00"), Subtract, span("23 hours")), "2001-09-28 00:00:00"),
        (of(moment("2001-09-29 03:00"), Subtract, moment("2001-07-27 12:00")), "63 days 15:00:00"),
        (of(span("1 day"), Add, span("1 hour")), "1 day 01:00:00"),
        (of(span("1 day"), Subtract, span("1 hour")), "1 day -01:00:00"),
        (of(span("1 second"), Multiply, int(900)), "00:15:00"),
        (of(span("1 day"), Multiply, int(21)), "21 days"),
        (of(num("3.5"), Multiply, span("1 hour")), "03:30:00"),
        (of(span("1 hour"), Divide, num("1.5")), "00:40:00"),
        (of(span("1 hour"), Divide, int(0)), "22012"),
        (of(moment("2026-01-31"), Add, span("1 mon")), "2026-02-28 00:00:00"),
        (of(moment("2026-01-01"), Add, lit("1 day")), "2026-01-02 00:00:00"),
        (of(day("2026-01-01"), Subtract, lit("2025-12-31")), "1"),
        (of(moment("2026-01-01"), Add, num("0.5")), "2026-01-01 12:00:00"),
        (of(moment("2026-01-01"), Subtract, int(1)), "2025-12-31 00:00:00"),
        (of(day("9999-12-31"), Add, int(1)), "22008"),
        (of(day("2026-01-01"), Add, int(i64::MAX)), "22008"),
        (of(moment("9999-12-31"), Add, span("1 year")), "22008"),
        (of(day("2026-01-01"), Add, null()), "NULL"),
        (of(day("2026-01-01"), Add, day("2026-01-01")), "42883"),
        (of(day("2026-01-01"), Add, num("1.5")), "42883"),
        (said(build::negate(span("1 day -2 hours"))), "-1 days +02:00:00"),
    ];
    for (at, (found, expected)) in all.iter().enumerate() {
        assert_eq!(found, expected, "case {at}");
    }
}

#[test]
fn parts_and_ages() {
    calls! {
        date_trunc(lit("hour"), moment("2001-02-16 20:38:40")) => "2001-02-16 20:00:00";
        date_trunc(lit("year"), day("2001-02-16")) => "2001-01-01 00:00:00";
        date_trunc(lit("hour"), span("3 days 02:47:33")) => "3 days 02:00:00";
        date_trunc(lit("week"), span("3 days")) => "0A000";
        date_trunc(lit("dow"), moment("2001-02-16")) => "0A000";
        date_trunc(lit("banana"), moment("2001-02-16")) => "22023";
        date_trunc(lit("decade"), moment("0005-02-16")) => "22008";
        extract(lit("day"), moment("2001-02-16 20:38:40")) => "16";
        extract(lit("second"), moment("2001-02-16 20:38:28.5")) => "28.5";
        extract(lit("epoch"), moment("2001-02-16 20:38:40.12")) => "982355920.12";
        extract(lit("epoch"), span("5 days 3 hours")) => "442800";
        extract(lit("month"), span("2 years 3 months")) => "3";
        extract(lit("doy"), day("2001-02-16")) => "47";
        extract(lit("hour"), day("2001-02-16")) => "0A000";
        date_part(lit("hour"), span("4 hours 3 minutes")) => "4";
        age(moment("2001-04-10"), moment("1957-06-13")) => "43 years 9 mons 27 days";
        age(moment("2026-11-20")) => "7 days";
        months_between(day("2026-02-28"), day("2026-01-31")) => "1";
        add_months(day("2026-01-31"), int(1)) => "2026-02-28";
        add_months(day("2026-02-28"), int(1)) => "2026-03-31";
        add_months(moment("2026-01-15 10:00"), int(-1)) => "2025-12-15 10:00:00";
        last_day(day("2024-02-10")) => "2024-02-29";
        last_day(moment("2024-02-10 10:00")) => "2024-02-29 10:00:00";
        make_date(int(2013), int(7), int(15)) => "2013-07-15";
        make_date(int(2013), int(13), int(15)) => "22008";
        make_timestamp(int(2013), int(7), int(15), int(8), int(15), dbl(23.5))
            => "2013-07-15 08:15:23.5";
        make_timestamp(int(2013), int(7), int(15), int(24), int(0), dbl(0.0)) => "22008";
        justify_hours(span("50 hours 10 minutes")) => "2 days 02:10:00";
        justify_days(span("1 year 65 days")) => "1 year 2 mons 5 days";
        justify_interval(span("1 mon -1 hour")) => "29 days 23:00:00";
    }
}

/// They are of the statement, and the same however often they are asked.
#[test]
fn the_moment_of_the_statement() {
    calls! {
        now() => "2026-11-27 15:04:05.678901";
        current_timestamp() => "2026-11-27 15:04:05.678901";
        current_timestamp(int(0)) => "2026-11-27 15:04:06";
        current_timestamp(int(3)) => "2026-11-27 15:04:05.679";
        localtimestamp(int(9)) => "2026-11-27 15:04:05.678901";
        localtimestamp(int(-1)) => "22023";
        timestamp(moment("2026-11-27 23:59:59.995"), int(2)) => "2026-11-28 00:00:00";
        timestamp(moment("1969-12-31 23:59:58.5"), int(0)) => "1969-12-31 23:59:59";
        timestamp(moment("9999-12-31 23:59:59.5"), int(0)) => "22008";
        date_bin(span("15 minutes"), moment("2020-02-11 15:44:17"), moment("2001-01-01")) => {
            "2020-02-11 15:30:00"
        };
        date_bin(span("1 day"), day("2020-02-11"), moment("2020-02-12 06:00")) => {
            "2020-02-10 06:00:00"
        };
        date_bin(span("1 mon"), day("2020-02-11"), day("2001-01-01")) => "0A000";
        date_bin(span("-1 day"), day("2020-02-11"), day("2001-01-01")) => "22008";
        isfinite(day("2020-02-11")) => "true";
        make_interval(int(1), int(2), int(3), int(4), int(5), int(6), num("7.5")) => {
            "1 year 2 mons 25 days 05:06:07.5"
        };
        make_interval(int(i64::MAX), int(0), int(0), int(0), int(0), int(0), dbl(0.0)) => "22008";
        make_interval(int(0), int(0), int(0), int(0), int(0), int(0), dbl(f64::NAN)) => "22008";
        localtimestamp() => "2026-11-27 15:04:05.678901";
        sysdate() => "2026-11-27 15:04:05";
        current_date() => "2026-11-27";
        current_user() => "ann";
    }
}

#[test]
fn moments_and_numbers_by_patterns() {
    calls! {
        to_char(moment("2002-04-20 17:31:12.66"), lit("HH12:MI:SS")) => "05:31:12";
        to_char(day("2026-11-27"), lit("Day, DD Mon YYYY")) => "Friday   , 27 Nov 2026";
        to_char(span("15:02:12"), lit("HH24:MI:SS")) => "15:02:12";
        to_char(span("1 day"), lit("HH24")) => "0A000";
        to_char(int(125), lit("999")) => " 125";
        to_char(dbl(125.8), lit("999D9")) => " 125.8";
        to_char(num("-125.8"), lit("999D99S")) => "125.80-";
        to_char(int(5)) => "5";
        to_char(day("2026-11-27")) => "2026-11-27";
        to_date(lit("05 Dec 2000"), lit("DD Mon YYYY")) => "2000-12-05";
        to_date(lit("2000-13-05"), lit("YYYY-MM-DD")) => "22008";
        to_date(lit("abc"), lit("YYYY")) => "22007";
        to_date(lit("10:30"), lit("HH24:MI")) => "0A000";
        to_timestamp(lit("05 Dec 2000 13:30"), lit("DD Mon YYYY HH24:MI")) => "2000-12-05 13:30:00";
        to_timestamp(dbl(1284352323.5)) => "2010-09-13 04:32:03.5";
        to_timestamp(dbl(1e300)) => "22008";
        to_number(lit("12,454.8-"), lit("99G999D9S")) => "-12454.8";
        to_number(lit("12.5")) => "12.5";
        to_number(lit("1234"), lit("99")) => "12";
        to_number(lit("1234.5"), lit("99D9")) => "22003";
        to_number(lit("abc"), lit("999")) => "22P02";
        to_char(int(5), lit("9EEEE")) => "42601";
    }
}
