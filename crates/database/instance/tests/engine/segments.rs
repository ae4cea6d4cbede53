//! Segments that come and go: built, kept, dropped, their blocks used by others; each cut off at
//! every operation. No extent is lost or of two, and nothing of a former life comes back.

use std::collections::BTreeSet;
use std::sync::Arc;

use access::HeapInserter;
use ids::{BlockSize, Dba, ObjectNo};
use instance::{Creation, DataFileSpec, Instance, Parameters, TablespaceSpec, Transaction};
use latch::FrameOrder;
use os::Session;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{CrashPoints, Outside};
use space::{Holds, Segment, SegmentState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use stop::{RefusalKind, Stop};
use waits::{Nanos, WaitEvent};

use crate::common::{
    self, Dice, abort, add, bed, bytes_of, check, creation, database_with, directory, ended, join,
    left, machine, number, open, open_as, parameters, pause, put, racy, rows, run, run_kept, shut,
    start, with_instance,
};
use crate::rows::{Row, Rows};
use crate::tablespaces::{crashes, crashes_in, verified};

const BLOCK: u64 = 2048;

/// Three small files that grow, whose extents segments get in turn.
fn striped() -> Creation {
    let file = |path: &str| DataFileSpec {
        path: path.to_string(),
        bytes: 24 * BLOCK,
        bytes_max: 400 * BLOCK,
        growth_bytes: 8 * BLOCK,
    };
    let tablespace = TablespaceSpec {
        name: "striped".to_string(),
        block_size: BlockSize::KIB_2,
        extent_blocks: 4,
        files: ["a.dbf", "b.dbf", "c.dbf"].map(file).into(),
    };
    Creation { tablespaces: vec![tablespace], ..creation() }
}

fn make(instance: &Instance, name: &str, session: &Session) -> Segment {
    let made = instance.space().create_within("striped", name, Holds::Index, session);
    made.expect("there is room")
}

/// Hands out so many blocks.
fn hand_out(instance: &Instance, segment: &Segment, blocks: u32, session: &Session) {
    let mut left = blocks;
    while left > 0 {
        let run = instance.space().hand_out(segment.header, left, session).expect("there is room");
        left -= run.count;
    }
}

/// What was defined so far survives a crash.
fn make_durable(instance: &Instance, session: &Session) {
    let last = instance.redo().last_scn(session);
    instance.redo().make_durable(last, session, WaitEvent::LogFileSync).expect("durable");
}

/// Does this while another session makes the redo durable again and again, so that a crash finds it
/// half done.
fn while_flushed(instance: &Arc<Instance>, session: &Session, body: impl FnOnce()) {
    let done = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&done);
    let flusher = start("flusher", instance, session, move |instance, session| {
        while !told.load(SeqCst) {
            make_durable(instance, session);
            session.charge_nanos(Nanos::from_micros(20));
        }
    });
    body();
    done.store(true, SeqCst);
    join(vec![flusher], session);
}

/// No segment is half made or half dropped: the opening has seen to that.
fn all_permanent(instance: &Instance, session: &Session) -> Vec<Segment> {
    let all = instance.space().list(session).expect("read");
    let state = |one: &Segment| instance.space().state(one.object, session);
    assert!(all.iter().all(|one| state(one) == Some(SegmentState::Permanent)), "{all:?}");
    all
}

/// The life of three segments, each step told once it is durable.
fn keep_drop_and_cut_off(instance: &Instance, told: &AtomicU64, session: &Session) {
    let space = instance.space();
    let tell = |step| {
        make_durable(instance, session);
        told.store(step, SeqCst);
    };
    let one = space.find("one", session).expect("read").expect("there");
    space.drop_segment(one.object, session).expect("dropped");
    tell(1);
    let built = space.create_temporary("striped", "built", Holds::Index, session).expect("made");
    hand_out(instance, &built, 40, session);
    space.keep(built.object, session).expect("kept");
    tell(2);
    // The name is free as soon as the segment is being dropped.
    let one = make(instance, "one", session);
    hand_out(instance, &one, 20, session);
    tell(3);
    let unfinished =
        space.create_temporary("striped", "unfinished", Holds::Table, session).expect("made");
    hand_out(instance, &unfinished, 30, session);
    instance.checkpoint(session).expect("written");
    space.drop_segment(built.object, session).expect("dropped");
    tell(4);
}

