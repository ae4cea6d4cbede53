//! SQLSTATEs: the five characters by which a program tells one refusal from another.
//!
//! The first two are the class, and the other three the condition within the class. The engine acts
//! on the [`RefusalKind`](crate::RefusalKind); clients act on the state.
//!
//! Callers: refusals; what speaks SQL or PostgreSQL's protocol.
//! Sources: PostgreSQL, appendix A, "PostgreSQL Error Codes"; the names are its condition names. Of
//! the standard's states that it doesn't have, "snapshot too old" is Oracle's class 72.

use std::fmt;

/// An SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The state with this code, which has five digits or capital letters.
    ///
    /// # Panics
    /// When it hasn't; for a constant that is when it is compiled.
    pub const fn new(code: &str) -> SqlState {
        match SqlState::read(code) {
            Some(state) => state,
            None => panic!("an SQLSTATE has five digits or capital letters"),
        }
    }

    /// The state with this code; none if it hasn't five digits or capital letters.
    pub const fn read(code: &str) -> Option<SqlState> {
        let bytes = code.as_bytes();
        if bytes.len() != 5 {
            return None;
        }
        let mut state = [0; 5];
        let mut at = 0;
        while at < state.len() {
            if !bytes[at].is_ascii_digit() && !bytes[at].is_ascii_uppercase() {
                return None;
            }
            state[at] = bytes[at];
            at += 1;
        }
        Some(SqlState(state))
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and capital letters are ASCII")
    }

    /// The class: the first two characters of the code.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({self})")
    }
}

/// Declares the states that have a name here.
macro_rules! states {
    ($($name:ident = $code:literal;)+) => {
        impl SqlState {
            $(
                #[doc = concat!("SQLSTATE ", $code, ".")]
                pub const $name: SqlState = SqlState::new($code);
            )+

            #[cfg(test)]
            const NAMED: &'static [(&'static str, SqlState)] =
                &[$((stringify!($name), SqlState::$name)),+];
        }
    };
}

