//! Groups with several members: what one member can do without the other.

use std::sync::Arc;

use format::REDO_BLOCK;
use ids::{Rba, Scn};
use latch::{Latch, LatchKind};
use os::Session;
use redo::{
    Hooks, LOG_BLOCKS_MIN, LogStart, MemberChange, RecordPosition, Redo, RedoConfig, examine,
};
use sim::World;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use stop::{Halt, RefusalKind, Stop};
use testbed::{run, run_kept};
use waits::{Statistic, WaitEvent};

use crate::commits::{cut_power_and, with_writes};
use crate::common::{
    FIRST, commit, fresh, groups, hooks, mirrored, over, put, read, read_files, small,
};

const FROM: RecordPosition = RecordPosition { scn: Scn::new(1), rba: Rba::block(1, 1) };

fn two() -> RedoConfig {
    RedoConfig { groups: mirrored(&[LOG_BLOCKS_MIN; 3], 2), ..small() }
}

/// What became of members, kept as a control file would; and through which SCN redo was durable
/// when it was written down.
type Kept = Arc<Latch<Vec<(u16, MemberChange, Scn)>>>;

/// Opens, and keeps what becomes of members. It refuses a group without a good member.
fn open_kept(
    world: &World,
    config: &RedoConfig,
    start: LogStart,
    session: &Session,
) -> (Redo, Halt, Kept) {
    let kept: Kept = Arc::new(Latch::new(world.os(), LatchKind::Innermost, Vec::new()));
    let inside = Arc::clone(&kept);
    let known = Latch::new(world.os(), LatchKind::Innermost, config.clone());
    let opened: Arc<Latch<Option<Redo>>> =
        Arc::new(Latch::new(world.os(), LatchKind::Innermost, None));
    let slot = Arc::clone(&opened);
    let keep_members = Box::new(move |group: u16, changes: &[MemberChange], session: &Session| {
        let mut config = known.exclusive(session);
        let here = config.groups.iter_mut().find(|here| here.number == group).expect("known");
        for change in changes {
            let member = here.members.iter_mut().find(|member| member.path == change.path);
            member.expect("known").good = change.good;
        }
        here.check()?;
        drop(config);
        let redo = slot.exclusive(session).clone();
        let durable = redo.map_or(Scn::ZERO, |redo| redo.durable_scn(session));
        let changes = changes.iter().map(|change| (group, change.clone(), durable));
        inside.exclusive(session).extend(changes);
        Ok(())
    });
    let halt = Halt::new(world.os());
    let hooks = Hooks { checkpoint_wanted: Box::new(|_| ()), keep_members };
    let redo = Redo::open(&world.disk(), config, start, &halt, hooks, session).expect("it opens");
    *opened.exclusive(session) = Some(redo.clone());
    (redo, halt, kept)
}

/// Every written block is in both members, and the wait says how much that was.
#[test]
fn all_members_get_everything() {
    for way in os::probe::DurableWrite::ALL {
        let config = RedoConfig { durable_write: way, ..two() };
        let inside = config.clone();
        let mut report = fresh(&config, 1).run(move |world, session| {
            let (redo, _, kept) = open_kept(world, &inside, FIRST, session);
            let lgwr = redo.clone();
            let body = move |s: &Session| lgwr.run_lgwr(s).expect("no halt");
            let spec = os::ThreadSpec::background("fb_lgwr");
            let lgwr = session.spawn(spec, body).expect("a thread");
            for tag in 0..60 {
                commit(&redo, tag, 3_000, session);
            }
            put(&redo, 60, 9_000, session);
            redo.stop(session);
            lgwr.join(session).expect("no panic");
            assert_eq!(kept.shared(session).len(), 0);
            let found = read(world, &inside, FROM.rba, FROM.scn, session).expect("whole");
            assert_eq!(found.records.len(), 61);
            let totals = world.os().totals();
            (totals.statistic(Statistic::RedoWrites), totals)
        });
        let (writes, totals) = report.result.as_ref().expect("it runs");
        // One wait for both members and, where it takes one, a sync for each.
        let waits = totals.event(WaitEvent::LogFileParallelWrite).count;
        assert!((1..=3).contains(&waits), "{way:?}: {waits} waits, {writes} writes");
        let disk = &mut report.disks.get_mut("disk").expect("one").clone();
        disk.close_all();
        for group in 1..=3 {
            let (a, b) = (
                bytes_of(disk, &format!("/a/{group}.log")),
                bytes_of(disk, &format!("/b/{group}.log")),
            );
            assert!(a == b, "{way:?}: the members of group {group} differ");
        }
    }
}