/// A segment is built in other files' gaps, kept, dropped again, another one is cut off before it
/// is kept, and a third takes their extents. Whatever moment a crash comes at, each is there whole
/// or not at all, and the extents of what isn't there are free.
#[test]
fn what_a_crash_cuts_off_is_there_whole_or_not_at_all() {
    let base = database_with(striped(), parameters(), |instance, session| {
        let segments = ["one", "two"].map(|name| make(instance, name, session));
        for _ in 0..6 {
            segments.iter().for_each(|one| hand_out(instance, one, 7, session));
        }
        check(instance, session);
    });
    let shots = crashes_in(racy(1, base), |instance, told, session| {
        while_flushed(instance, session, || keep_drop_and_cut_off(instance, told, session));
    });
    let states = verified(shots, 8, |instance, told, session| {
        let all = all_permanent(instance, session);
        let blocks = |name: &str| {
            let found = all.iter().find(|one| one.name == name)?;
            let space = instance.space();
            let runs = space.blocks(found.header, session).expect("read");
            let sum = runs.iter().map(|run| run.count).sum::<u32>();
            assert_eq!(space.handed_out(found.header, session).expect("read"), sum);
            Some(sum)
        };
        assert_eq!(blocks("two"), Some(1 + 42), "told {told}");
        assert_eq!(blocks("unfinished"), None, "told {told}");
        match blocks("built") {
            Some(built) => assert!(built == 41 && (1..4).contains(&told), "{built}, told {told}"),
            None => assert!(told != 2, "told {told}"),
        }
        match blocks("one") {
            Some(43) => assert!(told < 1, "told {told}"),
            Some(_) => assert!(told >= 2, "told {told}"),
            None => assert!(told < 3, "told {told}"),
        }
        // Everything is free that should be.
        make(instance, "unfinished", session);
    });
    assert!(states > 90, "{states} states");
}

/// A segment of one extent after the other in three files, for their free space is in pieces.
fn in_pieces(instance: &Instance, session: &Session) {
    let pieces: Vec<_> =
        (0..60).map(|number| make(instance, &format!("piece{number}"), session)).collect();
    for piece in pieces.iter().step_by(2) {
        instance.space().drop_segment(piece.object, session).expect("dropped");
    }
    let one = make(instance, "one", session);
    hand_out(instance, &one, 4 * 28 - 1, session);
}

/// Opens what is on this disk, drops segment `one` if that is asked for, and crashes everywhere
/// meanwhile: what that can leave, and how many segments the opening dropped.
fn crash_and_drop(seed: u64, content: &FileSystem, drops: bool) -> (Vec<FileSystem>, u64) {
    let shots = Outside::<Vec<FileSystem>>::default();
    let mut machine = racy(seed, content.clone());
    let collected = shots.clone();
    machine.crash_points = Some(CrashPoints::new(move |_, number, cut| {
        let mut disk = cut().pop().expect("the machine has one disk");
        disk.close_all();
        collected.with(|shots| shots.push(CrashStates::of(&disk).sample(number)));
    }));
    let (there, dropped) = run(machine, move |world, session| {
        let instance = open(world, session);
        check(&instance, session);
        all_permanent(&instance, session);
        let one = instance.space().find("one", session).expect("read");
        if let Some(one) = one.as_ref().filter(|_| drops) {
            while_flushed(&instance, session, || {
                instance.space().drop_segment(one.object, session).expect("dropped");
                make_durable(&instance, session);
            });
        }
        let dropped = instance.opened().dropped;
        assert!(one.is_some() || dropped <= 1);
        abort(instance, session);
        (one.is_some(), dropped)
    });
    assert!(!there || dropped == 0, "it was dropped and is there");
    (shots.take(), dropped)
}

