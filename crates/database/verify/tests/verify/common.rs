//! A small database in which there is everything that a check looks at, and checks of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use access::{Heap, HeapInserter, Index, Inserted, RowAddress};
use format::{BlockHeader, BlockKind, DataHead};
use ids::{Dba, ObjectNo};
use instance::{Creation, Instance, Parameters, Transaction};
use os::{Disk, FileOptions, IoBuf, Session};
use sim::World;
use sim::fs::FileSystem;
use space::Holds;
use stop::Stop;
pub(crate) use testbed::bed::{self, directory};
pub(crate) use testbed::{Dice, machine, racy, run, run_kept};
use verify::{Finding, Kind, Pair, Report, Task};
use waits::WaitEvent;

pub(crate) const DIRECTORY: &str = "/db";
pub(crate) const DATA: &str = "data01.dbf";
pub(crate) const UNDO: &str = "undo01.dbf";
pub(crate) const BLOCK: usize = 2048;
/// Rows of the table.
pub(crate) const ROWS: u32 = 260;

pub(crate) fn creation() -> Creation {
    Creation {
        data_bytes: 120 * BLOCK as u64,
        data_bytes_max: 4_000 * BLOCK as u64,
        data_growth_bytes: 8 * BLOCK as u64,
        undo_bytes: 64 * BLOCK as u64,
        undo_bytes_max: 8_000 * BLOCK as u64,
        undo_growth_bytes: 8 * BLOCK as u64,
        log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        undo_slots: 4,
        ..bed::creation()
    }
}

pub(crate) fn parameters() -> Parameters {
    Parameters { redo_consistency: false, ..bed::parameters(64) }
}

/// A table with an index of its unique keys, and one of keys that many rows have.
#[derive(Clone)]
pub(crate) struct Schema {
    pub(crate) heap: Heap,
    pub(crate) object: ObjectNo,
    pub(crate) unique: Index,
    pub(crate) many: Index,
}

pub(crate) fn key_of(row: &[u8]) -> Option<Vec<u8>> {
    row.get(..4).map(<[u8]>::to_vec)
}

/// Of rows whose number can be divided by seven there is none.
pub(crate) fn many_of(row: &[u8]) -> Option<Vec<u8>> {
    let number = number_of(row);
    (!number.is_multiple_of(7)).then(|| (number % 5).to_le_bytes()[..2].to_vec())
}

fn number_of(row: &[u8]) -> u32 {
    u32::from_le_bytes(row[..4].try_into().expect("a row begins with its number")).swap_bytes()
}

/// Row of this number, with so many bytes.
pub(crate) fn row(number: u32, bytes: usize) -> Vec<u8> {
    let mut row = number.swap_bytes().to_le_bytes().to_vec();
    row.resize(bytes.max(4), number as u8);
    row
}

impl Schema {
    pub(crate) fn make(instance: &Instance, session: &Session) -> Schema {
        let (space, transactions) = (instance.space(), instance.transactions());
        let system = space.tablespaces(session)[0].name.clone();
        let segment = space.create_within(&system, "h", Holds::Table, session).expect("made");
        for unique in [true, false] {
            let name = if unique { "u" } else { "m" };
            Index::create(&system, name, unique, space, transactions, session).expect("made");
        }
        Schema::of(instance, &segment, session)
    }

    pub(crate) fn find(instance: &Instance, session: &Session) -> Schema {
        let segment = instance.space().find("h", session).expect("read").expect("there");
        Schema::of(instance, &segment, session)
    }

    fn of(instance: &Instance, segment: &space::Segment, session: &Session) -> Schema {
        let (space, transactions) = (instance.space(), instance.transactions());
        let open = |name| Index::open(name, space, transactions, session).expect("made before");
        Schema {
            heap: Heap::new(segment, space, transactions, session),
            object: segment.object,
            unique: open("u"),
            many: open("m"),
        }
    }

    /// Inserts a row, and its entries.
    pub(crate) fn insert(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        row: &[u8],
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let at = self.heap.insert(transaction, inserter, row, session)?;
        for (index, key) in [(&self.unique, key_of(row)), (&self.many, many_of(row))] {
            if let Some(key) = key {
                let inserted = index.insert(transaction, &key, at, session)?;
                assert_eq!(inserted, Inserted::Done);
            }
        }
        Ok(at)
    }

