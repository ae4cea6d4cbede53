//! The dictionary as the binder asks it: over the catalog, with what is known of each table's rows.
//!
//! ```text
//!   name ─┬─ without a schema: a table that isn't stored, of the schemas that are always looked at
//!         ├─ public: a table, a view or an external table of users'
//!         └─ another schema: a table that isn't stored
//! ```
//!
//! Invariants
//!   * what is known of a table is made anew when its definition, its statistics or its size are
//!     others; the size is looked at whenever the table is bound, by one get (rule SQ36)
//!   * no latch is held while the catalog is asked
//!
//! Callers: `session`, `define`, for each statement that is bound; `session`, for plans that tables
//! have outgrown.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, ObjectId};
use ids::ObjectNo;
use latch::{Latch, LatchKind};
use os::{Os, Session};
use relation::{IndexDefinition, Relation, TableDefinition};
use stop::{RefusalKind, Stop};
use value::Type;
use waits::Timestamp;

use crate::engine::Engine;
use crate::names::{Name, PUBLIC};
use crate::plan::Plan;
use crate::schema::{Found, Schema, TableInfo, ViewInfo, VirtualTable};
use crate::statistics::{IndexStatistics, TableStatistics, are_of_use};

/// The schemas that are looked at for a name without one, beside that of users.
const IMPLICIT: [&str; 2] = ["", "pg_catalog"];

/// What is known of tables, shared by all sessions.
pub(crate) struct Tables {
    known: Latch<BTreeMap<ObjectNo, Known>>,
}

/// What is known of a table, and what that rests on.
#[derive(Clone)]
struct Known {
    info: Arc<TableInfo>,
    statistics: Option<Arc<catalog::TableStatistics>>,
    /// The blocks that it had.
    blocks: u32,
}

impl Tables {
    pub(crate) fn new(os: &Os) -> Tables {
        Tables { known: Latch::new(os, LatchKind::Innermost, BTreeMap::new()) }
    }
}

/// The dictionary, asked by a session.
#[derive(Clone, Copy)]
pub(crate) struct Dictionary<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) engine: &'a Engine,
    pub(crate) session: &'a Session,
}