/// A drop of many extents in several files: after each crash the next opening goes on with it, also
/// if that is cut off too; once begun it ends.
#[test]
fn a_drop_that_is_cut_off_twice_ends() {
    let base = database_with(striped(), parameters(), |instance, session| {
        in_pieces(instance, session);
    });
    let (mut cut_off, mut cut_off_twice) = (0, 0);
    for seed in 0..8 {
        for state in crash_and_drop(seed, &base, true).0 {
            let (again, dropped) = crash_and_drop(seed, &state, false);
            cut_off += dropped;
            for state in again.iter().step_by(if dropped > 0 { 3 } else { again.len() }) {
                cut_off_twice += crash_and_drop(seed, state, false).1;
            }
        }
    }
    assert!(cut_off >= 12 && cut_off_twice >= 80, "{cut_off} cut off, {cut_off_twice} twice");
}

/// Who still uses what was dropped is refused, and so is who drops it again, or at the same time.
#[test]
fn what_was_dropped_is_refused_to_who_still_uses_it() {
    let refused = |stop: Stop, kind| assert_eq!(stop.refusal(), Some(kind), "{stop}");
    database_with(striped(), parameters(), move |instance, session| {
        let space = instance.space();
        let one = make(instance, "one", session);
        refused(space.keep(one.object, session).expect_err("kept"), RefusalKind::WrongState);
        assert_eq!(space.segment(one.object, session).expect("read"), Some(one.clone()));
        space.drop_segment(one.object, session).expect("dropped");
        let none = RefusalKind::NotFound;
        refused(space.drop_segment(one.object, session).expect_err("dropped twice"), none);
        refused(space.keep(one.object, session).expect_err("gone"), none);
        refused(space.hand_out(one.header, 1, session).expect_err("gone"), none);
        refused(space.ensure_room(one.header, session).expect_err("gone"), none);
        refused(space.blocks(one.header, session).expect_err("gone"), none);
        refused(space.handed_out(one.header, session).expect_err("gone"), none);
        assert_eq!(space.find("one", session).expect("read"), None);
        assert_eq!(space.segment(one.object, session).expect("read"), None);
        let again = make(instance, "one", session);
        assert!(again.object > one.object);
        let directory = space.create("d", Holds::Directory, session).expect_err("its own");
        refused(directory, RefusalKind::Invalid);
        check(instance, session);
    });
    for seed in 0..40 {
        let report = racy(seed, database_with(striped(), parameters(), |_, _| {})).run(
            move |world, session| {
                let instance = open(world, session);
                let one = make(&instance, "one", session);
                hand_out(&instance, &one, 30, session);
                let dropped = Outside::<u32>::default();
                let users = (0..3).map(|_| {
                    let (object, dropped) = (one.object, dropped.clone());
                    start("user", &instance, session, move |instance, session| {
                        match instance.space().drop_segment(object, session) {
                            Ok(()) => dropped.with(|count| *count += 1),
                            Err(stop) => assert!(stop.refusal().is_some(), "{stop}"),
                        }
                    })
                });
                join(users.collect(), session);
                assert_eq!(dropped.take(), 1);
                check(&instance, session);
                shut(instance, session);
            },
        );
        ended(report, seed);
    }
}

