//! Names of types: PostgreSQL's and Oracle's, and the types that they stand for.
//!
//! | written | meant |
//! |---|---|
//! | SMALLINT, INT2; INTEGER, INT, INT4; BIGINT, INT8 | whole numbers of 16, 32, 64 bits |
//! | NUMBER, NUMERIC, DECIMAL, DEC, with or without (p,s) | NUMBER |
//! | DOUBLE PRECISION, FLOAT, FLOAT4, FLOAT8, REAL, BINARY_DOUBLE, BINARY_FLOAT | 64 bits, binary |
//! | VARCHAR(n), VARCHAR2(n), CHARACTER VARYING(n), NVARCHAR2(n) | VARCHAR(n): characters |
//! | CHAR(n), CHARACTER(n), NCHAR(n); without (n), 1 | CHAR(n): characters |
//! | TEXT, CLOB, NCLOB, VARCHAR without (n) | TEXT |
//! | BYTEA, RAW(n), BLOB | BYTEA, of any length |
//! | BOOLEAN, BOOL; DATE; TIMESTAMP; INTERVAL | these |
//!
//! `(n CHAR)` and `(n BYTE)` are read as `(n)`: lengths are characters here.
//!
//! Callers: `reader` and `columns`; `sql` for casts.
//! Sources: PostgreSQL's documentation, "Data Types"; Oracle's SQL Language Reference, the same.

use sqlparser::ast::{CharacterLength, DataType, ExactNumberInfo, TimezoneInfo};
use stop::did_you_mean;
use value::{CHARS_MAX, Misfit, Type};

use crate::error::{INVALID_PARAMETER, NOT_SUPPORTED, SyntaxError};

/// SQLSTATE of a name that nothing has.
const UNDEFINED_OBJECT: &str = "42704";

/// A type that a statement names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeName {
    /// A type that columns have.
    Stored(Type),
    /// A span of time, which no column holds.
    Interval,
}

/// Names for a suggestion.
const NAMES: &str = "smallint integer int bigint number numeric decimal double float real varchar \
    varchar2 char text clob bytea raw blob boolean date timestamp interval serial bigserial";

/// The type that a name in a tree stands for.
pub fn type_of(named: &DataType) -> Result<TypeName, SyntaxError> {
    let stored = match named {
        DataType::Interval { fields: None, precision: None } => return Ok(TypeName::Interval),
        DataType::SmallInt(None) | DataType::Int2(None) => Type::SmallInt,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => Type::Integer,
        DataType::BigInt(None) | DataType::Int8(None) => Type::BigInt,
        DataType::Numeric(of) | DataType::Decimal(of) | DataType::Dec(of) => number(of)?,
        DataType::Double(ExactNumberInfo::None)
        | DataType::DoublePrecision
        | DataType::Float(ExactNumberInfo::None | ExactNumberInfo::Precision(1..=126))
        | DataType::Float4
        | DataType::Float8
        | DataType::Real => Type::Double,
        DataType::Varchar(None)
        | DataType::CharacterVarying(None)
        | DataType::CharVarying(None)
        | DataType::Text
        | DataType::Clob(None) => Type::Text,
        DataType::Varchar(Some(length))
        | DataType::CharacterVarying(Some(length))
        | DataType::CharVarying(Some(length))
        | DataType::Nvarchar(Some(length)) => sized("VARCHAR", characters(length)?)?,
        DataType::Char(None) | DataType::Character(None) => sized("CHAR", 1)?,
        DataType::Char(Some(length)) | DataType::Character(Some(length)) => {
            sized("CHAR", characters(length)?)?
        }
        DataType::Bytea | DataType::Blob(None) => Type::Bytea,
        DataType::Boolean | DataType::Bool => Type::Boolean,
        DataType::Date => Type::Date,
        DataType::Timestamp(None | Some(6), TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            Type::Timestamp
        }
        DataType::Custom(name, modifiers) => oracle_type(&name.to_string(), modifiers)?,
        other => return Err(unsupported(other)),
    };
    Ok(TypeName::Stored(stored))
}

