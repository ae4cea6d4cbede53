//! CREATE SEQUENCE and ALTER SEQUENCE.
//!
//! ```text
//!   CREATE SEQUENCE [IF NOT EXISTS] name [AS type] options
//!   ALTER SEQUENCE [IF EXISTS] name {options [RESTART [[WITH] n]] | RENAME TO name}
//!   options: [START [WITH] n] [INCREMENT [BY] n] [MINVALUE n | NOMINVALUE | NO MINVALUE]
//!            [MAXVALUE n | NOMAXVALUE | NO MAXVALUE] [[NO] CYCLE | NOCYCLE] [CACHE n | NOCACHE]
//! ```
//!
//! Callers: `statement`; `columns` for identities.
//! Sources: PostgreSQL's and Oracle's documentation, "CREATE SEQUENCE".

use sqlparser::ast::Ident;
use value::Type;

use crate::error::{INVALID_PARAMETER, SYNTAX_ERROR, SyntaxError};
use crate::names::Name;
use crate::reader::Reader;
use crate::types::TypeName;

/// CREATE SEQUENCE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateSequence {
    /// The sequence's name.
    pub name: Name,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// AS: a type of whole numbers, with whose numbers it ends.
    pub kind: Option<Type>,
    /// How it counts.
    pub options: SequenceOptions,
}

/// ALTER SEQUENCE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlterSequence {
    /// The sequence's name.
    pub name: Name,
    /// IF EXISTS.
    pub if_exists: bool,
    /// What is changed.
    pub change: SequenceChange,
}

/// What ALTER SEQUENCE changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SequenceChange {
    /// How it counts from now on.
    Options {
        /// The options that are written.
        options: SequenceOptions,
        /// RESTART, with the next value or with the sequence's first one.
        restart: Option<Restart>,
    },
    /// RENAME TO.
    Rename(Ident),
}

/// Where a sequence begins again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// With its START.
    AtStart,
    /// With this value.
    At(i64),
}

/// How a sequence counts; what isn't written is none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SequenceOptions {
    /// START WITH.
    pub start: Option<i64>,
    /// INCREMENT BY.
    pub increment: Option<i64>,
    /// MINVALUE.
    pub min: Option<Bound>,
    /// MAXVALUE.
    pub max: Option<Bound>,
    /// CYCLE or NOCYCLE.
    pub cycles: Option<bool>,
    /// CACHE; 1 for NOCACHE.
    pub cache: Option<u64>,
}

/// An end of a sequence's range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// That of the sequence's type.
    OfType,
    /// This value.
    At(i64),
}

const VALUE: &str = "a whole number";

impl CreateSequence {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<CreateSequence, SyntaxError> {
        reader.expect("sequence")?;
        let if_not_exists = reader.take("if not exists");
        let name = reader.object("the name of a sequence")?;
        let (mut kind, mut options) = (None, SequenceOptions::default());
        loop {
            let place = reader.place();
            if reader.take("as") {
                if kind.replace(whole_type(reader)?).is_some() {
                    return Err(twice(place));
                }
            } else if !options.read_one(reader)? {
                return Ok(CreateSequence { name, if_not_exists, kind, options });
            }
        }
    }
}

/// The type of a sequence's values.
fn whole_type(reader: &mut Reader<'_>) -> Result<Type, SyntaxError> {
    let place = reader.place();
    match reader.type_name()? {
        TypeName::Stored(kind) if kind.is_integer() => Ok(kind),
        _ => {
            let say = "the values of a sequence are SMALLINT, INTEGER or BIGINT";
            Err(SyntaxError::new(INVALID_PARAMETER, say).with_position(place))
        }
    }
}

/// The refusal of an option that is there already.
fn twice(place: usize) -> SyntaxError {
    let say = "a sequence has each option once";
    SyntaxError::new(SYNTAX_ERROR, say).with_position(place)
}

impl AlterSequence {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<AlterSequence, SyntaxError> {
        reader.expect("sequence")?;
        let if_exists = reader.take("if exists");
        let name = reader.object("the name of a sequence")?;
        if reader.take("rename to") {
            let change = SequenceChange::Rename(reader.name("the new name")?);
            return Ok(AlterSequence { name, if_exists, change });
        }
        reader.refuse("owner, set")?;
        let mut options = SequenceOptions::default();
        let mut restart = None;
        let start = reader.place();
        loop {
            if reader.take("restart") {
                let is_given = reader.take("with") || reader.sees_number();
                restart = Some(match is_given {
                    true => Restart::At(reader.signed(VALUE)?),
                    false => Restart::AtStart,
                });
            } else if !options.read_one(reader)? {
                break;
            }
        }
        if reader.place() == start {
            return Err(reader.wrong());
        }
        let change = SequenceChange::Options { options, restart };
        Ok(AlterSequence { name, if_exists, change })
    }
}

