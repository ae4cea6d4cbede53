//! The model against what it promises, and against a plainer one that keeps everything.

use std::ops::Bound;

use proptest::prelude::*;

use super::*;

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

/// Transaction 1 has committed `a` and `b` at SCN 10, transaction 2 `a` and no `b` at 20.
fn model() -> Model {
    let mut model = Model::new();
    model.begin(1);
    model.write(1, 0, b"a", Some(b"one")).expect("free");
    model.write(1, 0, b"b", Some(b"one")).expect("free");
    model.commit(1, 10).expect("in order");
    model.begin(2);
    model.write(2, 0, b"a", Some(b"two")).expect("free");
    model.write(2, 0, b"b", None).expect("free");
    model.commit(2, 20).expect("in order");
    model.begin(3);
    model
}

fn rows(model: &Model, txn: Txn, snapshot: u64) -> Vec<(&[u8], &[u8])> {
    model.scan(txn, snapshot, 0, ALL).collect()
}

#[test]
fn a_snapshot_sees_what_was_committed_by_then() {
    let model = model();
    assert_eq!(model.expect(3, 9, 0, b"a"), None);
    assert_eq!(model.expect(3, 10, 0, b"a"), Some(&b"one"[..]));
    assert_eq!(model.expect(3, 19, 0, b"b"), Some(&b"one"[..]));
    assert_eq!(model.expect(3, 20, 0, b"a"), Some(&b"two"[..]));
    assert_eq!(model.expect(3, 20, 0, b"b"), None);
    assert_eq!(model.expect(3, 20, 1, b"a"), None);
    assert_eq!(rows(&model, 3, 15), [(&b"a"[..], &b"one"[..]), (b"b", b"one")]);
    assert_eq!(rows(&model, 3, 20), [(&b"a"[..], &b"two"[..])]);
}

#[test]
fn a_transaction_sees_its_own_changes_and_nobody_else_does() {
    let mut model = model();
    model.begin(4);
    model.write(3, 0, b"a", None).expect("free");
    model.write(3, 0, b"c", Some(b"own")).expect("free");
    assert_eq!(rows(&model, 3, 15), [(&b"b"[..], &b"one"[..]), (b"c", b"own")]);
    assert_eq!(rows(&model, 4, 20), [(&b"a"[..], &b"two"[..])]);
    assert_eq!(model.locked_by(0, b"a"), Some(3));
    assert_eq!(model.locked_by(0, b"b"), None);
    let breach = model.write(4, 0, b"a", None).expect_err("locked");
    assert_eq!(
        breach.to_string(),
        "transaction 4 changed key [61] of table 0, which transaction 3 has locked"
    );
    model.rollback(3);
    assert_eq!(model.locked_by(0, b"a"), None);
    assert_eq!(rows(&model, 4, 20), [(&b"a"[..], &b"two"[..])]);
}

#[test]
fn a_scan_keeps_to_its_range_and_goes_both_ways() {
    let mut model = Model::new();
    model.begin(1);
    for key in [&b"a"[..], b"b", b"c", b"d"] {
        model.write(1, 7, key, Some(key)).expect("free");
    }
    let range = (Bound::Excluded(&b"a"[..]), Bound::Included(&b"c"[..]));
    let keys: Vec<&[u8]> = model.scan(1, 0, 7, range).map(|(key, _)| key).collect();
    assert_eq!(keys, [b"b", b"c"]);
    let keys: Vec<&[u8]> = model.scan(1, 0, 7, range).rev().map(|(key, _)| key).collect();
    assert_eq!(keys, [b"c", b"b"]);
    assert_eq!(model.scan(1, 0, 8, ALL).count(), 0);
}

#[test]
fn a_savepoint_brings_back_changes_and_lets_go_of_keys() {
    let mut model = model();
    model.write(3, 0, b"a", Some(b"x")).expect("free");
    let savepoint = model.savepoint(3);
    model.write(3, 0, b"a", Some(b"y")).expect("its own");
    model.lock(3, 0, b"b").expect("free");
    model.write(3, 0, b"c", Some(b"z")).expect("free");
    assert_eq!(model.locked_by(0, b"b"), Some(3));
    model.rollback_to(3, savepoint);
    assert_eq!(model.expect(3, 20, 0, b"a"), Some(&b"x"[..]));
    assert_eq!(model.locked_by(0, b"a"), Some(3));
    assert_eq!(model.locked_by(0, b"b"), None);
    assert_eq!(model.locked_by(0, b"c"), None);
    model.rollback_to(3, savepoint);
    model.commit(3, 30).expect("in order");
    model.begin(4);
    assert_eq!(rows(&model, 4, 30), [(&b"a"[..], &b"x"[..])]);
}

