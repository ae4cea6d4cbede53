//! A dictionary for tests of the binder and the planner: text in, text out.
//!
//! ```text
//!   dept   id PK │ name UNIQUE                                           50 rows      1 block
//!   emp    id PK │ dept, indexed │ name │ pay, may be NULL │ hired    10,000 rows    100 blocks
//!   big    id PK │ emp, indexed │ kind │ at                        1,000,000 rows 20,000 blocks
//!   visit  id PK │ town, land, indexed together: 1,000 pairs │ note  1,000,000 rows 20,000 blocks
//!   raw    id PK │ owner, indexed │ at, indexed │ state             not analysed, 10,000 blocks
//!   note   id by identity │ place DEFAULT nextval │ text DEFAULT 'none'                10 blocks
//!   rich   a view: SELECT id, name FROM emp WHERE pay > 100
//!   ticket a sequence
//! ```
//!
//! Callers: tests of this crate.

use std::sync::Arc;

use ids::ObjectNo;
use relation::{
    ColumnDefinition, Default as ColumnDefault, IndexColumn, IndexDefinition, TableDefinition,
};
use stop::Stop;
use value::{Type, Value};

use crate::bind::{Binder, Bound};
use crate::dictionary::info_of;
use crate::names::Name;
use crate::plan::{Methods, Node, Plan, Surroundings, lines, plan_statement};
use crate::schema::{Found, Schema, TableInfo, ViewInfo};
use crate::statistics::{ColumnStatistics, IndexStatistics, TableStatistics};

/// The dictionary.
pub(crate) struct World {
    tables: Vec<Arc<TableInfo>>,
    view: Arc<ViewInfo>,
}

/// A column: its name, its type, whether NULL is refused, and how many values it has.
type Column = (&'static str, Type, bool, f64);

/// How large a table is.
struct Size {
    rows: f64,
    blocks: f64,
}

/// An index: its name, its columns, and whether it is unique.
type Index = (&'static str, &'static [usize], bool);

impl World {
    pub(crate) fn new() -> World {
        let dept = table(
            1,
            "dept",
            Size { rows: 50.0, blocks: 1.0 },
            &[("id", Type::BigInt, true, 50.0), ("name", Type::Text, true, 50.0)],
            &[("dept_pkey", &[0], true), ("dept_name", &[1], true)],
        );
        let emp = table(
            2,
            "emp",
            Size { rows: 10_000.0, blocks: 100.0 },
            &[
                ("id", Type::BigInt, true, 10_000.0),
                ("dept", Type::BigInt, true, 50.0),
                ("name", Type::Text, true, 10_000.0),
                ("pay", Type::Integer, false, 500.0),
                ("hired", Type::Date, true, 3_000.0),
            ],
            &[("emp_pkey", &[0], true), ("emp_dept", &[1], false)],
        );
        let big = table(
            3,
            "big",
            Size { rows: 1e6, blocks: 20_000.0 },
            &[
                ("id", Type::BigInt, true, 1e6),
                ("emp", Type::BigInt, true, 10_000.0),
                ("kind", Type::Text, true, 10.0),
                ("at", Type::Timestamp, true, 1e6),
            ],
            &[("big_pkey", &[0], true), ("big_emp", &[1], false)],
        );
        let mut visit = table(
            4,
            "visit",
            Size { rows: 1e6, blocks: 20_000.0 },
            &[
                ("id", Type::BigInt, true, 1e6),
                ("town", Type::BigInt, true, 1_000.0),
                ("land", Type::BigInt, true, 100.0),
                ("note", Type::Text, true, 1e6),
            ],
            &[("visit_pkey", &[0], true), ("visit_place", &[1, 2], false)],
        );
        Arc::get_mut(&mut visit).expect("it was just made").indexes[1].distinct = Some(1_000.0);
        let raw = definition(
            5,
            "raw",
            &[
                ("id", Type::BigInt, true, 0.0),
                ("owner", Type::BigInt, true, 0.0),
                ("at", Type::Timestamp, true, 0.0),
                ("state", Type::Text, true, 0.0),
            ],
            &[("raw_pkey", &[0], true), ("raw_owner", &[1], false), ("raw_at", &[2], false)],
        );
        let raw = Arc::new(info_of(Arc::new(raw), None, 10_000, 8192));
        let view = ViewInfo {
            object: ObjectNo::new(1),
            name: "rich".into(),
            columns: vec!["id".into(), "name".into()],
            query: "select id, name from emp where pay > 100".into(),
        };
        World { tables: vec![dept, emp, big, visit, raw, note()], view: Arc::new(view) }
    }

    /// Binds a statement. A refusal is as a user gets it.
    pub(crate) fn bind(&self, text: &str) -> Result<Bound, Stop> {
        let parsed = syntax::parse(text).map_err(Stop::from)?;
        let binder = Binder::new(self, parsed.binds.count());
        binder.statement(&parsed.statement).map_err(|refused| refused.within(text))
    }

    /// The tree of a query, rewritten, as lines.
    pub(crate) fn rewritten(&self, text: &str) -> String {
        let mut bound = self.bind(text).expect("sound");
        let crate::bind::Statement::Query(query) = bound.statement else {
            panic!("it isn't a query")
        };
        crate::rewrite::rewrite(query.logical, &mut bound.frame).lines()
    }

    /// The plan of a statement.
    pub(crate) fn plan(&self, text: &str) -> Plan {
        self.plan_with(text, Methods::default())
    }

    /// The plan of a statement by these methods.
    pub(crate) fn plan_with(&self, text: &str, methods: Methods) -> Plan {
        let surroundings =
            Surroundings { cache_blocks: 10_000.0, memory_bytes: f64::from(16 << 20), methods };
        plan_statement(self.bind(text).expect("sound"), 1, surroundings)
    }

    /// The plan of a statement: what is done to what, in one line.
    pub(crate) fn shape(&self, text: &str) -> String {
        shape(&self.plan(text).frame.root)
    }
}

/// What a node and those below it do: `Sort(Table scan emp)`.
pub(crate) fn shape(node: &Node) -> String {
    let plan = crate::plan::FramePlan {
        root: node.clone(),
        binds: 0,
        slots: Vec::new(),
        subqueries: Vec::new(),
        calls: Vec::new(),
        shared: Vec::new(),
    };
    let lines = lines(&plan);
    let mut at = 0;
    shape_of(node, &lines, &mut at)
}

fn shape_of(node: &Node, lines: &[crate::plan::PlanLine], at: &mut usize) -> String {
    let line = &lines[*at];
    *at += 1;
    let mut out = line.operation.clone();
    if let Some(object) = &line.object {
        out.push(' ');
        out.push_str(object);
    }
    let inputs: Vec<String> =
        node.inputs().into_iter().map(|input| shape_of(input, lines, at)).collect();
    if !inputs.is_empty() {
        out.push_str(&format!("({})", inputs.join(", ")));
    }
    out
}

impl Schema for World {
    fn find(&self, name: &Name) -> Result<Option<Found>, Stop> {
        if name.name == self.view.name {
            return Ok(Some(Found::View(Arc::clone(&self.view))));
        }
        let found = self.tables.iter().find(|table| table.definition.name == name.name);
        Ok(found.cloned().map(Found::Table))
    }

    fn sequence(&self, name: &str) -> Result<Option<ObjectNo>, Stop> {
        Ok((name == "ticket").then(|| ObjectNo::new(9)))
    }

    fn names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.definition.name.clone()).collect()
    }
}