states! {
    // No error.
    SUCCESSFUL_COMPLETION = "00000";
    WARNING = "01000";
    NO_DATA = "02000";

    // Connections.
    CONNECTION_EXCEPTION = "08000";
    CONNECTION_DOES_NOT_EXIST = "08003";
    CONNECTION_FAILURE = "08006";
    PROTOCOL_VIOLATION = "08P01";

    FEATURE_NOT_SUPPORTED = "0A000";
    CASE_NOT_FOUND = "20000";
    CARDINALITY_VIOLATION = "21000";

    // Values.
    DATA_EXCEPTION = "22000";
    STRING_DATA_RIGHT_TRUNCATION = "22001";
    NUMERIC_VALUE_OUT_OF_RANGE = "22003";
    NULL_VALUE_NOT_ALLOWED = "22004";
    ERROR_IN_ASSIGNMENT = "22005";
    INVALID_DATETIME_FORMAT = "22007";
    DATETIME_FIELD_OVERFLOW = "22008";
    INVALID_TIME_ZONE_DISPLACEMENT_VALUE = "22009";
    INVALID_ESCAPE_CHARACTER = "22019";
    SUBSTRING_ERROR = "22011";
    DIVISION_BY_ZERO = "22012";
    INTERVAL_FIELD_OVERFLOW = "22015";
    INVALID_CHARACTER_VALUE_FOR_CAST = "22018";
    INVALID_REGULAR_EXPRESSION = "2201B";
    INVALID_ARGUMENT_FOR_LOGARITHM = "2201E";
    INVALID_ARGUMENT_FOR_POWER_FUNCTION = "2201F";
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION = "2201G";
    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE = "2201W";
    INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE = "2201X";
    CHARACTER_NOT_IN_REPERTOIRE = "22021";
    INVALID_PARAMETER_VALUE = "22023";
    INVALID_ESCAPE_SEQUENCE = "22025";
    STRING_DATA_LENGTH_MISMATCH = "22026";
    TRIM_ERROR = "22027";
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED = "2200H";
    FLOATING_POINT_EXCEPTION = "22P01";
    INVALID_TEXT_REPRESENTATION = "22P02";
    INVALID_BINARY_REPRESENTATION = "22P03";
    BAD_COPY_FILE_FORMAT = "22P04";
    UNTRANSLATABLE_CHARACTER = "22P05";

    // Constraints.
    INTEGRITY_CONSTRAINT_VIOLATION = "23000";
    RESTRICT_VIOLATION = "23001";
    NOT_NULL_VIOLATION = "23502";
    FOREIGN_KEY_VIOLATION = "23503";
    UNIQUE_VIOLATION = "23505";
    CHECK_VIOLATION = "23514";

    // Cursors and transactions.
    INVALID_CURSOR_STATE = "24000";
    INVALID_TRANSACTION_STATE = "25000";
    ACTIVE_SQL_TRANSACTION = "25001";
    READ_ONLY_SQL_TRANSACTION = "25006";
    NO_ACTIVE_SQL_TRANSACTION = "25P01";
    IN_FAILED_SQL_TRANSACTION = "25P02";
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = "25P03";
    INVALID_SQL_STATEMENT_NAME = "26000";
    INVALID_AUTHORIZATION_SPECIFICATION = "28000";
    INVALID_PASSWORD = "28P01";
    DEPENDENT_OBJECTS_STILL_EXIST = "2BP01";
    INVALID_TRANSACTION_TERMINATION = "2D000";
    INVALID_CURSOR_NAME = "34000";
    SAVEPOINT_EXCEPTION = "3B000";
    INVALID_SAVEPOINT_SPECIFICATION = "3B001";
    INVALID_CATALOG_NAME = "3D000";
    INVALID_SCHEMA_NAME = "3F000";
    TRANSACTION_ROLLBACK = "40000";
    SERIALIZATION_FAILURE = "40001";
    STATEMENT_COMPLETION_UNKNOWN = "40003";
    DEADLOCK_DETECTED = "40P01";

    // The text of a statement, and the names in it.
    SYNTAX_ERROR = "42601";
    INSUFFICIENT_PRIVILEGE = "42501";
    CANNOT_COERCE = "42846";
    GROUPING_ERROR = "42803";
    WINDOWING_ERROR = "42P20";
    INVALID_RECURSION = "42P19";
    INVALID_FOREIGN_KEY = "42830";
    INVALID_NAME = "42602";
    NAME_TOO_LONG = "42622";
    RESERVED_NAME = "42939";
    DATATYPE_MISMATCH = "42804";
    INDETERMINATE_DATATYPE = "42P18";
    WRONG_OBJECT_TYPE = "42809";
    GENERATED_ALWAYS = "428C9";
    UNDEFINED_COLUMN = "42703";
    UNDEFINED_FUNCTION = "42883";
    UNDEFINED_TABLE = "42P01";
    UNDEFINED_PARAMETER = "42P02";
    UNDEFINED_OBJECT = "42704";
    DUPLICATE_COLUMN = "42701";
    DUPLICATE_CURSOR = "42P03";
    DUPLICATE_PREPARED_STATEMENT = "42P05";
    DUPLICATE_SCHEMA = "42P06";
    DUPLICATE_TABLE = "42P07";
    DUPLICATE_ALIAS = "42712";
    DUPLICATE_OBJECT = "42710";
    AMBIGUOUS_COLUMN = "42702";
    AMBIGUOUS_FUNCTION = "42725";
    AMBIGUOUS_PARAMETER = "42P08";
    INVALID_COLUMN_REFERENCE = "42P10";
    INVALID_COLUMN_DEFINITION = "42611";
    INVALID_TABLE_DEFINITION = "42P16";
    INVALID_OBJECT_DEFINITION = "42P17";
    WITH_CHECK_OPTION_VIOLATION = "44000";

    // Room, limits and the state of things.
    INSUFFICIENT_RESOURCES = "53000";
    DISK_FULL = "53100";
    OUT_OF_MEMORY = "53200";
    TOO_MANY_CONNECTIONS = "53300";
    PROGRAM_LIMIT_EXCEEDED = "54000";
    STATEMENT_TOO_COMPLEX = "54001";
    TOO_MANY_COLUMNS = "54011";
    TOO_MANY_ARGUMENTS = "54023";
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000";
    OBJECT_IN_USE = "55006";
    CANT_CHANGE_RUNTIME_PARAM = "55P02";
    LOCK_NOT_AVAILABLE = "55P03";

    // Whoever runs the instance steps in.
    OPERATOR_INTERVENTION = "57000";
    QUERY_CANCELED = "57014";
    ADMIN_SHUTDOWN = "57P01";
    CRASH_SHUTDOWN = "57P02";
    CANNOT_CONNECT_NOW = "57P03";

    // The machine, and the files.
    SYSTEM_ERROR = "58000";
    IO_ERROR = "58030";
    UNDEFINED_FILE = "58P01";
    DUPLICATE_FILE = "58P02";

    SNAPSHOT_TOO_OLD = "72000";
    CONFIG_FILE_ERROR = "F0000";

    // What the engine can't explain.
    INTERNAL_ERROR = "XX000";
    DATA_CORRUPTED = "XX001";
    INDEX_CORRUPTED = "XX002";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn no_two_names_have_one_state() {
        let mut names = BTreeMap::new();
        for (name, state) in SqlState::NAMED {
            assert_eq!(names.insert(*state, *name), None, "{state}");
        }
        assert!(names.len() > 100);
    }

    #[test]
    fn a_state_has_five_digits_or_capital_letters() {
        let state = SqlState::read("42P01").expect("it has");
        assert_eq!(state, SqlState::UNDEFINED_TABLE);
        assert_eq!((state.as_str(), state.class()), ("42P01", "42"));
        assert_eq!(state.to_string(), "42P01");
        for code in ["", "4200", "420000", "42p01", "42 01", "42é1"] {
            assert_eq!(SqlState::read(code), None, "{code}");
        }
    }
}
