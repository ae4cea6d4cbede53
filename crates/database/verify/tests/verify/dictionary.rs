//! Databases with a dictionary: tables are held against all their indexes, and what is wrong with
//! the dictionary or its segments is found.

use std::collections::BTreeMap;
use std::sync::Arc;
use txn::block;

use access::RowAddress;
use catalog::{
    Alteration, Catalog, CatalogConfig, ColumnSpec, DICTIONARY_VERSION_FIRST, DefaultSpec,
    DictionaryTable, IndexSpec, SequenceOptions, TableSpec,
};
use format::BlockKind;
use ids::{FileNo, ObjectNo};
use instance::{Instance, Transaction};
use os::{FilesystemIo, Session, ThreadSpec};
use relation::{
    Comparison, Condition, OnDelete, Operand, Relation, Relations, RowChange, Scratch, Selection,
    Work,
};
use sim::World;
use sim::fs::FileSystem;

use sort::SortConfig;
use space::Holds;
use stop::Stop;
use txn::LockWait;
use value::{Type, Value};
use verify::{Finding, Kind, Report, Task};

use crate::common::{
    BLOCK, Blocks, DATA, check, counted, creation, directory, kinds, machine, parameters, racy,
    run, run_kept, with_database,
};

pub(crate) const WAIT: LockWait = LockWait::Forever;
/// Rows of each table.
pub(crate) const ROWS: i64 = 90;

fn text(chars: u16) -> Type {
    Type::varchar(chars).expect("a type")
}

pub(crate) fn config(world: &World) -> CatalogConfig {
    CatalogConfig {
        tablespace: "system".into(),
        disk: world.disk(),
        sort: SortConfig {
            directory: directory().into(),
            area_bytes: sort::SORT_AREA_BYTES_MIN,
            filesystem_io: FilesystemIo::SetAll,
            file: FileNo::new(999),
            budget: None,
        },
    }
}

pub(crate) fn open(world: &World, session: &Session) -> (Arc<Instance>, Arc<Catalog>) {
    let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
    let instance = opened.expect("opened");
    let (space, transactions) = (instance.space(), instance.transactions());
    let catalog = Catalog::open(space, transactions, config(world), session).expect("opened");
    (Arc::new(instance), Arc::new(catalog))
}

pub(crate) fn shut(instance: Arc<Instance>, session: &Session) {
    instance.shutdown(session).expect("shut in good order");
}

/// Tables of the dictionary have no foreign keys: nobody asks.
pub(crate) struct Nobody;

impl Relations for Nobody {
    fn relation(&self, object: ObjectNo, _: &Session) -> Result<Arc<Relation>, Stop> {
        unreachable!("somebody asks for table {object}")
    }
}

