//! ANALYZE: rows are sampled, indexes are looked through, and what was found is kept.
//!
//! ```text
//!   some blocks of the table ─▶ sample ─▶ of each column: distinct values, NULLs, histogram
//!   the first entries of an index ─▶ distinct keys, changes of block from one to the next
//! ```
//!
//! Invariants
//!   * nothing is locked, and rows are as of one snapshot
//!   * under a block's latch only the sample is computed
//!   * what other sessions find out meanwhile of other columns stays: it is merged when it is kept
//!
//! Callers: `define`.
//! Source: PostgreSQL's `analyze.c`; Oracle's clustering factor.

use std::collections::BTreeMap;

use access::{Direction, RowAddress, Sampled};
use catalog::{IndexStatistics as KeptIndex, TableStatistics as Kept};
use ids::{Dba, ObjectNo};
use relation::{Bounds, Relation, TableDefinition};
use sort::Grant;
use stop::Stop;
use syntax::{Analyze, AnalyzeHow, AnalyzeTable};
use txn::View;
use value::{Damaged, OwnedValue, RowView, Timestamp, Value};

use crate::bind::Binder;
use crate::define::Done;
use crate::engine::Frame;
use crate::names::Name;
use crate::statistics::{Gathered, IndexStatistics, Sample, TableStatistics};

/// About how many blocks are looked at, where nothing is said.
const BLOCKS_WANTED: f64 = 4_000.0;

/// The most entries of an index that are looked at, where not all are to be.
const ENTRIES_MAX: u64 = 200_000;

/// Blocks of indexes by their numbers.
type Sizes = BTreeMap<ObjectNo, u32>;

impl Frame<'_> {
    /// ANALYZE.
    pub(crate) fn analyze(&mut self, analyze: &Analyze) -> Result<Done, Stop> {
        let all: Vec<AnalyzedTable> = match analyze.tables.is_empty() {
            true => {
                let tables = self.catalog.definitions(self.session);
                let all = |name: String| AnalyzedTable { name, columns: None };
                tables.iter().map(|table| all(table.name.clone())).collect()
            }
            false => {
                let tables = analyze.tables.iter().map(|table| self.analyzed(table));
                tables.collect::<Result<_, Stop>>()?
            }
        };
        let mut sizes = Sizes::new();
        for table in self.catalog.tables(self.session)? {
            sizes.extend(table.indexes.iter().map(|index| (index.object, index.blocks)));
        }
        for table in all {
            self.analyze_table(&table, analyze.how, &sizes)?;
        }
        Ok(Done::Yes)
    }

    fn analyzed(&self, table: &AnalyzeTable) -> Result<AnalyzedTable, Stop> {
        let name = Name::of_users(&table.name)?;
        let definition = self.catalog.table(&name, self.session)?;
        let columns = match table.columns.is_empty() {
            true => None,
            false => {
                let places = Binder::places_of(&definition, &table.columns);
                let mut places = places.map_err(|refused| refused.elsewhere().within(""))?;
                places.sort_unstable();
                Some(places)
            }
        };
        Ok(AnalyzedTable { name, columns })
    }

    fn analyze_table(
        &mut self,
        table: &AnalyzedTable,
        how: AnalyzeHow,
        sizes: &Sizes,
    ) -> Result<(), Stop> {
        let relation = self.catalog.relation(&table.name, self.session)?;
        let object = relation.definition().object;
        if how == AnalyzeHow::Delete {
            let without = |_: &TableDefinition, before: Option<&Kept>| table.others_of(before);
            return self.catalog.change_statistics(object, without, self.session);
        }
        let transactions = self.instance.transactions();
        let snapshot = transactions.keep_snapshot(None, self.session)?;
        let view = snapshot.view(None);
        let scn = snapshot.scn();
        let found = self.gather(&relation, table, how, view, sizes);
        snapshot.close(self.session);
        let found = found?;
        let moment = Timestamp::from_us(self.session.wall_clock()).unwrap_or(Timestamp::MAX);
        let gathered = Gathered { sampled: found.sampled, scn, moment };
        let with_others = |definition: &TableDefinition, before: Option<&Kept>| {
            Some(found.with_others(table, definition, before, gathered))
        };
        self.catalog.change_statistics(object, with_others, self.session)
    }

    /// Looks at a table and its indexes.
    fn gather(
        &self,
        relation: &Relation,
        table: &AnalyzedTable,
        how: AnalyzeHow,
        view: View,
        sizes: &Sizes,
    ) -> Result<Found, Stop> {
        let definition = relation.definition();
        let is_there = |place: &usize| !definition.columns[*place].is_dropped();
        let columns: Vec<usize> = match &table.columns {
            Some(columns) => columns.clone(),
            None => (0..definition.columns.len()).filter(is_there).collect(),
        };
        let mut grant: Grant = self.budget.grant();
        let bytes = grant.grow_to(Sample::bytes_wanted(columns.len()), self.session);
        let mut sample = Sample::new(definition.object, columns, bytes);
        let share = self.share(relation, how)?;
        let mut damaged: Result<(), Damaged> = Ok(());
        let mut offer = |address: RowAddress, row: RowView<'_>| {
            if damaged.is_ok() {
                damaged = sample.offer(address, &row);
            }
        };
        let seed = u64::from(definition.object.get());
        let looked = relation.sample_blocks(view, share, seed, &mut offer, self.session);
        let looked: Result<Sampled, Stop> = looked.and_then(|looked| {
            damaged?;
            Ok(looked)
        });
        let found = looked.and_then(|looked| {
            let sampled = sample.offered();
            let mut statistics = sample.summarise(looked);
            if let Some(columns) = &table.columns {
                // Keys of indexes have values of the other columns too.
                let before = self.catalog.statistics(definition.object, self.session);
                statistics = statistics.with_others(columns, before.as_deref(), definition);
            }
            let indexes = self.indexes(relation, &statistics, how, view, sizes)?;
            Ok(Found { statistics, indexes, sampled })
        });
        grant.close(self.session);
        found
    }

    /// Which part of the blocks is looked at.
    fn share(&self, relation: &Relation, how: AnalyzeHow) -> Result<f64, Stop> {
        Ok(match how {
            AnalyzeHow::All => 1.0,
            AnalyzeHow::Sample(percent) => percent / 100.0,
            AnalyzeHow::AsFit | AnalyzeHow::Delete => {
                let runs = relation.heap().runs(self.session)?;
                let blocks: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
                (BLOCKS_WANTED / (blocks as f64).max(1.0)).min(1.0)
            }
        })
    }

    /// What is found of the indexes of a table.
    fn indexes(
        &self,
        relation: &Relation,
        table: &TableStatistics,
        how: AnalyzeHow,
        view: View,
        sizes: &Sizes,
    ) -> Result<BTreeMap<ObjectNo, KeptIndex>, Stop> {
        let mut found = BTreeMap::new();
        let definition = relation.definition();
        for (place, index) in definition.indexes.iter().enumerate() {
            let most = if how == AnalyzeHow::All { u64::MAX } else { ENTRIES_MAX };
            let looked = self.look_through(relation, place, view, most)?;
            let widths = index.columns.iter().filter_map(|of| table.columns.get(of.column));
            let key_bytes: f64 = widths.map(|column| column.width).sum();
            // The head of a segment, and blocks above the leaves, are a small part of it.
            let blocks = sizes.get(&index.object).copied().unwrap_or(1);
            let guessed = IndexStatistics::guessed(table.rows, key_bytes, 8192);
            let leaf_blocks = match blocks {
                0..=2 => 1.0,
                blocks => (f64::from(blocks) - 2.0) * 0.99,
            };
            let times = match looked.entries {
                0 => 0.0,
                entries => (table.rows / entries as f64).max(1.0),
            };
            let distinct = match index.unique {
                true => table.rows,
                false => looked.distinct as f64 * times,
            };
            found.insert(
                index.object,
                KeptIndex {
                    height: guessed.height as u64,
                    leaf_blocks: leaf_blocks.ceil() as u64,
                    distinct_keys: distinct.round() as u64,
                    clustering_factor: (looked.changes as f64 * times).round() as u64,
                },
            );
        }
        Ok(found)
    }

    /// Looks through the first entries of an index.
    fn look_through(
        &self,
        relation: &Relation,
        place: usize,
        view: View,
        most: u64,
    ) -> Result<Looked, Stop> {
        let bounds = Bounds::equal(&[]);
        let mut state = relation.begin_range(place, &bounds, Direction::Ascending, view)?;
        let mut looked = Looked::default();
        let mut goes_on = true;
        while goes_on && looked.entries < most {
            self.instance.halt().check_call(self.session)?;
            let mut look = |row: RowAddress, key: &[Value<'_>]| looked.add(row, key);
            goes_on = relation.range_keys_next(&mut state, &mut look, self.session)?;
        }
        Ok(looked)
    }
}