fn bytes_of(disk: &mut FileSystem, path: &str) -> Vec<u8> {
    let file = disk.open(path).expect("there");
    let mut bytes = vec![0; disk.len(file).expect("there") as usize];
    disk.read(file, 0, &mut bytes).expect("read");
    disk.close(file).expect("closed");
    bytes
}

fn put_bytes(disk: &mut FileSystem, path: &str, bytes: &[u8]) {
    let file = disk.open(path).expect("there");
    disk.write(file, 0, bytes, false).expect("written");
    disk.sync(file).expect("synced");
    disk.close(file).expect("closed");
}

/// Examines these files before reading; returns the members that are lost, and what is read then.
fn examined(files: FileSystem, config: &RedoConfig) -> Result<(Vec<String>, u64), Stop> {
    let mut config = config.clone();
    run(over(files, 1), move |world, session| {
        let lost = examine(&world.disk(), &mut config, session)?;
        let found = read(world, &config, FROM.rba, FROM.scn, session)?;
        let names = lost.iter().map(|path| path.display().to_string()).collect();
        Ok((names, found.records.len() as u64))
    })
}

/// Rule RD19: a file that was away while its group's log was written is found out by the redo that
/// the other has; one that only lacks a header without redo is good, and gets it.
#[test]
fn a_member_that_was_away_is_found_out() {
    let config = two();
    let inside = config.clone();
    let run = |records: u64| {
        let inside = inside.clone();
        let ((), mut disk) = run_kept(fresh(&config, 1), move |world, session| {
            let (redo, _, _) = open_kept(world, &inside, FIRST, session);
            for tag in 0..records {
                commit(&redo, tag, 3_000, session);
            }
        });
        disk.close_all();
        disk
    };
    // A log has 50 blocks: the second has one, the third none.
    let (mut short, long, other) = (run(0), run(51), run(120));
    assert_eq!(examined(long.clone(), &config).expect("whole"), (Vec::new(), 51));
    let old = bytes_of(&mut short, "/b/2.log");
    for member in ["/a/2.log", "/b/2.log"] {
        let mut files = long.clone();
        put_bytes(&mut files, member, &old);
        let (lost, records) = examined(files, &config).expect("the other has all");
        assert_eq!((lost, records), (vec![member.to_string()], 51));
        // Without both, redo is missing.
        let mut files = other.clone();
        for member in ["/a/2.log", "/b/2.log"] {
            put_bytes(&mut files, member, &old);
        }
        let stop = examined(files, &config).expect_err("redo is missing");
        assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
    }
    let mut files = run(0);
    put_bytes(&mut files, "/b/1.log", &old);
    assert_eq!(examined(files, &config).expect("cut off between"), (Vec::new(), 0));
}

/// The files after `records` records of 3,000 bytes. No checkpoint was made.
fn written(config: &RedoConfig, records: u64) -> FileSystem {
    let inside = config.clone();
    let ((), mut disk) = run_kept(fresh(config, 1), move |world, session| {
        let (redo, _, _) = open_kept(world, &inside, FIRST, session);
        (0..records).for_each(|tag| _ = commit(&redo, tag, 3_000, session));
    });
    disk.close_all();
    disk
}

/// Rule RD22: whether the lost member's group has others is said as it is.
#[test]
fn a_lost_group_is_said_to_have_no_other_member_only_if_it_has_none() {
    let config = two();
    let says = |config: &RedoConfig, lost: &[&str], expected: &str| {
        let mut files = written(config, 51);
        lost.iter().for_each(|path| files.remove(*path).expect("there"));
        let mut config = config.clone();
        let marked = config.groups[1].members.iter_mut().skip(1);
        marked.for_each(|member| member.good = lost.contains(&&*member.path.to_string_lossy()));
        let report = over(files, 1).run(move |world, session| {
            examine(&world.disk(), &mut config, session)?;
            read(world, &config, FROM.rba, FROM.scn, session).map(drop)
        });
        let stop = report.result.expect("it runs").expect_err("group 2 is lost");
        assert_eq!(stop.refusal(), Some(RefusalKind::NotFound), "{stop}");
        let text = stop.to_string();
        assert!(text.contains(lost[0]), "{text}");
        assert!(text.contains(&format!("redo log group 2 {expected}: put it back")), "{text}");
    };
    let alone = RedoConfig { groups: mirrored(&[LOG_BLOCKS_MIN; 3], 1), ..config.clone() };
    says(&alone, &["/a/2.log"], "has no other member");
    says(&config, &["/a/2.log", "/b/2.log"], "has no other member that can be used");
    // The control file calls the other one invalid.
    says(&config, &["/a/2.log"], "has no other member that can be used");
}