/// Works with a transaction, and commits it.
pub(crate) fn transact(
    instance: &Instance,
    relations: &dyn Relations,
    session: &Session,
    body: impl FnOnce(&mut Work<'_>) -> Result<(), Stop>,
) {
    let (mut transaction, mut scratch) = (Transaction::new(), Scratch::default());
    let (transaction_of, scratch) = (&mut transaction, &mut scratch);
    let mut work = Work { transaction: transaction_of, scratch, relations, session };
    body(&mut work).expect("done");
    instance.commit(transaction, session).expect("committed");
}

/// Two tables, of which one refers to the other: with NULLs in unique keys, long rows, rows that
/// grew, a column that was added, indexes that go down and are made late.
fn make(instance: &Instance, catalog: &Catalog, session: &Session) {
    let identity = DefaultSpec::Identity { always: false, options: SequenceOptions::default() };
    let parent = TableSpec::new("parent")
        .column(ColumnSpec { default: identity, ..ColumnSpec::new("id", Type::BigInt) })
        .column(ColumnSpec::new("name", text(40)))
        .column(ColumnSpec::new("code", Type::Integer))
        .column(ColumnSpec::new("notes", text(3_000)))
        .primary_key(["id"])
        .unique(["code", "name"])
        .check(Condition::Compare(
            Operand::Column(2),
            Comparison::GreaterOrEqual,
            Operand::Constant(Value::Int(0).to_owned()),
        ));
    catalog.create_table(&parent, WAIT, session).expect("created");
    let child = TableSpec::new("child")
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("parent", Type::BigInt))
        .primary_key(["id"])
        .foreign_key(["parent"], "parent", OnDelete::Cascade);
    catalog.create_table(&child, WAIT, session).expect("created");
    let parent = catalog.relation("parent", session).expect("there");
    let child = catalog.relation("child", session).expect("there");
    for id in 0..ROWS {
        transact(instance, catalog, session, |work| {
            let name = format!("name {}", id / 3);
            let notes = "n".repeat(if id % 30 == 7 { 2_900 } else { 5 + id as usize % 20 });
            let code = if id % 4 == 1 { Value::Null } else { Value::Int(id) };
            parent
                .insert(work, &[Value::Int(id), Value::Text(&name), code, Value::Text(&notes)])?;
            child.insert(work, &[Value::Int(id), Value::Int(id / 2)]).map(|_| ())
        });
    }
    for id in (0..ROWS).filter(|id| id % 5 == 3) {
        transact(instance, catalog, session, |work| {
            let (key, longer) = ([Value::Int(id)], "m".repeat(1_500));
            let selection = Selection::Key(0, &key);
            match id % 10 {
                3 => child.delete_where(work, selection, None).map(|_| ()),
                _ => {
                    let mut grow = |_: &value::RowView<'_>, row: &mut RowChange<'_>| {
                        row.set(3, Value::Text(&longer))
                    };
                    parent.update_where(work, selection, None, &mut grow).map(|_| ())
                }
            }
        });
    }
    let late = IndexSpec::new("by_name", "parent", ["name", "code"]);
    catalog.create_index(&late, WAIT, session).expect("made");
    let column = ColumnSpec {
        default: DefaultSpec::Constant(Value::Text("new").to_owned()),
        ..ColumnSpec::new("added", text(20))
    };
    let add = Alteration::AddColumn(column);
    catalog.alter_table("parent", &add, WAIT, session).expect("altered");
    let late = IndexSpec::new("by_added", "parent", ["added"]);
    catalog.create_index(&late, WAIT, session).expect("made");
}

/// The database, shut.
pub(crate) fn database() -> FileSystem {
    let ((), disk) = run_kept(machine(1, FileSystem::new(1 << 30)), |world, session| {
        let (disk, parameters) = (world.disk(), parameters());
        Instance::create(&disk, directory(), &creation(), &parameters, session).expect("created");
        let (instance, catalog) = open(world, session);
        make(&instance, &catalog, session);
        drop(catalog);
        shut(instance, session);
    });
    disk
}

/// What is worked with to do damage: an instance without a catalog, which believes what it is told.
pub(crate) struct Damage<'d> {
    pub(crate) instance: &'d Instance,
    pub(crate) session: &'d Session,
}