fn definition(object: u32, name: &str, columns: &[Column], indexes: &[Index]) -> TableDefinition {
    let number = ObjectNo::new(object);
    let mut definition = TableDefinition::new(number, name, number);
    for (name, kind, not_null, _) in columns {
        definition.columns.push(ColumnDefinition::new(name, *kind, *not_null));
    }
    for (place, (name, columns, unique)) in indexes.iter().enumerate() {
        let own = ObjectNo::new(object * 100 + place as u32);
        definition.indexes.push(IndexDefinition {
            object: own,
            name: (*name).into(),
            segment: own,
            columns: columns.iter().map(|column| IndexColumn::ascending(*column)).collect(),
            unique: *unique,
            primary: place == 0,
            since: ids::Scn::ZERO,
        });
    }
    definition
}

/// A table with defaults of each kind.
fn note() -> Arc<TableInfo> {
    let mut note = definition(
        6,
        "note",
        &[
            ("id", Type::BigInt, true, 0.0),
            ("place", Type::BigInt, false, 0.0),
            ("text", Type::Text, false, 0.0),
        ],
        &[],
    );
    let sequence = ObjectNo::new(9);
    note.columns[0].default = ColumnDefault::Identity { sequence, always: false };
    note.columns[1].default = ColumnDefault::Expression("nextval('ticket') + 1".into());
    note.columns[2].default = ColumnDefault::Constant(Value::Text("none").to_owned());
    Arc::new(info_of(Arc::new(note), None, 10, 8192))
}

fn table(
    object: u32,
    name: &str,
    size: Size,
    columns: &[Column],
    indexes: &[Index],
) -> Arc<TableInfo> {
    let Size { rows, blocks } = size;
    let statistics = |(_, kind, not_null, distinct): &Column| ColumnStatistics {
        distinct: *distinct,
        nulls: if *not_null { 0.0 } else { 0.05 },
        ..ColumnStatistics::guessed(*kind, rows)
    };
    let index = |_: &Index| IndexStatistics {
        height: 2.0,
        leaf_blocks: (rows / 350.0).max(1.0),
        distinct: None,
        clustering: None,
    };
    Arc::new(TableInfo {
        definition: Arc::new(definition(object, name, columns, indexes)),
        statistics: TableStatistics {
            rows,
            blocks,
            columns: columns.iter().map(statistics).collect(),
        },
        indexes: indexes.iter().map(index).collect(),
    })
}
