//! Queries: WITH, SELECT, joins, groups, set operations, order and limits.
//!
//! Invariant: a query has as many columns as kinds are asked for; what its rows are called is known
//! to who wrote it alone.
//!
//! Callers: `terms`, `changes`, `definitions`, the script itself.

use super::kinds::Kind;
use super::writer::{Column, Source, Writer, names};

/// The most queries within one another.
const LEVELS_MAX: usize = 6;

impl Writer {
    /// A query with columns of these kinds.
    pub(super) fn query(&mut self, kinds: &[Kind]) -> String {
        let known = self.ctes.len();
        let with = match self.one_in(9) && self.scopes.len() < 3 {
            true => self.with(),
            false => String::new(),
        };
        let mut text = match self.one_in(9) && self.take_fuel() {
            true => self.set_operation(kinds),
            false => self.select(kinds),
        };
        if self.one_in(3) {
            text += &format!(" order by {}", self.order(kinds.len()));
        }
        text += &self.cut();
        self.ctes.truncate(known);
        format!("{with}{text}")
    }

    /// A query of one column that has one row, if nobody is unlucky.
    pub(super) fn one_value(&mut self, kind: Kind) -> String {
        match self.one_in(3) {
            true => format!("{} limit 1", self.select(&[kind])),
            false => {
                let aggregate = self.pick(&["min", "max"]);
                self.scopes.push(Vec::new());
                let from = self.from();
                let of = self.term(kind);
                let filter = self.filter();
                self.scopes.pop();
                format!("select {aggregate}({of}){from}{filter}")
            }
        }
    }

    fn with(&mut self) -> String {
        let mut queries = Vec::new();
        for _ in 0..=self.below(2) {
            let kinds = self.kinds(3);
            let columns: Vec<Column> =
                (0..).zip(&kinds).map(|(n, kind): (usize, _)| column(n, *kind)).collect();
            let how = self.pick(&["", "", "materialized ", "not materialized "]);
            let name = self.new_name('q');
            let list = names(&columns);
            queries.push(format!("{name} ({list}) as {how}({})", self.query(&kinds)));
            self.ctes.push(Source { name, columns });
        }
        format!("with {} ", queries.join(", "))
    }

    fn set_operation(&mut self, kinds: &[Kind]) -> String {
        let (left, right) = (self.select(kinds), self.select(kinds));
        let operation = ["union all", "union", "intersect", "except", "except all", "minus"];
        format!("({left}) {} ({right})", self.pick(&operation))
    }

    fn order(&mut self, columns: usize) -> String {
        let mut keys = Vec::new();
        for _ in 0..=self.below(columns.min(3)) {
            let how = ["", " desc", " nulls first", " desc nulls last", " asc"];
            keys.push(format!("{}{}", 1 + self.below(columns.max(1)), self.pick(&how)));
        }
        keys.join(", ")
    }

    fn cut(&mut self) -> String {
        let counts = ["0", "1", "5", "100", "null", "1 + 1", "9223372036854775807"];
        match self.below(8) {
            0 => format!(" limit {}", self.pick(&counts)),
            1 => format!(" limit {} offset {}", self.pick(&counts), self.pick(&counts)),
            2 => format!(" offset {}", self.pick(&["0", "1", "7", "100000"])),
            _ => String::new(),
        }
    }

    fn select(&mut self, kinds: &[Kind]) -> String {
        self.scopes.push(Vec::new());
        let from = if self.one_in(8) { String::new() } else { self.from() };
        let mut text = format!("{from}{}", self.filter());
        let distinct = self.pick(&["", "", "", "", "", "distinct "]);
        let is_grouped = !from.is_empty() && self.one_in(4) && self.grouped.is_none();
        if is_grouped {
            text += &self.group();
        }
        let mut list = Vec::with_capacity(kinds.len());
        for kind in kinds {
            list.push(self.term(*kind));
        }
        if is_grouped {
            if self.one_in(3) {
                text += &format!(" having {}", self.condition());
            }
            self.grouped = None;
        }
        self.scopes.pop();
        format!("select {distinct}{}{text}", list.join(", "))
    }

    /// GROUP BY: from here on the columns that it has can be named, and aggregates read the others.
    fn group(&mut self) -> String {
        let all = self.scopes.last_mut().map(std::mem::take).unwrap_or_default();
        let source = Source { name: String::new(), columns: all.clone() };
        let columns = match self.one_in(5) {
            true => Vec::new(),
            false => self.columns_of(&source),
        };
        self.grouped = Some(all);
        let text = match columns.is_empty() {
            true => String::new(),
            false => format!(" group by {}", names(&columns)),
        };
        self.scopes.pop();
        self.scopes.push(columns);
        text
    }