impl Damage<'_> {
    /// A table of the dictionary.
    pub(crate) fn own(&self, table: DictionaryTable) -> Relation {
        let space = self.instance.space();
        let find = |name: &str| {
            let found = space.find(name, self.session).expect("read");
            found.expect("there is a dictionary").object
        };
        let definition = table.definition(find(table.name()), find(&table.index_name()));
        let transactions = self.instance.transactions();
        Relation::open(Arc::new(definition), space, transactions, self.session).expect("opened")
    }

    /// Rows of it, as numbers and texts.
    pub(crate) fn rows(&self, table: DictionaryTable) -> Vec<Vec<String>> {
        let (own, mut rows) = (self.own(table), Vec::new());
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(None, self.session).expect("taken");
        let view = transactions.view_of(&snapshot, None);
        let mut visit = |_: RowAddress, row: value::RowView<'_>| {
            let mut values = Vec::new();
            row.get_all(&mut values).expect("a row");
            rows.push(values.iter().map(ToString::to_string).collect());
        };
        own.scan(view, &mut visit, self.session).expect("read");
        rows
    }

    /// The number of a table or an index, and its segment.
    fn number(&self, table: DictionaryTable, name: &str) -> (i64, i64) {
        let (name_at, segment_at) = if table == DictionaryTable::Tables { (1, 2) } else { (3, 4) };
        let rows = self.rows(table);
        let row = rows.iter().find(|row| row[name_at].trim_matches('\'') == name);
        let row = row.unwrap_or_else(|| panic!("no {name} in {rows:?}"));
        let number = |at: usize| row[at].parse().expect("a number");
        (number(0), number(segment_at))
    }

    pub(crate) fn table(&self, name: &str) -> (i64, i64) {
        self.number(DictionaryTable::Tables, name)
    }

    pub(crate) fn index(&self, name: &str) -> (i64, i64) {
        self.number(DictionaryTable::Indexes, name)
    }

    pub(crate) fn delete(&self, table: DictionaryTable, key: &[i64]) {
        let key: Vec<Value<'_>> = key.iter().map(|int| Value::Int(*int)).collect();
        let own = self.own(table);
        transact(self.instance, &Nobody, self.session, |work| {
            let deleted = own.delete_where(work, Selection::Key(0, &key), None)?;
            assert_eq!(deleted, 1, "{} has {key:?}", table.name());
            Ok(())
        });
    }

    pub(crate) fn set(
        &self,
        table: DictionaryTable,
        key: &[i64],
        (column, value): (usize, Value<'_>),
    ) {
        let key: Vec<Value<'_>> = key.iter().map(|int| Value::Int(*int)).collect();
        let own = self.own(table);
        transact(self.instance, &Nobody, self.session, |work| {
            let mut change =
                |_: &value::RowView<'_>, row: &mut RowChange<'_>| row.set(column, value);
            let changed = own.update_where(work, Selection::Key(0, &key), None, &mut change)?;
            assert_eq!(changed, 1, "{} has {key:?}", table.name());
            Ok(())
        });
    }

    pub(crate) fn drop(&self, segment: i64) {
        let segment = ObjectNo::new(segment.try_into().expect("a number"));
        self.instance.space().drop_segment(segment, self.session).expect("dropped");
    }

    fn make_segment(&self, name: &str, holds: Holds) -> i64 {
        let made = self.instance.space().create(name, holds, self.session);
        made.expect("made").object.get().into()
    }
}