/// A table whose statistics are gathered.
struct AnalyzedTable {
    name: String,
    /// The columns that are looked at, by their places; none: all.
    columns: Option<Vec<usize>>,
}

impl AnalyzedTable {
    /// What stays of the statistics that there were before: those of columns that aren't looked at.
    fn others_of(&self, before: Option<&Kept>) -> Option<Kept> {
        let columns = self.columns.as_ref()?;
        let mut others = before?.clone();
        others.columns.retain(|place, _| !columns.contains(place));
        Some(others)
    }
}

/// What was found of a table.
struct Found {
    statistics: TableStatistics,
    indexes: BTreeMap<ObjectNo, KeptIndex>,
    sampled: u64,
}

impl Found {
    /// What is kept: columns that weren't looked at are as they were `before`.
    fn with_others(
        self,
        table: &AnalyzedTable,
        definition: &TableDefinition,
        before: Option<&Kept>,
        gathered: Gathered,
    ) -> Kept {
        let Found { statistics, indexes, .. } = self;
        let Some(columns) = &table.columns else { return statistics.to_kept(indexes, gathered) };
        let others = table.others_of(before);
        let statistics = statistics.with_others(columns, others.as_ref(), definition);
        let mut kept = statistics.to_kept(indexes, gathered);
        let stays = |place: &usize| {
            others.as_ref().is_some_and(|others| others.columns.contains_key(place))
        };
        kept.columns.retain(|place, _| columns.contains(place) || stays(place));
        kept
    }
}

/// What was seen of an index.
#[derive(Default)]
struct Looked {
    entries: u64,
    distinct: u64,
    /// How often the block of a row differed from that of the one before.
    changes: u64,
    key: Vec<OwnedValue>,
    block: Option<Dba>,
}

impl Looked {
    fn add(&mut self, row: RowAddress, key: &[Value<'_>]) {
        self.entries += 1;
        if self.block != Some(row.block) {
            self.changes += 1;
            self.block = Some(row.block);
        }
        let is_same = self.key.len() == key.len()
            && self.key.iter().zip(key).all(|(own, other)| own.get() == *other);
        if !is_same {
            self.distinct += 1;
            self.key.clear();
            self.key.extend(key.iter().copied().map(Value::to_owned));
        }
    }
}
