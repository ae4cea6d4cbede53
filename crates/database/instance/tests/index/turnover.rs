//! What is inserted and deleted again many times over: leaves that have become empty are taken out
//! of the tree, and their blocks used again, while others scan and hold snapshots.

use std::collections::BTreeSet;
use std::sync::Arc;

use access::{Checked, Index};
use ids::BlockSize;
use instance::{Instance, Parameters, Transaction};
use os::{Session, ThreadHandle};
use sim::Outside;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;

use crate::common::{
    Dice, Entry, all, check, check_instance, database, ended, index, join, left, machine, open,
    open_as, parameters, racy, row, run, seen, shut, start,
};

/// So many entries a user has when it has begun.
const LIVE: u64 = 240;
/// In each round a user inserts so many.
const ROUND: u64 = 4 * LIVE;
/// A transaction inserts and deletes so many.
const STEP: u64 = 12;
/// Keys have so many bytes in common, so that branches are small.
const COMMON: usize = 50;
/// A leaf of 2 KiB has room for more of these entries.
const LEAF_ENTRIES: u64 = 20;

/// So many entries [`try_and_give_up`] inserts at once.
const AT_ONCE_TRIED: u64 = 3 * LEAF_ENTRIES;

/// In which order a user's entries come and go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pattern {
    /// Inserted at the high end, deleted at the low one.
    Queue,
    /// The other way round.
    Reversed,
    /// Inserted at the high end, and any is deleted.
    Random,
}

const PATTERNS: [Pattern; 3] = [Pattern::Queue, Pattern::Reversed, Pattern::Random];

/// The key of a user's entry with this number, of a length that depends on it.
fn key(pattern: Pattern, (user, number): (u64, u64)) -> Vec<u8> {
    let place = if pattern == Pattern::Reversed { u32::MAX - number as u32 } else { number as u32 };
    let mut key = vec![b'q'; COMMON];
    key.insert(0, user as u8);
    key.extend_from_slice(&place.swap_bytes().to_le_bytes());
    key.resize(key.len() + (number * 7 % 20) as usize, b'q');
    key
}

/// The user and number of a key.
fn number(pattern: Pattern, key: &[u8]) -> (u64, u64) {
    let place = &key[1 + COMMON..];
    let place = u32::from_le_bytes(place[..4].try_into().expect("four bytes")).swap_bytes();
    let number = if pattern == Pattern::Reversed { u32::MAX - place } else { place };
    (key[0].into(), number.into())
}

/// A user's entries that are there, and the number of the next.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Live {
    there: BTreeSet<u64>,
    next: u64,
}

struct User<'a> {
    pattern: Pattern,
    user: u64,
    index: &'a Index,
    dice: Dice,
    session: &'a Session,
}

impl User<'_> {
    /// Inserts some entries, and deletes as many if there are enough.
    fn step(&mut self, transaction: &mut Transaction, live: &mut Live) {
        for _ in 0..STEP {
            let number = live.next;
            let key = key(self.pattern, (self.user, number));
            let inserted = self.index.insert(transaction, &key, row(number), self.session);
            inserted.expect("inserted");
            live.there.insert(number);
            live.next += 1;
        }
        while live.there.len() as u64 > LIVE {
            let any = match self.pattern {
                Pattern::Queue | Pattern::Reversed => 0,
                Pattern::Random => self.dice.below(live.there.len() as u64),
            };
            let number = *live.there.iter().nth(any as usize).expect("it is there");
            let key = key(self.pattern, (self.user, number));
            let deleted = self.index.delete(transaction, &key, row(number), self.session);
            assert!(deleted.expect("deleted"), "{number} is there");
            live.there.remove(&number);
        }
    }

    /// So many transactions, of which some are rolled back; `told` is told of each that is to
    /// be committed, before and after.
    fn run(&mut self, instance: &Instance, count: u64, live: &mut Live, told: &Told) {
        for _ in 0..count {
            let mut transaction = Transaction::new();
            let mut tried = live.clone();
            self.step(&mut transaction, &mut tried);
            if self.dice.below(6) == 0 {
                // Its keys aren't used again.
                live.next = tried.next;
                instance.rollback(transaction, self.session).expect("rolled back");
                continue;
            }
            told.with(|told| told[self.user as usize].1 = tried.clone());
            instance.commit(transaction, self.session).expect("committed");
            told.with(|told| told[self.user as usize].0 = tried.clone());
            *live = tried;
        }
    }
}

/// For each user what was committed, and what was tried last.
type Told = Outside<Vec<(Live, Live)>>;