/// Thousands of segments: each is found by name and number, also after a restart; the directory
/// uses places again, and numbers never.
#[test]
fn thousands_of_segments_are_found_by_name_and_number() {
    const MANY: u32 = 3_000;
    let creation = Creation { data_bytes: 16_000 * BLOCK, extent_blocks: 2, ..creation() };
    let parameters = Parameters { db_cache_size: 4_096 * BLOCK, ..parameters() };
    let opened = parameters.clone();
    let content = database_with(creation, parameters, |instance, session| {
        let space = instance.space();
        for number in 0..MANY {
            let name = format!("s{number}");
            space.create(&name, Holds::Table, session).expect("made");
        }
        check(instance, session);
    });
    bed::with_instance(machine(1, content), opened.clone(), move |instance, session| {
        let space = instance.space();
        let mut objects = BTreeSet::new();
        for number in 0..MANY {
            let name = format!("s{number}");
            let found = space.find(&name, session).expect("read").expect("there");
            assert_eq!((&found.name, found.holds), (&name, Holds::Table));
            let by_number = space.segment(found.object, session).expect("read");
            assert_eq!(by_number.as_ref(), Some(&found));
            assert!(objects.insert(found.object));
        }
        let of_directory = |object| {
            let own = space.list_of(Holds::Directory, session).expect("read");
            assert_eq!(own[0].object, object);
            let runs = space.blocks(own[0].header, session).expect("read");
            runs.iter().map(|run| run.count).sum::<u32>()
        };
        let blocks = of_directory(ObjectNo::DIRECTORY);
        assert!(blocks > MANY / 42, "{blocks}");
        for object in objects.iter().step_by(2) {
            space.drop_segment(*object, session).expect("dropped");
        }
        let highest = *objects.last().expect("there are some");
        for number in 0..MANY / 2 {
            let name = format!("again{number}");
            let made = space.create(&name, Holds::Undo, session).expect("made");
            assert!(made.object > highest);
        }
        assert_eq!(of_directory(ObjectNo::DIRECTORY), blocks, "places are used again");
        check(instance, session);
    });
}

/// A number isn't given again after its segment has gone, nor after a restart.
#[test]
fn a_number_is_never_given_again() {
    let mut content = database_with(creation(), parameters(), |_, _| {});
    let mut last = ObjectNo::DIRECTORY;
    for life in 0..3 {
        let mut report = machine(1, content).run(move |world, session| {
            let instance = open(world, session);
            let space = instance.space();
            let mut highest = last;
            for _ in 0..3 {
                let made = space.create("s", Holds::Table, session).expect("made");
                assert!(made.object > highest, "{} after {highest}", made.object);
                highest = made.object;
                space.drop_segment(made.object, session).expect("dropped");
            }
            make_durable(&instance, session);
            if life == 1 {
                abort(instance, session)
            } else {
                shut(instance, session)
            }
            highest
        });
        content = left(&mut report);
        last = ended(report, life);
    }
}

/// What rows of a table's life say of which life it is.
fn live(instance: &Instance, name: &str, life: i64, count: u64, session: &Session) -> Rows {
    let table = Rows::create(instance, name, session).expect("made");
    let (mut transaction, mut inserter) = (Transaction::new(), HeapInserter::default());
    for _ in 0..count {
        let fill = |row: &mut Row| row.number = life;
        table.insert(&mut transaction, &mut inserter, fill, session).expect("inserted");
    }
    instance.commit(transaction, session).expect("committed");
    table
}

/// How many rows there are, all of that life: none of a former one comes back.
fn count(table: &Rows, life: i64, session: &Session) -> u64 {
    let mut count = 0;
    let read = |address, row: Row| {
        assert_eq!(row.number, life, "row {address:?} is of another life");
        count += 1;
    };
    table.scan(read, session).expect("scanned");
    count
}

/// A table gets the blocks of one that was dropped, dirty ones and ones that were written: at every
/// crash its rows are what was committed, for formatting a block asks nothing of what it was.
#[test]
fn a_table_in_the_blocks_of_another_survives_every_crash() {
    // Undo takes its blocks from there too.
    let creation = Creation { data_bytes: 100 * BLOCK, ..creation() };
    let base = database_with(creation, parameters(), |instance, session| {
        live(instance, "t", 1, 150, session);
    });
    let shots = crashes(&base, 1, |instance, told, session| {
        let space = instance.space();
        for life in 2..4 {
            let (old, name) = if life == 2 { ("t", "u") } else { ("u", "t") };
            let segment = space.find(old, session).expect("read").expect("there");
            space.drop_segment(segment.object, session).expect("dropped");
            live(instance, name, life, 120 + 10 * life as u64, session);
            told.store(life as u64, SeqCst);
        }
    });
    let states = verified(shots, 6, |instance, told, session| {
        let life = told as i64;
        let name = match told {
            2 => "u",
            3 => "t",
            _ => return,
        };
        // After the last step is told nothing is dropped any more.
        if let Ok(table) = Rows::open(instance, name, session) {
            assert_eq!(count(&table, life, session), 120 + 10 * told, "told {told}");
        } else {
            assert_eq!(told, 2, "what was committed is gone");
        }
    });
    assert!(states > 70, "{states} states");
}