#[test]
fn a_lock_without_a_change_makes_no_version() {
    let mut model = model();
    model.lock(3, 0, b"a").expect("free");
    model.lock(3, 0, b"new").expect("free");
    assert_eq!(model.own(3, 0, b"a"), None);
    model.commit(3, 30).expect("in order");
    assert!(!model.changed_since(20, 0, b"a"));
    assert!(model.changed_since(19, 0, b"a"));
    assert!(!model.changed_since(0, 0, b"new"));
}

/// Another session may be faster than the one whose commit returns.
#[test]
fn a_key_may_be_locked_again_while_a_commit_is_under_way() {
    let mut model = model();
    model.begin(4);
    model.write(3, 0, b"a", Some(b"three")).expect("free");
    assert!(model.is_settled());
    model.commit_called(3);
    assert!(!model.is_settled());
    assert_eq!(model.in_doubt().collect::<Vec<_>>(), [3]);
    assert_eq!(model.locked_by(0, b"a"), None);
    model.write(4, 0, b"a", Some(b"four")).expect("let go");
    model.commit(4, 40).expect("in order");
    assert_eq!(model.committed(40, 0, b"a"), Some(&b"four"[..]));
    model.commit(3, 30).expect("in order");
    assert_eq!(model.committed(35, 0, b"a"), Some(&b"three"[..]));
    assert_eq!(model.committed(40, 0, b"a"), Some(&b"four"[..]));
    assert!(model.is_settled());
}

#[test]
fn commits_in_another_order_than_locks_are_a_breach() {
    let mut model = model();
    model.write(3, 0, b"a", Some(b"three")).expect("free");
    assert!(model.clone().commit(3, 15).is_err());
    assert!(model.clone().commit(3, 20).is_err());
    model.begin(4);
    model.commit_called(3);
    model.write(4, 0, b"a", Some(b"four")).expect("let go");
    model.commit(4, 30).expect("in order");
    let breach = model.commit(3, 31).expect_err("locked first, committed later");
    assert_eq!(
        breach.to_string(),
        "transaction 3, key [61] of table 0: committed at 31, in another order than the key was \
         locked: [10, 20, 30]"
    );
}

#[test]
fn what_wasnt_durable_is_gone_after_a_crash() {
    let mut model = model();
    model.write(3, 0, b"c", Some(b"three")).expect("free");
    model.commit_called(3);
    model.begin(4);
    model.write(4, 0, b"d", Some(b"four")).expect("free");
    let mut found = model.clone();
    found.commit(3, 25).expect("it was found to be there");
    model.after_crash(19);
    found.after_crash(25);
    for (model, expected) in [(&mut model, 2), (&mut found, 2)] {
        model.begin(9);
        assert_eq!(model.scan(9, 99, 0, ALL).count(), expected);
        assert_eq!(model.locked_by(0, b"d"), None);
        assert!(model.is_settled());
    }
    assert_eq!(model.expect(9, 99, 0, b"a"), Some(&b"one"[..]));
    assert_eq!(found.expect(9, 99, 0, b"c"), Some(&b"three"[..]));
}

#[test]
fn what_is_forgotten_takes_no_room() {
    let mut model = Model::new();
    let mut kept = 0;
    for txn in 0..10_000_u64 {
        model.begin(txn);
        let key = [u8::try_from(txn % 50).expect("small")];
        let row = (txn % 3 > 0).then_some(&b"row"[..]);
        model.write(txn, 0, &key, row).expect("free");
        model.commit(txn, txn + 1).expect("in order");
        model.forget((txn + 1).saturating_sub(20));
        kept = kept.max(model.kept());
    }
    assert!(kept <= 50 + 20, "{kept} versions were kept");
    model.forget(10_000);
    let count = model.scan(0, 10_000, 0, ALL).count();
    assert_eq!(model.kept(), count, "a version for each row");
    assert!(count < 50);
}

#[test]
#[should_panic(expected = "snapshots below 20 are forgotten")]
fn a_forgotten_snapshot_isnt_answered() {
    let mut model = model();
    model.forget(20);
    model.expect(3, 19, 0, b"a");
}

/// A plainer model: everything that was ever committed, and what each transaction has changed.
#[derive(Default)]
struct Plain {
    committed: Vec<(u64, u8, Option<u8>)>,
    active: BTreeMap<u64, Vec<(u8, Option<u8>)>>,
}

