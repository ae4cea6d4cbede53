//! Scans and ranges that wait between their calls, while other sessions insert, delete and change
//! rows, split leaves and empty them: what they show is what their snapshot shows.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use access::{Direction, RowAddress};
use os::Session;
use relation::{Bounds, Relation, Selection};
use sim::fs::FileSystem;
use stop::{RefusalKind, Stop};
use txn::KeptSnapshot;
use value::{OwnedValue, RowView, Value, encode_key};
use waits::Nanos;

use crate::basic::accounts;
use crate::common::{
    Client, Dice, Known, Row, check, database, join, kept, machine, pause, racy, rows, start,
    with_instance,
};
use crate::shop::{delete, insert, int, set};

/// Rows of a table that is read through the cache, and of one that is read around it.
const SIZES: [i64; 2] = [50, 400];

fn base(size: i64) -> FileSystem {
    database(accounts, move |instance, known, session| {
        fill(&mut Client::new(instance, known, session), size);
    })
}

fn fill(client: &mut Client<'_>, size: i64) {
    for id in 0..size {
        put(client, id, &mut Dice(id as u64)).expect("nothing is in the way");
    }
    client.commit();
}

/// Inserts a row with this key. Some rows are longer than a block.
fn put(client: &mut Client<'_>, id: i64, dice: &mut Dice) -> Result<(), Stop> {
    let code = format!("code {id}");
    let code = if dice.below(4) == 0 { Value::Null } else { Value::Text(&code) };
    let amount = if dice.below(5) == 0 { Value::Null } else { int(dice.below(9) as i64 - 4) };
    let length = if dice.below(30) == 0 { 900 + dice.below(2_000) } else { dice.below(60) };
    let note = "n".repeat(length as usize);
    insert(client, "accounts", &[int(id), code, amount, Value::Text(&note)])
}

/// A statement on rows with these keys.
fn change(client: &mut Client<'_>, (from, size): (i64, i64), dice: &mut Dice) -> Result<(), Stop> {
    let id = from + dice.below(size as u64) as i64;
    match dice.below(7) {
        0 | 1 => put(client, id, dice),
        2 => delete(client, "accounts", id).map(drop),
        3 => set(client, ("accounts", id), (2, int(dice.below(9) as i64 - 4))).map(drop),
        4 => {
            let note = "m".repeat(dice.below(900) as usize);
            set(client, ("accounts", id), (3, Value::Text(&note))).map(drop)
        }
        5 => set(client, ("accounts", id), (1, Value::Null)).map(drop),
        // So that leaves get empty.
        _ => {
            let to = (id + 1 + dice.below(20) as i64).min(from + size);
            let (from, to) = (Bound::Included(int(id)), Bound::Excluded(int(to)));
            let selection = Selection::Range(0, Bounds { equal: &[], from, to });
            let accounts = client.known.named("accounts");
            accounts.delete_where(&mut client.work(), selection, None).map(drop)
        }
    }
}

/// Changes rows of its own keys, transaction after transaction.
fn writer(instance: &instance::Instance, session: &Session, keys: (i64, i64), seed: u64) {
    let known = Known::of(instance, &accounts(), session);
    let mut client = Client::new(instance, &known, session);
    let mut dice = Dice(seed);
    for _ in 0..14 {
        for _ in 0..=dice.below(4) {
            match change(&mut client, keys, &mut dice) {
                Err(stop) if stop.refusal() == Some(RefusalKind::UniqueViolation) => {}
                Err(stop) if stop.refusal() == Some(RefusalKind::Deadlock) => client.rollback(),
                done => done.expect("no other refusal"),
            }
        }
        if dice.below(4) == 0 {
            client.rollback()
        } else {
            client.commit()
        }
        pause(Nanos::from_micros(dice.below(500)), session);
    }
}

/// A session that reads as of a kept snapshot, call by call.
struct Reader<'a, 'c> {
    client: &'a mut Client<'c>,
    relation: Arc<Relation>,
    kept: KeptSnapshot,
    dice: Dice,
    /// The keys that only this session uses.
    keys: (i64, i64),
    /// What the snapshot sees.
    expected: BTreeMap<RowAddress, Row>,
}

