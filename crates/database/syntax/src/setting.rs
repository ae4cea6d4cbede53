//! Settings of a session: SET, RESET, ALTER SESSION SET, SHOW.
//!
//! ```text
//!   SET [SESSION | LOCAL] name {TO | =} {value, ... | DEFAULT}    SET TIME ZONE value
//!   RESET {name | ALL}    ALTER SESSION SET name = value ...
//!   SET TRANSACTION modes    SET SESSION CHARACTERISTICS AS TRANSACTION modes
//!   SHOW {name | ALL | TIME ZONE | TRANSACTION ISOLATION LEVEL}    SHOW PARAMETER [part]
//! ```
//!
//! Callers: `statement`; `system` for the values of ALTER SYSTEM SET.
//! Sources: PostgreSQL's documentation, "SET"; Oracle's, "ALTER SESSION".

use sqlparser::ast::Ident;

use crate::error::SyntaxError;
use crate::reader::Reader;
use crate::statement::Statement;
use crate::transaction::TransactionModes;

/// What a session sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The parameters, in small letters, and their values.
    pub parameters: Vec<ParameterValue>,
    /// LOCAL: whether it ends with the transaction.
    pub is_local: bool,
}

/// A parameter that gets a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterValue {
    /// Its name; `all` stands for all that can be reset.
    pub name: String,
    /// The value as text, for whoever knows the parameter to read; none for its default.
    pub value: Option<String>,
}

/// SHOW: which parameters are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Show {
    /// All of them.
    All,
    /// The one of this name.
    One(String),
    /// Those whose names have this in them: SHOW PARAMETER, as SQL*Plus has it.
    Like(String),
}

impl Setting {
    /// SET or RESET, in all their forms.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
        if reader.take("reset") {
            let name = match reader.take("all") {
                true => "all".into(),
                false => parameter(reader)?,
            };
            return Ok(one(ParameterValue { name, value: None }, false));
        }
        reader.expect("set")?;
        if reader.take("session characteristics as transaction") {
            return TransactionModes::read(reader).map(Statement::SetTransactions);
        }
        if reader.take("transaction") {
            reader.refuse("snapshot, name, use")?;
            return TransactionModes::read(reader).map(Statement::SetTransaction);
        }
        reader.refuse("constraints, constraint, role, session authorization")?;
        let is_local = reader.take("local");
        if !is_local {
            reader.take("session");
        }
        if reader.take("time zone") {
            let value = value(reader)?;
            return Ok(one(ParameterValue { name: "timezone".into(), value }, is_local));
        }
        if reader.take("names") {
            let value = value(reader)?;
            return Ok(one(ParameterValue { name: "client_encoding".into(), value }, is_local));
        }
        let name = parameter(reader)?;
        if !reader.take_mark("=") {
            reader.expect("to")?;
        }
        let value = values(reader)?;
        Ok(one(ParameterValue { name, value }, is_local))
    }

    /// From the word SESSION of ALTER SESSION on.
    pub(crate) fn read_alter_session(reader: &mut Reader<'_>) -> Result<Setting, SyntaxError> {
        reader.expect("session")?;
        reader.refuse("advise, close, enable, disable, force, sync")?;
        reader.expect("set")?;
        let mut parameters = Vec::new();
        loop {
            let name = parameter(reader)?;
            // SET EVENTS '10046 ...' has no sign between.
            if name != "events" || reader.word().is_some() {
                reader.expect_mark("=")?;
            } else {
                reader.take_mark("=");
            }
            parameters.push(ParameterValue { name, value: values(reader)? });
            if !reader.sees_name_but(&[]) {
                return Ok(Setting { parameters, is_local: false });
            }
        }
    }
}

fn one(parameter: ParameterValue, is_local: bool) -> Statement {
    Statement::Set(Setting { parameters: vec![parameter], is_local })
}

/// A parameter's name, perhaps of two parts.
pub(crate) fn parameter(reader: &mut Reader<'_>) -> Result<String, SyntaxError> {
    let name = reader.object("the name of a parameter")?;
    let text = |ident: &Ident| ident.value.to_lowercase();
    Ok(match &name.schema {
        Some(first) => format!("{}.{}", text(first), text(&name.name)),
        None => text(&name.name),
    })
}

/// Values with commas between them, as one text; none for DEFAULT.
pub(crate) fn values(reader: &mut Reader<'_>) -> Result<Option<String>, SyntaxError> {
    let all = reader.list(value)?;
    match all.as_slice() {
        [None] => Ok(None),
        all => Ok(Some(all.iter().flatten().cloned().collect::<Vec<_>>().join(", "))),
    }
}

