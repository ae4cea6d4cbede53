//! INSERT, UPDATE, DELETE, MERGE, SELECT FOR UPDATE.
//!
//! Callers: the script itself.

use super::kinds::Kind;
use super::writer::{Column, Source, Writer, names};

impl Writer {
    /// A statement that changes or locks rows.
    pub(super) fn change(&mut self) -> String {
        let table = self.table();
        match self.below(12) {
            0..=4 => self.insert(&table),
            5..=7 => self.update(&table),
            8 => self.delete(&table),
            9 | 10 => self.merge(&table),
            _ => {
                self.scopes.push(Vec::new());
                self.named("a0", &table.columns);
                let how = ["", " nowait", " skip locked", " wait 1"];
                let text = format!(
                    "select * from {} a0 where {} for update{}",
                    table.name,
                    self.condition(),
                    self.pick(&how)
                );
                self.scopes.pop();
                text
            }
        }
    }

    fn insert(&mut self, table: &Source) -> String {
        let columns = match self.one_in(3) {
            true => self.columns_of(table),
            false => table.columns.clone(),
        };
        let kinds: Vec<Kind> = columns.iter().map(|column| column.kind).collect();
        let rows = match self.below(5) {
            0 => self.query(&kinds),
            1 => {
                let own: Vec<String> = columns.iter().map(|one| one.name.clone()).collect();
                format!("select {} from {} limit 50", own.join(", "), table.name)
            }
            _ => {
                let mut rows = Vec::new();
                for _ in 0..=self.below(3) {
                    let row: Vec<String> = kinds.iter().map(|kind| self.value(*kind)).collect();
                    rows.push(format!("({})", row.join(", ")));
                }
                format!("values {}", rows.join(", "))
            }
        };
        let conflict = match self.one_in(4) {
            true => self.on_conflict(table),
            false => String::new(),
        };
        let (list, returning) = (names(&columns), self.returning(table));
        format!("insert into {} ({list}) {rows}{conflict}{returning}", table.name)
    }

    /// A value of a row: mostly a constant, and seldom DEFAULT.
    fn value(&mut self, kind: Kind) -> String {
        match self.below(12) {
            0 => "default".into(),
            1..=3 => self.term(kind),
            _ => self.leaf(kind),
        }
    }

    fn on_conflict(&mut self, table: &Source) -> String {
        if self.one_in(3) {
            return " on conflict do nothing".into();
        }
        let key = self.column_of(table);
        if self.one_in(3) {
            return format!(" on conflict ({}) do nothing", key.name);
        }
        self.scopes.push(Vec::new());
        self.named(&table.name, &table.columns);
        self.named("excluded", &table.columns);
        let set = self.assignments(table);
        let filter = match self.one_in(3) {
            true => format!(" where {}", self.condition()),
            false => String::new(),
        };
        self.scopes.pop();
        format!(" on conflict ({}) do update set {set}{filter}", key.name)
    }

    fn assignments(&mut self, table: &Source) -> String {
        let mut set = Vec::new();
        for column in self.columns_of(table).into_iter().take(3) {
            set.push(format!("{} = {}", column.name, self.value(column.kind)));
        }
        set.join(", ")
    }

    fn returning(&mut self, table: &Source) -> String {
        match self.below(6) {
            0 => " returning *".into(),
            1 => {
                self.scopes.push(table.columns.clone());
                let kind = self.kind();
                let text = format!(" returning {}, 1", self.term(kind));
                self.scopes.pop();
                text
            }
            _ => String::new(),
        }
    }

    fn update(&mut self, table: &Source) -> String {
        self.scopes.push(Vec::new());
        self.named("a9", &table.columns);
        let from = match self.one_in(4) {
            true => self.from(),
            false => String::new(),
        };
        let set = self.assignments(table);
        let filter = match self.one_in(8) {
            true => String::new(),
            false => format!(" where {}", self.condition()),
        };
        self.scopes.pop();
        let returning = match self.one_in(5) {
            true => " returning a9.*",
            false => "",
        };
        format!("update {} a9 set {set}{from}{filter}{returning}", table.name)
    }

    fn delete(&mut self, table: &Source) -> String {
        self.scopes.push(Vec::new());
        self.named("a9", &table.columns);
        let using = match self.one_in(4) {
            true => self.from().replacen(" from ", " using ", 1),
            false => String::new(),
        };
        let text = format!("delete from {} a9{using} where {}", table.name, self.condition());
        self.scopes.pop();
        let returning = self.returning(table);
        format!("{text}{returning}")
    }

    fn merge(&mut self, table: &Source) -> String {
        let kinds: Vec<Kind> = table.columns.iter().map(|column| column.kind).collect();
        let query = self.query(&kinds);
        let key = self.column_of(table);
        self.scopes.push(Vec::new());
        self.named("a8", &table.columns);
        self.named("a9", &table.columns);
        let mut text = format!(
            "merge into {} a9 using ({query}) a8 ({}) on a9.{} = a8.{}",
            table.name,
            names(&table.columns),
            key.name,
            key.name
        );
        for _ in 0..=self.below(2) {
            let and = match self.one_in(3) {
                true => format!(" and {}", self.condition()),
                false => String::new(),
            };
            text += &match self.below(4) {
                0 => format!(" when matched{and} then update set {}", self.assignments(table)),
                1 => format!(" when matched{and} then delete"),
                2 => format!(" when not matched by source{and} then delete"),
                _ => {
                    let values: Vec<String> = table
                        .columns
                        .iter()
                        .map(|one: &Column| format!("a8.{}", one.name))
                        .collect();
                    format!(" when not matched then insert values ({})", values.join(", "))
                }
            };
        }
        self.scopes.pop();
        text
    }
}