fn told(users: u64) -> Told {
    Told::new((0..users).map(|_| Default::default()).collect())
}

/// Runs users at once, and readers.
fn turn_over(
    instance: &std::sync::Arc<Instance>,
    (pattern, seed): (Pattern, u64),
    (users, readers, count): (u64, u64, u64),
    told: &Told,
    session: &Session,
) {
    let users = (0..users).map(|user| {
        let told = told.clone();
        start("user", instance, session, move |instance, session| {
            let index = index(instance, session);
            let mut live = told.with(|told| told[user as usize].0.clone());
            let dice = Dice(seed * 10 + user);
            let mut user = User { pattern, user, index: &index, dice, session };
            user.run(instance, count, &mut live, &told);
        })
    });
    let mut sessions: Vec<_> = users.collect();
    let readers = (0..readers).map(|_| {
        start("reader", instance, session, move |instance, session| {
            reads(instance, pattern, session);
        })
    });
    sessions.extend(readers);
    join(sessions, session);
}

/// Scans both ways, twice as of each snapshot: leaves become empty that it has to see full.
fn reads(instance: &Instance, pattern: Pattern, session: &Session) {
    let index = index(instance, session);
    let transactions = instance.transactions();
    for _ in 0..6 {
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        let before = all(&index, view, session);
        whole(pattern, &before);
        assert_eq!(all(&index, view, session), before);
    }
}

/// A snapshot sees whole transactions: of each user as many entries as it has had at some moment.
fn whole(pattern: Pattern, entries: &[Entry]) {
    let mut of_user = std::collections::BTreeMap::<u64, Vec<u64>>::new();
    for (key, at) in entries {
        let (user, number) = number(pattern, key);
        assert_eq!(*at, row(number));
        of_user.entry(user).or_default().push(number);
    }
    for (user, numbers) in of_user {
        let count = numbers.len() as u64;
        assert!(
            count == LIVE || count < LIVE && count.is_multiple_of(STEP),
            "user {user} has {count}"
        );
    }
}

fn expected(pattern: Pattern, told: &Told, which: impl Fn(&(Live, Live)) -> Live) -> Vec<Entry> {
    let mut entries: Vec<Entry> = told.with(|told| {
        let each = (0..).zip(told.iter()).flat_map(|(user, told)| {
            let there = which(told).there;
            there.into_iter().map(move |number| (key(pattern, (user, number)), row(number)))
        });
        each.collect()
    });
    entries.sort();
    entries
}

fn blocks(instance: &Instance, index: &Index, session: &Session) -> u64 {
    let runs = instance.space().blocks(index.segment().header, session).expect("read");
    runs.iter().map(|run| u64::from(run.count)).sum()
}

/// Waits for these sessions, which leave nothing in the index: how many blocks it has then, and
/// what its check says.
fn emptied_by(
    sessions: Vec<ThreadHandle>,
    instance: Arc<Instance>,
    session: &Session,
) -> (u64, Checked) {
    join(sessions, session);
    let index = index(&instance, session);
    let checked = check(&index, &[], session);
    check_instance(&instance, session);
    let blocks = blocks(&instance, &index, session);
    drop(index);
    shut(instance, session);
    (blocks, checked)
}

/// Every row goes through the index twenty times over, and the index stays as large as it was.
#[test]
fn an_index_stays_as_large_as_what_is_in_it() {
    for (pattern, seed) in PATTERNS.into_iter().flat_map(|p| (0..2).map(move |seed| (p, seed))) {
        let base = database(BlockSize::KIB_2, seed % 2 == 0);
        let report = racy(seed, base).run(move |world, session| {
            let instance = open(world, session);
            let index = index(&instance, session);
            let told = told(2);
            for round in 0..5 {
                // Snapshots are held through whole rounds; at last there are none.
                let readers = if round < 4 { round % 3 } else { 0 };
                let (seed, load) = (seed * 10 + round, (2, readers, ROUND / STEP));
                turn_over(&instance, (pattern, seed), load, &told, session);
                let entries = expected(pattern, &told, |told| told.0.clone());
                assert_eq!(seen(&instance, &index, None, session), entries);
                check(&index, &entries, session);
                check_instance(&instance, session);
            }
            let blocks = blocks(&instance, &index, session);
            let checked = check(&index, &expected(pattern, &told, |t| t.0.clone()), session);
            drop(index);
            shut(instance, session);
            (blocks, checked)
        });
        let (blocks, checked) = ended(report, format!("{pattern:?} {seed}"));
        println!("{pattern:?} {seed}: {blocks} blocks, {checked:?}");
        let needed = match pattern {
            Pattern::Queue | Pattern::Reversed => 2 * LIVE / LEAF_ENTRIES,
            // A leaf stays as long as the last of its entries: 1 + 1/2 + ... + 1/20 times as long.
            Pattern::Random => 2 * LIVE * 36 / 10 / LEAF_ENTRIES,
        };
        assert!(checked.leaves < 3 * needed, "{pattern:?}: {checked:?} where {needed} would do");
        // And what was deleted while a snapshot was held for a round, in leaves half full.
        let held = 2 * ROUND / (LEAF_ENTRIES / 2);
        assert!(blocks < 4 * needed + held, "{pattern:?}: {blocks} blocks where {needed} would do");
        assert!(checked.empty < 8 + checked.leaves / 4, "{pattern:?}: {checked:?}");
    }
}

