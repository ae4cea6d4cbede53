//! Rows that are in order by themselves, and against which the dictionary speaks: values that their
//! columns can't hold, CHECKs, foreign keys, sequences of identity columns.

use std::sync::Arc;

use access::RowAddress;
use catalog::{DICTIONARY_VERSION_FIRST, DictionaryCheck, DictionaryTable};
use format::{BlockHeader, BlockKind, DataHead};
use ids::{ObjectNo, Scn};
use instance::Transaction;
use relation::{Relation, RowChange, Selection, TableDefinition};
use space::ControlFile;
use value::{RowLayout, Value};
use verify::{Finding, Kind};

use crate::common::{Blocks, DATA, check, directory, kinds, parameters, with_database};
use crate::dictionary::{Damage, Nobody, ROWS, check_open, database, found_after, only, transact};

impl Damage<'_> {
    /// What the dictionary says that a table is.
    fn definition(&self, name: &str) -> TableDefinition {
        let mut look = DictionaryCheck::default();
        let transactions = self.instance.transactions();
        let snapshot = transactions.snapshot(None, self.session).expect("taken");
        let view = transactions.view_of(&snapshot, None);
        for table in DictionaryTable::of(DICTIONARY_VERSION_FIRST) {
            let own = self.own(*table);
            let mut visit = |at: RowAddress, row: value::RowView<'_>| {
                look.add(*table, own.layout(), at, row.bytes());
            };
            own.scan(view, &mut visit, self.session).expect("read");
        }
        let mut tables = look.finish().tables.into_iter();
        tables.find(|table| table.name == name).expect("there")
    }

    /// A table without its constraints, so that rows can break them; its indexes are kept.
    fn without_constraints(&self, name: &str) -> Relation {
        let mut table = self.definition(name);
        table.checks.clear();
        table.foreign_keys.clear();
        table.referenced_by.clear();
        let space = self.instance.space();
        let transactions = self.instance.transactions();
        Relation::open(Arc::new(table), space, transactions, self.session).expect("opened")
    }

    /// Puts a row's bytes into a table, past everything that looks at them.
    fn put(&self, name: &str, bytes: impl Fn(&RowLayout) -> Vec<u8>) {
        let table = self.without_constraints(name);
        let (mut transaction, mut inserter) = (Transaction::new(), access::HeapInserter::default());
        let bytes = bytes(table.layout());
        let heap = table.heap();
        heap.insert(&mut transaction, &mut inserter, &bytes, self.session).expect("inserted");
        self.instance.commit(transaction, self.session).expect("committed");
    }

    fn delete_rows(&self, name: &str, keys: &[i64]) {
        let table = self.without_constraints(name);
        for key in keys {
            let key = [Value::Int(*key)];
            transact(self.instance, &Nobody, self.session, |work| {
                let deleted = table.delete_where(work, Selection::Key(0, &key), None)?;
                assert_eq!(deleted, 1, "{name} has {key:?}");
                Ok(())
            });
        }
    }

    fn set_row(&self, name: &str, key: i64, (column, value): (usize, Value<'_>)) {
        let table = self.without_constraints(name);
        transact(self.instance, &Nobody, self.session, |work| {
            let mut change =
                |_: &value::RowView<'_>, row: &mut RowChange<'_>| row.set(column, value);
            let selection = Selection::Key(0, &[Value::Int(key)]);
            assert_eq!(table.update_where(work, selection, None, &mut change)?, 1, "{name} {key}");
            Ok(())
        });
    }
}

#[test]
fn rows_that_refer_to_nothing_are_found_once_for_each_key() {
    // Two rows refer to 40, 80 and 81; one to 41, since 83 was deleted.
    let found = found_after(|damage| damage.delete_rows("parent", &[40, 41]));
    assert_eq!(found, only(Kind::ForeignKey, 2));
    let found = found_after(|damage| damage.set_row("child", 7, (1, Value::Int(4_711))));
    assert_eq!(found, only(Kind::ForeignKey, 1));
    let found = found_after(|damage| damage.set_row("child", 7, (1, Value::Null)));
    assert_eq!(found, [].into(), "NULL refers to nothing, and may");
}

