//! Names: which are allowed and free, and which one a misspelt name may have meant.
//!
//! Callers: `draft`, `dictionary`; statements about views and external tables.

use std::collections::BTreeSet;

use stop::{Refusal, RefusalKind, SqlState, Stop, did_you_mean};
use value::COLUMNS_MAX;

/// The most bytes of a name, as in Oracle.
pub const NAME_BYTES_MAX: usize = 128;

/// Refuses a name that isn't allowed.
pub(crate) fn check(what: &str, name: &str) -> Result<(), Stop> {
    // Columns of the database's own are in its tables alone, and one that was dropped has a `#`.
    let is_own = name.starts_with('#') || (name.starts_with('_') && what != "column");
    let (state, wrong) = match () {
        () if name.is_empty() => (SqlState::INVALID_NAME, "is empty".into()),
        () if name.len() > NAME_BYTES_MAX => {
            let wrong = format!("has {} bytes; the most is {NAME_BYTES_MAX}", name.len());
            (SqlState::NAME_TOO_LONG, wrong)
        }
        () if name.chars().any(char::is_control) => {
            (SqlState::INVALID_NAME, "has a control character".into())
        }
        () if is_own => {
            let wrong = "begins as names of the database's own do; choose another first letter";
            (SqlState::RESERVED_NAME, wrong.into())
        }
        () => return Ok(()),
    };
    let (name, article) = (shown(name), article(what));
    let message = format!("the name {name} of {article} {what} {wrong}");
    Err(Refusal::new(RefusalKind::Invalid, message).with_state(state).into())
}

/// Refuses columns that no view, and no external table, can have.
pub(crate) fn check_columns<'a>(
    what: &str,
    name: &str,
    columns: impl ExactSizeIterator<Item = &'a String>,
) -> Result<(), Stop> {
    let refuse = |state: SqlState, wrong: String| -> Result<(), Stop> {
        let message = format!("cannot create {what} {name}: it has {wrong}");
        Err(Refusal::new(RefusalKind::Invalid, message).with_state(state).into())
    };
    let (has, mut own) = (columns.len(), BTreeSet::new());
    for column in columns {
        check("column", column)?;
        if !own.insert(column) {
            let wrong = format!("two columns {column}; rename one");
            return refuse(SqlState::DUPLICATE_COLUMN, wrong);
        }
    }
    match (1..=COLUMNS_MAX).contains(&has) {
        true => Ok(()),
        false => {
            let wrong = format!("{has} columns; the least is 1, the most {COLUMNS_MAX}");
            refuse(SqlState::TOO_MANY_COLUMNS, wrong)
        }
    }
}

fn article(what: &str) -> &'static str {
    if what.starts_with('e') { "an" } else { "a" }
}

/// The refusal of a name that isn't there, with one that may have been meant.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    within: &str,
    there: impl Iterator<Item = &'a str>,
) -> Stop {
    let meant = did_you_mean(name, there);
    let name = shown(name);
    let message = format!("there is no {what} {name}{within}{meant}");
    let state = match what {
        "table" | "sequence" => SqlState::UNDEFINED_TABLE,
        "column" => SqlState::UNDEFINED_COLUMN,
        _ => SqlState::UNDEFINED_OBJECT,
    };
    Refusal::new(RefusalKind::NotFound, message).with_state(state).into()
}

/// The refusal of a name that an object of another kind has.
pub(crate) fn of_another(what: &str, name: &str, kind: &str) -> Stop {
    let (name, article) = (shown(name), article(kind));
    let message = format!("there is no {what} {name}: this is {article} {kind}");
    let refusal = Refusal::new(RefusalKind::NotFound, message);
    refusal.with_state(SqlState::WRONG_OBJECT_TYPE).into()
}

/// The refusal of a name that is taken.
pub(crate) fn taken(what: &str, name: &str) -> Stop {
    let message = format!("{what} {name} exists already");
    let state = match what {
        "table" | "view" | "sequence" | "a table, view or sequence" | "an index or constraint" => {
            SqlState::DUPLICATE_TABLE
        }
        "column" => SqlState::DUPLICATE_COLUMN,
        _ => SqlState::DUPLICATE_OBJECT,
    };
    let refusal = Refusal::new(RefusalKind::AlreadyExists, message).with_state(state);
    refusal.hint("drop it first, or choose another name").into()
}

/// The refusal of a drop of what something else needs.
pub(crate) fn needed(message: String) -> Stop {
    as_needed(Stop::refuse(RefusalKind::WrongState, message))
}

/// The same refusal, which is one because something else needs what would go.
pub(crate) fn as_needed(stop: Stop) -> Stop {
    let state = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
    stop.map_refusal(|refusal| refusal.with_state(state))
}

/// A free name: `stem`, or the stem with a number behind it.
pub(crate) fn free(stem: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let cut = |most: usize| {
        let end = (0..=most.min(stem.len())).rev().find(|at| stem.is_char_boundary(*at));
        &stem[..end.expect("every text has a beginning")]
    };
    let whole = cut(NAME_BYTES_MAX);
    if !is_taken(whole) {
        return whole.into();
    }
    let numbered = (1_u64..).map(|number| {
        let number = number.to_string();
        format!("{}{number}", cut(NAME_BYTES_MAX - number.len()))
    });
    numbered.into_iter().find(|name| !is_taken(name)).expect("numbers don't end")
}

/// A name in quotes, cut to a length that fits a message.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(NAME_BYTES_MAX).collect();
    format!("{:?}", short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_mistyped_is_suggested() {
        let there = ["customer", "order", "warehouse"];
        let say = |name| unknown("table", name, "", there.into_iter()).to_string();
        assert_eq!(say("custmer"), "there is no table \"custmer\"; did you mean customer?");
        assert_eq!(say("ORDER"), "there is no table \"ORDER\"; did you mean order?");
        assert_eq!(say("oder"), "there is no table \"oder\"; did you mean order?");
        assert_eq!(say("district"), "there is no table \"district\"");
    }

    #[test]
    fn names_that_nothing_can_have_are_refused() {
        let long = "é".repeat(65);
        for name in ["", "a\nb", "_tables", "#7", &long] {
            let refused = check("table", name).expect_err("refused");
            assert_eq!(refused.refusal(), Some(RefusalKind::Invalid), "{refused}");
        }
        check("table", &"é".repeat(64)).expect("128 bytes");
        check("column", "_id").expect("the database's own tables are named, and not their columns");
        check("column", "#3").expect_err("as one that was dropped");
    }

    #[test]
    fn a_name_that_is_made_is_free_and_not_too_long() {
        assert_eq!(free("t_pkey", |_| false), "t_pkey");
        assert_eq!(free("t_pkey", |name| name == "t_pkey" || name == "t_pkey1"), "t_pkey2");
        let long = "é".repeat(100);
        let made = free(&long, |name| name.chars().all(|letter| letter == 'é'));
        assert!(made.len() <= NAME_BYTES_MAX && made.ends_with('1'), "{made}");
    }
}