impl Reader<'_, '_> {
    fn view(&self) -> txn::View {
        self.kept.view(Some(&self.client.transaction))
    }

    /// Lets the others work, and its own transaction change rows that the snapshot doesn't see.
    fn wait(&mut self) -> Result<(), Stop> {
        if self.dice.below(3) == 0 {
            pause(Nanos::from_micros(self.dice.below(800)), self.client.session);
        }
        if self.dice.below(4) > 0 {
            return Ok(());
        }
        let savepoint = self.client.transaction.savepoint();
        match change(self.client, self.keys, &mut self.dice) {
            Err(stop) if stop.refusal() == Some(RefusalKind::UniqueViolation) => {}
            done => done?,
        }
        if self.dice.below(4) == 0 {
            assert!(!self.kept.is_taken_back_by(savepoint), "it was kept before");
            let transactions = self.client.instance.transactions();
            let transaction = &mut self.client.transaction;
            transactions.rollback_to(transaction, savepoint, self.client.session)?;
        }
        Ok(())
    }

    fn scan(&mut self) -> Result<(), Stop> {
        let (relation, session) = (Arc::clone(&self.relation), self.client.session);
        let mut state = relation.begin_scan(self.view(), session)?;
        let (mut found, mut count) = (BTreeMap::new(), 0);
        loop {
            let mut visit = |address, row: RowView<'_>| {
                found.insert(address, kept(&row));
                count += 1;
            };
            if !relation.scan_next(&mut state, &mut visit, session)? {
                break;
            }
            self.wait()?;
            if self.dice.below(2) == 0 {
                state.renew(self.view());
            }
        }
        assert_eq!((found.len(), count), (self.expected.len(), self.expected.len()));
        assert_eq!(found, self.expected);
        assert!(!relation.scan_next(&mut state, |_, _| (), session)?, "it stays over");
        Ok(())
    }

    fn range(&mut self) -> Result<(), Stop> {
        let (relation, session) = (Arc::clone(&self.relation), self.client.session);
        let place = self.dice.below(3) as usize;
        let direction = self.dice.one_of(&[Direction::Ascending, Direction::Descending]);
        let everything = Bounds::equal(&[]);
        let mut state = relation.begin_range(place, &everything, direction, self.view())?;
        if self.dice.below(2) == 0 {
            state = state.at_most(1 + self.dice.below(20) as usize);
        }
        let how = self.dice.below(4);
        let (mut found, mut keys, mut count) = (Vec::new(), Vec::new(), 0);
        loop {
            let mut look = |row, seen: RowView<'_>| found.push((row, kept(&seen)));
            let mut look_at_key = |row, values: &[Value<'_>]| {
                let values: Row = values.iter().copied().map(Value::to_owned).collect();
                keys.push((row, values));
            };
            let goes_on = match how {
                0 => relation.range_next(&mut state, &mut look, session)?.is_some(),
                1 => relation.range_rows_next(&mut state, &mut look, session)?,
                2 => relation.range_keys_next(&mut state, &mut look_at_key, session)?,
                _ => {
                    let more = relation.range_count_next(&mut state, session)?;
                    count += more.unwrap_or(0) as usize;
                    more.is_some()
                }
            };
            if !goes_on {
                break;
            }
            self.wait()?;
            if self.dice.below(2) == 0 {
                state.renew(self.view());
            }
        }
        match how {
            0 | 1 => self.compare(place, direction, found),
            2 => self.compare_keys(place, direction, keys),
            _ => assert_eq!(count, self.expected.len()),
        }
        Ok(())
    }

    fn compare(&self, place: usize, direction: Direction, found: Vec<(RowAddress, Row)>) {
        let columns = &self.relation.definition().indexes[place].columns;
        let key = |(_, row): &(RowAddress, Row)| {
            let part = |of: &relation::IndexColumn| (row[of.column].get(), of.direction, of.nulls);
            let mut key = Vec::new();
            encode_key(&columns.iter().map(part).collect::<Vec<_>>(), &mut key);
            key
        };
        let keys: Vec<_> = found.iter().map(key).collect();
        assert!(match direction {
            Direction::Ascending => keys.is_sorted(),
            Direction::Descending => keys.is_sorted_by(|a, b| a >= b),
        });
        assert_eq!(found.len(), self.expected.len());
        assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), self.expected);
    }

    /// The values in the keys are those of the rows, which nobody has looked at.
    fn compare_keys(&self, place: usize, direction: Direction, keys: Vec<(RowAddress, Row)>) {
        let columns = &self.relation.definition().indexes[place].columns;
        let with_row = |(address, values): (RowAddress, Row)| {
            let row = self.expected.get(&address);
            let row =
                row.unwrap_or_else(|| panic!("{address} {place} {values:?} {direction:?}")).clone();
            for (of, value) in columns.iter().zip(&values) {
                assert_eq!(row[of.column], *value, "{address}");
            }
            assert_eq!(values.len(), columns.len());
            (address, row)
        };
        self.compare(place, direction, keys.into_iter().map(with_row).collect());
    }
}

