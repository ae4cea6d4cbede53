//! Paths to the rows of a table: all of them, or a part of an index, with the rows or without.
//!
//! ```text
//!   conditions ─ sargs ─┬─ index 1 ─▶ equal columns, a range, what is left to the filter
//!                       ├─ index 2 ─▶ …
//!                       └─ scan ────▶ everything is left to the filter
//! ```
//!
//! A path says what it costs; its operation, which has copies of conditions, is made of a path that
//! is taken.
//!
//! Callers: `block`, `methods`, `tree`.

use std::sync::Arc;

use access::Direction;
use expression::{Expression, Kind};
use relation::IndexDefinition;

use super::columns::{ColumnInfo, Origin};
use super::cost::{self, Estimate, Gets};
use super::index::{Matched, matched};
use super::node::{IndexScan, Operation, Search, TableScan};
use super::planner::Planner;
use super::sargable::sargs;
use super::selectivity;
use super::sorted::Order;
use crate::logical::{Scan, ScanColumn};
use crate::statistics::IndexStatistics;

/// A way to the rows of a table.
#[derive(Clone, Debug)]
pub(super) struct Path {
    by: By,
    pub(super) estimate: Estimate,
    pub(super) order: Order,
    /// What it gets block by block, of the index and of the table.
    pub(super) gets: [Gets; 2],
}

/// By what a path finds its rows.
#[derive(Clone, Copy, Debug)]
enum By {
    /// All rows of the table are read.
    Scan,
    /// The index at this place among those of the table.
    Index { place: usize, direction: Direction },
}

/// What is known of a scan before its paths are.
pub(super) struct Target<'s> {
    pub(super) scan: &'s Scan,
    pub(super) conditions: &'s [Expression],
    pub(super) columns: Vec<ColumnInfo>,
    /// What each index of the table does with the conditions.
    indexes: Vec<Matched>,
    /// The number of rows for which all conditions hold.
    pub(super) rows: f64,
}

impl<'s> Target<'s> {
    pub(super) fn new(scan: &'s Scan, conditions: &'s [Expression]) -> Target<'s> {
        let (columns, table) = (columns_of(scan), &scan.table);
        let sargs = sargs(conditions, &|column| columns[column].kind);
        let matched = |index| matched(index, &table.definition, scan, &sargs);
        let indexes: Vec<Matched> = table.definition.indexes.iter().map(matched).collect();
        let of_all = table.statistics.rows;
        let mut rows = of_all * selectivity::of_all(conditions, &columns);
        for (matched, index) in indexes.iter().zip(&table.indexes) {
            let is_left = |(number, _): &(usize, &Expression)| !matched.used.contains(number);
            let left = conditions.iter().enumerate().filter(is_left).map(|(_, one)| one);
            let part = selectivity::of_all(left, &columns);
            rows = rows.max(rows_of_key(matched, index, of_all) * part);
        }
        Target { scan, conditions, columns, indexes, rows: rows.max(1.0) }
    }

    /// The place of the table among those of the statement, and what is read of it.
    fn table_scan(&self, planner: &mut Planner<'_>, filter: Vec<Expression>) -> TableScan {
        TableScan {
            table: planner.table(self.scan.table.object()),
            alias: Arc::clone(&self.scan.alias),
            columns: self.scan.columns.clone(),
            filter: all_of(filter),
        }
    }

    /// What each row costs that is found: its values are copied, and tested.
    fn row_cost<'e>(&self, filter: impl IntoIterator<Item = &'e Expression>) -> f64 {
        cost::ROW + self.scan.columns.len() as f64 * cost::VALUE + tests(filter)
    }

    /// The conditions that an index leaves to the filter.
    fn left_by(&self, matched: &Matched) -> impl Iterator<Item = &'s Expression> {
        let all = self.conditions.iter().enumerate();
        all.filter(move |(number, _)| !matched.done.contains(number)).map(|(_, one)| one)
    }

    /// What a path looks for in its index; none if it has none.
    pub(super) fn search(&self, path: &Path) -> Option<&Search> {
        match path.by {
            By::Scan => None,
            By::Index { place, .. } => Some(&self.indexes[place].search),
        }
    }
}

