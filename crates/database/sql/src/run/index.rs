//! Rows of a table by an index: one by its key, or those of ranges, with a look at the rows or by
//! the keys alone.
//!
//! ```text
//!   search ─ values ─▶ range │ range │ …      each: entries of a leaf ─▶ rows ─▶ columns
//!                        └ a whole unique key: the row                   └ or columns of the keys
//! ```
//!
//! Invariants
//!   * no expression runs under a latch: columns are copied out first (rule SQ42)
//!   * between calls it has a position, and no pin and no latch
//!   * an index is found by its identifier at each start (rule SQ31)
//!
//! Callers: `build`.

use expression::{Expression, Rows};
use relation::{Bounds, RangeState, Relation};
use rowsource::{Source, World};
use stop::Stop;

use super::copy::{Copier, KeyCopier};
use super::keys::{Keys, SearchedColumn};
use super::machine::{Env, Running};
use super::pending::{Pending, has_room};
use crate::plan::{IndexScan, KeyPart, Search};

/// An index that was found in its relation.
struct FoundIndex {
    place: usize,
    columns: Vec<SearchedColumn>,
    /// Whether each range of the search is one whole key of a unique index.
    by_key: bool,
}

/// The rows of a table that a search in an index finds.
pub(super) struct IndexRows {
    scan: IndexScan,
    pending: Pending,
    /// The index in its relation, which stays the same as long as the plan runs.
    found: Option<FoundIndex>,
    /// None while it is closed.
    keys: Option<Keys>,
    /// The range that is being read.
    range: Option<RangeState>,
    /// The call in which the range had its view.
    call: u64,
}

impl IndexRows {
    /// The scan of a plan.
    pub(super) fn new(scan: &IndexScan) -> IndexRows {
        IndexRows {
            pending: Pending::new(scan.scan.columns.len()),
            scan: scan.clone(),
            found: None,
            keys: None,
            range: None,
            call: 0,
        }
    }

    /// Reads rows of the present range, or of the next one. Returns false if there is none.
    fn read(&mut self, most: usize, env: &Env<'_>) -> Result<bool, Stop> {
        let keys = self.keys.as_ref().expect("it was started");
        if self.range.is_none() {
            if keys.is_over() {
                return Ok(false);
            }
            if self.found().by_key {
                self.get(env)?;
                self.advance();
                return Ok(true);
            }
            self.begin_range(env)?;
        }
        if !self.read_range(most, env)? {
            self.range = None;
            self.advance();
        }
        Ok(true)
    }

    fn found(&self) -> &FoundIndex {
        self.found.as_ref().expect("it was started")
    }

    fn advance(&mut self) {
        self.keys.as_mut().expect("it was started").advance();
    }

    /// Reads the row with the next key.
    fn get(&mut self, env: &Env<'_>) -> Result<(), Stop> {
        let place = self.found().place;
        let IndexRows { scan, pending, keys, .. } = self;
        let (relation, session) = (&env.relations[scan.scan.table], env.host.session);
        let mut values = Vec::with_capacity(scan.search.equal.len());
        keys.as_ref().expect("it was started").equal(&mut values);
        let mut copier = Copier::new(&scan.scan.columns, pending.refill());
        let mut scratch = env.host.scratch.borrow_mut();
        let mut look = |address, row: value::RowView<'_>| copier.copy(address, &row);
        relation.get(place, &values, env.view, &mut look, &mut scratch, session)?;
        copier.end(&relation.definition().name)
    }

    fn begin_range(&mut self, env: &Env<'_>) -> Result<(), Stop> {
        let relation = &env.relations[self.scan.scan.table];
        let keys = self.keys.as_ref().expect("it was started");
        let mut equal = Vec::with_capacity(self.scan.search.equal.len());
        keys.equal(&mut equal);
        let bounds = Bounds { equal: &equal, from: keys.from(), to: keys.to() };
        let (place, direction) = (self.found().place, self.scan.direction);
        self.range = Some(relation.begin_range(place, &bounds, direction, env.view)?);
        self.call = env.call;
        Ok(())
    }

    /// Reads the next rows of the range. Returns false behind its end.
    fn read_range(&mut self, most: usize, env: &Env<'_>) -> Result<bool, Stop> {
        let IndexRows { scan, pending, range, .. } = self;
        let (relation, session) = (&env.relations[scan.scan.table], env.host.session);
        let mut state = range.take().expect("it was begun").at_most(most);
        if self.call != env.call {
            state.renew(env.view);
            self.call = env.call;
        }
        let state = range.insert(state);
        match &scan.only {
            None => {
                let mut copier = Copier::new(&scan.scan.columns, pending.refill());
                let mut visit = |address, row: value::RowView<'_>| copier.copy(address, &row);
                let read = relation.range_rows_next(state, &mut visit, session);
                copier.end(&relation.definition().name)?;
                read
            }
            Some(places) => {
                let mut copier = KeyCopier::new(places, pending.refill());
                let mut look = |address, key: &[value::Value<'_>]| copier.copy(address, key);
                relation.range_keys_next(state, &mut look, session)
            }
        }
    }
}

impl FoundIndex {
    /// Finds the index of a scan.
    fn of(scan: &IndexScan, relation: &Relation) -> Result<FoundIndex, Stop> {
        let (place, definition) = (relation.place_of(scan.index)?, relation.definition());
        let index = &definition.indexes[place];
        let goes_up = scan.direction == access::Direction::Ascending;
        let column = |of: &relation::IndexColumn| SearchedColumn {
            kind: definition.columns[of.column].kind,
            rises: (of.direction == value::Direction::Ascending) == goes_up,
        };
        let Search { equal, not_null, .. } = &scan.search;
        let is_whole = equal.len() == index.columns.len() && !scan.search.is_bounded() && !not_null;
        let has_null = equal.iter().any(|part| matches!(part, KeyPart::Null));
        let by_key = index.unique && is_whole && !has_null && scan.only.is_none();
        Ok(FoundIndex { place, columns: index.columns.iter().map(column).collect(), by_key })
    }
}

impl<'a> Source<Running<'a>> for IndexRows {
    fn open(&mut self, world: &mut Running<'a>) -> Result<(), Stop> {
        world.reset_arena();
        let found = match &mut self.found {
            Some(found) => found,
            None => {
                let relation = &world.env.relations[self.scan.scan.table];
                self.found.insert(FoundIndex::of(&self.scan, relation)?)
            }
        };
        let keys = Keys::evaluate(&self.scan.search, &found.columns, &world.evaluation())?;
        (self.keys, self.range) = (Some(keys), None);
        self.pending.restart();
        Ok(())
    }

    fn fetch(&mut self, world: &mut Running<'a>, into: &mut Rows) -> Result<bool, Stop> {
        let most = world.batch();
        loop {
            world.check()?;
            let filter: Option<&Expression> = self.scan.scan.filter.as_ref();
            self.pending.give(filter, most, into, world)?;
            if !has_room(into, most) {
                return Ok(true);
            }
            if !self.read(most, world.env)? {
                return Ok(false);
            }
        }
    }

    fn close(&mut self, world: &mut Running<'a>) {
        (self.keys, self.range) = (None, None);
        self.pending.close(world);
    }

    fn width(&self) -> usize {
        self.scan.scan.columns.len()
    }
}