/// What is found in the database when damage was done to it, shut and, the same, open.
pub(crate) fn found_after(
    damage: impl Fn(&Damage<'_>) + Send + Sync + 'static,
) -> BTreeMap<Kind, usize> {
    found_in(database(), damage)
}

/// What is found in this database when damage was done to it.
pub(crate) fn found_in(
    database: FileSystem,
    damage: impl Fn(&Damage<'_>) + Send + Sync + 'static,
) -> BTreeMap<Kind, usize> {
    with_database(database, move |world, session| {
        let open = || {
            let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
            opened.expect("opened")
        };
        let instance = open();
        damage(&Damage { instance: &instance, session });
        instance.shutdown(session).expect("shut in good order");
        drop(instance);
        let (report, told) = check(&world.disk(), None, session);
        let report = report.expect("checked");
        assert_eq!(report.count(), told.len() as u64 + report.untold.values().sum::<u64>());
        told.iter().for_each(|finding| println!("{finding}"));
        let instance = open();
        let (live, told) = check_open(&instance, session);
        instance.shutdown(session).expect("shut in good order");
        // Who has it open may be making it.
        let but_orphans = |report: &Report| {
            let mut kinds = counted(report);
            kinds.remove(&Kind::Orphan);
            kinds
        };
        assert_eq!(but_orphans(&live), but_orphans(&report), "{told:?}");
        counted(&report)
    })
}

pub(crate) fn check_open(instance: &Instance, session: &Session) -> (Report, Vec<Finding>) {
    let mut told = Vec::new();
    let (tell, go_on) = (&mut |finding: &Finding| told.push(finding.clone()), &mut |_| true);
    let mut task = Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on };
    let report = verify::open(instance, &mut task, session).expect("checked");
    (report, told)
}

pub(crate) fn only(kind: Kind, count: usize) -> BTreeMap<Kind, usize> {
    [(kind, count)].into()
}

#[test]
fn tables_are_held_against_all_their_indexes_without_being_opened() {
    let disk = database();
    let hash = disk.image_hash();
    let ((report, told), after) = run_kept(machine(2, disk), |world, session| {
        let (report, told) = check(&world.disk(), None, session);
        (report.expect("checked"), told)
    });
    assert_eq!((told, report.is_clean()), (vec![], true), "{report}");
    // Seven of the dictionary, four of `parent`, two of `child`.
    assert_eq!(report.compared, 13, "{report}");
    assert_eq!(after.image_hash(), hash, "nothing is written");
}

#[test]
fn a_row_without_entry_and_an_entry_without_row_are_found() {
    let of_table = |damage: &Damage<'_>, name: &str| {
        let (_, segment) = damage.table(name);
        let found = damage
            .instance
            .space()
            .segment(ObjectNo::new(segment.try_into().expect("a number")), damage.session);
        let (space, transactions) = (damage.instance.space(), damage.instance.transactions());
        let segment = found.expect("read").expect("there");
        access::Heap::new(&segment, space, transactions, damage.session)
    };
    let found = found_after(move |damage| {
        let (heap, instance) = (of_table(damage, "parent"), damage.instance);
        let mut all = Vec::new();
        let transactions = instance.transactions();
        let snapshot = transactions.snapshot(None, damage.session).expect("taken");
        let view = transactions.view_of(&snapshot, None);
        let mut each = |block| {
            let visit = &mut |at: RowAddress, _: &[u8]| all.push(at);
            heap.visit_block(view, block, visit, damage.session).map(|_| true)
        };
        heap.through_cache(&mut each, damage.session).expect("read");
        drop(snapshot);
        let mut transaction = Transaction::new();
        heap.delete(&mut transaction, all[3], None, &mut |_| {}, damage.session).expect("deleted");
        instance.commit(transaction, damage.session).expect("committed");
    });
    assert_eq!(found, only(Kind::EntryWithoutRow, 4), "one for each index");
    let found = found_after(move |damage| {
        let heap = of_table(damage, "child");
        let (mut transaction, mut inserter) = (Transaction::new(), access::HeapInserter::default());
        let mut row = Vec::new();
        let values = [Value::Int(10_000), Value::Null];
        value::RowLayout::new(&[Type::BigInt, Type::BigInt])
            .encode(&values, &mut row)
            .expect("a row");
        let session = damage.session;
        heap.insert(&mut transaction, &mut inserter, &row, session).expect("inserted");
        damage.instance.commit(transaction, session).expect("committed");
    });
    assert_eq!(found, only(Kind::RowWithoutEntry, 2), "one for each index");
    for bytes in [&[1_u8, 2, 3][..], &[0, 0, 0][..]] {
        let found = found_after(move |damage| {
            let heap = of_table(damage, "child");
            let (mut transaction, mut inserter) =
                (Transaction::new(), access::HeapInserter::default());
            let session = damage.session;
            heap.insert(&mut transaction, &mut inserter, bytes, session).expect("inserted");
            damage.instance.commit(transaction, session).expect("committed");
        });
        assert_eq!(found, only(Kind::Row, 1), "{bytes:?}");
    }
}

#[test]
fn an_index_whose_definition_is_another_is_found_not_to_agree() {
    // Descending, where it was built ascending: each row's entry is another.
    let found = found_after(|damage| {
        let (index, _) = damage.index("by_name");
        let key = [index, 1];
        damage.set(DictionaryTable::IndexColumns, &key, (3, Value::Boolean(true)));
    });
    // But those of NULL, whose place was said by itself.
    let others = (0..ROWS).filter(|id| id % 4 != 1).count();
    let expected = [(Kind::EntryWithoutRow, others), (Kind::RowWithoutEntry, others)];
    assert_eq!(found, expected.into());
}