/// What is known of the columns of a scan.
pub(super) fn columns_of(scan: &Scan) -> Vec<ColumnInfo> {
    let column = |column: &ScanColumn| match column {
        ScanColumn::Table(place) => ColumnInfo {
            kind: Kind::from(scan.table.definition.columns[*place].kind),
            origin: Some(Origin {
                table: Arc::clone(&scan.table),
                alias: Arc::clone(&scan.alias),
                place: *place,
            }),
        },
        ScanColumn::Address => ColumnInfo::computed(Kind::Whole),
    };
    scan.columns.iter().map(column).collect()
}

/// The number of rows with a whole key of several columns, of a table of `rows`, by what the index
/// knows; 0 if it knows nothing. Such columns may have to do with one another.
fn rows_of_key(matched: &Matched, index: &IndexStatistics, rows: f64) -> f64 {
    let distinct = index.distinct.filter(|_| matched.is_whole);
    distinct.map_or(0.0, |distinct| rows / distinct.max(1.0))
}

/// The conditions as one; none if there is none.
pub(super) fn all_of(mut conditions: Vec<Expression>) -> Option<Expression> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(Expression::And(conditions)),
    }
}

/// The cost of testing these conditions once.
pub(super) fn tests<'e>(conditions: impl IntoIterator<Item = &'e Expression>) -> f64 {
    let mut parts = 0;
    for condition in conditions {
        condition.walk(&mut |_| parts += 1);
    }
    f64::from(parts) * cost::TEST
}

impl Planner<'_> {
    /// All paths to the rows of a scan for which these conditions hold.
    pub(super) fn paths(&self, target: &Target<'_>) -> Vec<Path> {
        let mut paths = vec![self.scan_path(target)];
        for (place, statistics) in target.scan.table.indexes.iter().enumerate() {
            self.index_paths(target, place, statistics, &mut paths);
        }
        paths
    }

    /// The operation of a path.
    pub(super) fn operation(&mut self, target: &Target<'_>, path: &Path) -> Operation {
        let By::Index { place, direction } = path.by else {
            return Operation::Scan(target.table_scan(self, target.conditions.to_vec()));
        };
        let (matched, definition) = (&target.indexes[place], &target.scan.table.definition);
        let index = &definition.indexes[place];
        let only = only_index(index, target.scan).filter(|_| !matched.is_unique);
        Operation::Index(IndexScan {
            scan: target.table_scan(self, target.left_by(matched).cloned().collect()),
            index: index.id(),
            definition: Arc::clone(definition),
            search: matched.search.clone(),
            direction,
            only,
            is_unique: matched.is_unique,
        })
    }

    /// The scan of all rows.
    fn scan_path(&self, target: &Target<'_>) -> Path {
        let statistics = &target.scan.table.statistics;
        let missed = cost::missed(statistics.blocks, self.surroundings.cache_blocks);
        let reading = statistics.blocks * (cost::GET * 0.3 + missed * cost::READ_MULTI);
        let all = reading + statistics.rows * target.row_cost(target.conditions);
        let mut estimate = Estimate { rows: target.rows, first: cost::GET, all };
        if !self.surroundings.methods.table_scan {
            estimate.all += cost::UNWANTED;
            estimate.first += cost::UNWANTED;
        }
        Path { by: By::Scan, estimate, order: Order::none(), gets: Default::default() }
    }

    /// The paths by one index: up and down, unless it is of no use.
    fn index_paths(
        &self,
        target: &Target<'_>,
        place: usize,
        statistics: &IndexStatistics,
        paths: &mut Vec<Path>,
    ) {
        let matched = &target.indexes[place];
        let index = &target.scan.table.definition.indexes[place];
        // One row is found by its key in one call, which reads it.
        let is_only = !matched.is_unique && has_all(index, target.scan);
        if matched.used.is_empty() && matched.order.keys.is_empty() && !is_only {
            return;
        }
        let (estimate, gets) = self.index_cost(target, statistics, matched, is_only);
        let mut add = |direction, order| {
            paths.push(Path { by: By::Index { place, direction }, estimate, order, gets });
        };
        add(Direction::Ascending, matched.order.clone());
        if !matched.order.keys.is_empty() {
            add(Direction::Descending, matched.order.reversed());
        }
    }

    /// What it costs to read a part of an index and its rows, and what is got block by block.
    fn index_cost(
        &self,
        target: &Target<'_>,
        index: &IndexStatistics,
        matched: &Matched,
        is_only: bool,
    ) -> (Estimate, [Gets; 2]) {
        let table = &target.scan.table.statistics;
        let cache = self.surroundings.cache_blocks;
        let used: Vec<&Expression> =
            matched.used.iter().map(|number| &target.conditions[*number]).collect();
        let part = selectivity::of_all(used, &target.columns);
        let of_key = rows_of_key(matched, index, table.rows);
        let entries = match matched.is_unique {
            true => 1.0,
            false => (table.rows * part).max(of_key).max(1.0),
        };
        let ranges = matched.search.equal.iter().map(|part| match part {
            super::KeyPart::AnyOf(values) => values.len() as f64,
            _ => 1.0,
        });
        let ranges: f64 = ranges.product();
        let leaves = (index.leaf_blocks * part).max(ranges);
        let blocks = match is_only {
            true => 0.0,
            false => blocks_got(target, index, matched, entries),
        };
        let gets = [
            Gets { count: leaves, of: index.leaf_blocks },
            Gets { count: blocks, of: table.blocks },
        ];
        let reading: f64 =
            gets.iter().map(|one| one.count * cost::GET + one.reads(1.0, cache)).sum();
        let search = cost::SEARCH + index.height * cost::GET;
        let each = cost::VALUE + target.row_cost(target.left_by(matched));
        let rows = target.rows.min(entries);
        let mut all = ranges * search + reading + entries * each;
        let mut first = search;
        if !self.surroundings.methods.index_scan {
            all += cost::UNWANTED;
            first += cost::UNWANTED;
        }
        (Estimate { rows, first, all }, gets)
    }
}