/// Reads a few times as of snapshots of its own.
fn reader(instance: &instance::Instance, session: &Session, keys: (i64, i64), seed: u64) -> u32 {
    let known = Known::of(instance, &accounts(), session);
    let mut client = Client::new(instance, &known, session);
    let (relation, mut dice) = (known.named("accounts"), Dice(seed));
    let mut read = 0;
    for _ in 0..5 {
        if dice.below(3) == 0 {
            let begun = instance.transactions().begin_serializable(session);
            client.transaction = begun.expect("begun");
        }
        for _ in 0..dice.below(4) {
            // A duplicate key is no harm; whatever else refuses it comes again below.
            let _ = change(&mut client, keys, &mut dice);
        }
        let transactions = instance.transactions();
        let kept = transactions.keep_snapshot(Some(&client.transaction), session).expect("kept");
        let view = kept.view(Some(&client.transaction));
        let expected = rows(&relation, view, session).into_iter().collect();
        let (relation, dice_now) = (Arc::clone(&relation), Dice(dice.below(u64::MAX)));
        let mut reader =
            Reader { client: &mut client, relation, kept, dice: dice_now, keys, expected };
        let done = if reader.dice.below(3) == 0 { reader.scan() } else { reader.range() };
        let Reader { kept, .. } = reader;
        kept.close(session);
        match done {
            Ok(()) => read += 1,
            // An own change was refused; the snapshot wasn't.
            Err(stop) => {
                let kinds = [RefusalKind::Deadlock, RefusalKind::Serialization];
                assert!(stop.refusal().is_some_and(|kind| kinds.contains(&kind)), "{stop}");
            }
        }
        if dice.below(2) == 0 { client.rollback() } else { client.commit() }
    }
    read
}

#[test]
fn what_is_read_call_by_call_is_what_the_snapshot_shows() {
    let all = sim::Outside::new(0);
    for size in SIZES {
        let base = base(size);
        for seed in 0..30 {
            let all = all.clone();
            with_instance(racy(seed, base.clone()), move |instance, session| {
                let writers = (0..2_i64).map(|number| {
                    let keys = (number * size / 2, size / 2);
                    start("writer", instance, session, move |instance, session| {
                        writer(instance, session, keys, seed * 10 + number as u64);
                    })
                });
                let mut threads: Vec<_> = writers.collect();
                for number in 0..2_i64 {
                    let all = all.clone();
                    let keys = (1_000 * (number + 1), 40);
                    threads.push(start("reader", instance, session, move |instance, session| {
                        let read = reader(instance, session, keys, seed * 10 + 5 + number as u64);
                        all.with(|count| *count += read);
                    }));
                }
                join(threads, session);
                check(&Known::of(instance, &accounts(), session).named("accounts"), session);
            });
        }
    }
    let read = all.with(|count| *count);
    assert!(read > 400, "of 600 reads only {read} came to their end");
}

/// A row with nothing but a key.
fn bare(id: i64) -> [Value<'static>; 4] {
    [int(id), Value::Null, Value::Null, Value::Null]
}