#[test]
fn parts_of_nothing_and_gaps_are_found() {
    use DictionaryTable::{Columns, Constraints, IndexColumns, Indexes, Tables};
    // Five columns, four indexes, a CHECK; the child's foreign key refers to it, and it to nothing.
    let found = found_after(|damage| damage.delete(Tables, &[damage.table("parent").0]));
    assert_eq!(found, only(Kind::Dictionary, 5 + 4 + 1 + 1));
    let found = found_after(|damage| damage.delete(Columns, &[damage.table("parent").0, 1]));
    // A gap; columns of three indexes; three of them can't be compared, and nothing is said of it.
    assert_eq!(found, only(Kind::Dictionary, 1 + 2));
    let found = found_after(|damage| damage.delete(Indexes, &[damage.index("by_name").0]));
    // Two columns of no index, and the place of the next one.
    assert_eq!(found, only(Kind::Dictionary, 3));
    let found = found_after(|damage| damage.delete(IndexColumns, &[damage.index("by_name").0, 0]));
    assert_eq!(found, only(Kind::Dictionary, 1));
    let found = found_after(|damage| damage.delete(IndexColumns, &[damage.index("by_added").0, 0]));
    // It has no columns, so its table can't be read.
    assert_eq!(found, only(Kind::Dictionary, 1));
    // A column of no constraint.
    let found = found_after(|damage| damage.delete(Constraints, &[damage.table("child").0, 0]));
    assert_eq!(found, only(Kind::Dictionary, 1));
}

#[test]
fn references_to_nothing_are_found() {
    use DictionaryTable::{Columns, ConstraintColumns, Constraints, IndexColumns, Sequences};
    let nothing = || Value::Int(4_711);
    let found = found_after(move |damage| {
        let key = [damage.index("by_name").0, 1];
        damage.set(IndexColumns, &key, (2, nothing()));
    });
    assert_eq!(found, only(Kind::Dictionary, 1));
    for column in [4, 5, 6] {
        let found = found_after(move |damage| {
            let key = [damage.table("child").0, 0];
            damage.set(Constraints, &key, (column, nothing()));
        });
        assert_eq!(found, only(Kind::Dictionary, 1), "column {column}");
    }
    for column in [3, 4] {
        let found = found_after(move |damage| {
            let key = [damage.table("child").0, 0, 0];
            damage.set(ConstraintColumns, &key, (column, nothing()));
        });
        assert_eq!(found, only(Kind::Dictionary, 1), "column {column}");
    }
    let found = found_after(|damage| {
        let rows = damage.rows(Sequences);
        damage.delete(Sequences, &[rows[0][0].parse().expect("a number")]);
    });
    assert_eq!(found, only(Kind::Dictionary, 1));
    let found = found_after(|damage| {
        let key = [damage.table("parent").0, 2];
        damage.set(Columns, &key, (3, Value::Bytes(&[255; 4])));
    });
    assert_eq!(found, only(Kind::Dictionary, 1), "a type that isn't");
}

#[test]
fn names_and_segments_that_are_there_twice_are_found() {
    use DictionaryTable::{Indexes, Tables};
    let found = found_after(|damage| {
        damage.set(Tables, &[damage.table("child").0], (1, Value::Text("parent")));
    });
    assert_eq!(found, only(Kind::Dictionary, 1));
    let found = found_after(|damage| {
        let (index, _) = damage.index("by_name");
        damage.set(Indexes, &[index], (3, Value::Text("by_added")));
    });
    assert_eq!(found, only(Kind::Dictionary, 1));
    let found = found_after(|damage| {
        let (one, other) = (damage.index("by_name"), damage.index("by_added"));
        damage.set(Indexes, &[one.0], (4, Value::Int(other.1)));
    });
    assert_eq!(found[&Kind::Dictionary], 1);
    assert_eq!(found[&Kind::EntryWithoutRow], ROWS as usize, "of the other one");
}

