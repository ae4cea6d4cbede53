//! CREATE TABLE.
//!
//! ```text
//!   CREATE TABLE [IF NOT EXISTS] name (columns, constraints and LIKEs) [TABLESPACE name]
//!   CREATE TABLE [IF NOT EXISTS] name [(names)] [TABLESPACE name] AS query [WITH [NO] DATA]
//!   LIKE table [{INCLUDING | EXCLUDING} {ALL | CONSTRAINTS | DEFAULTS | IDENTITY | INDEXES}] ...
//! ```
//!
//! Callers: `statement`, `external`.
//! Sources: PostgreSQL's and Oracle's documentation, "CREATE TABLE".

use sqlparser::ast::{Ident, Query};

use crate::columns::{ColumnDefinition, Constraint, tablespace};
use crate::error::SyntaxError;
use crate::names::Name;
use crate::reader::{Reader, Written};

/// CREATE TABLE.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTable {
    /// The table's name.
    pub name: Name,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// What it is made of.
    pub content: TableContent,
    /// TABLESPACE.
    pub tablespace: Option<Ident>,
}

/// What a new table is made of.
#[derive(Clone, PartialEq, Debug)]
pub enum TableContent {
    /// Columns and constraints.
    Defined {
        /// The columns, in their order.
        columns: Vec<ColumnDefinition>,
        /// The constraints that stand by themselves.
        constraints: Vec<Constraint>,
        /// The tables whose columns it gets too.
        likes: Vec<Like>,
    },
    /// The rows of a query (CTAS).
    Query {
        /// Names of the columns; empty for those that the query gives.
        columns: Vec<Ident>,
        /// The query.
        query: Written<Box<Query>>,
        /// WITH DATA: whether the rows are put in, or only the columns are taken.
        with_data: bool,
    },
}

/// LIKE: a table whose columns are copied, with their types and NOT NULLs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Like {
    /// The table.
    pub table: Name,
    /// The number of written columns that stand before those of the table.
    pub before: usize,
    /// What else is copied.
    pub including: Including,
}

/// What is copied of a table beside its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Including {
    /// CONSTRAINTS: its CHECKs.
    pub constraints: bool,
    /// DEFAULTS: the columns' defaults.
    pub defaults: bool,
    /// IDENTITY: that columns count, each by a sequence of its own.
    pub identity: bool,
    /// INDEXES: its keys and other indexes.
    pub indexes: bool,
}

impl CreateTable {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<CreateTable, SyntaxError> {
        reader.expect("table")?;
        let if_not_exists = reader.take("if not exists");
        let name = reader.object("the name of the table")?;
        reader.refuse("of, partition")?;
        let mut names = Vec::new();
        let mut defined = None;
        match () {
            () if reader.sees_open() && reader.sees_names_only() => {
                names = reader.names("the name of a column")?;
            }
            () if reader.sees_open() => defined = Some(TableContent::read_defined(reader)?),
            () => {}
        }
        let tablespace = read_storage(reader)?;
        let content = match defined {
            Some(defined) => {
                if reader.sees("as") {
                    let hint = "name the columns without types: CREATE TABLE t (a, b) AS ...";
                    return Err(reader.wrong().with_hint(hint));
                }
                defined
            }
            None => TableContent::read_query(reader, names)?,
        };
        Ok(CreateTable { name, if_not_exists, content, tablespace })
    }
}

/// What stands behind the columns: the tablespace. Other words of Oracle and PostgreSQL ask for
/// ways of storing that Forebay hasn't.
fn read_storage(reader: &mut Reader<'_>) -> Result<Option<Ident>, SyntaxError> {
    reader.refuse(
        "pctfree, pctused, initrans, storage, logging, nologging, compress, nocompress, parallel, \
         noparallel, cache, nocache, partition by, inherits, with, on commit, using, segment, \
         cluster, row store, column store, inmemory, monitoring, organization index, organization \
         heap, lob",
    )?;
    tablespace(reader)
}

impl TableContent {
    fn read_defined(reader: &mut Reader<'_>) -> Result<TableContent, SyntaxError> {
        let (mut columns, mut constraints, mut likes) = (Vec::new(), Vec::new(), Vec::new());
        reader.bracketed(|reader| {
            loop {
                match () {
                    () if reader.take("like") => likes.push(Like::read(reader, columns.len())?),
                    () => match Constraint::read(reader, None)? {
                        Some(constraint) => constraints.push(constraint),
                        None => columns.push(ColumnDefinition::read(reader)?),
                    },
                }
                if !reader.take_mark(",") {
                    return Ok(());
                }
            }
        })?;
        Ok(TableContent::Defined { columns, constraints, likes })
    }