/// Sessions drop tables and fill others in their blocks, with buffers so few that old and new
/// blocks are written and read back in any order: no old image comes over a new one, and no read
/// of a new one is taken for a lost write.
#[test]
fn old_images_never_come_over_new_ones() {
    let creation = Creation { data_bytes: 300 * BLOCK, ..creation() };
    let base = database_with(creation, parameters(), |_, _| {});
    for seed in 0..40 {
        let ((), disk) = run_kept(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            let users = (0..3).map(|user| {
                start("user", &instance, session, move |instance, session| {
                    let mut dice = Dice(seed * 10 + user as u64);
                    for life in 0..6 {
                        let name = format!("t{user}_{life}");
                        let mark = life + 100 * (i64::from(user) + 1);
                        let wanted = 20 + dice.below(130);
                        let table = live(instance, &name, mark, wanted, session);
                        let some = rows(&table, session)[dice.below(wanted) as usize];
                        let mut transaction = Transaction::new();
                        if number(&table, some, session) == mark {
                            add(&table, &mut transaction, some, 0, session).expect("changed");
                        }
                        instance.commit(transaction, session).expect("committed");
                        assert_eq!(count(&table, mark, session), wanted);
                        let object = table.segment().object;
                        instance.space().drop_segment(object, session).expect("dropped");
                    }
                })
            });
            join(users.collect(), session);
            check(&instance, session);
            if seed % 2 == 0 { shut(instance, session) } else { abort(instance, session) }
        });
        with_instance(machine(seed, disk), |instance, session| {
            check(instance, session);
        });
    }
}

/// A block whose content nobody can read, and that the redo formats anew, is recovered; one that
/// the redo only changes is refused.
#[test]
fn a_damaged_block_that_is_made_anew_is_recovered() {
    let parameters = || Parameters { doublewrite: false, ..parameters() };
    for anew in [true, false] {
        let made = Outside::<Option<Dba>>::default();
        let tell = made.clone();
        let base = database_with(creation(), parameters(), move |instance, session| {
            let old = instance.space().create("old", Holds::Table, session).expect("made");
            tell.with(|header| *header = Some(old.header));
        });
        let header = made.take().expect("it was made");
        let ((), mut disk) = run_kept(machine(1, base), move |world, session| {
            let instance = open_as(&parameters(), world, session);
            let space = instance.space();
            if anew {
                let old = space.find("old", session).expect("read").expect("there");
                space.drop_segment(old.object, session).expect("dropped");
                // What comes before the formatting is on disk: recovery begins behind it.
                instance.checkpoint(session).expect("written");
                let new = space.create("new", Holds::Table, session).expect("made");
                assert_eq!(new.header, header, "the same block");
            }
            space.hand_out(header, 3, session).expect("room");
            make_durable(&instance, session);
            abort(instance, session);
        });
        let mut bytes = bytes_of(&mut disk, "/db/data01.dbf");
        let at = (u64::from(header.block.get()) * BLOCK) as usize;
        bytes[at..at + 2048].fill(0x5A);
        put(&mut disk, "/db/data01.dbf", &bytes);
        let report = machine(1, disk).run(move |world, session| {
            let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
            if !anew {
                let stop = opened.err().expect("damaged").to_string();
                assert!(stop.contains("is damaged"), "{stop}");
                return;
            }
            let instance = Arc::new(opened.expect("it is made anew"));
            let new = instance.space().find("new", session).expect("read").expect("there");
            let runs = instance.space().blocks(new.header, session).expect("read");
            assert_eq!(runs[0].count, 4);
            check(&instance, session);
            shut(instance, session);
        });
        ended(report, anew);
    }
}