/// A snapshot is in use until it is closed, also behind the end of the transaction whose it is; one
/// that is dropped instead is let go by the cleaner.
#[test]
fn a_kept_snapshot_is_in_use_until_it_is_closed_or_cleaned_up() {
    with_instance(machine(1, base(SIZES[0])), |instance, session| {
        let known = Known::of(instance, &accounts(), session);
        let transactions = instance.transactions();
        let commit = |id| {
            let mut client = Client::new(instance, &known, session);
            insert(&mut client, "accounts", &bare(id)).expect("new");
            client.commit();
        };
        let kept = transactions.keep_snapshot(None, session).expect("kept");
        let scn = kept.scn();
        commit(900);
        assert_eq!(transactions.oldest_snapshot(session), scn);
        kept.close(session);
        assert!(transactions.oldest_snapshot(session) > scn);

        let own = transactions.begin_serializable(session).expect("begun");
        let kept = transactions.keep_snapshot(Some(&own), session).expect("kept");
        let scn = kept.scn();
        commit(901);
        instance.commit(own, session).expect("nothing to commit");
        assert_eq!(transactions.oldest_snapshot(session), scn, "the cursor still has it");
        assert_eq!(kept.view(None).own, None);
        kept.close(session);
        assert!(transactions.oldest_snapshot(session) > scn);

        let own = transactions.begin_serializable(session).expect("begun");
        let kept = transactions.keep_snapshot(Some(&own), session).expect("kept");
        let scn = kept.scn();
        commit(902);
        kept.close(session);
        assert_eq!(transactions.oldest_snapshot(session), scn, "the transaction still has it");
        instance.rollback(own, session).expect("rolled back");
        assert!(transactions.oldest_snapshot(session) > scn);

        let kept = transactions.keep_snapshot(None, session).expect("kept");
        let scn = kept.scn();
        commit(903);
        drop(kept);
        transactions.clean_up(session).expect("no halt");
        assert!(transactions.oldest_snapshot(session) > scn);
    });
}

/// Of its own transaction's changes a kept snapshot sees those from before, whatever comes then.
#[test]
fn a_kept_snapshot_sees_what_its_transaction_had_changed_by_then() {
    with_instance(machine(2, base(SIZES[0])), |instance, session| {
        let known = Known::of(instance, &accounts(), session);
        let mut client = Client::new(instance, &known, session);
        let relation = known.named("accounts");
        let start = client.transaction.savepoint();
        insert(&mut client, "accounts", &bare(700)).expect("new");
        let transactions = instance.transactions();
        let kept = transactions.keep_snapshot(Some(&client.transaction), session).expect("kept");
        let middle = client.transaction.savepoint();
        assert!(kept.view(Some(&client.transaction)).own.is_some_and(|own| own.all));
        insert(&mut client, "accounts", &bare(701)).expect("new");
        delete(&mut client, "accounts", 700).expect("deleted");
        let view = kept.view(Some(&client.transaction));
        assert!(view.own.is_some_and(|own| !own.all));
        let seen = |view| {
            let ids = rows(&relation, view, session).into_iter().map(|(_, row)| row[0].clone());
            let is_new = |id: &OwnedValue| matches!(id.get(), Value::Int(id) if id >= 700);
            ids.filter(is_new).collect::<Vec<_>>()
        };
        assert_eq!(seen(view), [int(700).to_owned()]);
        assert_eq!((kept.is_taken_back_by(start), kept.is_taken_back_by(middle)), (true, false));
        transactions.rollback_to(&mut client.transaction, middle, session).expect("back");
        assert_eq!(seen(kept.view(Some(&client.transaction))), [int(700).to_owned()]);
        delete(&mut client, "accounts", 700).expect("deleted");
        client.commit();
        assert_eq!(seen(kept.view(None)), [int(700).to_owned()], "also after its end");
        kept.close(session);
        assert!(seen(client.view()).is_empty());
    });
}