    fn read_query(
        reader: &mut Reader<'_>,
        columns: Vec<Ident>,
    ) -> Result<TableContent, SyntaxError> {
        reader.expect("as")?;
        let query = reader.written(|reader| reader.query())?;
        let with_data = !reader.take("with no data");
        if with_data {
            reader.take("with data");
        }
        Ok(TableContent::Query { columns, query, with_data })
    }
}

/// What LIKE may name and doesn't copy: tables have none of it, but for comments.
const NOT_COPIED: [&str; 5] = ["generated", "storage", "compression", "statistics", "comments"];

impl Like {
    /// From the table's name on.
    fn read(reader: &mut Reader<'_>, before: usize) -> Result<Like, SyntaxError> {
        let table = reader.object("the name of a table")?;
        let mut including = Including::default();
        loop {
            let is_in = reader.take("including");
            if !is_in && !reader.take("excluding") {
                return Ok(Like { table, before, including });
            }
            including.read_one(reader, is_in)?;
        }
    }
}

impl Including {
    /// What stands behind INCLUDING, or behind EXCLUDING.
    fn read_one(&mut self, reader: &mut Reader<'_>, is_in: bool) -> Result<(), SyntaxError> {
        if is_in && reader.word() == Some("comments") {
            return Err(reader.unsupported("INCLUDING COMMENTS"));
        }
        match () {
            () if reader.take("all") => {
                let (constraints, defaults, identity, indexes) = (is_in, is_in, is_in, is_in);
                *self = Including { constraints, defaults, identity, indexes };
            }
            () if reader.take("constraints") => self.constraints = is_in,
            () if reader.take("defaults") => self.defaults = is_in,
            () if reader.take("identity") => self.identity = is_in,
            () if reader.take("indexes") => self.indexes = is_in,
            () if NOT_COPIED.into_iter().any(|word| reader.take(word)) => {}
            () => return Err(reader.wrong()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{ConstraintRule, Identity, OnDelete};
    use crate::testing::{refused, statement};
    use crate::{Statement, TypeName};
    use value::Type;

    fn create(text: &str) -> CreateTable {
        match statement(text) {
            Statement::CreateTable(create) => *create,
            other => panic!("{other:?}"),
        }
    }

    fn defined(within: &str) -> (Vec<ColumnDefinition>, Vec<Constraint>) {
        match create(&format!("create table t ({within})")).content {
            TableContent::Defined { columns, constraints, .. } => (columns, constraints),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_have_types_defaults_and_constraints() {
        let (columns, constraints) = defined(
            "id number(9) generated always as identity (start with 10) primary key, \
             name varchar2(40 char) default 'x' || 'y' not null constraint u unique, \
             n int default 5 not null check (n > 0 and n < 10) references p (i) on delete cascade, \
             s bigserial, d date null, \"Order\" text default null",
        );
        assert_eq!((columns.len(), constraints.len()), (6, 0));
        let Some(Identity { always: true, options }) = &columns[0].identity else { panic!() };
        assert_eq!(options.start, Some(10));
        assert_eq!(columns[0].constraints.len(), 1);
        let default = columns[1].default.as_ref().expect("a default");
        assert_eq!((default.text.as_str(), columns[1].not_null), ("'x' || 'y'", true));
        assert_eq!(columns[1].constraints[0].name.as_ref().expect("u").value, "u");
        assert_eq!(columns[2].default.as_ref().expect("5").text, "5");
        let ConstraintRule::Check(check) = &columns[2].constraints[0].rule else { panic!() };
        assert_eq!(check.text, "n > 0 and n < 10");
        let ConstraintRule::ForeignKey { columns: of, referenced, on_delete, .. } =
            &columns[2].constraints[1].rule
        else {
            panic!()
        };
        assert_eq!((of[0].value.as_str(), referenced.len()), ("n", 1));
        assert_eq!(*on_delete, OnDelete::Cascade);
        assert_eq!(columns[3].kind, TypeName::Stored(Type::BigInt));
        assert!(columns[3].identity.is_some() && columns[3].not_null && !columns[4].not_null);
        assert_eq!(columns[5].name.value, "Order");
    }

    #[test]
    fn constraints_stand_by_themselves() {
        let (columns, constraints) = defined(
            "a int, b int, constraint pk primary key (a, b) using index tablespace fast, \
             unique (b), check (a <> b), \
             foreign key (a, b) references s.p on update no action on delete set null",
        );
        assert_eq!((columns.len(), constraints.len()), (2, 4));
        let ConstraintRule::Key { is_primary: true, columns, tablespace } = &constraints[0].rule
        else {
            panic!()
        };
        assert_eq!(columns.len(), 2);
        assert_eq!(tablespace.as_ref().expect("fast").value, "fast");
        let ConstraintRule::ForeignKey { on_delete, table, .. } = &constraints[3].rule else {
            panic!()
        };
        assert_eq!((*on_delete, table.to_string()), (OnDelete::SetNull, "s.p".into()));
    }

    #[test]
    fn columns_are_those_of_other_tables_too() {
        let text = "create table t (a int, like s.u including all excluding defaults, b int, \
                    primary key (a), like v including identity including storage)";
        let TableContent::Defined { columns, constraints, likes } = create(text).content else {
            panic!()
        };
        assert_eq!((columns.len(), constraints.len(), likes.len()), (2, 1, 2));
        assert_eq!((likes[0].table.to_string(), likes[0].before), ("s.u".into(), 1));
        let all = Including { constraints: true, defaults: false, identity: true, indexes: true };
        assert_eq!(likes[0].including, all);
        let identity = Including { identity: true, ..Including::default() };
        assert_eq!((likes[1].before, likes[1].including), (2, identity));
        assert!(refused("create table t (like u including x)").contains("expected ALL"));
    }

    #[test]
    fn what_says_nothing_here_is_read() {
        let (columns, _) = defined(
            "a int constraint n not null constraint d default 5 constraint p primary key, \
             b text collate \"C\" constraint e null, \
             c int constraint g generated always as identity, \
             d int check (d > 0) no inherit references u match full on delete cascade",
        );
        assert!(columns[0].not_null && columns[0].default.is_some());
        let [primary] = &columns[0].constraints[..] else { panic!("{columns:?}") };
        assert_eq!(primary.name.as_ref().map(|name| name.value.as_str()), Some("p"));
        assert!(!columns[1].not_null && columns[1].constraints.is_empty());
        assert!(columns[2].identity.is_some());
        assert_eq!(columns[3].constraints.len(), 2);
    }

    #[test]
    fn a_table_is_made_from_a_query() {
        let text = "create table if not exists t (a, b) tablespace x as \
                    select 1, 2 from u -- so\n";
        let found = create(text);
        assert!(found.if_not_exists && found.tablespace.is_some());
        let TableContent::Query { columns, query, with_data: true } = found.content else {
            panic!()
        };
        assert_eq!((columns.len(), query.text.as_str()), (2, "select 1, 2 from u"));
        let found = create("create table t as (select 1) with no data");
        assert!(matches!(found.content, TableContent::Query { with_data: false, .. }));
    }

    #[test]
    fn what_forebay_has_not_is_refused_by_name() {
        for (text, named) in [
            ("create table t (a int) partition by range (a)", "PARTITION BY"),
            ("create table t (a int) nologging", "NOLOGGING"),
            ("create table t (a int, like u including comments)", "INCLUDING COMMENTS"),
            ("create temporary table t (a int)", "TEMPORARY"),
            ("create table t (a int, b int, foreign key (a, b) references u match full)", "MATCH"),
            ("create table t (a int references u on update cascade)", "CASCADE"),
            ("create table t (a int unique deferrable)", "DEFERRABLE"),
            ("create table t (a text collate \"de_DE\")", "collation"),
            ("create table t (a int generated always as (1 + 1))", "computed"),
            ("create table t (a int, b int unique nulls not distinct)", "NULLS NOT DISTINCT"),
        ] {
            let said = refused(text);
            assert!(said.contains(named) && said.contains("isn't supported"), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("create table t").contains("expected TABLESPACE or AS"));
        assert!(refused("create table t ()").contains("near \")\""));
        assert!(refused("create table t (a)").contains("expected TABLESPACE or AS"));
        assert!(refused("create table t (a int,)").contains("the name of a column"));
        assert!(refused("create table t (a int b)").contains("near \"b\""));
        assert!(refused("create table t (a int default 1 default 2)").contains("DEFAULT twice"));
        assert!(refused("create table t (a int) as select 1").contains("without types"));
        assert!(refused("create table t (a int constraint c)").contains("PRIMARY KEY, UNIQUE"));
        assert!(refused("create table t (a varchr(3))").contains("did you mean varchar?"));
    }
}