/// Inserts entries of its own and takes all of them back, or some and deletes the others, over and
/// over: each time at another place.
fn try_and_give_up(instance: &Instance, (user, seed): (u64, u64), count: u64, session: &Session) {
    let (index, transactions) = (index(instance, session), instance.transactions());
    let mut dice = Dice(seed * 10 + user);
    let pattern = PATTERNS[(seed % 2) as usize];
    for load in 0..count {
        let insert = |own: &mut Transaction, numbers: std::ops::Range<u64>| {
            for number in numbers {
                let key = key(pattern, (user, load * AT_ONCE_TRIED + number));
                let inserted = index.insert(own, &key, row(number), session);
                inserted.expect("inserted");
            }
        };
        let mut own = Transaction::new();
        let half = AT_ONCE_TRIED / 2;
        insert(&mut own, 0..half);
        let savepoint = own.savepoint();
        insert(&mut own, half..AT_ONCE_TRIED);
        if dice.below(2) == 0 {
            transactions.rollback_to(&mut own, savepoint, session).expect("taken back");
            insert(&mut own, half..AT_ONCE_TRIED);
        }
        if dice.below(4) > 0 {
            instance.rollback(own, session).expect("rolled back");
            continue;
        }
        instance.commit(own, session).expect("committed");
        let mut own = Transaction::new();
        for number in 0..AT_ONCE_TRIED {
            let key = key(pattern, (user, load * AT_ONCE_TRIED + number));
            let deleted = index.delete(&mut own, &key, row(number), session);
            assert!(deleted.expect("deleted"), "{number} is there");
        }
        instance.commit(own, session).expect("committed");
    }
}

/// Leaves that rollbacks empty are taken out and used again, beside others; and beside scans, but
/// not while one is held up whose snapshot may need them (seed 1: for as long as all others work).
#[test]
fn leaves_that_rollbacks_have_emptied_are_used_again() {
    for (seed, scans) in (0..3).flat_map(|seed| [(seed, 0), (seed, 10)]) {
        let base = database(BlockSize::KIB_2, seed % 3 == 0);
        let (blocks, checked) = run(racy(seed, base), move |world, session| {
            let instance = open(world, session);
            let users = (0..3).map(|user| {
                start("user", &instance, session, move |instance, session| {
                    try_and_give_up(instance, (user, seed), 30, session);
                })
            });
            let mut sessions: Vec<_> = users.collect();
            sessions.push(start("reader", &instance, session, move |instance, session| {
                let index = index(instance, session);
                for _ in 0..scans {
                    let entries = seen(instance, &index, None, session).len() as u64;
                    assert!(entries.is_multiple_of(AT_ONCE_TRIED), "{entries} entries");
                }
            }));
            emptied_by(sessions, instance, session)
        });
        println!("{seed}, {scans} scans: {blocks} blocks, {checked:?}");
        assert!(scans > 0 || blocks < 60, "{blocks} blocks for nothing");
    }
}

fn after_the_cut(
    (pattern, cut): (Pattern, u64),
    disk: FileSystem,
    told: &Told,
) -> Result<(), sim::Failure> {
    let told = told.clone();
    let report = machine(cut, disk).run(move |world, session| {
        let instance = open(world, session);
        instance.wait_for_dead(session);
        let index = index(&instance, session);
        let found = seen(&instance, &index, None, session);
        let committed = expected(pattern, &told, |told| told.0.clone());
        let tried = expected(pattern, &told, |told| told.1.clone());
        assert!(found == committed || found == tried, "{pattern:?}, cut {cut}");
        check(&index, &found, session);
        let is_tried = found == tried;
        told.with(|told| {
            for (committed, tried) in told.iter_mut() {
                if is_tried {
                    *committed = tried.clone();
                }
                // What it had inserted and not committed.
                committed.next = tried.next + 2 * STEP;
            }
        });
        turn_over(&instance, (pattern, cut), (1, 0, 30), &told, session);
        let entries = expected(pattern, &told, |told| told.0.clone());
        let checked = check(&index, &entries, session);
        assert_eq!(seen(&instance, &index, None, session), entries);
        assert_eq!(checked.unposted, 0);
        check_instance(&instance, session);
        drop(index);
        shut(instance, session);
    });
    report.result.map(drop)
}