impl Dictionary<'_> {
    /// What is known of a table.
    fn table_info(&self, relation: &Relation) -> Result<Arc<TableInfo>, Stop> {
        let Dictionary { catalog, engine, session } = self;
        let definition = Arc::clone(relation.definition());
        let object = definition.object;
        let statistics = catalog.statistics(object, session);
        let Size { blocks, block_bytes } = self.size_of(relation)?;
        let known = engine.tables.known.shared(session).get(&object).cloned();
        if let Some(known) = known
            && Arc::ptr_eq(&known.info.definition, &definition)
            && is_same(known.statistics.as_ref(), statistics.as_ref())
            && known.blocks == blocks
        {
            return Ok(known.info);
        }
        let info = Arc::new(info_of(definition, statistics.as_deref(), blocks, block_bytes));
        let known = Known { info: Arc::clone(&info), statistics, blocks };
        engine.tables.known.exclusive(session).insert(object, known);
        Ok(info)
    }

    /// Whether a table whose rows a plan reads has outgrown it: then the plan isn't wrong, but may
    /// be a slow one by now (rule SQ36). Mostly nothing is looked at.
    #[inline]
    pub(crate) fn has_outgrown(&self, plan: &Plan, now: Timestamp) -> Result<bool, Stop> {
        plan.basis.is_outgrown(now, |object| self.blocks_of(object))
    }

    /// How many blocks a table has; none if it isn't there any more, has been emptied meanwhile, or
    /// has a header that can't be read. A statement that needs the header is told by itself.
    fn blocks_of(&self, object: ObjectNo) -> Result<Option<u32>, Stop> {
        let relation = match self.catalog.relation_of(object, self.session) {
            Err(stop) if is_gone(&stop) => return Ok(None),
            found => found?,
        };
        match self.size_of(&relation) {
            Err(stop) if is_unreadable(&stop) || self.is_left(&relation, &stop) => Ok(None),
            size => Ok(Some(size?.blocks)),
        }
    }

    /// Whether this was refused because another relation has taken the place of the one that was
    /// looked at, whose segment may be another table's by now, or nobody's.
    fn is_left(&self, relation: &Relation, stop: &Stop) -> bool {
        stop.refusal().is_some() && relation.is_stale(self.session)
    }

    /// The size of a table: of its blocks for rows that were handed out. The first one is the
    /// segment's header, which ANALYZE doesn't count either; only that one is got.
    fn size_of(&self, relation: &Relation) -> Result<Size, Stop> {
        let heap = relation.heap();
        Ok(Size {
            blocks: heap.handed_out(self.session)?.saturating_sub(1),
            block_bytes: u32::try_from(heap.block_size().bytes()).expect("blocks are small"),
        })
    }

    /// A table that isn't stored.
    fn virtual_table(&self, name: &Name) -> Option<Arc<dyn VirtualTable>> {
        let is_it = |table: &&Arc<dyn VirtualTable>| match &name.schema {
            Some(schema) => table.schema() == schema,
            None => IMPLICIT.contains(&table.schema()),
        };
        self.engine.virtual_tables_named(&name.name).find(is_it).cloned()
    }

    /// The table of this name, which had this number a moment ago.
    fn relation(&self, object: ObjectNo, name: &str) -> Result<Arc<Relation>, Stop> {
        let Dictionary { catalog, session, .. } = self;
        match catalog.relation_of(object, session) {
            // Another table may have the name by now.
            Ok(relation) if relation.definition().name != name => catalog.relation(name, session),
            Err(stop) if is_gone(&stop) => catalog.relation(name, session),
            found => found,
        }
    }

    /// What is known of the table of this name, which had this number a moment ago.
    fn table_named(&self, object: ObjectNo, name: &str) -> Result<Arc<TableInfo>, Stop> {
        loop {
            let relation = self.relation(object, name)?;
            match self.table_info(&relation) {
                // It was emptied or dropped meanwhile: it is looked for again.
                Err(stop) if self.is_left(&relation, &stop) => {}
                found => return found,
            }
        }
    }

    /// An object of users'.
    fn of_users(&self, name: &str) -> Result<Option<Found>, Stop> {
        let Dictionary { catalog, engine, session } = self;
        loop {
            let Some(object) = catalog.named(name, session) else { return Ok(None) };
            let found = match object {
                // A relation and not a definition alone: that waits while it is changing.
                ObjectId::Table(table) => {
                    self.table_named(table, name).map(|table| Some(Found::Table(table)))
                }
                ObjectId::View(_) => catalog.view(name, session).map(|view| {
                    Some(Found::View(Arc::new(ViewInfo {
                        object: view.object,
                        name: view.name.clone(),
                        columns: view.columns.clone(),
                        query: view.text.clone(),
                    })))
                }),
                ObjectId::External(_) => match &engine.external {
                    Some(external) => catalog
                        .external(name, session)
                        .and_then(|definition| external.table(&definition))
                        .map(|table| Some(Found::Virtual(table))),
                    None => return Err(no_external(name)),
                },
                ObjectId::Sequence(_) => return Ok(None),
            };
            match found {
                // It was dropped, or is something else by now: it is looked for again.
                Err(stop) if is_gone(&stop) && catalog.named(name, session) != Some(object) => {}
                found => return found,
            }
        }
    }
}

/// The size of a table.
struct Size {
    blocks: u32,
    block_bytes: u32,
}

impl Schema for Dictionary<'_> {
    fn find(&self, name: &Name) -> Result<Option<Found>, Stop> {
        match name.schema.as_deref() {
            Some(PUBLIC) => self.of_users(&name.name),
            Some(_) => Ok(self.virtual_table(name).map(Found::Virtual)),
            None => match self.virtual_table(name) {
                Some(table) => Ok(Some(Found::Virtual(table))),
                None => self.of_users(&name.name),
            },
        }
    }

    fn sequence(&self, name: &str) -> Result<Option<ObjectNo>, Stop> {
        match self.catalog.named(name, self.session) {
            Some(ObjectId::Sequence(object)) => Ok(Some(object)),
            _ => Ok(None),
        }
    }

    fn names(&self) -> Vec<String> {
        let Dictionary { catalog, engine, session } = self;
        let tables = catalog.definitions(session);
        let views = catalog.views(session);
        let virtuals = engine.virtual_tables().iter();
        let virtuals = virtuals.filter(|table| IMPLICIT.contains(&table.schema()));
        let all = tables.iter().map(|table| table.name.clone());
        let all = all.chain(views.iter().map(|view| view.name.clone()));
        all.chain(virtuals.map(|table| table.name().to_string())).collect()
    }
}

fn is_gone(stop: &Stop) -> bool {
    matches!(stop.refusal(), Some(RefusalKind::NotFound | RefusalKind::DefinitionChanged))
}