#[test]
fn a_row_that_breaks_a_check_is_found_and_its_keys_are_still_compared() {
    let found = found_after(|damage| damage.set_row("parent", 5, (2, Value::Int(-1))));
    assert_eq!(found, only(Kind::Check, 1));
    let found = found_after(|damage| damage.set_row("parent", 5, (2, Value::Null)));
    assert_eq!(found, [].into(), "unknown is no reason to refuse");
}

#[test]
fn a_text_longer_than_its_column_and_another_form_of_a_row_are_found() {
    let long = "x".repeat(41);
    let found = found_after(move |damage| {
        damage.put("parent", |layout| {
            let row = [Value::Int(1_000), Value::Text(&long), Value::Null, Value::Null];
            let mut bytes = Vec::new();
            layout.encode(&row, &mut bytes).expect("encoded");
            bytes
        });
    });
    assert_eq!(found, only(Kind::Row, 1));
    let found = found_after(|damage| {
        damage.put("child", |layout| {
            let mut bytes = Vec::new();
            layout.encode(&[Value::Int(1_000), Value::Null], &mut bytes).expect("encoded");
            // A NULL's place is zeros.
            bytes[10] = 1;
            bytes
        });
    });
    assert_eq!(found, only(Kind::Row, 1));
}

#[test]
fn a_sequence_behind_the_rows_that_it_numbers_is_found() {
    let always = |damage: &Damage<'_>, next: i64| {
        let key = [damage.table("parent").0, 0];
        damage.set(DictionaryTable::Columns, &key, (7, Value::Boolean(true)));
        let sequences = damage.rows(DictionaryTable::Sequences);
        let key = [sequences[0][0].parse().expect("a number")];
        damage.set(DictionaryTable::Sequences, &key, (8, Value::Int(next)));
    };
    let found = found_after(move |damage| always(damage, ROWS - 1));
    assert_eq!(found, only(Kind::Sequence, 1));
    let found = found_after(move |damage| always(damage, ROWS));
    assert_eq!(found, [].into());
}

#[test]
fn a_check_and_a_foreign_key_whose_columns_cannot_be_are_found() {
    use DictionaryTable::{Columns, ConstraintColumns, Constraints};
    // Column 99 = column 99.
    let found = found_after(|damage| {
        let (key, condition) = ([damage.table("parent").0, 0], [1, 0, 1, 99, 0, 1, 99, 0]);
        damage.set(Constraints, &key, (3, Value::Bytes(&condition)));
    });
    assert_eq!(found, only(Kind::Dictionary, 1));
    let found = found_after(|damage| {
        let key = [damage.table("child").0, 0, 0];
        damage.set(ConstraintColumns, &key, (3, Value::Int(0)));
    });
    assert_eq!(found, only(Kind::Dictionary, 1), "no index begins with it");
    let found = found_after(|damage| {
        let key = [damage.table("child").0, 0, 0];
        damage.set(ConstraintColumns, &key, (4, Value::Int(2)));
    });
    assert_eq!(found, only(Kind::Dictionary, 1), "the index is of another column");
    let found = found_after(|damage| {
        let key = [damage.table("parent").0, 2];
        damage.set(Columns, &key, (2, Value::Text("#2")));
    });
    assert_eq!(found[&Kind::Dictionary], 1, "the column of a CHECK was dropped");
}

/// What is found after a change, below everything, of the parent table's first block of a kind:
/// the same while the database is shut and while it is open.
fn told_after(kind: BlockKind, change: fn(&mut Blocks, usize)) -> Vec<Finding> {
    let (told, live) = told_shut_and_open(kind, change);
    assert_eq!(kinds(&live), kinds(&told), "{live:?}");
    told
}