/// What sessions were told of their segments, and what they were about to do.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Name, number, and blocks that were handed out: durable.
    kept: Vec<(String, ObjectNo, u32)>,
    /// Names that something is being done with: they may be there or not, or have more blocks.
    doing: BTreeSet<String>,
}

/// One session's storm of everything, each step durable before the next.
fn storm(instance: &Instance, user: u32, seed: u64, told: &Outside<Told>, session: &Session) {
    let mut dice = Dice(seed * 100 + u64::from(user));
    let space = instance.space();
    let mut mine: Vec<(Segment, u32)> = Vec::new();
    for step in 0..25 {
        let which = dice.below(mine.len().max(1) as u64) as usize;
        match dice.below(4) {
            0 | 1 if !mine.is_empty() => {
                let (segment, count) = &mut mine[which];
                told.with(|told| told.doing.insert(segment.name.clone()));
                let wanted = 1 + dice.below(30) as u32;
                match space.hand_out(segment.header, wanted, session) {
                    Ok(run) => *count += run.count,
                    Err(stop) => assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}"),
                }
            }
            2 if mine.len() > 1 => {
                let (segment, _) = mine.swap_remove(which);
                told.with(|told| {
                    told.doing.insert(segment.name.clone());
                    told.kept.retain(|one| one.0 != segment.name);
                });
                space.drop_segment(segment.object, session).expect("dropped");
                make_durable(instance, session);
                told.with(|told| told.doing.remove(&segment.name));
                continue;
            }
            _ => {
                let name = format!("s{user}_{step}");
                told.with(|told| told.doing.insert(name.clone()));
                match space.create_temporary("striped", &name, Holds::Index, session) {
                    Ok(segment) => {
                        if dice.below(4) == 0 {
                            // Left to the next opening.
                            told.with(|told| told.doing.remove(&name));
                            continue;
                        }
                        space.keep(segment.object, session).expect("kept");
                        mine.push((segment, 1));
                    }
                    Err(stop) => assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}"),
                }
            }
        }
        make_durable(instance, session);
        told.with(|told| {
            told.doing.retain(|name| !name.starts_with(&format!("s{user}_")));
            told.kept.retain(|one| !mine.iter().any(|(segment, _)| segment.name == one.0));
            let each = mine.iter().map(|(one, count)| (one.name.clone(), one.object, *count));
            told.kept.extend(each);
        });
    }
}

/// What is there after a crash is what was told, and what was under way there or not.
fn compare(told: &Told, instance: &Instance, session: &Session) {
    let there = all_permanent(instance, session);
    for (name, object, count) in &told.kept {
        let doing = told.doing.contains(name);
        let Some(found) = there.iter().find(|one| one.name == *name) else {
            assert!(doing, "{name} is gone");
            continue;
        };
        assert_eq!(found.object, *object);
        let runs = instance.space().blocks(found.header, session).expect("read");
        let has: u32 = runs.iter().map(|run| run.count).sum();
        assert!(has == *count || (doing && has > *count), "{name} has {has} blocks, not {count}");
    }
    for found in &there {
        let known = told.kept.iter().any(|one| one.0 == found.name);
        let is_undo = found.holds == Holds::Undo;
        assert!(known || is_undo || told.doing.contains(&found.name), "{} came back", found.name);
    }
}