/// One value as text: what is in the quotes, a word, a number with its sign and unit.
fn value(reader: &mut Reader<'_>) -> Result<Option<String>, SyntaxError> {
    if reader.take("default") {
        return Ok(None);
    }
    if let Some(text) = reader.take_string("a value") {
        return Ok(Some(text));
    }
    if let Some(word) = reader.take_word() {
        return Ok(Some(word));
    }
    if let Some(name) = reader.take_quoted_name() {
        return Ok(Some(name));
    }
    let sign = if reader.take_mark("-") { "-" } else { "" };
    let Some(digits) = reader.take_digits() else { return Err(reader.wrong()) };
    let unit = match reader.word() {
        Some("k" | "m" | "g" | "t") => reader.take_word().unwrap_or_default().to_uppercase(),
        _ => String::new(),
    };
    Ok(Some(format!("{sign}{digits}{unit}")))
}

impl Show {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Show, SyntaxError> {
        reader.expect("show")?;
        Ok(match () {
            () if reader.take("all") => Show::All,
            () if reader.take("time zone") => Show::One("timezone".into()),
            () if reader.take("transaction isolation level") => {
                Show::One("transaction_isolation".into())
            }
            () if reader.take("parameters") || reader.take("parameter") => {
                match reader.is_at_end() {
                    true => Show::All,
                    false => Show::Like(parameter(reader)?),
                }
            }
            () if reader.is_at_end() => Show::All,
            () => Show::One(parameter(reader)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{refused, statement};
    use crate::transaction::Isolation;

    fn set(text: &str) -> (Vec<(String, Option<String>)>, bool) {
        let setting = match statement(text) {
            Statement::Set(setting) | Statement::AlterSession(setting) => setting,
            other => panic!("{other:?}"),
        };
        let parameters = setting.parameters.into_iter();
        (parameters.map(|of| (of.name, of.value)).collect(), setting.is_local)
    }

    /// The only parameter and its value.
    fn value_of(text: &str) -> (String, Option<String>) {
        let (mut all, _) = set(text);
        assert_eq!(all.len(), 1, "{text}");
        all.remove(0)
    }

    #[test]
    fn values_are_kept_as_text() {
        for (text, name, value) in [
            ("set statement_timeout to '5s'", "statement_timeout", "5s"),
            ("SET Search_Path = A, \"B\"", "search_path", "a, B"),
            ("set session x.y = -100M", "x.y", "-100M"),
            ("set enable_sort = on", "enable_sort", "on"),
            ("set n = 1.5", "n", "1.5"),
            ("set time zone 'UTC'", "timezone", "UTC"),
            ("set names 'utf8'", "client_encoding", "utf8"),
            ("alter session set current_schema = Sales", "current_schema", "sales"),
            ("alter session set events '10046 trace'", "events", "10046 trace"),
        ] {
            assert_eq!(value_of(text), (name.into(), Some(value.into())), "{text}");
        }
        for text in ["set x to default", "reset x"] {
            assert_eq!(value_of(text), ("x".into(), None), "{text}");
        }
        assert_eq!(value_of("reset all"), ("all".into(), None));
        assert!(set("set local x = 1").1);
        assert_eq!(set("alter session set a = 1 b = 'x'").0.len(), 2);
    }

    #[test]
    fn transactions_are_set_too() {
        let Statement::SetTransaction(modes) = statement("set transaction read only") else {
            panic!()
        };
        assert_eq!(modes.read_only, Some(true));
        let text = "set session characteristics as transaction isolation level serializable";
        let Statement::SetTransactions(modes) = statement(text) else { panic!() };
        assert_eq!(modes.isolation, Some(Isolation::Serializable));
    }

    #[test]
    fn parameters_are_shown() {
        let shown = |text: &str| match statement(text) {
            Statement::Show(show) => show,
            other => panic!("{other:?}"),
        };
        assert_eq!(shown("show all"), Show::All);
        assert_eq!(shown("show DB_cache_size"), Show::One("db_cache_size".into()));
        assert_eq!(shown("show parameter Cache"), Show::Like("cache".into()));
        assert_eq!(shown("show parameters"), Show::All);
        let isolation = shown("show transaction isolation level");
        assert_eq!(isolation, Show::One("transaction_isolation".into()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("set x 5").contains("expected = or TO"));
        assert!(refused("set x to").contains("expected DEFAULT, a value"));
        assert!(refused("set").contains("the name of a parameter"));
        assert!(refused("set constraints all deferred").contains("CONSTRAINTS isn't supported"));
    }
}