/// Asserts that files are refused because of what lies in `path`.
fn is_refused(found: Result<(), Stop>, path: &str) {
    let stop = found.expect_err("none is its own");
    assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
    let text = stop.to_string();
    for says in [&format!("{path} is a log of"), "put the right file back"] {
        assert!(text.contains(says), "'{text}' doesn't say '{says}'");
    }
}

/// Rule RD24: a member of another owner counts as lost while its group has one that isn't. Without
/// one nothing is opened, whether the members were examined before or not.
#[test]
fn a_log_of_another_owner_is_never_the_groups_own() {
    let config = two();
    let own = written(&config, 51);
    let (number, began) = config.incarnation;
    for other in [
        RedoConfig { database: 5, ..config.clone() },
        RedoConfig { incarnation: (number + 1, began), ..config.clone() },
        RedoConfig { incarnation: (number, Scn::new(9)), ..config.clone() },
    ] {
        let mut others = written(&other, 51);
        // Logs 1 and 2 lie in groups 1 and 2; either in its own place, and in the other's.
        for (group, from) in [(1, 1), (1, 2), (2, 2), (2, 1)] {
            let [a, b] = ["a", "b"].map(|member| format!("/{member}/{group}.log"));
            let foreign = bytes_of(&mut others, &format!("/a/{from}.log"));
            let mut files = own.clone();
            put_bytes(&mut files, &a, &foreign);
            let found = examined(files.clone(), &config).expect("the other is its own");
            assert_eq!(found, (vec![a.clone()], 51));
            let mut gone = files.clone();
            gone.remove(&b).expect("there");
            // The one that is gone isn't called invalid first.
            let mut inside = config.clone();
            let report = over(gone, 1)
                .run(move |world, session| examine(&world.disk(), &mut inside, session).map(drop));
            is_refused(report.result.expect("it runs"), &a);
            put_bytes(&mut files, &b, &foreign);
            is_refused(examined(files.clone(), &config).map(drop), &a);
            is_refused(read_files(files.clone(), &config, FROM.rba, FROM.scn).map(drop), &a);
            let inside = config.clone();
            let report = over(files, 1).run(move |world, session| {
                let next = (Rba::block(3, 1), Scn::new(99));
                let (sequence, next_scn) = (next.0.sequence, next.1);
                let start = LogStart { sequence, next_scn, checkpoint: next.0, previous_end: 0 };
                let hooks = hooks(Box::new(|_| ()));
                let halt = Halt::new(world.os());
                Redo::open(&world.disk(), &inside, start, &halt, hooks, session).map(drop)
            });
            is_refused(report.result.expect("it runs"), &a);
        }
    }
}

/// Rule RD24: a header that was never written, or is torn, says nothing of an owner.
#[test]
fn a_member_without_a_header_holds_no_log_whatever_its_sibling_is() {
    let config = two();
    let other = RedoConfig { database: 5, ..config.clone() };
    let foreign = bytes_of(&mut written(&other, 120), "/a/3.log");
    let mut torn = foreign.clone();
    torn[100] ^= 1;
    for header in [None, Some(torn)] {
        for [one, sibling] in [["/a/3.log", "/b/3.log"], ["/b/3.log", "/a/3.log"]] {
            let mut files = written(&config, 51);
            put_bytes(&mut files, one, &foreign);
            if let Some(torn) = &header {
                put_bytes(&mut files, sibling, torn);
            }
            let found = examined(files, &config).expect("group 3 has no log");
            assert_eq!(found, (vec![one.to_string()], 51));
        }
    }
}