#[test]
fn segments_that_are_missing_and_segments_of_nobody_are_found() {
    let found = found_after(|damage| damage.drop(damage.index("by_name").1));
    assert_eq!(found, only(Kind::Missing, 1));
    let found = found_after(|damage| damage.drop(damage.table("child").1));
    assert_eq!(found, only(Kind::Missing, 1));
    let found = found_after(|damage| {
        damage.make_segment("#", Holds::Table);
        damage.make_segment("its own", Holds::Table);
    });
    assert_eq!(found, only(Kind::Orphan, 1), "what isn't the catalog's is nobody's business");
    let found = found_after(|damage| {
        let segment = damage.make_segment("#", Holds::Index);
        let (index, _) = damage.index("by_name");
        damage.set(DictionaryTable::Indexes, &[index], (4, Value::Int(segment)));
    });
    // The old one is nobody's now, and the new one has no root.
    let expected = [(Kind::Orphan, 1), (Kind::Index, 1)];
    let found: Vec<_> = found.into_iter().collect();
    assert!(expected.iter().all(|one| found.contains(one)) && found.len() == 2, "{found:?}");
}

#[test]
fn a_dictionary_that_is_not_all_there_is_found() {
    for table in DictionaryTable::of(DICTIONARY_VERSION_FIRST) {
        for name in [table.name().to_string(), table.index_name()] {
            let found = found_after(move |damage| {
                let found = damage.instance.space().find(&name, damage.session);
                damage.drop(found.expect("read").expect("there").object.get().into());
            });
            assert_eq!(found, only(Kind::Dictionary, 1));
        }
    }
    // Nor is a new one made where there are tables.
    with_database(database(), |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        let instance = opened.expect("opened");
        let damage = Damage { instance: &instance, session };
        let last = instance.space().find("_sequences_key", session).expect("read");
        damage.drop(last.expect("there").object.get().into());
        let (space, transactions) = (instance.space(), instance.transactions());
        let refused =
            Catalog::open(space, transactions, config(world), session).err().expect("refused");
        assert_eq!(refused.refusal(), Some(stop::RefusalKind::Corrupt), "{refused}");
        instance.abort(session);
    });
}

#[test]
fn of_a_dictionary_that_cannot_be_read_nothing_else_is_said() {
    let told = with_database(database(), |world, session| {
        let disk = world.disk();
        let opened = Instance::open(&disk, directory(), &parameters(), session).expect("opened");
        let columns = opened.space().find("_columns", session).expect("read").expect("there");
        opened.shutdown(session).expect("shut in good order");
        drop(opened);
        let blocks = Blocks::load(&disk, DATA, session);
        let heap = blocks.all(BlockKind::Heap, Some(columns.object))[0];
        let at = (heap * BLOCK + 700) as u64;
        let byte = crate::common::read(&disk, DATA, (at, 1), session)[0];
        crate::common::write(&disk, DATA, (at, &[byte ^ 1]), session);
        check(&disk, None, session).1
    });
    let expected: BTreeMap<_, _> = [(Kind::Block, 1), (Kind::Dictionary, 1)].into();
    assert_eq!(kinds(&told), expected, "{told:?}");
}