impl SequenceOptions {
    /// Options up to the first thing that is none.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<SequenceOptions, SyntaxError> {
        let mut options = SequenceOptions::default();
        while options.read_one(reader)? {}
        Ok(options)
    }

    /// Reads an option; false if none comes next.
    fn read_one(&mut self, reader: &mut Reader<'_>) -> Result<bool, SyntaxError> {
        let place = reader.place();
        reader.refuse("owned by, as, sharing, scale, extend, shard, keep")?;
        let is_first = match () {
            () if reader.take("start") => {
                reader.take("with");
                self.start.replace(reader.signed(VALUE)?).is_none()
            }
            () if reader.take("increment") => {
                reader.take("by");
                self.increment.replace(reader.signed(VALUE)?).is_none()
            }
            () if reader.take("minvalue") => {
                self.min.replace(Bound::At(reader.signed(VALUE)?)).is_none()
            }
            () if reader.take("maxvalue") => {
                self.max.replace(Bound::At(reader.signed(VALUE)?)).is_none()
            }
            () if reader.take("nominvalue") || reader.take("no minvalue") => {
                self.min.replace(Bound::OfType).is_none()
            }
            () if reader.take("nomaxvalue") || reader.take("no maxvalue") => {
                self.max.replace(Bound::OfType).is_none()
            }
            () if reader.take("cycle") => self.cycles.replace(true).is_none(),
            () if reader.take("nocycle") || reader.take("no cycle") => {
                self.cycles.replace(false).is_none()
            }
            () if reader.take("cache") => self.cache.replace(reader.whole(VALUE)?).is_none(),
            () if reader.take("nocache") => self.cache.replace(1).is_none(),
            // One instance gives values in order anyhow.
            () if reader.take("order") || reader.take("noorder") => true,
            () => return Ok(false),
        };
        match is_first {
            true => Ok(true),
            false => Err(twice(place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn created(options: &str) -> SequenceOptions {
        match statement(&format!("create sequence s {options}")) {
            Statement::CreateSequence(create) => create.options,
            other => panic!("{other:?}"),
        }
    }

    fn altered(change: &str) -> SequenceChange {
        match statement(&format!("alter sequence s {change}")) {
            Statement::AlterSequence(alter) => alter.change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_written_as_in_both_worlds() {
        let expected = SequenceOptions {
            start: Some(5),
            increment: Some(-2),
            min: Some(Bound::At(-9_223_372_036_854_775_808)),
            max: Some(Bound::OfType),
            cycles: Some(false),
            cache: Some(10),
        };
        let min = "minvalue -9223372036854775808";
        let oracle =
            format!("start with 5 increment by -2 {min} nomaxvalue nocycle cache 10 order");
        let postgresql = format!("increment -2 {min} no maxvalue start 5 cache 10 no cycle");
        assert_eq!(created(&oracle), expected);
        assert_eq!(created(&postgresql), expected);
        assert_eq!(created(""), SequenceOptions::default());
        assert_eq!(created("nocache").cache, Some(1));
        let kind = |text: &str| match statement(text) {
            Statement::CreateSequence(create) => create.kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind("create sequence s as int start 2 cache 1"), Some(Type::Integer));
        assert_eq!(kind("create sequence s cycle as smallint"), Some(Type::SmallInt));
        assert_eq!(kind("create sequence s"), None);
    }

    #[test]
    fn a_sequence_is_changed_renamed_or_begun_again() {
        let restart = |text: &str| match altered(text) {
            SequenceChange::Options { restart, .. } => restart,
            other => panic!("{other:?}"),
        };
        assert_eq!(restart("restart"), Some(Restart::AtStart));
        assert_eq!(restart("restart with 7 cache 3"), Some(Restart::At(7)));
        assert_eq!(restart("restart 7"), Some(Restart::At(7)));
        assert_eq!(restart("cache 3"), None);
        assert!(matches!(altered("rename to r"), SequenceChange::Rename(_)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("alter sequence s").contains("expected RENAME TO, RESTART, START"));
        assert!(refused("create sequence s cache 1 cache 2").contains("each option once"));
        assert!(refused("create sequence s start 9223372036854775808").contains("64 bits"));
        assert!(refused("create sequence s start x").contains("expected WITH or a whole number"));
        assert!(refused("create sequence s as text").contains("SMALLINT, INTEGER or BIGINT"));
        assert!(refused("create sequence s as int as int").contains("each option once"));
        assert!(refused("alter sequence s as int").contains("AS isn't supported"));
        assert!(refused("create sequence s owned by t.a").contains("OWNED BY isn't supported"));
    }
}
