//! Definitions, and what a session says of itself: settings, transactions, EXPLAIN.
//!
//! Callers: the script itself.

use super::kinds::Kind;
use super::queries::column;
use super::writer::{Column, Source, Writer, names};

/// The most tables and views that are known.
const KNOWN_MAX: usize = 6;

/// What a session says of itself, and what an administrator says.
const SAYINGS: &[&str] = &[
    "begin",
    "commit",
    "rollback",
    "savepoint s",
    "rollback to s",
    "release s",
    "set transaction isolation level serializable",
    "reset all",
    "show all",
    "show enable_hashjoin",
    "set enable_hashjoin = off",
    "set enable_mergejoin = off",
    "set enable_nestloop = off",
    "set enable_indexscan = off",
    "set enable_seqscan = off",
    "set enable_hashagg = off",
    "alter system set pga_aggregate_target = 65536",
    "alter system set pga_aggregate_target = 1048576",
    "alter system checkpoint",
    "select * from v$session",
    "select * from v$sql",
    "select * from dba_tables",
    "select relname from pg_catalog.pg_class order by 1",
    "discard all",
    "deallocate all",
];

impl Writer {
    /// A statement that defines something.
    pub(super) fn definition(&mut self) -> String {
        match self.below(16) {
            0 | 1 => self.create_table(),
            2 => self.create_table_as(),
            3..=5 => self.create_index(),
            6 => self.create_view(),
            7..=10 => self.alter_table(),
            11 => {
                let name = self.new_name('s');
                let options =
                    ["", " increment by -1 start with 5", " maxvalue 3 cycle", " cache 20"];
                format!("create sequence {name}{}", self.pick(&options))
            }
            12 => match self.one_in(3) {
                true => "analyze".into(),
                false => format!("analyze {}", self.table().name),
            },
            13 => format!("truncate table {}", self.table().name),
            14 => self.drop_something(),
            _ => format!("comment on table {} is 'a comment'", self.table().name),
        }
    }

    /// What a session says of itself.
    pub(super) fn saying(&mut self) -> String {
        self.pick(SAYINGS).into()
    }

    /// EXPLAIN of another statement.
    pub(super) fn explained(&mut self) -> String {
        let how = ["explain ", "explain analyze ", "explain (analyze, buffers, verbose) "];
        let how = self.pick(&how);
        let kinds = self.kinds(3);
        match self.one_in(4) {
            true => format!("{how}{}", self.change()),
            false => format!("{how}{}", self.query(&kinds)),
        }
    }

    pub(super) fn create_table(&mut self) -> String {
        let name = self.new_name('t');
        let kinds = self.kinds(6);
        let mut columns: Vec<Column> = Vec::new();
        let mut parts = Vec::new();
        for (number, kind) in kinds.into_iter().enumerate() {
            let this = column(number, kind);
            let rule = match self.below(14) {
                0 if kind == Kind::Whole => " generated always as identity".into(),
                1 => " not null".into(),
                2 => " unique".into(),
                3 => format!(" default {}", self.pick(kind.literals())),
                4 => {
                    self.scopes.push(columns.clone());
                    let check = format!(" check ({})", self.condition());
                    self.scopes.pop();
                    check
                }
                _ => String::new(),
            };
            parts.push(format!("{} {}{rule}", this.name, self.pick(kind.types())));
            columns.push(this);
        }
        let source = Source { name: name.clone(), columns };
        match self.below(4) {
            0 | 1 => {
                let key: Vec<Column> = self.columns_of(&source).into_iter().take(2).collect();
                parts.push(format!("primary key ({})", names(&key)));
            }
            2 if !self.tables.is_empty() => {
                let (own, other) = (self.column_of(&source), self.table());
                let key = self.column_of(&other);
                let then = self.pick(&["", " on delete cascade", " on delete set null"]);
                parts.push(format!(
                    "foreign key ({}) references {} ({}){then}",
                    own.name, other.name, key.name
                ));
            }
            _ => {}
        }
        self.know(source, false);
        format!("create table {name} ({})", parts.join(", "))
    }

    fn know(&mut self, source: Source, is_view: bool) {
        let known = if is_view { &mut self.views } else { &mut self.tables };
        if known.len() == KNOWN_MAX {
            known.remove(0);
        }
        known.push(source);
    }

    fn create_table_as(&mut self) -> String {
        let name = self.new_name('t');
        let kinds = self.kinds(4);
        let columns: Vec<Column> =
            (0..).zip(&kinds).map(|(n, kind): (usize, _)| column(n, *kind)).collect();
        let list = names(&columns);
        let query = self.query(&kinds);
        self.know(Source { name: name.clone(), columns }, false);
        format!("create table {name} ({list}) as {query}")
    }

    fn create_view(&mut self) -> String {
        let name = self.new_name('v');
        let kinds = self.kinds(3);
        let columns: Vec<Column> =
            (0..).zip(&kinds).map(|(n, kind): (usize, _)| column(n, *kind)).collect();
        let list = names(&columns);
        let query = self.query(&kinds);
        self.know(Source { name: name.clone(), columns }, true);
        format!("create or replace view {name} ({list}) as {query}")
    }

    pub(super) fn create_index(&mut self) -> String {
        let (name, table) = (self.new_name('i'), self.table());
        let unique = if self.one_in(4) { "unique " } else { "" };
        let mut keys = Vec::new();
        for column in self.columns_of(&table).into_iter().take(3) {
            let how = self.pick(&["", "", " desc", " asc"]);
            keys.push(format!("{}{how}", column.name));
        }
        format!("create {unique}index {name} on {} ({})", table.name, keys.join(", "))
    }

    fn alter_table(&mut self) -> String {
        let table = self.table();
        let (column, kind) = (self.column_of(&table), self.kind());
        let what = match self.below(8) {
            0 => {
                let name = self.new_name('d');
                let type_of = self.pick(kind.types());
                let default = match self.one_in(2) {
                    true => format!(" default {}", self.pick(kind.literals())),
                    false => String::new(),
                };
                format!("add column {name} {type_of}{default}")
            }
            1 => format!("drop column {}", column.name),
            2 => format!("rename column {} to {}", column.name, self.new_name('r')),
            3 => format!("alter column {} type {}", column.name, self.pick(kind.types())),
            4 => format!("alter column {} set default {}", column.name, self.leaf(column.kind)),
            5 => {
                let how = self.pick(&["set not null", "drop not null", "drop default"]);
                format!("alter column {} {how}", column.name)
            }
            6 => {
                let name = self.new_name('k');
                self.scopes.push(table.columns.clone());
                let check = self.condition();
                self.scopes.pop();
                format!("add constraint {name} check ({check})")
            }
            _ => format!("add unique ({})", column.name),
        };
        format!("alter table {} {what}", table.name)
    }

    fn drop_something(&mut self) -> String {
        let cascade = self.pick(&["", " cascade"]);
        match self.one_in(3) && !self.views.is_empty() {
            true => {
                let place = self.below(self.views.len());
                format!("drop view {}{cascade}", self.views.remove(place).name)
            }
            // Two at least stay.
            false if self.tables.len() > 2 => {
                let place = self.below(self.tables.len());
                format!("drop table {}{cascade}", self.tables.remove(place).name)
            }
            false => "drop table if exists nothing".into(),
        }
    }
}
