//! After an opening: what must be there, what may be, and what is.
//!
//! A commit that was under way at the crash is there wholly or not at all; which, is seen by what
//! it made of its keys. Commits under way are looked at in the order in which they were called: who
//! changed a key after another had called its commit comes after it.
//!
//! Callers: `bed`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use access::{Heap, RowAddress};
use instance::Instance;
use os::Session;
use sim::Outside;
use stop::Stop;

use super::known::{Key, Known, key_of};
use super::plan::Plan;
use crate::snapshot::{Model, Table};

/// Keys of which nothing is left, and at whose addresses sessions look all the same.
const STALE_MAX: usize = 10;

type Rows = BTreeMap<(Table, Key), Vec<u8>>;

/// Compares what is in a database that was opened with what must be, and goes on from there.
pub(super) fn look(
    (plan, heaps): (&Plan, &[Heap]),
    known: &Outside<Known>,
    instance: &Instance,
    session: &Session,
) -> Result<(), Stop> {
    let through = instance.opened().recovered.end.last_scn.get();
    let transactions = instance.transactions();
    let snapshot = transactions.snapshot(None, session)?;
    let view = transactions.view_of(&snapshot, None);
    let (mut rows, mut places) = (Rows::new(), vec![BTreeMap::new(); heaps.len()]);
    for (table, heap) in heaps.iter().enumerate() {
        for run in heap.runs(session)? {
            for number in 0..run.count {
                let block = ids::Dba::new(run.first.file.get(), run.first.block.get() + number);
                let mut visit = |address: RowAddress, row: &[u8]| {
                    places[table].insert(key_of(row), address);
                    rows.insert((table as Table, key_of(row)), row.to_vec());
                };
                heap.visit_block(view, block, &mut visit, session)?;
            }
        }
    }
    let seen = (view.scn.get(), rows, places);
    known.with(|known| known.opened(plan.nowait, through, seen));
    Ok(())
}

impl Known {
    /// The database was opened, with all redo through this SCN.
    fn opened(
        &mut self,
        nowait: bool,
        through: u64,
        (snapshot, rows, places): (u64, Rows, Vec<BTreeMap<Key, RowAddress>>),
    ) {
        if self.durable > through {
            let durable = self.durable;
            self.finds(format!(
                "a commit at {durable} was told to be durable, and redo ends at {through}"
            ));
        }
        if !nowait && self.seen > through {
            let seen = self.seen;
            self.finds(format!("{seen} was read as of, and redo ends at {through}"));
        }
        if snapshot < through {
            self.finds(format!("redo ends at {through}, and the first snapshot is at {snapshot}"));
        }
        if self.breach.is_some() {
            return;
        }
        let doubt = self.crashed();
        self.model.after_crash(through);
        let mut expected = self.all_at(through, places.len());
        let mut there = 0;
        for (_, changes) in &doubt {
            let differs =
                |place: &(Table, Key), expected: &Rows| rows.get(place) != expected.get(place);
            if !changes.iter().any(|(place, _)| differs(place, &expected)) {
                continue;
            }
            there += 1;
            for (place, row) in changes {
                if differs(place, &expected) {
                    match row {
                        Some(row) => expected.insert(*place, row.clone()),
                        None => expected.remove(place),
                    };
                }
            }
        }
        self.tally.doubt_there += there;
        self.tally.doubt_gone += doubt.len() as u64 - there;
        self.differ(&expected, &rows, through);
        if there > 0 {
            self.anew(&expected, through);
        }
        self.newest = through.max(snapshot);
        (self.durable, self.seen) = (through, through);
        self.move_to(places);
    }

    fn all_at(&self, scn: u64, tables: usize) -> Rows {
        let mut all = Rows::new();
        for table in 0..tables as Table {
            let range = (Bound::Unbounded, Bound::Unbounded);
            let rows = self.model.scan(u64::MAX, scn, table, range);
            all.extend(rows.map(|(key, row)| ((table, key_of(key)), row.to_vec())));
        }
        all
    }

    fn differ(&mut self, expected: &Rows, found: &Rows, through: u64) {
        let keys: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
        let wrong = keys.into_iter().find(|place| expected.get(place) != found.get(place));
        if let Some(place) = wrong {
            let show = |row: Option<&Vec<u8>>| {
                row.map_or("none".to_string(), |row| {
                    format!("write {:?} with {} bytes", &row[4..7], row.len())
                })
            };
            let (table, key) = place;
            let (wanted, is) = (show(expected.get(place)), show(found.get(place)));
            self.finds(format!(
                "opened with redo through {through}: table {table}, key {key} is {is}, not {wanted}"
            ));
        }
    }

    /// A model that begins with these rows.
    fn anew(&mut self, rows: &Rows, scn: u64) {
        self.model = Model::new();
        let txn = self.begin();
        for (place, row) in rows {
            self.wrote(txn, *place, Some(row));
        }
        if let Err(breach) = self.model.commit(txn, scn) {
            self.finds(breach);
        }
    }

    fn move_to(&mut self, places: Vec<BTreeMap<Key, RowAddress>>) {
        let before = std::mem::replace(&mut self.places, places);
        let mut leaving = VecDeque::new();
        for (table, before) in before.into_iter().enumerate() {
            let now = &mut self.places[table];
            let stale: Vec<_> = before
                .into_iter()
                .filter(|(key, _)| !now.contains_key(key))
                .take(STALE_MAX)
                .collect();
            leaving.extend(stale.iter().map(|(key, _)| (table as Table, *key)));
            now.extend(stale);
        }
        self.leaving = leaving;
    }
}
