//! Which statements a session asks for: drawn at random, from few keys, so that sessions meet.
//!
//! Callers: `client`.

use std::ops::Bound;

use database::Table;
use relation::IndexDefinition;
use value::{Direction, NullOrdering};

use super::ask::{Act, Ask, Filter, IfHeld, KeyColumn, New, Path, Selection, Span, Target};
use super::cell::{Cell, Row};
use super::client::Client;
use super::schema::{
    BOSS, CODE, CODE_UP, COLUMNS, COUNT, CodeKind, FORBIDDEN, FORBIDDEN_CODE, ID, KIND, LATER,
    NOTE, PART, Schema, TABLES, UP,
};

/// Codes are made of these.
const CODES: [&str; 8] = ["a", "b", "c", "d", "aa", "ab", "cd", "dd"];

/// A statement puts in or takes away so many neighbours at most.
const NEIGHBOURS_MAX: u64 = 100;

fn path(index: &IndexDefinition) -> Path {
    let columns = index.columns.iter().map(|of| KeyColumn {
        column: of.column,
        descending: of.direction == Direction::Descending,
        nulls_first: of.nulls == NullOrdering::First,
    });
    Path { name: index.name.clone(), columns: columns.collect(), unique: index.unique }
}

impl Client<'_> {
    /// One statement, or some that belong together.
    pub(super) fn asks(&mut self) -> Vec<Ask> {
        let table = self.any(TABLES.len() as u64) as usize;
        let draw = if self.plan.crams && self.any(2) == 0 { 18 } else { self.any(28) };
        let acts = match draw {
            0..6 => vec![self.insert()],
            6..11 => vec![self.update(table)],
            11..14 => vec![Act::Delete(self.target(table))],
            14..17 => vec![self.lock(table)],
            17 => self.again(table),
            18 => self.neighbours(table),
            19 | 20 => self.every_path(table),
            21 | 22 => self.there_and_back(table),
            _ => vec![self.read(table)],
        };
        let width = self.tables[table].definition().columns.len();
        let panics_at = (self.plan.misuse && self.any(8) == 0).then(|| self.any(4));
        let since = self.looked_up;
        acts.into_iter().map(|act| Ask { table, act, width, since, panics_at }).collect()
    }

    /// All rows of a table get another kind, and a value in the last column.
    pub(super) fn everywhere(&mut self, table: usize) -> Ask {
        let target = Target { selection: Selection::All, filter: None };
        let width = self.tables[table].definition().columns.len();
        let mut set = vec![(KIND, New::Plus([100, -100][self.any(2) as usize]))];
        if width > COLUMNS {
            set.push((width - 1, New::Value(Cell::Int(self.any(3) as i64))));
        }
        let act = Act::Update(target, set);
        Ask { table, act, width, since: self.looked_up, panics_at: None }
    }

    fn id(&mut self) -> i64 {
        let below = self.plan.ids as u64;
        self.any(below) as i64
    }

    fn cell(&mut self, column: usize) -> Cell {
        let one_in = |client: &mut Self, of: u64| client.any(of) == 0;
        match column {
            ID => Cell::Int(self.id()),
            KIND | PART if one_in(self, 6) => Cell::Null,
            KIND if one_in(self, 60) => Cell::Int(FORBIDDEN),
            KIND => Cell::Int([1, 2, 3, 5, 8, 21][self.any(6) as usize]),
            PART => Cell::Int(self.any(6) as i64),
            CODE if one_in(self, 2) => Cell::Null,
            CODE_UP if self.any(4) > 0 => Cell::Null,
            CODE if one_in(self, 16) => Cell::text(FORBIDDEN_CODE),
            CODE | CODE_UP => {
                let code = CODES[self.any(8) as usize];
                let text = if one_in(self, 6) { format!("{code} ") } else { code.to_string() };
                Cell::text(&text)
            }
            UP | BOSS if one_in(self, 3) => Cell::Int(self.id()),
            NOTE => self.note(),
            COUNT => Cell::Int(0),
            _ => Cell::Null,
        }
    }

    fn note(&mut self) -> Cell {
        let block = self.plan.creation.db_block_size.bytes() as u64;
        let (short, long) = (self.plan.short, self.plan.long);
        let length = match self.any(16) {
            draw if draw < long => self.any(block * 3),
            draw if draw < long * 2 => self.any(block),
            _ => self.any(short),
        };
        let letter = ["x", "y", "z"][self.any(3) as usize];
        Cell::text(&letter.repeat(length as usize))
    }

    fn row(&mut self, id: i64) -> Row {
        let mut cells: Vec<Cell> = (0..COLUMNS).map(|column| self.cell(column)).collect();
        cells[ID] = Cell::Int(id);
        cells.extend(Schema::later());
        cells.into()
    }

    fn insert(&mut self) -> Act {
        let count = if self.any(4) == 0 { 2 + self.any(4) } else { 1 };
        let rows = (0..count).map(|_| {
            let id = self.id();
            self.row(id)
        });
        Act::Insert(rows.collect())
    }

    fn update(&mut self, table: usize) -> Act {
        let target = self.target(table);
        let mut set = Vec::new();
        for _ in 0..1 + self.any(3) {
            let column = [ID, KIND, PART, CODE, UP, CODE_UP, BOSS, NOTE, COUNT, COUNT, KIND, NOTE]
                [self.any(12) as usize];
            let one = match column {
                COUNT => New::Plus([1, -1][self.any(2) as usize]),
                PART | ID if self.any(4) == 0 => New::Plus(1),
                column => New::Value(self.cell(column)),
            };
            if !set.iter().any(|(has, _)| *has == column) {
                set.push((column, one));
            }
        }
        let columns = self.tables[table].definition().columns.len();
        if columns > COLUMNS && self.any(3) == 0 {
            let value = Cell::Int(self.any(3) as i64);
            set.push((columns.min(COLUMNS + LATER) - 1, New::Value(value)));
        }
        Act::Update(target, set)
    }

    fn lock(&mut self, table: usize) -> Act {
        let if_held = match self.any(4) {
            0 => IfHeld::Wait,
            1 => IfHeld::WaitFor(1 + self.any(20_000)),
            2 => IfHeld::NoWait,
            _ => IfHeld::Skip,
        };
        let limit = [u64::MAX, 1, 3][self.any(3) as usize];
        Act::Lock { target: self.target(table), if_held, limit }
    }

    /// A row goes, one with its key comes, and all is looked at.
    fn again(&mut self, table: usize) -> Vec<Act> {
        let id = self.id();
        let primary = self.paths(table).swap_remove(0);
        let selection = Selection::Key(primary, vec![Cell::Int(id)]);
        let target = Target { selection, filter: None };
        let row = self.row(id);
        let read = Act::Read { target: target.clone(), descending: false, limit: usize::MAX };
        let mut acts = vec![Act::Delete(target), Act::Insert(vec![row]), read];
        acts.rotate_left(self.any(2) as usize);
        acts
    }

    /// A row is changed, and changed back: others find it as it was, with a version since.
    fn there_and_back(&mut self, table: usize) -> Vec<Act> {
        let id = self.id();
        let primary = self.paths(table).swap_remove(0);
        let selection = Selection::Key(primary, vec![Cell::Int(id)]);
        let target = Target { selection, filter: None };
        let plus = |more| Act::Update(target.clone(), vec![(COUNT, New::Plus(more))]);
        vec![plus(1), plus(-1)]
    }

    /// Rows with neighbouring keys go, and others come, of another size.
    fn neighbours(&mut self, table: usize) -> Vec<Act> {
        let from = self.id();
        let to = (from + self.any(NEIGHBOURS_MAX) as i64).min(self.plan.ids);
        let primary = self.paths(table).swap_remove(0);
        let (from_bound, to_bound) =
            (Bound::Included(Cell::Int(from)), Bound::Excluded(Cell::Int(to)));
        let span = Span { equal: Vec::new(), from: from_bound, to: to_bound };
        let target = Target { selection: Selection::Range(primary, span), filter: None };
        let is_short = self.any(2) == 0;
        let rows = (from..to).map(|id| {
            let mut cells = self.row(id).to_vec();
            for column in [CODE, PART, UP, CODE_UP, BOSS] {
                cells[column] = Cell::Null;
            }
            if is_short {
                cells[NOTE] = Cell::Null;
            }
            Row::from(cells)
        });
        let rows: Vec<Row> = rows.collect();
        let mut acts = vec![Act::Delete(target)];
        if !rows.is_empty() {
            acts.push(Act::Insert(rows));
        }
        acts
    }

    /// The table is read in every way.
    fn every_path(&mut self, table: usize) -> Vec<Act> {
        let all = Target { selection: Selection::All, filter: None };
        let mut acts = vec![Act::Read { target: all, descending: false, limit: usize::MAX }];
        for path in self.paths(table) {
            for descending in [false, true] {
                let (from, to) = (Bound::Unbounded, Bound::Unbounded);
                let span = Span { equal: Vec::new(), from, to };
                let target =
                    Target { selection: Selection::Range(path.clone(), span), filter: None };
                acts.push(Act::Read { target, descending, limit: usize::MAX });
            }
        }
        acts
    }

    fn read(&mut self, table: usize) -> Act {
        let mut target = self.target(table);
        target.filter = None;
        let limit = if self.any(4) == 0 { 1 + self.any(4) as usize } else { usize::MAX };
        let limit =
            if matches!(target.selection, Selection::Range(..)) { limit } else { usize::MAX };
        Act::Read { target, descending: self.any(2) == 0, limit }
    }

    /// The indexes of a table as the session knows it, that of the primary key first.
    fn paths(&self, table: usize) -> Vec<Path> {
        let table: &Table = &self.tables[table];
        let mut indexes: Vec<&IndexDefinition> = table.definition().indexes.iter().collect();
        indexes.sort_by_key(|index| !index.primary);
        indexes.into_iter().map(path).collect()
    }

    fn target(&mut self, table: usize) -> Target {
        let mut paths = self.paths(table);
        let at = if self.any(3) == 0 { 0 } else { self.any(paths.len() as u64) as usize };
        let path = paths.swap_remove(at);
        let selection = match self.any(8) {
            0 => Selection::All,
            1..5 if path.unique => {
                let key: Vec<Cell> = path.columns.iter().map(|of| self.sought(of.column)).collect();
                Selection::Key(path, key)
            }
            _ => {
                let span = self.span(&path);
                Selection::Range(path, span)
            }
        };
        let is_whole = !matches!(selection, Selection::Key(..));
        let filter = (is_whole && self.any(2) == 0).then(|| Filter {
            column: [ID, KIND, COUNT][self.any(3) as usize],
            divisor: 3,
            rest: self.any(3) as i64,
        });
        Target { selection, filter }
    }

    /// A value to look for: never NULL, and as its column keeps it.
    fn sought(&mut self, column: usize) -> Cell {
        let is_char = column == CODE && self.plan.schema.codes == CodeKind::Char
            || column == CODE_UP && self.plan.schema.code_ups == CodeKind::Char;
        for _ in 0..20 {
            let cell = self.cell(column);
            if !cell.is_null() {
                return if is_char { cell.trimmed() } else { cell };
            }
        }
        match column {
            CODE | CODE_UP | NOTE => Cell::text("a"),
            _ => Cell::Int(1),
        }
    }

    fn span(&mut self, path: &Path) -> Span {
        let count = self.any(path.columns.len() as u64 + 1) as usize;
        let equal = path.columns[..count].iter().map(|of| match self.any(8) {
            0 if of.column != ID => Cell::Null,
            _ => self.sought(of.column),
        });
        let equal: Vec<Cell> = equal.collect();
        let (mut from, mut to) = (Bound::Unbounded, Bound::Unbounded);
        if let Some(next) = path.columns.get(count) {
            let (low, high) = (self.sought(next.column), self.sought(next.column));
            from = self.bound(low);
            to = self.bound(high);
        }
        Span { equal, from, to }
    }

    fn bound(&mut self, cell: Cell) -> Bound<Cell> {
        match self.any(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(cell),
            _ => Bound::Excluded(cell),
        }
    }
}