/// Sessions create, keep, drop and grow segments at random, and the power goes at random moments:
/// what was told is there, and no extent is lost or of two.
#[test]
fn storms_of_segments_survive_crashes() {
    let base = database_with(striped(), parameters(), |_, _| {});
    let mut states = 0;
    for seed in 0..12 {
        let told = Outside::<Told>::default();
        let shots = Outside::<Vec<(u64, FileSystem, Told)>>::default();
        let mut machine = racy(seed, base.clone());
        let (known, collected) = (told.clone(), shots.clone());
        machine.crash_points = Some(CrashPoints::new(move |_, number, cut| {
            if (number + seed) % 11 == 0 {
                let mut disk = cut().pop().expect("the machine has one disk");
                disk.close_all();
                let told = known.with(|told| told.clone());
                collected.with(|shots| shots.push((number, disk, told)));
            }
        }));
        let sessions = told.clone();
        with_instance(machine, move |instance, session| {
            let users = (0..3).map(|user| {
                let told = sessions.clone();
                start("user", instance, session, move |instance, session| {
                    storm(instance, user, seed, &told, session);
                })
            });
            join(users.collect(), session);
            check(instance, session);
        });
        for (number, disk, told) in shots.take() {
            let state = CrashStates::of(&disk).sample(number);
            states += 1;
            let report = common::machine(number, state).run(move |world, session| {
                let instance = open(world, session);
                check(&instance, session);
                compare(&told, &instance, session);
                shut(instance, session);
            });
            ended(report, format!("seed {seed}, cut {number}"));
        }
    }
    assert!(states > 200, "{states} states");
}

#[test]
fn a_directory_block_that_a_crash_kept_from_being_formatted_is_no_damage() {
    let base = database_with(creation(), parameters(), |instance, session| {
        for n in 0..42 {
            instance.space().create(&format!("s{n}"), Holds::Table, session).expect("made");
        }
    });
    let ((), disk) = run_kept(machine(1, base), |world, session| {
        let instance = open(world, session);
        let own = instance.space().list_of(Holds::Directory, session).expect("read")[0].header;
        // The first of two steps in which older programs had a directory grow; the crash comes
        // before the second.
        instance.space().hand_out(own, 1, session).expect("handed out");
        make_durable(&instance, session);
        abort(instance, session);
    });
    let again = machine(1, disk).run(|world, session| {
        let instance = open(world, session);
        check(&instance, session);
        // It has room for more there.
        for n in 0..42 {
            instance.space().create(&format!("t{n}"), Holds::Table, session).expect("made");
        }
        check(&instance, session);
        abort(instance, session);
    });
    ended(again, "the last directory block is zeros, which is allowed");
}

/// Rule space/SP13: who sees that a block of the directory was handed out sees it formatted, and so
/// does recovery, for both are one group.
#[test]
fn a_block_of_the_directory_is_handed_out_and_formatted_in_one_step() {
    let base = database_with(creation(), parameters(), |_, _| {});
    for seed in 0..20 {
        with_instance(racy(seed, base.clone()), |instance, session| {
            let is_done = Arc::new(AtomicBool::new(false));
            let says = Arc::clone(&is_done);
            let maker = start("maker", instance, session, move |instance, session| {
                for n in 0..90 {
                    let name = format!("s{n}");
                    instance.space().create(&name, Holds::Table, session).expect("made");
                }
                says.store(true, SeqCst);
            });
            let reader = start("reader", instance, session, move |instance, session| {
                let mut seen = 0;
                while !is_done.load(SeqCst) {
                    pause(Nanos::from_micros(1), session);
                    seen = directory_blocks(instance, session);
                }
                assert_eq!(seen, 2, "it has grown twice");
            });
            join(vec![maker, reader], session);
        });
    }
}

/// How many blocks of the directory's own segment were handed out; each is formatted.
fn directory_blocks(instance: &Instance, session: &Session) -> usize {
    let own = instance.space().list_of(Holds::Directory, session).expect("read");
    let Some(own) = own.first() else { return 0 };
    let runs = instance.space().blocks(own.header, session).expect("read");
    let blocks = runs.iter().flat_map(|run| {
        (0..run.count).map(|at| Dba::new(run.first.file.get(), run.first.block.get() + at))
    });
    let further = blocks.skip(1).inspect(|address| {
        let pin = instance.cache().pin_or_unwritten(*address, session).expect("read");
        let block = pin.shared(FrameOrder::Directory, session);
        assert!(!cache::is_unwritten(&block), "{address} isn't formatted");
    });
    further.count()
}