/// Rule RD20: blocks that one member has lost come from the other, also where each has lost some.
#[test]
fn each_block_comes_from_the_member_that_has_it() {
    let config = two();
    let inside = config.clone();
    let ((), mut disk) = run_kept(fresh(&config, 1), move |world, session| {
        let (redo, _, _) = open_kept(world, &inside, FIRST, session);
        for tag in 0..120 {
            commit(&redo, tag, 3_000, session);
        }
    });
    disk.close_all();
    for (number, (group, block)) in (1..=3).flat_map(|g| (0..51).map(move |b| (g, b))).enumerate() {
        // Of the header too, and of every block only one.
        let path = format!("/{}/{group}.log", ["a", "b"][number % 2]);
        let mut bytes = bytes_of(&mut disk, &path);
        bytes[block * REDO_BLOCK.bytes() + 200] ^= 1;
        put_bytes(&mut disk, &path, &bytes);
    }
    let report = over(disk, 1).run(move |world, session| {
        read(world, &config, FROM.rba, FROM.scn, session).expect("all is there").records.len()
    });
    assert_eq!(report.result.expect("it runs"), 120);
}

/// Rule RD20, where neither member can be read in one piece.
#[test]
fn members_that_each_fail_in_one_piece_are_read_block_by_block() {
    let config = two();
    let mut files = written(&config, 40);
    let reads = |path| Scope::of(&[Operation::Read]).under(path);
    // The first read of each is of its header, the second of a piece.
    let plan = FaultPlan::new(1).nth(2, Fault::Eio, reads("/a/1.log"));
    files.plan_faults(plan.nth(2, Fault::Eio, reads("/b/1.log")));
    let found =
        read_files(files, &config, FROM.rba, FROM.scn).expect("each block is in one of them");
    assert_eq!(found.records.len(), 40);
}

/// Rule RD8: a block behind the end of the redo that can't be read proves nothing.
#[test]
fn what_can_not_be_read_behind_the_end_of_the_redo_is_nobodys_loss() {
    let config = RedoConfig { groups: groups(600), log_buffer_bytes: 2 << 20, ..small() };
    let mut files = written(&config, 10);
    // Reads of the log: its header, and three pieces; then block 1, whether another log begins
    // here; then the second piece again, and its first block.
    let scope = Scope::of(&[Operation::Read]).under("/redo01.log");
    let fails = |plan: FaultPlan, nth| plan.nth(nth, Fault::Eio, scope.clone());
    files.plan_faults([3, 6, 7].into_iter().fold(FaultPlan::new(1), fails));
    let found = read_files(files, &config, FROM.rba, FROM.scn).expect("all acknowledged is there");
    assert_eq!(found.records.len(), 10);
}

/// Rule RD9: a log that only a member knew that couldn't be synced hasn't begun. The process was
/// killed between the headers of the two.
#[test]
fn a_header_that_only_a_lost_member_has_begins_no_log() {
    let config = two();
    // Log 2 has a header and one block.
    let mut files = written(&config, 51);
    let mut bytes = bytes_of(&mut files, "/a/2.log");
    bytes[REDO_BLOCK.bytes()..].fill(0);
    put_bytes(&mut files, "/a/2.log", &bytes);
    bytes.fill(0);
    put_bytes(&mut files, "/b/2.log", &bytes);
    let scope = Scope::of(&[Operation::Sync]).under("/a/2.log");
    files.plan_faults(FaultPlan::new(1).nth(1, Fault::Eio, scope));
    let report = over(files, 1).run(move |world, session| {
        let (disk, mut config) = (world.disk(), config);
        let mut reader = redo::Reader::open(&disk, &config, FROM, session)?;
        while reader.next(session)?.is_some() {}
        let (end, lost) = (reader.end().expect("the end"), reader.lost_members().to_vec());
        config.mark_invalid(&lost);
        redo::rewrite_tail(&disk, &config, FROM.rba, &end, session)
            .map(|_| (end.sequence, lost.len()))
    });
    assert_eq!(report.result.expect("it runs").expect("log 1 is the last"), (1, 1));
}