/// The power goes somewhere while leaves are taken out and used again.
#[test]
fn a_crash_anywhere_leaves_a_tree_and_a_list_of_free_blocks() {
    let bases = [true, false].map(|unique| database(BlockSize::KIB_2, unique));
    for pattern in PATTERNS {
        let mut cuts = 0;
        for cut in (20_u64..).step_by(15) {
            let mut content = bases[(cut % 2) as usize].clone();
            content.lose_power_at(content.crash_points() + cut);
            let told = told(1);
            let inside = told.clone();
            let mut report = racy(cut, content).run(move |world, session| {
                let instance = open(world, session);
                turn_over(&instance, (pattern, cut), (1, 1, 120), &inside, session);
                shut(instance, session);
            });
            if !report.was_cut(format_args!("{pattern:?}, cut {cut}")) {
                break;
            }
            cuts += 1;
            let disk = left(&mut report);
            for draw in 0..2 {
                let mut again = CrashStates::of(&disk).sample(draw);
                again.lose_power_at(u64::MAX);
                let told = Told::new(told.with(|told| told.clone()));
                after_the_cut((pattern, cut), again, &told)
                    .unwrap_or_else(|failure| panic!("{pattern:?}, cut {cut}.{draw}: {failure}"));
            }
        }
        println!("{pattern:?}: {cuts} cuts");
        assert!(cuts > 8, "{cuts} cuts");
    }
}

/// Entries that a user of [`come_and_go`] inserts at once.
const AT_ONCE: u64 = 14;

/// Inserts entries with long keys among those of others and deletes them again, over and over.
fn come_and_go(instance: &Instance, (user, seed): (u64, u64), count: u64, session: &Session) {
    let index = index(instance, session);
    let mut dice = Dice(seed * 10 + user);
    for _ in 0..count {
        let place = dice.below(4);
        let keys: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let mut key = vec![place as u8; 150 + dice.below(60) as usize];
                key.extend_from_slice(&[dice.below(250) as u8, number as u8, user as u8]);
                key
            })
            .collect();
        for deletes in [false, true] {
            let mut own = Transaction::new();
            for (number, key) in (0..).zip(&keys) {
                match deletes {
                    false => {
                        _ = index.insert(&mut own, key, row(number), session).expect("inserted")
                    }
                    true => {
                        assert!(index.delete(&mut own, key, row(number), session).expect("deleted"))
                    }
                }
            }
            instance.commit(own, session).expect("committed");
        }
    }
}

/// Whoever comes by tells of splits whose leaves have gone, or been used again, meanwhile.
#[test]
fn leaves_that_are_split_and_taken_out_at_once_leave_a_tree() {
    for seed in 0..8 {
        let (blocks, checked) =
            run(racy(seed, database(BlockSize::KIB_2, false)), move |world, session| {
                // In every other run so few that sessions wait for reads while others go on.
                let buffers = if seed % 2 == 0 { 30 } else { 96 };
                let parameters = Parameters { db_cache_size: buffers * 2048, ..parameters() };
                let instance = open_as(&parameters, world, session);
                let users = (0..5).map(|user| {
                    start("user", &instance, session, move |instance, session| {
                        come_and_go(instance, (user, seed), 25, session);
                    })
                });
                let mut sessions: Vec<_> = users.collect();
                sessions.push(start("reader", &instance, session, |instance, session| {
                    let index = index(instance, session);
                    for _ in 0..10 {
                        let mut of_user = [0; 5];
                        for (key, _) in seen(instance, &index, None, session) {
                            of_user[usize::from(key[key.len() - 1])] += 1;
                        }
                        let whole = of_user.iter().all(|count| [0, AT_ONCE].contains(count));
                        assert!(whole, "{of_user:?} entries of {AT_ONCE}");
                    }
                }));
                emptied_by(sessions, instance, session)
            });
        println!("{seed}: {blocks} blocks, {checked:?}");
        assert!(blocks < 100, "{blocks} blocks");
    }
}
