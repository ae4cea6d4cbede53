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
    let wrong = match () {
        () if name.is_empty() => "is empty".into(),
        () if name.len() > NAME_BYTES_MAX => {
            format!("has {} bytes; the most is {NAME_BYTES_MAX}", name.len())
        }
        () if name.chars().any(char::is_control) => "has a control character".into(),
        () if name.starts_with(['_', '#']) => {
            "begins as names of the database's own do; choose another first letter".into()
        }
        () => return Ok(()),
    };
    let (name, article) = (shown(name), article(what));
    Err(Stop::refuse(RefusalKind::Invalid, format!("the name {name} of {article} {what} {wrong}")))
}

/// Refuses columns that no view, and no external table, can have.
pub(crate) fn check_columns<'a>(
    what: &str,
    name: &str,
    columns: impl ExactSizeIterator<Item = &'a String>,
) -> Result<(), Stop> {
    let refuse = |wrong: String| {
        let message = format!("cannot create {what} {name}: it has {wrong}");
        Err(Stop::refuse(RefusalKind::Invalid, message))
    };
    let (has, mut own) = (columns.len(), BTreeSet::new());
    for column in columns {
        check("column", column)?;
        if !own.insert(column) {
            return refuse(format!("two columns {column}; rename one"));
        }
    }
    match (1..=COLUMNS_MAX).contains(&has) {
        true => Ok(()),
        false => refuse(format!("{has} columns; the least is 1, the most {COLUMNS_MAX}")),
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
    Stop::refuse(RefusalKind::NotFound, message)
}

/// The refusal of a name that is taken.
pub(crate) fn taken(what: &str, name: &str) -> Stop {
    let message = format!("{what} {name} exists already");
    let state = match what {
        "table" | "view" | "sequence" | "a table, view or sequence" => SqlState::DUPLICATE_TABLE,
        "column" => SqlState::DUPLICATE_COLUMN,
        _ => SqlState::DUPLICATE_OBJECT,
    };
    let refusal = Refusal::new(RefusalKind::AlreadyExists, message).with_state(state);
    refusal.hint("drop it first, or choose another name").into()
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
    let numbered = (2_u64..).map(|number| {
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
    }

    #[test]
    fn a_name_that_is_made_is_free_and_not_too_long() {
        assert_eq!(free("t_pk", |_| false), "t_pk");
        assert_eq!(free("t_pk", |name| name == "t_pk" || name == "t_pk2"), "t_pk3");
        let long = "é".repeat(100);
        let made = free(&long, |name| name.chars().all(|letter| letter == 'é'));
        assert!(made.len() <= NAME_BYTES_MAX && made.ends_with('2'), "{made}");
    }
}