/// Rule RD21: the log before one whose header isn't durable is where reading begins, so its group
/// stays; and the next log begins in the group that has been free for longest.
#[test]
fn a_group_goes_only_when_nothing_needs_it() {
    let config = RedoConfig { groups: mirrored(&[LOG_BLOCKS_MIN; 4], 2), ..small() };
    run(fresh(&config, 1), move |world, session| {
        let (redo, _, _) = open_kept(world, &config, FIRST, session);
        let holding = |sequence: u32| {
            let views = redo.groups(session);
            views.iter().find(|view| view.sequence == sequence).map(|view| view.number)
        };
        let retire = |number: u16| redo.retire_group(number, session).map_err(|s| s.to_string());
        commit(&redo, 1, 100, session);
        redo.switch(session).expect("free");
        redo.checkpoint_advanced(redo.position(session), session);
        let said = retire(1).expect_err("its end is where reading begins");
        assert!(said.contains("recovery needs its log 1"), "{said}");
        commit(&redo, 2, 100, session);
        retire(1).expect("the header of log 2 is durable");
        redo.end_retirement(1, false, session);
        // Unused groups first, then the one with the oldest log; the retired one not at all.
        for (sequence, group) in [(2, 2), (3, 3), (4, 4), (5, 2), (6, 3)] {
            if sequence == 4 {
                retire(1).expect("it is free");
            }
            assert_eq!(holding(sequence), Some(group), "log {sequence}");
            assert!(retire(group).expect_err("it is current").contains("current"));
            redo.switch(session).expect("free");
            commit(&redo, sequence.into(), 100, session);
            redo.checkpoint_advanced(redo.position(session), session);
        }
        redo.end_retirement(1, true, session);
        redo.add_group(&config.groups[0], session).expect("its files are there");
        redo.switch(session).expect("free");
        assert_eq!(holding(8), Some(1), "an unused one goes first");
        commit(&redo, 9, 100, session);
        let found = read(world, &config, redo.position(session), Scn::new(99), session);
        assert!(found.is_ok());
    });
}

/// A member whose write fails, once or for good, is written down as invalid before the commit
/// returns; the other goes on. When the group's next log begins it is good again, if it can be
/// written.
#[test]
fn a_member_that_fails_is_left_out_until_its_next_log() {
    for (for_good, operation) in
        [(false, Operation::Write), (true, Operation::Write), (false, Operation::Sync)]
    {
        for n in 2..12 {
            let config = two();
            let mut simulation = fresh(&config, n);
            let scope = Scope::of(&[operation]).under("/b");
            let plan = FaultPlan::new(n);
            let plan = match for_good {
                true => plan.from_nth(n, Fault::Eio, scope),
                false => plan.nth(n, Fault::Eio, scope),
            };
            simulation.disks[0].content.plan_faults(plan);
            let inside = config.clone();
            let (kept, groups) = run(simulation, move |world, session| {
                let (redo, halt, kept) = open_kept(world, &inside, FIRST, session);
                let mut told = kept.shared(session).len();
                for tag in 0..400 {
                    let placed = commit(&redo, tag, 3_000, session);
                    // Rule RD18: it was written down before any session had been told of the batch.
                    let all = kept.shared(session);
                    let mut new = all[told..].iter();
                    assert!(new.all(|(_, _, durable)| *durable < placed.scn));
                    told = all.len();
                    drop(all);
                    if tag % 20 == 0 {
                        redo.checkpoint_advanced(redo.position(session), session);
                    }
                }
                assert!(!halt.is_raised(session));
                let kept = kept.shared(session).clone();
                (kept, redo.groups(session))
            });
            let gone =
                |good: bool| kept.iter().filter(|(_, change, _)| change.good == good).count();
            let bad = groups.iter().flat_map(|group| &group.members).filter(|(_, good)| !good);
            if for_good {
                assert_eq!((gone(false), gone(true), bad.count()), (3, 0, 3), "{kept:?}");
            } else {
                assert_eq!((gone(false), gone(true), bad.count()), (1, 1, 0), "{kept:?}");
            }
        }
    }
}

/// When both members fail, no session is told that anything is durable.
#[test]
fn without_a_good_member_the_instance_halts() {
    for n in 3..20 {
        let config = two();
        let mut simulation = fresh(&config, n);
        let scope = |path| Scope::of(&[Operation::Write]).under(path);
        let plan = FaultPlan::new(n).from_nth(2, Fault::Eio, scope("/a"));
        let plan = plan.from_nth(n, Fault::Eio, scope("/b"));
        simulation.disks[0].content.plan_faults(plan);
        let said = run(simulation, move |world, session| {
            let (redo, halt, kept) = open_kept(world, &config, FIRST, session);
            for tag in 0..30 {
                let placed = put(&redo, tag, 3_000, session);
                let told = redo.make_durable(placed.scn, session, WaitEvent::LogFileSync);
                if let Err(stop) = told {
                    assert!(matches!(stop, Stop::Halted(_)) && halt.is_raised(session), "{stop}");
                    let kept: Vec<_> = kept.shared(session).clone();
                    assert!(kept.iter().all(|(_, change, _)| !change.path.starts_with("/b")));
                    return stop.to_string();
                }
            }
            panic!("it never halted");
        });
        assert!(said.contains(".log"), "{said}");
    }
}