/// How many blocks of the table are got for the rows of so many entries.
fn blocks_got(
    target: &Target<'_>,
    index: &IndexStatistics,
    matched: &Matched,
    entries: f64,
) -> f64 {
    let table = &target.scan.table.statistics;
    if let Some(clustering) = index.clustering {
        // Each change of block is a get of its own.
        return (clustering * entries / table.rows.max(1.0)).clamp(1.0, entries.max(1.0));
    }
    let first = matched.order.constant.first().copied();
    let first = first.or_else(|| matched.order.keys.first().map(|key| key.column));
    let correlation = first.and_then(|column| target.columns[column].statistics());
    let ordered = correlation.map_or(0.0, |known| known.correlation.powi(2));
    let scattered = cost::blocks_of(entries, table.blocks);
    let together = (table.blocks * entries / table.rows.max(1.0)).max(1.0);
    (scattered + ordered * (together - scattered)).max(1.0)
}

/// The place in the index of each column that is read, if the index has all of them.
fn only_index(index: &IndexDefinition, scan: &Scan) -> Option<Vec<Option<usize>>> {
    scan.columns.iter().map(|column| place_in(index, scan, *column)).collect()
}

/// Whether an index has all columns that are read.
fn has_all(index: &IndexDefinition, scan: &Scan) -> bool {
    scan.columns.iter().all(|column| place_in(index, scan, *column).is_some())
}

/// The place in the index of a column that is read, if the index has it: an address has none there.
fn place_in(index: &IndexDefinition, scan: &Scan, column: ScanColumn) -> Option<Option<usize>> {
    let Some(place) = column.place() else { return Some(None) };
    // A key doesn't tell -0 from 0 (rule value/VA30).
    if scan.table.definition.columns[place].kind == value::Type::Double {
        return None;
    }
    index.columns.iter().position(|own| own.column == place).map(Some)
}