/// Whatever a row of the dictionary says, the check comes to its end; mostly something is found.
#[test]
fn whatever_the_dictionary_says_the_check_comes_to_its_end() {
    let (found, flips) = with_database(database(), |world, session| {
        let disk = world.disk();
        let opened = Instance::open(&disk, directory(), &parameters(), session).expect("opened");
        let find = |name: &str| opened.space().find(name, session).expect("read").expect("there");
        let own = DictionaryTable::of(DICTIONARY_VERSION_FIRST).iter();
        let own: Vec<_> = own.map(|table| find(table.name())).collect();
        opened.shutdown(session).expect("shut in good order");
        drop(opened);
        let whole = Blocks::load(&disk, DATA, session);
        let (mut found, mut flips) = (0, 0);
        for segment in own {
            let number = whole.all(BlockKind::Heap, Some(segment.object))[0];
            let used = block::directory(&whole.now[number]).iter().map(|slot| slot.at.get());
            let from = used.filter(|at| *at > 0).min().expect("there are rows");
            for place in usize::from(from)..BLOCK {
                let mut blocks = Blocks::load(&disk, DATA, session);
                blocks.now[number][place] ^= 1 << (place % 8);
                blocks.store(&disk, session);
                let (report, told) = check(&disk, None, session);
                report.expect("checked");
                (found, flips) = (found + u64::from(!told.is_empty()), flips + 1);
                let at = (number * BLOCK) as u64;
                crate::common::write(&disk, DATA, (at, &whole.now[number]), session);
            }
        }
        (found, flips)
    });
    println!("{found} of {flips} flipped bits of rows of the dictionary are found");
    assert!(found * 10 > flips * 6, "{found} of {flips}");
}

#[test]
fn a_pair_that_is_not_there_is_found_and_not_skipped() {
    let told = with_database(database(), |world, session| {
        let mut told = Vec::new();
        let (tell, go_on) = (&mut |finding: &Finding| told.push(finding.clone()), &mut |_| true);
        let key_of = &|_: &[u8]| None;
        let (heap, index) = (ObjectNo::new(4_711), ObjectNo::new(4_712));
        let pairs = [verify::Pair { heap, index, key_of }];
        let mut task = Task { pairs: &pairs, told_max: verify::TOLD_MAX, tell, go_on };
        verify::closed(&world.disk(), directory(), crate::common::options(), &mut task, session)
            .expect("checked");
        told
    });
    assert_eq!(kinds(&told), only(Kind::Missing, 2), "{told:?}");
}

/// Beside sessions that change rows, and one that makes, alters, truncates and drops tables and
/// indexes, there is no false alarm.
#[test]
fn there_is_no_false_alarm_while_definitions_change() {
    let disk = database();
    let mut compared = 0;
    for seed in 0..6 {
        compared += run(racy(seed, disk.clone()), move |world, session| {
            let (instance, catalog) = open(world, session);
            let rows = {
                let (instance, catalog) = (Arc::clone(&instance), Arc::clone(&catalog));
                let body = move |session: &Session| change_rows(&instance, &catalog, session);
                session.spawn(ThreadSpec::foreground("rows"), body).expect("started")
            };
            let definitions = {
                let (instance, catalog) = (Arc::clone(&instance), Arc::clone(&catalog));
                let body =
                    move |session: &Session| change_definitions(&instance, &catalog, session);
                session.spawn(ThreadSpec::foreground("definitions"), body).expect("started")
            };
            let mut compared = 0;
            for _ in 0..5 {
                let (report, told) = check_open(&instance, session);
                assert_eq!(told, [], "seed {seed}");
                compared += report.compared;
            }
            for thread in [rows, definitions] {
                assert!(thread.join(session).is_ok(), "it worked");
            }
            let (report, told) = check_open(&instance, session);
            assert_eq!((told, report.unsettled), (vec![], 0), "seed {seed}");
            drop(catalog);
            shut(instance, session);
            let (report, told) = check(&world.disk(), None, session);
            assert_eq!(told, [], "seed {seed}");
            assert!(report.expect("checked").is_clean());
            compared
        });
    }
    println!("{compared} comparisons beside work");
    assert!(compared > 6 * 5 * 8, "only {compared} comparisons");
}