fn is_unreadable(stop: &Stop) -> bool {
    matches!(stop.refusal(), Some(RefusalKind::Corrupt | RefusalKind::Io))
}

fn is_same(
    one: Option<&Arc<catalog::TableStatistics>>,
    other: Option<&Arc<catalog::TableStatistics>>,
) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// What is known of a table of this size: by its statistics if there are any that are of use, and
/// else a guess.
pub(crate) fn info_of(
    definition: Arc<TableDefinition>,
    kept: Option<&catalog::TableStatistics>,
    blocks: u32,
    block_bytes: u32,
) -> TableInfo {
    let kept = kept.filter(|kept| are_of_use(kept, blocks));
    let statistics = match kept {
        Some(kept) => {
            let known = TableStatistics::from_kept(kept, &definition).grown_to(blocks);
            // A column that was added later is a guess.
            known.with_keys_of(&definition, &|column| kept.columns.contains_key(&column))
        }
        None => {
            let types: Vec<Type> = definition.columns.iter().map(|column| column.kind).collect();
            let guessed = TableStatistics::guessed(&types, blocks, block_bytes);
            guessed.with_keys_of(&definition, &|_| false)
        }
    };
    let index = |index: &IndexDefinition| {
        let rows = kept.map_or(0.0, |kept| kept.rows as f64);
        let known = kept.and_then(|kept| kept.indexes.get(&index.object));
        match known {
            Some(known) => {
                IndexStatistics::from_kept(known).grown(rows, statistics.rows / rows.max(1.0))
            }
            None => {
                let widths = index.columns.iter().map(|of| statistics.columns[of.column].width);
                IndexStatistics::guessed(statistics.rows, widths.sum(), block_bytes)
            }
        }
    };
    let indexes = definition.indexes.iter().map(index).collect();
    TableInfo { definition, statistics, indexes }
}

#[cold]
fn no_external(name: &str) -> Stop {
    let message = format!("external table {name} can't be read here: its files have no reader");
    crate::refuse::refuse(stop::SqlState::FEATURE_NOT_SUPPORTED, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Gathered;
    use relation::{ColumnDefinition, IndexColumn};

    /// A table of one number, with `rows` rows in `blocks` blocks when it was analysed.
    fn info(analysed: Option<[f64; 2]>, blocks: u32) -> TableInfo {
        info_with(Vec::new(), analysed, blocks)
    }

    /// The same with these indexes. Its column came after the statistics.
    fn info_with(
        indexes: Vec<IndexDefinition>,
        analysed: Option<[f64; 2]>,
        blocks: u32,
    ) -> TableInfo {
        let number = ObjectNo::new(1);
        let mut definition = TableDefinition::new(number, "t", number);
        definition.columns.push(ColumnDefinition::new("a", Type::BigInt, true));
        definition.indexes = indexes;
        let kept = analysed.map(|[rows, blocks]| {
            let gathered = Gathered {
                sampled: rows as u64,
                scn: ids::Scn::ZERO,
                moment: value::Timestamp::MIN,
            };
            let found = TableStatistics { rows, blocks, columns: Vec::new() };
            found.to_kept(BTreeMap::new(), gathered)
        });
        info_of(Arc::new(definition), kept.as_ref(), blocks, 8192)
    }

    #[test]
    fn what_was_found_of_a_handful_of_rows_says_nothing_of_many() {
        let rows = |analysed, blocks| info(analysed, blocks).statistics.rows;
        let guess = rows(None, 500);
        assert!(guess > 10_000.0, "{guess}");
        assert_eq!(rows(Some([0.0, 0.0]), 500), guess);
        assert_eq!(rows(Some([5.0, 1.0]), 500), guess);
        assert_eq!(rows(Some([5.0, 1.0]), 2), 10.0);
        assert_eq!(rows(Some([50_000.0, 100.0]), 500), 250_000.0);
    }

    #[test]
    fn a_column_that_came_after_the_statistics_is_guessed_by_its_index() {
        let number = ObjectNo::new(2);
        let index = IndexDefinition {
            object: number,
            name: "i".into(),
            segment: number,
            columns: vec![IndexColumn::ascending(0)],
            unique: false,
            primary: false,
            since: ids::Scn::ZERO,
        };
        let distinct = |indexes| {
            info_with(indexes, Some([3e6, 10_000.0]), 10_000).statistics.columns[0].distinct
        };
        assert_eq!(distinct(Vec::new()), 200.0);
        assert_eq!(distinct(vec![index]), 1e5);
    }
}
