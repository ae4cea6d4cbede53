//! A case: tables, a view, statements; and the script that it is in the words of a program.
//!
//! ```text
//!   script:  create, insert, index ... ─▶ the statements ─▶ every table, whole ─▶ drop
//! ```
//!
//! The tables are read at the end, so that a change that went wrong is seen even if no query was
//! about it.
//!
//! Callers: `differential`, `metamorphic`, `shrink`.

use std::fmt;

use testbed::Dice;

use super::change::{Change, Statement};
use super::dialect::{Dialect, Rival};
use super::draw::{Drawer, Relation};
use super::operations::Refuses;
use super::query::Query;
use super::schema::Table;
use super::term::Term;
use super::{chance, pick};

/// The number of statements of a case.
const STATEMENTS: u64 = 24;

/// A case.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// From which all follows.
    pub seed: u64,
    /// With whom Forebay is compared.
    pub rival: Rival,
    /// The tables.
    pub tables: Vec<Table>,
    /// The query of the view `v0`, if there is one.
    pub view: Option<Query>,
    /// What runs.
    pub statements: Vec<Statement>,
}

/// A statement in the words of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The text.
    pub text: String,
    /// How its answers are compared.
    pub judged: Judged,
}

/// How the answers to a statement are compared.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Judged {
    /// Whether the order of the rows counts.
    pub is_ordered: bool,
    /// Whether it may be refused, depending on the order in which parts are evaluated.
    pub is_risky: bool,
    /// For each column whether its last digits may differ; empty: of none.
    pub approximate: Vec<bool>,
    /// Whether it is one of those that were drawn, and not of those around them.
    pub is_drawn: bool,
}

impl Case {
    /// The case of a seed.
    pub fn drawn(seed: u64, rival: Rival) -> Case {
        // Neighbouring seeds have nothing in common.
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ rival as u64);
        let count = 2 + dice.below(2) as usize;
        let tables: Vec<Table> =
            (0..count).map(|number| Table::drawn(&mut dice, number, rival)).collect();
        let mut relations: Vec<Relation> = tables.iter().map(Relation::of_table).collect();
        let mut view = None;
        if chance(&mut dice, 30) {
            let mut drawer = Drawer::new(&mut dice, rival, relations.clone());
            let query = drawer.inner(|drawer| drawer.query(&[], None));
            relations.push(Relation::of_query("v0", &query));
            view = Some(query);
        }
        let mut case = Case { seed, rival, tables, view, statements: Vec::new() };
        let mut is_open = false;
        for _ in 0..STATEMENTS {
            let statement = case.statement(&mut dice, &relations, &mut is_open);
            case.statements.push(statement);
        }
        if is_open {
            case.statements.push(Statement::Words("commit".into()));
        }
        case
    }

    fn statement(&self, dice: &mut Dice, relations: &[Relation], is_open: &mut bool) -> Statement {
        match dice.below(100) {
            0..4 => {
                let words = match (*is_open, chance(dice, 50)) {
                    (false, _) => "begin",
                    (true, true) => "commit",
                    (true, false) => "rollback",
                };
                *is_open = !*is_open;
                Statement::Words(words.into())
            }
            4..6 if *is_open => {
                Statement::Words((*pick(dice, &["savepoint a", "rollback to a"])).into())
            }
            6..8 if !*is_open => {
                let table = pick(dice, &self.tables);
                Statement::Words(format!("analyze {}", table.name))
            }
            8..22 => {
                let mut drawer = Drawer::new(dice, self.rival, relations.to_vec());
                Statement::Change(Change::drawn(&mut drawer, &self.tables))
            }
            _ => Statement::Query(Drawer::new(dice, self.rival, relations.to_vec()).top()),
        }
    }

    /// The queries among the statements.
    pub fn queries(&self) -> impl Iterator<Item = &Query> {
        self.statements.iter().filter_map(|statement| match statement {
            Statement::Query(query) => Some(query),
            _ => None,
        })
    }

    /// The statements that make the tables and the view.
    pub fn made(&self, dialect: Dialect) -> Vec<Step> {
        let around = |text: String| Step { text, judged: Judged::default() };
        let mut steps: Vec<Step> =
            self.tables.iter().flat_map(|table| table.made(dialect)).map(around).collect();
        if let Some(query) = &self.view {
            let mut text = String::from("create view v0 as ");
            query.write(dialect, &mut text);
            steps.push(around(text));
        }
        steps
    }

    /// The statements that take away what was made. They end a transaction that is open.
    pub fn dropped(&self) -> Vec<String> {
        let mut texts = vec!["rollback".to_string(), "drop view if exists v0".into()];
        let tables = self.tables.iter();
        texts.extend(tables.map(|table| format!("drop table if exists {}", table.name)));
        texts
    }

    /// All that runs in a dialect, without taking away what was made.
    pub fn script(&self, dialect: Dialect) -> Vec<Step> {
        let mut steps = self.made(dialect);
        steps.extend(self.statements.iter().map(|statement| self.step(statement, dialect)));
        steps.extend(self.tables.iter().map(|table| {
            let keys: Vec<String> =
                (1..=table.columns.len()).map(|place| place.to_string()).collect();
            let text = format!("SELECT * from {} order by {}", table.name, keys.join(", "));
            // By its key alone the order is total.
            Step { text, judged: Judged { is_ordered: true, ..Judged::default() } }
        }));
        steps
    }

    /// A statement in a dialect.
    fn step(&self, statement: &Statement, dialect: Dialect) -> Step {
        let mut judged = Judged { is_drawn: true, ..Judged::default() };
        let text = match statement {
            Statement::Words(words) => words.clone(),
            Statement::Change(change) => {
                judged.is_risky = self.is_risky(|is| change.has(is));
                change.text(dialect)
            }
            Statement::Query(query) => {
                judged = self.judged(query);
                text_of(query, dialect)
            }
        };
        Step { text, judged }
    }

    /// How the answers to a query are compared.
    pub fn judged(&self, query: &Query) -> Judged {
        Judged {
            is_ordered: !query.order.is_empty(),
            is_risky: self.is_risky(|is| query.has(is)),
            approximate: query.items().iter().map(Term::is_approximate).collect(),
            is_drawn: true,
        }
    }

    /// Whether a statement, whose terms this looks through, may be refused. A view that may be is
    /// taken for a part of every statement.
    fn is_risky(&self, has: impl Fn(&dyn Fn(&Term) -> bool) -> bool) -> bool {
        let has_limits = self.rival.has_limits();
        let risky = |refuses: Refuses| match refuses {
            Refuses::Never => false,
            Refuses::AtLimits => has_limits,
            Refuses::Often => true,
        };
        let is = |term: &Term| term.refuses(&risky);
        has(&is) || self.view.as_ref().is_some_and(|view| view.has(&is))
    }
}