    fn filter(&mut self) -> String {
        match self.one_in(3) {
            true => String::new(),
            false => format!(" where {}", self.condition()),
        }
    }

    /// FROM: its columns can be named from here on.
    pub(super) fn from(&mut self) -> String {
        let mut text = format!(" from {}", self.source());
        while self.one_in(3) && self.take_fuel() {
            let right = self.source();
            text += &match self.below(7) {
                0 => format!(", {right}"),
                1 => format!(" cross join {right}"),
                2 => format!(" natural join {right}"),
                _ => {
                    let join = ["join", "left join", "right join", "full join", "inner join"];
                    let join = self.pick(&join);
                    format!(" {join} {right} on {}", self.join_condition())
                }
            };
        }
        text
    }

    /// Two columns that are equal, mostly.
    fn join_condition(&mut self) -> String {
        if self.one_in(4) {
            return self.condition();
        }
        let Some(left) = self.column(None) else { return "true".into() };
        let right = self.column(Some(left.kind)).unwrap_or_else(|| left.clone());
        let comparison = self.pick(&["=", "=", "=", "<", "is not distinct from"]);
        format!("{} {comparison} {}", left.name, right.name)
    }

    /// A source of rows, whose columns can be named from here on.
    fn source(&mut self) -> String {
        let alias = self.alias();
        let can_nest = self.scopes.len() < LEVELS_MAX && self.take_fuel();
        match self.below(12) {
            0 if can_nest => {
                let kinds = self.kinds(3);
                let lateral = self.one_in(3);
                let own = self.scopes.last_mut().map(std::mem::take).unwrap_or_default();
                let (hidden, seen) = if lateral { (Vec::new(), own) } else { (own, Vec::new()) };
                self.scopes.pop();
                self.scopes.push(seen);
                let grouped = self.grouped.take();
                let query = self.query(&kinds);
                self.grouped = grouped;
                if let Some(scope) = self.scopes.last_mut() {
                    scope.extend(hidden);
                }
                let columns: Vec<Column> =
                    (0..).zip(&kinds).map(|(n, kind): (usize, _)| column(n, *kind)).collect();
                let word = if lateral { "lateral " } else { "" };
                self.named(&alias, &columns);
                format!("{word}({query}) {alias} ({})", names(&columns))
            }
            1 => {
                let upto = self.pick(&["0", "1", "10", "100", "2000", "1000000"]);
                self.named(&alias, &[column(0, Kind::Whole)]);
                format!("generate_series(1, {upto}) {alias} (c0)")
            }
            2 => {
                let kinds = self.kinds(3);
                let mut rows = Vec::new();
                for _ in 0..=self.below(4) {
                    let row: Vec<String> = kinds.iter().map(|kind| self.leaf(*kind)).collect();
                    rows.push(format!("({})", row.join(", ")));
                }
                let columns: Vec<Column> =
                    (0..).zip(&kinds).map(|(n, kind): (usize, _)| column(n, *kind)).collect();
                self.named(&alias, &columns);
                format!("(values {}) {alias} ({})", rows.join(", "), names(&columns))
            }
            3 | 4 if !self.ctes.is_empty() => {
                let of = self.ctes[self.ctes.len() - 1].clone();
                self.aliased(&of, &alias)
            }
            5 if !self.views.is_empty() => {
                let place = self.below(self.views.len());
                let of = self.views[place].clone();
                self.aliased(&of, &alias)
            }
            _ => {
                let of = self.table();
                self.aliased(&of, &alias)
            }
        }
    }

    fn aliased(&mut self, of: &Source, alias: &str) -> String {
        self.named(alias, &of.columns);
        format!("{} {alias}", of.name)
    }

    /// Has columns be named by an alias.
    pub(super) fn named(&mut self, alias: &str, columns: &[Column]) {
        let named =
            columns.iter().map(|one| Column::new(format!("{alias}.{}", one.name), one.kind));
        let named: Vec<Column> = named.collect();
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(named);
        }
    }
}

/// The column with this number.
pub(super) fn column(number: usize, kind: Kind) -> Column {
    Column::new(format!("c{number}"), kind)
}
