//! Queries, drawn.
//!
//! ```text
//!   top ─▶ WITH ─ query ─ ORDER BY all columns, LIMIT
//!                   ├─ set      two queries with columns of the same kinds
//!                   └─ select   sources and joins ─ plain │ grouped │ all rows as one group
//! ```
//!
//! Invariants
//!   * the argument of an aggregate reads columns of its own query only, or it would belong to an
//!     outer one
//!   * a LATERAL source stands on the right of an inner, left or cross join, as PostgreSQL asks
//!   * a FULL JOIN compares columns for equality, for PostgreSQL knows no other way to do one
//!
//! Callers: `case`, `change`.

use database::Kind;
use testbed::Dice;

use super::dialect::Rival;
use super::draw_term::{Wish, equality, of_wholes};
use super::query::{
    Body, Common, Join, JoinKind, Key, Query, Select, SetOperator, Source, SourceOf,
};
use super::schema::{Literal, Table};
use super::term::Term;
use super::{chance, pick};

/// How deep subqueries and derived tables may be.
const SUBQUERIES: u32 = 2;
/// How deep an expression may be.
const DEPTH: u32 = 3;

/// A column that is in sight.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The name of its source in the statement.
    pub(super) of: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_wide: bool,
}

/// A table, a view or a query of WITH.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_wide: bool,
}

impl Relation {
    pub(super) fn of_table(table: &Table) -> Relation {
        let fields = table.columns.iter().map(|column| Field {
            name: column.name.clone(),
            kind: column.held.kind(),
            is_wide: column.held == super::schema::Held::WideNumber,
        });
        Relation { name: table.name.clone(), fields: fields.collect() }
    }

    pub(super) fn of_query(name: &str, query: &Query) -> Relation {
        // A column of UNION may have its digits from the second query.
        let is_wide = query.has(&|term| matches!(term, Term::Column { is_wide: true, .. }));
        let field = |place: usize, item: &Term| Field {
            name: format!("c{}", place + 1),
            kind: item.kind(),
            is_wide: is_wide && item.kind() == Kind::Number,
        };
        let items = query.items().iter().enumerate();
        let fields = items.map(|(place, item)| field(place, item)).collect();
        Relation { name: name.to_string(), fields }
    }

    /// Its columns under this name.
    pub(super) fn seen(&self, alias: &str) -> Vec<Seen> {
        let seen = |field: &Field| Seen {
            of: alias.to_string(),
            name: field.name.clone(),
            kind: field.kind,
            is_wide: field.is_wide,
        };
        self.fields.iter().map(seen).collect()
    }
}

/// What draws a statement.
pub(super) struct Drawer<'d> {
    pub(super) dice: &'d mut Dice,
    pub(super) rival: Rival,
    /// What can be read.
    pub(super) relations: Vec<Relation>,
    /// The number of names that are given.
    names: u32,
    /// How deep further subqueries may be.
    pub(super) subqueries: u32,
    /// Whether what is drawn may have other digits in another program.
    pub(super) may_differ: bool,
}

