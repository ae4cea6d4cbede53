//! The kinds of values, and how they are written.
//!
//! Callers: all of `generate`.

/// A kind of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Whole,
    Number,
    Double,
    Text,
    Boolean,
    Date,
    Timestamp,
    Interval,
    Bytes,
}

impl Kind {
    /// All kinds; those of columns come first.
    pub(super) const ALL: [Kind; 9] = [
        Kind::Whole,
        Kind::Number,
        Kind::Double,
        Kind::Text,
        Kind::Boolean,
        Kind::Date,
        Kind::Timestamp,
        Kind::Bytes,
        Kind::Interval,
    ];

    /// The kinds of columns.
    pub(super) fn of_columns() -> &'static [Kind] {
        &Kind::ALL[..8]
    }

    /// The kind of a letter in the list of functions.
    pub(super) fn of_letter(letter: char) -> Option<Kind> {
        Some(match letter {
            'W' => Kind::Whole,
            'N' => Kind::Number,
            'D' => Kind::Double,
            'T' => Kind::Text,
            'B' => Kind::Boolean,
            'A' => Kind::Date,
            'S' => Kind::Timestamp,
            'I' => Kind::Interval,
            'Y' => Kind::Bytes,
            _ => return None,
        })
    }

    /// Types that have such values.
    pub(super) fn types(self) -> &'static [&'static str] {
        match self {
            Kind::Whole => &["integer", "bigint", "smallint", "int"],
            Kind::Number => &["number", "number(9, 2)", "numeric(38, 10)", "decimal(5, 5)"],
            Kind::Double => &["double precision", "float"],
            Kind::Text => &["text", "varchar(20)", "varchar2(3)", "char(5)", "varchar(4000)"],
            Kind::Boolean => &["boolean"],
            Kind::Date => &["date"],
            Kind::Timestamp => &["timestamp"],
            Kind::Interval => &["interval"],
            Kind::Bytes => &["bytea"],
        }
    }

    /// Constants of this kind: small ones first, then the ends.
    pub(super) fn literals(self) -> &'static [&'static str] {
        match self {
            Kind::Whole => {
                &["0", "1", "2", "7", "-1", "100", "32767", "2147483648", "9223372036854775807"]
            }
            Kind::Number => {
                &["0.0", "1.5", "-2.25", "0.1", "100.00", "1e20", "0.00000001", "1e38", "1e-38"]
            }
            Kind::Double => {
                &["1e0", "0e0", "2.5e0", "-1e10", "1e-300", "1e300", "'NaN'::double precision"]
            }
            Kind::Text => &[
                "''",
                "'a'",
                "'b'",
                "'abc'",
                "'a '",
                "'x%y_z'",
                "'ÄÖü ß'",
                "'2026-01-31'",
                "'12'",
                "'日本 \u{1f600}'",
                "'%'",
                "'{1,2,3}'",
                "repeat('ab', 50)",
            ],
            Kind::Boolean => &["true", "false", "null::boolean"],
            Kind::Date => &[
                "date '2026-01-31'",
                "date '2024-02-29'",
                "date '0001-01-01'",
                "date '9999-12-31'",
                "current_date",
            ],
            Kind::Timestamp => &[
                "timestamp '2026-01-31 10:20:30.123456'",
                "timestamp '0001-01-01 00:00:00'",
                "timestamp '9999-12-31 23:59:59'",
                "now()",
                "sysdate",
            ],
            Kind::Interval => &[
                "interval '1 day'",
                "interval '1 month'",
                "interval '-3 hours'",
                "interval '1 year 2 months 3 days 04:05:06'",
                "interval '100000 years'",
                "interval '0'",
            ],
            Kind::Bytes => &["'\\x00ff'::bytea", "''::bytea", "'abc'::bytea"],
        }
    }
}