fn number(of: &ExactNumberInfo) -> Result<Type, SyntaxError> {
    let (precision, scale) = match of {
        ExactNumberInfo::None => return Ok(Type::Number(None)),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    // A number that doesn't fit is out of range all the same.
    let precision = u32::try_from(precision).unwrap_or(u32::MAX);
    let scale = i32::try_from(scale).unwrap_or(i32::MAX);
    Type::number(precision, scale).map_err(|misfit| misfits(&misfit))
}

fn misfits(misfit: &Misfit) -> SyntaxError {
    SyntaxError::new(INVALID_PARAMETER, misfit.to_string())
}

fn characters(length: &CharacterLength) -> Result<u64, SyntaxError> {
    match length {
        CharacterLength::IntegerLength { length, unit: None } => Ok(*length),
        other => {
            let say = format!("a length of {other} isn't supported");
            Err(SyntaxError::new(NOT_SUPPORTED, say).with_hint("lengths are characters: (n)"))
        }
    }
}

/// VARCHAR(n) or CHAR(n).
fn sized(name: &str, length: u64) -> Result<Type, SyntaxError> {
    let made = match u16::try_from(length) {
        Ok(length) if name == "CHAR" => Type::char(length),
        Ok(length) => Type::varchar(length),
        Err(_) => {
            let say = format!(
                "{name}({length}) can't be declared: the length is 1 to {CHARS_MAX} characters"
            );
            return Err(SyntaxError::new(INVALID_PARAMETER, say).with_hint("use TEXT"));
        }
    };
    made.map_err(|misfit| misfits(&misfit))
}

/// A type that only Oracle has, by its name in small letters.
fn oracle_type(name: &str, modifiers: &[String]) -> Result<Type, SyntaxError> {
    let length = match modifiers {
        [] => None,
        [one] => one.parse::<u64>().ok(),
        _ => None,
    };
    let is_sized = !modifiers.is_empty();
    match (name, length) {
        ("number" | "binary_double" | "binary_float" | "nclob", _) if is_sized => {}
        ("number", _) => return Ok(Type::Number(None)),
        ("binary_double" | "binary_float", _) => return Ok(Type::Double),
        ("nclob", _) => return Ok(Type::Text),
        ("varchar2" | "nvarchar2", Some(length)) => return sized("VARCHAR", length),
        ("nchar", Some(length)) => return sized("CHAR", length),
        ("nchar", None) if !is_sized => return sized("CHAR", 1),
        ("raw", Some(_)) => return Ok(Type::Bytea),
        ("varchar2" | "nvarchar2" | "raw", None) if !is_sized => {
            let name = name.to_uppercase();
            let say = format!("{name} needs a length, as in {name}(100)");
            return Err(SyntaxError::new(INVALID_PARAMETER, say));
        }
        _ => {
            let say =
                format!("there is no type {name}{}", did_you_mean(name, NAMES.split_whitespace()));
            return Err(SyntaxError::new(UNDEFINED_OBJECT, say));
        }
    }
    let say = format!("type {name} takes no length here");
    Err(SyntaxError::new(INVALID_PARAMETER, say))
}

fn unsupported(named: &DataType) -> SyntaxError {
    let error = SyntaxError::new(NOT_SUPPORTED, format!("type {named} isn't supported"));
    match named {
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            error.with_hint("TIMESTAMP has no time zone; keep UTC in it")
        }
        DataType::Timestamp(..) | DataType::Datetime(_) => {
            error.with_hint("TIMESTAMP keeps microseconds")
        }
        DataType::Int(_) | DataType::Integer(_) | DataType::BigInt(_) | DataType::SmallInt(_) => {
            error.with_hint("whole numbers have no length; NUMBER(n) has n digits")
        }
        DataType::TinyInt(_) => error.with_hint("use SMALLINT"),
        DataType::Binary(_) | DataType::Varbinary(_) | DataType::Bytes(_) => {
            error.with_hint("use BYTEA")
        }
        DataType::Interval { .. } => error.with_hint("INTERVAL has no fields and no precision"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cast_type;

    fn stored(text: &str) -> Type {
        match cast_type(text) {
            Ok(TypeName::Stored(of)) => of,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn refused(text: &str) -> String {
        cast_type(text).expect_err(text).to_string()
    }

    #[test]
    fn names_of_both_worlds_mean_their_types() {
        let varchar = Type::varchar(9).expect("9");
        for (text, expected) in [
            ("int2", Type::SmallInt),
            ("int", Type::Integer),
            ("INTEGER", Type::Integer),
            ("int8", Type::BigInt),
            ("number", Type::Number(None)),
            ("decimal", Type::Number(None)),
            ("Number(9)", Type::number(9, 0).expect("9")),
            ("NUMBER(9, -2)", Type::number(9, -2).expect("9")),
            ("number(*, 2)", Type::number(38, 2).expect("38")),
            ("numeric(9,2)", Type::number(9, 2).expect("9")),
            ("float(53)", Type::Double),
            ("double precision", Type::Double),
            ("binary_double", Type::Double),
            ("varchar", Type::Text),
            ("clob", Type::Text),
            ("VARCHAR2(9)", varchar),
            ("VARCHAR2(9 CHAR)", varchar),
            ("varchar2(9 byte)", varchar),
            ("character varying(9)", varchar),
            ("nvarchar2(9)", varchar),
            ("char", Type::char(1).expect("1")),
            ("char(9 char)", Type::char(9).expect("9")),
            ("raw(16)", Type::Bytea),
            ("blob", Type::Bytea),
            ("bool", Type::Boolean),
            ("timestamp(6)", Type::Timestamp),
            ("timestamp without time zone", Type::Timestamp),
        ] {
            assert_eq!(stored(text), expected, "{text}");
        }
        assert_eq!(cast_type("interval").expect("a type"), TypeName::Interval);
    }

    #[test]
    fn a_type_that_is_not_there_is_refused_with_what_to_do() {
        assert!(refused("varchr(9)").contains("did you mean varchar?"));
        assert!(refused("varchar2").contains("needs a length"));
        assert!(refused("varchar(70000)").contains("use TEXT"));
        assert!(refused("varchar(5000)").contains("4000"));
        assert!(refused("number(39)").contains("1 to 38"));
        assert!(refused("timestamptz").contains("UTC"));
        assert!(refused("timestamp(3)").contains("microseconds"));
        assert!(refused("int(11)").contains("NUMBER(n)"));
        assert!(refused("interval year").contains("no fields"));
        assert!(refused("json").contains("isn't supported"));
        assert!(refused("int[]").contains("isn't supported"));
    }
}