    /// Deletes a row, and its entries.
    pub(crate) fn delete(
        &self,
        transaction: &mut Transaction,
        (at, row): (RowAddress, &[u8]),
        session: &Session,
    ) -> Result<(), Stop> {
        self.heap.delete(transaction, at, None, &mut |_| {}, session)?;
        for (index, key) in [(&self.unique, key_of(row)), (&self.many, many_of(row))] {
            if let Some(key) = key {
                assert!(index.delete(transaction, &key, at, session)?);
            }
        }
        Ok(())
    }
}

/// Objects whose pairs are checked: heap, unique index, other index.
pub(crate) type Objects = [ObjectNo; 3];

pub(crate) fn pairs(objects: Objects) -> [Pair<'static>; 2] {
    let [heap, unique, many] = objects;
    [Pair { heap, index: unique, key_of: &key_of }, Pair { heap, index: many, key_of: &many_of }]
}

/// Rows short and long, rows that grew out of their blocks, deleted ones, and a segment's former
/// life.
fn fill(instance: &Instance, session: &Session) -> Objects {
    let schema = Schema::make(instance, session);
    let former = instance.space().create("gone", Holds::Table, session).expect("made");
    let heap = Heap::new(&former, instance.space(), instance.transactions(), session);
    let (mut transaction, mut other) = (Transaction::new(), HeapInserter::default());
    for number in 0..20 {
        heap.insert(&mut transaction, &mut other, &row(number, 300), session).expect("inserted");
    }
    instance.commit(transaction, session).expect("committed");
    instance.space().drop_segment(former.object, session).expect("dropped");
    let (mut inserter, mut all) = (HeapInserter::default(), Vec::new());
    for chunk in 0..ROWS / 20 {
        let mut transaction = Transaction::new();
        for number in chunk * 20..(chunk + 1) * 20 {
            let bytes = if number % 40 == 7 { 5_000 } else { 30 + number as usize % 50 };
            let row = row(number, bytes);
            let at = schema.insert(&mut transaction, &mut inserter, &row, session);
            all.push((at.expect("inserted"), row));
        }
        instance.commit(transaction, session).expect("committed");
    }
    for (number, (at, old)) in all.iter().enumerate().filter(|(number, _)| number % 6 == 1) {
        let mut transaction = Transaction::new();
        if number % 12 == 1 {
            schema.delete(&mut transaction, (*at, old), session).expect("deleted");
        } else {
            let mut grow = |old: &[u8], new: &mut Vec<u8>| {
                new.extend_from_slice(old);
                new.resize(old.len() + 900, 9);
            };
            let (inserter, heap) = (&mut inserter, &schema.heap);
            let changed = heap.update(&mut transaction, inserter, *at, None, &mut grow, session);
            changed.expect("updated");
        }
        match number % 24 {
            1 => instance.rollback(transaction, session).expect("rolled back"),
            _ => instance.commit(transaction, session).expect("committed"),
        }
    }
    [schema.object, schema.unique.segment().object, schema.many.segment().object]
}

/// The database, shut, and whose pairs are to be checked.
pub(crate) fn database() -> (FileSystem, Objects) {
    let make = |instance: &Arc<Instance>, session: &Session| fill(instance, session);
    let (objects, disk) = bed::create(creation(), parameters(), make);
    (disk, objects)
}

/// What came of a check: how it ended, and what it told.
pub(crate) type Checked = (Result<Report, Stop>, Vec<Finding>);

/// Checks the database that is shut.
pub(crate) fn check(disk: &Disk, objects: Option<Objects>, session: &Session) -> Checked {
    let mut told = Vec::new();
    let pairs = objects.map(pairs);
    let pairs = pairs.as_ref().map_or(&[][..], |pairs| &pairs[..]);
    let (tell, go_on) = (&mut |finding: &Finding| told.push(finding.clone()), &mut |_| true);
    let mut task = Task { pairs, told_max: verify::TOLD_MAX, tell, go_on };
    let report = verify::closed(disk, directory(), options(), &mut task, session);
    (report, told)
}