/// A state asks each time whether its table is there, and is of no use for another table.
#[test]
fn a_state_is_refused_when_its_table_is_gone_or_is_another() {
    with_instance(machine(3, base(SIZES[1])), |instance, session| {
        let mut tables = accounts();
        tables.extend(crate::shop::tables());
        let known = Known::of(instance, &tables, session);
        let (relation, orders) = (known.named("accounts"), known.named("orders"));
        let kept = instance.transactions().keep_snapshot(None, session).expect("kept");
        let everything = Bounds::equal(&[]);
        let view = kept.view(None);
        let mut scan = relation.begin_scan(view, session).expect("begun");
        let begun = relation.begin_range(1, &everything, Direction::Ascending, view);
        let mut range = begun.expect("begun").at_most(3);
        let other = orders.scan_next(&mut scan, |_, _| (), session).map(drop);
        let stop = other.expect_err("another table's");
        assert_eq!(stop.refusal(), Some(RefusalKind::DefinitionChanged), "{stop}");
        let other = orders.range_next(&mut range, &mut |_, _| (), session).map(drop);
        let stop = other.expect_err("another table's");
        assert_eq!(stop.refusal(), Some(RefusalKind::NotFound), "{stop}");
        let mut count = 0;
        assert!(relation.scan_next(&mut scan, |_, _| count += 1, session).expect("read"));
        assert!(relation.range_keys_next(&mut range, &mut |_, _| (), session).expect("read"));
        assert!(count > 0);
        relation.set_gone(session);
        let mut nothing = |_, _: RowView<'_>| ();
        let refusals = [
            relation.scan_next(&mut scan, &mut nothing, session).map(drop),
            relation.range_next(&mut range, &mut nothing, session).map(drop),
            relation.range_rows_next(&mut range, &mut nothing, session).map(drop),
            relation.range_keys_next(&mut range, &mut |_, _| (), session).map(drop),
            relation.range_count_next(&mut range, session).map(drop),
            relation.sample_blocks(view, 1.0, 1, &mut nothing, session).map(drop),
            relation.begin_scan(view, session).map(drop),
        ];
        for (number, refused) in refusals.into_iter().enumerate() {
            let stop = refused.expect_err(&format!("it is gone ({number})"));
            assert_eq!(stop.refusal(), Some(RefusalKind::DefinitionChanged), "{stop}");
        }
        kept.close(session);
    });
}

/// A sample of all blocks is the table; a smaller one is a part of it, and the seed says which.
#[test]
fn a_sample_has_the_rows_of_its_blocks() {
    with_instance(machine(4, base(SIZES[1])), |instance, session| {
        let known = Known::of(instance, &accounts(), session);
        let relation = known.named("accounts");
        let kept = instance.transactions().keep_snapshot(None, session).expect("kept");
        let view = kept.view(None);
        let all: BTreeMap<_, _> = rows(&relation, view, session).into_iter().collect();
        let sample = |share, seed| {
            let mut found = BTreeMap::new();
            let mut visit = |address, row: RowView<'_>| {
                assert!(found.insert(address, kept_row(&row)).is_none());
            };
            let sampled = relation.sample_blocks(view, share, seed, &mut visit, session);
            (sampled.expect("read"), found)
        };
        let (sampled, found) = sample(1.0, 7);
        assert_eq!((sampled.blocks, &found), (sampled.of, &all));
        let mut different = 0;
        for seed in 0..20 {
            let (sampled, found) = sample(0.25, seed);
            assert_eq!(sampled.blocks, sampled.of.div_ceil(4));
            assert!(found.iter().all(|(address, row)| all.get(address) == Some(row)));
            let is_seen = |row: &&RowAddress| found.keys().any(|found| found.block == row.block);
            assert_eq!(all.keys().filter(is_seen).count(), found.len(), "whole blocks");
            assert_eq!(sample(0.25, seed).1, found, "the seed decides");
            different += u32::from(sample(0.25, seed + 1).1 != found);
        }
        assert!(different > 10);
        assert_eq!(sample(0.0, 1).0.blocks, 1);
        kept.close(session);
    });
}

fn kept_row(row: &RowView<'_>) -> Row {
    kept(row)
}