/// The power goes at any moment. Whichever member is then lost, what was acknowledged is there; and
/// once the tail was written again, either member alone says the same.
#[test]
fn after_a_power_cut_either_member_will_do() {
    let (mut cut, mut differ) = (0, 0);
    for seed in 0..150 {
        let mut config = with_writes(1 + (seed / 8 % 3) as u32);
        config.durable_write = os::probe::DurableWrite::ALL[(seed / 2 % 4) as usize];
        config.groups = mirrored(&[LOG_BLOCKS_MIN, LOG_BLOCKS_MIN + 20, LOG_BLOCKS_MIN + 3], 2);
        let known = config.clone();
        let mut look = |files: FileSystem, from: (Rba, Scn), told: u64| {
            let both = read_files(files.clone(), &known, from.0, from.1)?;
            let alone = |files: FileSystem, keep: &str| {
                let mut one = known.clone();
                for member in one.groups.iter_mut().flat_map(|group| &mut group.members) {
                    member.good = member.path.starts_with(keep);
                }
                read_files(files, &one, from.0, from.1)
            };
            let ends = [alone(files.clone(), "/a")?.end, alone(files.clone(), "/b")?.end];
            for end in ends {
                assert!(end.last_scn.get() >= told, "{told} was told, and {end}");
                assert!(end.last_scn <= both.end.last_scn);
            }
            differ += u32::from(ends[0].last_scn != ends[1].last_scn);
            // Made durable, it is the same for ever, whatever is lost.
            let (config, end) = (known.clone(), both.end);
            let mut report = over(files, 1).run(move |world, session| {
                let mut config = config;
                let lost = examine(&world.disk(), &mut config, session)?;
                let rewritten = redo::rewrite_tail(&world.disk(), &config, from.0, &end, session)?;
                assert_eq!(rewritten.lost.len(), 0);
                Ok::<_, Stop>(lost)
            });
            let lost = std::mem::replace(&mut report.result, Ok(Ok(Vec::new())));
            let lost = lost.expect("it runs")?;
            let mut disk = report.disks.remove("disk").expect("one");
            disk.close_all();
            for keep in ["/a", "/b"] {
                // A member that was found to be stale stays out.
                if lost.iter().any(|path| path.starts_with(keep)) {
                    continue;
                }
                assert_eq!(alone(disk.clone(), keep)?.end.last_scn, both.end.last_scn);
            }
            Ok(())
        };
        let outcome = cut_power_and(seed, &config, &mut look);
        cut += u32::from(outcome.unwrap_or_else(|lost| panic!("{lost}")));
    }
    assert!(cut > 80 && differ > 20, "{cut} cuts, in {differ} of their states members differed");
}

/// Two logs have begun and no header of them is durable: reading begins with the end of the log
/// before the first of them.
#[test]
fn a_group_stays_until_the_header_of_the_log_after_it_is_durable_however_many_have_begun() {
    let config = RedoConfig { groups: mirrored(&[LOG_BLOCKS_MIN; 4], 1), ..small() };
    run(fresh(&config, 1), move |world, session| {
        let (redo, _, _) = open_kept(world, &config, FIRST, session);
        commit(&redo, 1, 100, session);
        redo.switch(session).expect("free");
        // What the control file says: log 2 from its first block on.
        let (at, last) = (redo.position(session), redo.last_scn(session));
        redo.checkpoint_advanced(at, session);
        put(&redo, 2, 100, session);
        redo.switch(session).expect("free");
        let refused = redo.retire_group(1, session).is_err();
        let mut left = config.clone();
        left.groups.remove(0);
        let found = read(world, &left, at, last.next(), session);
        assert!(refused || found.is_ok(), "{}", found.expect_err("refused"));
        assert!(refused);
    });
}