pub(crate) fn options() -> FileOptions {
    FileOptions { direct: false, write_through: false }
}

/// Runs `body` on a machine with the database.
pub(crate) fn with_database<R: Send + 'static>(
    content: FileSystem,
    body: impl FnOnce(&World, &Session) -> R + Send + 'static,
) -> R {
    run(machine(2, content), body)
}

/// How many findings of each kind there are.
/// The findings of each kind, with those that were only counted (VF14).
pub(crate) fn counted(report: &Report) -> BTreeMap<Kind, usize> {
    report.findings.iter().map(|(kind, count)| (*kind, *count as usize)).collect()
}

pub(crate) fn kinds(told: &[Finding]) -> BTreeMap<Kind, usize> {
    let mut kinds = BTreeMap::new();
    told.iter().for_each(|finding| *kinds.entry(finding.kind).or_default() += 1);
    kinds
}

/// Bytes of a file of the database.
pub(crate) fn read(
    disk: &Disk,
    name: &str,
    (at, bytes): (u64, usize),
    session: &Session,
) -> Vec<u8> {
    let file = disk.open(&directory().join(name), options(), session).expect("it is there");
    let mut buffer = IoBuf::zeroed(bytes);
    let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
    file.read_at(at, &mut buffer, waiting).expect("it has so many bytes");
    buffer.to_vec()
}

pub(crate) fn write(disk: &Disk, name: &str, (at, bytes): (u64, &[u8]), session: &Session) {
    let file = disk.open(&directory().join(name), options(), session).expect("it is there");
    let waiting = session.waiting(WaitEvent::DataFileInitWrite);
    file.write_at(at, &IoBuf::copy_of(bytes), waiting).expect("it has so many bytes");
}

pub(crate) fn length(disk: &Disk, name: &str, session: &Session) -> u64 {
    let file = disk.open(&directory().join(name), options(), session).expect("it is there");
    file.length().expect("a file has a length")
}

/// The blocks of a data file, to be changed and put back whole.
pub(crate) struct Blocks {
    name: &'static str,
    file: u16,
    before: Vec<Vec<u8>>,
    pub(crate) now: Vec<Vec<u8>>,
}

impl Blocks {
    pub(crate) fn load(disk: &Disk, name: &'static str, session: &Session) -> Blocks {
        let bytes = length(disk, name, session);
        let all = read(disk, name, (0, bytes as usize), session);
        let before: Vec<Vec<u8>> = all.chunks(BLOCK).map(<[u8]>::to_vec).collect();
        let file = if name == DATA { 1 } else { 2 };
        Blocks { name, file, now: before.clone(), before }
    }

    /// What a block is; none if it was never written.
    pub(crate) fn kind(&self, number: usize) -> Option<BlockKind> {
        let block = &self.before[number];
        block.iter().any(|byte| *byte != 0).then(|| BlockHeader::at(block, 0).kind())
    }

    /// Numbers of the blocks of a kind, of those that aren't of a former life.
    pub(crate) fn all(&self, kind: BlockKind, object: Option<ObjectNo>) -> Vec<usize> {
        let is_it = |number: &usize| {
            let of = DataHead::at(&self.before[*number], DataHead::START).object.get();
            self.kind(*number) == Some(kind) && object.is_none_or(|object| object.get() == of)
        };
        (0..self.before.len()).filter(is_it).collect()
    }

    pub(crate) fn address(&self, number: usize) -> Dba {
        Dba::new(self.file, number as u32)
    }

    /// Puts back what was changed, with the right checksums.
    pub(crate) fn store(mut self, disk: &Disk, session: &Session) {
        for number in 0..self.now.len() {
            if self.now[number] != self.before[number] {
                let address = self.address(number);
                // Zeros stay zeros: a block that was lost has no checksum.
                if self.now[number].iter().any(|byte| *byte != 0) {
                    format::seal(&mut self.now[number], address);
                }
                let at = (number * BLOCK) as u64;
                write(disk, self.name, (at, &self.now[number]), session);
            }
        }
    }
}