fn change_rows(instance: &Instance, catalog: &Catalog, session: &Session) {
    let child = catalog.relation("child", session).expect("there");
    for round in 0..120 {
        let (id, parent) = (Value::Int(1_000 + round), Value::Int(round % 20));
        transact(instance, catalog, session, |work| child.insert(work, &[id, parent]).map(|_| ()));
        if round % 3 == 1 {
            transact(instance, catalog, session, |work| {
                let key = [Value::Int(1_000 + round / 2)];
                child.delete_where(work, Selection::Key(0, &key), None).map(|_| ())
            });
        }
    }
}

fn change_definitions(instance: &Instance, catalog: &Catalog, session: &Session) {
    for round in 0..6 {
        let name = format!("t{round}");
        let spec = TableSpec::new(&name)
            .column(ColumnSpec::new("id", Type::BigInt).not_null())
            .primary_key(["id"]);
        catalog.create_table(&spec, WAIT, session).expect("created");
        let made = catalog.relation(&name, session).expect("there");
        for id in 0..10 {
            let row = [Value::Int(id)];
            transact(instance, catalog, session, |work| made.insert(work, &row).map(|_| ()));
        }
        let column = ColumnSpec {
            default: DefaultSpec::Constant(Value::Int(7).to_owned()),
            ..ColumnSpec::new("more", Type::BigInt)
        };
        let add = Alteration::AddColumn(column);
        catalog.alter_table(&name, &add, WAIT, session).expect("altered");
        let index = IndexSpec::new(&format!("i{round}"), &name, ["more", "id"]);
        catalog.create_index(&index, WAIT, session).expect("made");
        let made = catalog.relation(&name, session).expect("there");
        let row = [Value::Int(100), Value::Null];
        transact(instance, catalog, session, |work| made.insert(work, &row).map(|_| ()));
        match round % 3 {
            0 => catalog.drop_table(&name, false, WAIT, session).expect("dropped"),
            1 => catalog.truncate_table(&name, WAIT, session).expect("truncated"),
            _ => catalog.drop_index(&format!("i{round}"), WAIT, session).expect("dropped"),
        }
    }
}

/// A table to which another refers is emptied or dropped between the look at its tree and that at
/// foreign keys: the check comes to its end.
#[test]
fn a_table_that_is_referred_to_may_go_meanwhile() {
    let disk = database();
    let run = move |drops: bool, at: u32| {
        with_database(disk.clone(), move |world, session| {
            let (instance, catalog) = open(world, session);
            let table = |name| {
                let id = ColumnSpec::new("id", Type::BigInt);
                TableSpec::new(name).column(id).primary_key(["id"])
            };
            catalog.create_table(&table("p"), WAIT, session).expect("created");
            let child = table("c").foreign_key(["id"], "p", OnDelete::NoAction);
            catalog.create_table(&child, WAIT, session).expect("created");
            // Long enough that the check tells how far it is while it is at this one.
            let long = table("long").column(ColumnSpec::new("text", text(2_000)));
            catalog.create_table(&long, WAIT, session).expect("created");
            let relation = catalog.relation("long", session).expect("there");
            let words = "x".repeat(1_500);
            for id in 0..600 {
                transact(&instance, &*catalog, session, |work| {
                    relation.insert(work, &[Value::Int(id), Value::Text(&words)]).map(|_| ())
                });
            }
            let (mut told, mut calls) = (Vec::new(), 0);
            let mut go_on = |_| {
                calls += 1;
                match (calls == at, drops) {
                    (false, _) => {}
                    (true, true) => catalog.drop_table("p", true, WAIT, session).expect("dropped"),
                    (true, false) => catalog.truncate_table("p", WAIT, session).expect("emptied"),
                }
                true
            };
            let tell = &mut |finding: &Finding| told.push(finding.clone());
            let mut task = Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut go_on };
            let ended = verify::open(&instance, &mut task, session);
            assert_eq!(ended.map(|_| ()).map_err(|stop| stop.to_string()), Ok(()), "at {at}");
            assert_eq!(told, []);
            instance.abort(session);
            calls
        })
    };
    let calls = run(false, 0);
    for at in calls - 2..=calls {
        run(false, at);
        run(true, at);
    }
}