impl<'d> Drawer<'d> {
    pub(super) fn new(dice: &'d mut Dice, rival: Rival, relations: Vec<Relation>) -> Drawer<'d> {
        let (names, subqueries, may_differ) = (0, SUBQUERIES, false);
        Drawer { dice, rival, relations, names, subqueries, may_differ }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("q{}", self.names)
    }

    /// A statement.
    pub(super) fn top(&mut self) -> Query {
        let mut with = Vec::new();
        if chance(self.dice, 15) {
            let query = self.inner(|drawer| drawer.query(&[], None));
            self.relations.push(Relation::of_query("w1", &query));
            let is_materialized = chance(self.dice, 30);
            with.push(Common { name: "w1".into(), is_materialized, query });
        }
        self.may_differ = true;
        let mut query = self.query(&[], None);
        self.may_differ = false;
        if !with.is_empty() {
            self.relations.pop();
        }
        query.with = with;
        let is_approximate = query.items().iter().any(Term::is_approximate);
        if !is_approximate && chance(self.dice, 55) {
            self.sort(&mut query);
        }
        query
    }

    fn sort(&mut self, query: &mut Query) {
        for _ in 0..query.items().len() {
            let nulls_first = chance(self.dice, 30).then(|| chance(self.dice, 50));
            query.order.push(Key { is_descending: chance(self.dice, 35), nulls_first });
        }
        if chance(self.dice, 40) {
            query.limit = Some(self.dice.below(8));
            query.offset = chance(self.dice, 30).then(|| self.dice.below(4));
        }
    }

    /// A query without order, with columns of these kinds if they are given.
    pub(super) fn query(&mut self, outer: &[Seen], wanted: Option<&[Wish]>) -> Query {
        if self.subqueries > 0 && chance(self.dice, 14) {
            return self.set(outer, wanted);
        }
        let select = self.select(outer, wanted);
        Query::of(Body::Select(Box::new(select)))
    }

    fn set(&mut self, outer: &[Seen], wanted: Option<&[Wish]>) -> Query {
        let wanted = match wanted {
            Some(wanted) => wanted.to_vec(),
            None => (0..1 + self.dice.below(3)).map(|_| Wish::of(self.kind())).collect(),
        };
        use SetOperator::{Except, ExceptAll, Intersect, IntersectAll, Union, UnionAll};
        let all = [Union, UnionAll, Intersect, Except, IntersectAll, ExceptAll];
        let all = if self.rival.is_complete() { &all[..] } else { &all[..4] };
        let operator = *pick(self.dice, all);
        let mut side = || Box::new(self.inner(|drawer| drawer.query(outer, Some(&wanted))));
        let (left, right) = (side(), side());
        Query::of(Body::Set { operator, left, right })
    }

    /// A query that gives one row.
    pub(super) fn one_row(&mut self, wish: Wish, outer: &[Seen]) -> Query {
        let (from, own) = self.from(outer);
        let mut select = empty(from);
        select.filter = self.filter(outer, &own);
        select.items = vec![self.aggregate(wish, &own)];
        Query::of(Body::Select(Box::new(select)))
    }

    fn select(&mut self, outer: &[Seen], wanted: Option<&[Wish]>) -> Select {
        let (from, own) = self.from(outer);
        let mut select = empty(from);
        select.filter = self.filter(outer, &own);
        let wanted = match wanted {
            Some(wanted) => wanted.to_vec(),
            None => (0..1 + self.dice.below(4)).map(|_| Wish::of(self.kind())).collect(),
        };
        match self.dice.below(100) {
            0..22 => self.group(&mut select, &wanted, &own),
            22..30 => {
                select.items = wanted.iter().map(|wish| self.aggregate(*wish, &own)).collect();
                if chance(self.dice, 20) {
                    select.having = vec![self.having(&own)];
                }
            }
            _ => {
                select.is_distinct = chance(self.dice, 14);
                let before = self.may_differ;
                self.may_differ &= !select.is_distinct;
                let seen = [outer, own.as_slice()].concat();
                select.items = wanted.iter().map(|wish| self.term(*wish, &seen, DEPTH)).collect();
                self.may_differ = before;
            }
        }
        select
    }

    /// Groups: the columns are what is grouped by, and aggregates.
    fn group(&mut self, select: &mut Select, wanted: &[Wish], own: &[Seen]) {
        let before = std::mem::replace(&mut self.may_differ, false);
        let subqueries = std::mem::replace(&mut self.subqueries, 0);
        for wish in wanted {
            if select.groups.is_empty() || chance(self.dice, 45) {
                let term = self.term(*wish, own, 1);
                // A number alone would be the place of a column.
                if !matches!(term, Term::Literal(_)) {
                    select.groups.push(term.clone());
                    select.items.push(term);
                    continue;
                }
            }
            select.items.push(self.aggregate(*wish, own));
        }
        (self.may_differ, self.subqueries) = (before, subqueries);
        if chance(self.dice, 30) {
            select.having = vec![self.having(own)];
        }
    }

    /// An aggregate of this kind.
    fn aggregate(&mut self, wish: Wish, own: &[Seen]) -> Term {
        let may_differ = std::mem::replace(&mut self.may_differ, false);
        let subqueries = std::mem::replace(&mut self.subqueries, 0);
        let term = match (wish.kind, self.dice.below(10)) {
            (Kind::Whole, 0..4) => count(None),
            (Kind::Whole, 4..7) => {
                let kind = self.kind();
                let argument = self.term(Wish::of(kind), own, 1);
                self.finished("count", Some(argument), Kind::Whole, own)
            }
            (Kind::Number, 0..5) => {
                let kind = *pick(self.dice, &[Kind::Whole, Kind::Number]);
                let name = if may_differ && chance(self.dice, 40) { "avg" } else { "sum" };
                let argument = self.term(Wish { kind, is_plain: true }, own, 1);
                self.finished(name, Some(argument), Kind::Number, own)
            }
            (Kind::Double, 0..5) => {
                let argument = self.term(wish, own, 1);
                self.finished("sum", Some(argument), Kind::Double, own)
            }
            (Kind::Text, 0..3) => {
                let argument = self.term(wish, own, 1);
                self.finished("string_agg", Some(argument), Kind::Text, own)
            }
            (Kind::Boolean, _) => {
                let two = Term::Literal(Literal::Whole(2));
                let operation = of_wholes("({0} >= {1})");
                Term::Call { operation, arguments: vec![count(None), two] }
            }
            (kind, _) => {
                let name = *pick(self.dice, &["min", "max"]);
                let argument = self.term(wish, own, 1);
                self.finished(name, Some(argument), kind, own)
            }
        };
        (self.may_differ, self.subqueries) = (may_differ, subqueries);
        term
    }

    /// An aggregate, with DISTINCT or FILTER now and then.
    fn finished(
        &mut self,
        name: &'static str,
        argument: Option<Term>,
        kind: Kind,
        own: &[Seen],
    ) -> Term {
        let is_distinct = name != "string_agg" && chance(self.dice, 15);
        let filter =
            chance(self.dice, 15).then(|| Box::new(self.term(Wish::of(Kind::Boolean), own, 1)));
        Term::Aggregate { name, argument: argument.map(Box::new), is_distinct, filter, kind }
    }

    fn having(&mut self, own: &[Seen]) -> Term {
        let counted = match chance(self.dice, 50) {
            true => count(None),
            false => self.aggregate(Wish::of(Kind::Whole), own),
        };
        let operation = of_wholes(pick::<&str>(self.dice, &["({0} >= {1})", "({0} < {1})"]));
        let few = Term::Literal(Literal::Whole(1 + self.dice.below(4) as i64));
        Term::Call { operation, arguments: vec![counted, few] }
    }

    fn filter(&mut self, outer: &[Seen], own: &[Seen]) -> Vec<Term> {
        let before = std::mem::replace(&mut self.may_differ, false);
        let seen = [outer, own].concat();
        let mut filter = Vec::new();
        for _ in 0..*pick(self.dice, &[0, 1, 1, 1, 2]) {
            filter.push(self.term(Wish::of(Kind::Boolean), &seen, DEPTH));
        }
        // Most subqueries are about the row outside.
        if !outer.is_empty() && chance(self.dice, 60) {
            filter.extend(self.pairs(own, outer));
        }
        self.may_differ = before;
        filter
    }

    /// The sources, and their columns.
    fn from(&mut self, outer: &[Seen]) -> (Vec<Join>, Vec<Seen>) {
        let (mut from, mut own) = (Vec::new(), Vec::new());
        let most = if outer.is_empty() { 3 } else { 2 };
        for place in 0..1 + self.dice.below(most) {
            let (mut join, seen) = self.join(outer, &own, place > 0);
            if join.kind != JoinKind::Cross {
                join.on.extend(self.pairs(&seen, &own));
            }
            let both = [own.as_slice(), seen.as_slice()].concat();
            join.kind = match (join.kind, join.on.is_empty()) {
                (JoinKind::Full, true) => JoinKind::Left,
                (kind, _) => kind,
            };
            let is_free = !matches!(join.kind, JoinKind::Cross | JoinKind::Full);
            if is_free && (join.on.is_empty() || chance(self.dice, 25)) {
                let before = std::mem::replace(&mut self.may_differ, false);
                join.on.push(self.term(Wish::of(Kind::Boolean), &both, 2));
                self.may_differ = before;
            }
            from.push(join);
            own = both;
        }
        (from, own)
    }

    /// A source, and how it is joined with those before it; without a condition.
    fn join(&mut self, outer: &[Seen], own: &[Seen], has_left: bool) -> (Join, Vec<Seen>) {
        let alias = self.name();
        let is_query = self.subqueries > 0 && chance(self.dice, 20);
        let is_lateral = is_query && has_left && self.rival.is_complete() && chance(self.dice, 40);
        use JoinKind::{Cross, Full, Inner, Left, Right};
        let kinds: &[JoinKind] = match is_lateral {
            true => &[Cross, Inner, Left],
            false if self.rival.joins_right() => {
                &[Cross, Inner, Inner, Inner, Left, Left, Right, Full]
            }
            false => &[Cross, Inner, Inner, Inner, Left, Left],
        };
        // How the first source is joined doesn't count.
        let kind = if has_left { *pick(self.dice, kinds) } else { Cross };
        let (of, seen) = if is_query {
            // Only a LATERAL query sees what stands before it, or outside.
            let sees = if is_lateral { [outer, own].concat() } else { Vec::new() };
            let query = self.inner(|drawer| drawer.query(&sees, None));
            let seen = Relation::of_query(&alias, &query).seen(&alias);
            (SourceOf::Query { query: Box::new(query), is_lateral }, seen)
        } else {
            let relation = pick(self.dice, &self.relations).clone();
            let seen = relation.seen(&alias);
            (SourceOf::Name(relation.name), seen)
        };
        let source = Source { alias, of };
        (Join { kind, source, on: Vec::new() }, seen)
    }

    /// A comparison of a column of each for equality, if there are two of one kind.
    fn pairs(&mut self, new: &[Seen], others: &[Seen]) -> Option<Term> {
        let mut found = Vec::new();
        for one in new {
            for other in others.iter().filter(|other| other.kind == one.kind) {
                if let Some(operation) = equality(one.kind)
                    && one.kind != Kind::Double
                {
                    found.push(Pair { operation, one, other });
                }
            }
        }
        if found.is_empty() || chance(self.dice, 15) {
            return None;
        }
        let Pair { operation, one, other } = *pick(self.dice, &found);
        Some(Term::Call { operation, arguments: vec![one.term(), other.term()] })
    }
}

/// Two columns that can be compared.
#[derive(Clone, Copy)]
struct Pair<'s> {
    operation: &'static super::operations::Operation,
    one: &'s Seen,
    other: &'s Seen,
}

fn count(argument: Option<Box<Term>>) -> Term {
    Term::Aggregate { name: "count", argument, is_distinct: false, filter: None, kind: Kind::Whole }
}

fn empty(from: Vec<Join>) -> Select {
    let (items, filter, groups, having) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Select { is_distinct: false, items, from, filter, groups, having }
}