/// The same, while it is shut and while it is open. The change gets the data file's blocks and that
/// block's number. The database was shut in good order.
fn told_shut_and_open(
    kind: BlockKind,
    change: fn(&mut Blocks, usize),
) -> (Vec<Finding>, Vec<Finding>) {
    with_database(database(), move |world, session| {
        let disk = world.disk();
        let opened = instance::Instance::open(&disk, directory(), &parameters(), session);
        let opened = opened.expect("opened");
        let parent = Damage { instance: &opened, session }.table("parent").1;
        opened.shutdown(session).expect("shut in good order");
        drop(opened);
        let parent = ObjectNo::new(parent.try_into().expect("a number"));
        let mut blocks = Blocks::load(&disk, DATA, session);
        let at = blocks.all(kind, Some(parent))[0];
        change(&mut blocks, at);
        blocks.store(&disk, session);
        let told = check(&disk, None, session).1;
        let opened = instance::Instance::open(&disk, directory(), &parameters(), session);
        let opened = opened.expect("opened");
        let (_, live) = check_open(&opened, session);
        opened.abort(session);
        (told, live)
    })
}

/// A zeroed block looks as one does that was handed out and never used; and the rows that it had
/// are not a matter of the indexes, which would agree again if they were made anew.
#[test]
fn a_block_of_rows_that_is_zeros_now_is_found_and_indexes_are_not_blamed() {
    let told = told_after(BlockKind::Heap, |blocks, at| blocks.now[at].fill(0));
    let mut found = kinds(&told);
    // Rows that had a piece there are cut.
    found.remove(&Kind::Chain);
    assert_eq!(found, only(Kind::Emptied, 1), "{told:?}");
}

/// A map of free space is formatted in the step that hands it out, so zeros there are damage too.
#[test]
fn a_map_of_free_space_that_is_zeros_now_is_found() {
    let told = told_after(BlockKind::FreeMap, |blocks, at| blocks.now[at].fill(0));
    assert_eq!(kinds(&told), only(Kind::Structure, 1), "{told:?}");
}

#[test]
fn a_block_that_names_another_blocks_place_in_a_map_is_found() {
    let told = told_after(BlockKind::Heap, |blocks, at| {
        let head = DataHead::at_mut(&mut blocks.now[at], DataHead::START);
        head.own = format::U16Le::new(head.own.get() + 1);
    });
    assert_eq!(kinds(&told), only(Kind::Structure, 1), "{told:?}");
}

/// No block was changed after the last change that redo and control file know of: one finding says
/// it of all blocks of the file. Who has it open can't tell, for changes go on.
#[test]
fn blocks_that_were_changed_after_all_redo_are_found() {
    const AHEAD: Scn = Scn::new(1 << 40);
    let stamp = |blocks: &mut Blocks, at: usize| {
        BlockHeader::of_mut(&mut blocks.now[at]).stamp(AHEAD, 1);
    };
    let (told, live) = told_shut_and_open(BlockKind::Heap, stamp);
    assert_eq!(kinds(&told), only(Kind::Ahead, 1), "{told:?}");
    assert!(told[0].what.contains(&AHEAD.to_string()), "{told:?}");
    assert_eq!(kinds(&live), [].into(), "{live:?}");
    let (told, _) = told_shut_and_open(BlockKind::Heap, |blocks, _| {
        for at in blocks.all(BlockKind::Leaf, None).into_iter().take(3) {
            BlockHeader::of_mut(&mut blocks.now[at]).stamp(AHEAD, 1);
        }
    });
    assert_eq!(kinds(&told), only(Kind::Ahead, 1), "{told:?}");
    assert!(told[0].what.contains("2 more of the file"), "{told:?}");
}

/// The smallest that a block can be ahead: by one change, of a database that was shut.
#[test]
fn a_block_that_is_one_change_ahead_of_all_redo_is_found() {
    with_database(database(), |world, session| {
        let disk = world.disk();
        let copies = ControlFile::look(&disk, directory(), false, session).expect("looked");
        let last = copies[0].said.as_ref().expect("it can be read").1.checkpoint_scn;
        drop(copies);
        let stamp = |scn: Scn| {
            let mut blocks = Blocks::load(&disk, DATA, session);
            let at = blocks.all(BlockKind::Leaf, None)[0];
            BlockHeader::of_mut(&mut blocks.now[at]).stamp(scn, 1);
            blocks.store(&disk, session);
        };
        stamp(last);
        assert_eq!(kinds(&check(&disk, None, session).1), [].into(), "as new as redo may be");
        stamp(last.next());
        let told = check(&disk, None, session).1;
        assert_eq!(kinds(&told), only(Kind::Ahead, 1), "{told:?}");
    });
}