/// A query as a text.
pub fn text_of(query: &Query, dialect: Dialect) -> String {
    let mut text = String::new();
    query.write(dialect, &mut text);
    text
}

/// The script, as somebody would type it.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.script(Dialect::Forebay);
        steps.iter().try_for_each(|step| writeln!(f, "{};", step.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_a_case() {
        for rival in [Rival::Sqlite, Rival::Postgresql, Rival::Nobody] {
            for seed in 0..20 {
                let case = Case::drawn(seed, rival);
                assert_eq!(case, Case::drawn(seed, rival));
                assert_ne!(case.to_string(), Case::drawn(seed + 1, rival).to_string());
            }
        }
    }

    /// All parts of the language come up, or the generator proves nothing about them.
    #[test]
    fn everything_comes_up() {
        let mut all = String::new();
        for seed in 0..400 {
            all += &Case::drawn(seed, Rival::Postgresql).to_string();
        }
        for words in [
            " join ",
            " left join ",
            " right join ",
            " full join ",
            " cross join ",
            " lateral ",
            " group by ",
            " having ",
            "SELECT distinct ",
            " union ",
            " union all ",
            " intersect ",
            " except ",
            " intersect all ",
            " except all ",
            "with w1 ",
            " exists ",
            " not in ",
            " any ",
            " all (",
            " order by ",
            " limit ",
            " offset ",
            " nulls first",
            "(case ",
            "avg(",
            "sum(",
            "string_agg(",
            " filter (",
            "(distinct ",
            "count(*)",
            "create view",
            "update ",
            "delete from ",
            "insert into ",
            "rollback",
            "savepoint",
            "create index",
            "9223372036854775807",
            "99999999999999999999999999999999.999999",
            "9999-12-31",
            "cast(null as ",
            " between ",
            " is distinct from ",
            " like ",
            "extract(year",
        ] {
            assert!(all.contains(words), "{words} never comes up");
        }
    }

    /// Nothing is written for SQLite that it doesn't have, or has with another meaning.
    #[test]
    fn sqlite_is_asked_for_what_it_has() {
        for seed in 0..200 {
            for step in Case::drawn(seed, Rival::Sqlite).script(Dialect::Sqlite) {
                for words in
                    ["lateral", " any (", "intersect all", "except all", "date '", "numeric)"]
                {
                    assert!(!step.text.contains(words), "{words} in {}", step.text);
                }
            }
        }
    }

    #[test]
    fn only_a_total_order_is_compared() {
        for seed in 0..50 {
            let case = Case::drawn(seed, Rival::Postgresql);
            for query in case.queries() {
                assert!(query.order.is_empty() || query.order.len() == query.items().len());
                assert!(query.limit.is_none() || !query.order.is_empty());
            }
        }
    }
}