impl Plain {
    fn sees(&self, txn: u64, snapshot: u64, key: u8) -> Option<u8> {
        let own = self.active[&txn].iter().rev().find(|(changed, _)| *changed == key);
        let visible =
            |(scn, changed, _): &&(u64, u8, Option<u8>)| *scn <= snapshot && *changed == key;
        match own {
            Some((_, row)) => *row,
            None => self.committed.iter().rev().find(visible).and_then(|(_, _, row)| *row),
        }
    }

    fn locked(&self, key: u8) -> Option<u64> {
        let has = |log: &Vec<(u8, Option<u8>)>| log.iter().any(|(changed, _)| *changed == key);
        self.active.iter().find(|(_, log)| has(log)).map(|(txn, _)| *txn)
    }
}

/// Both models, and what has been so far.
#[derive(Default)]
struct Pair {
    model: Model,
    plain: Plain,
    scn: u64,
    floor: u64,
    next: u64,
    savepoints: BTreeMap<u64, (Savepoint, usize)>,
}

impl Pair {
    fn does(&mut self, what: u8, who: u8, key: u8, row: Option<u8>) {
        let txns: Vec<u64> = self.plain.active.keys().copied().collect();
        if txns.len() < 3 {
            self.next += 1;
            self.model.begin(self.next);
            self.plain.active.insert(self.next, Vec::new());
            return;
        }
        let txn = txns[usize::from(who) % txns.len()];
        match what {
            0..10 => self.writes(txn, key, row),
            10 => {
                self.model.rollback(txn);
                self.ended(txn);
            }
            11 | 12 => {
                self.scn += 1;
                self.model.commit(txn, self.scn).expect("in order");
                for (key, row) in self.ended(txn) {
                    self.plain.committed.push((self.scn, key, row));
                }
            }
            13 => {
                let length = self.plain.active[&txn].len();
                self.savepoints.insert(txn, (self.model.savepoint(txn), length));
            }
            14 => {
                if let Some((savepoint, length)) = self.savepoints.get(&txn) {
                    self.model.rollback_to(txn, *savepoint);
                    self.plain.active.get_mut(&txn).expect("active").truncate(*length);
                }
            }
            15 => {
                self.floor = self.floor.max(self.scn.saturating_sub(u64::from(who)));
                self.model.forget(self.floor);
            }
            _ => {
                let durable = self.scn.saturating_sub(u64::from(who % 4)).max(self.floor);
                self.model.after_crash(durable);
                self.plain.committed.retain(|(scn, ..)| *scn <= durable);
                self.plain.active.clear();
                self.savepoints.clear();
            }
        }
    }

    fn writes(&mut self, txn: u64, key: u8, row: Option<u8>) {
        let is_free = self.plain.locked(key).is_none_or(|holder| holder == txn);
        let written = self.model.write(txn, 0, &[key], row.as_ref().map(std::slice::from_ref));
        assert_eq!(written.is_ok(), is_free);
        if is_free {
            self.plain.active.get_mut(&txn).expect("active").push((key, row));
        }
    }

    fn ended(&mut self, txn: u64) -> Vec<(u8, Option<u8>)> {
        self.savepoints.remove(&txn);
        self.plain.active.remove(&txn).expect("active")
    }

    fn agree(&self) -> Result<(), TestCaseError> {
        for txn in self.plain.active.keys() {
            for snapshot in self.floor..=self.scn {
                let mut rows = self.model.scan(*txn, snapshot, 0, ALL);
                for key in 0..6 {
                    let sees = self.plain.sees(*txn, snapshot, key);
                    let found = self.model.expect(*txn, snapshot, 0, &[key]);
                    prop_assert_eq!(found, sees.as_ref().map(std::slice::from_ref));
                    if let Some(row) = &sees {
                        prop_assert_eq!(rows.next(), Some((&[key][..], std::slice::from_ref(row))));
                    }
                }
                prop_assert_eq!(rows.next(), None);
            }
        }
        for key in 0..6 {
            prop_assert_eq!(self.model.locked_by(0, &[key]), self.plain.locked(key));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_model_agrees_with_a_plainer_one(
        steps in prop::collection::vec((0..17_u8, 0..8_u8, 0..6_u8, any::<Option<u8>>()), 1..120),
    ) {
        let mut pair = Pair::default();
        for (what, who, key, row) in steps {
            pair.does(what, who, key, row);
            pair.agree()?;
        }
    }
}
