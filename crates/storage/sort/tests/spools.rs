//! Spools give back what was appended, whatever the rows, the memory and the number of spools; a
//! faulty disk makes them fail and never gives other rows; nothing is left of them.
#![forbid(unsafe_code)]

mod common;

use common::{small, world};
use os::{FilesystemIo, Session};
use proptest::prelude::*;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::{Simulation, World};
use sort::{SortConfig, Spool, SpoolFile, SpoolShape};
use stop::{Halt, RefusalKind, Stop};
use testbed::Dice;
use waits::Statistic;

const SHAPE: SpoolShape = SpoolShape { written: 3, readers: 2, wanted_bytes: 0 };

fn file(world: &World, io: FilesystemIo, shape: SpoolShape, session: &Session) -> SpoolFile {
    let config = SortConfig { filesystem_io: io, ..small() };
    SpoolFile::new(&world.disk(), &config, &Halt::new(session.os()), shape)
}

/// Rows of up to this many bytes, some of which are longer than a block.
fn rows(dice: &mut Dice, count: u64, bytes: u64) -> Vec<Vec<u8>> {
    let row = |_| {
        let long = if dice.below(50) == 0 { 40 * bytes } else { 0 };
        let length = dice.below(bytes + 1) + long;
        let first = dice.below(256) as u8;
        (0..length).map(|at| first.wrapping_add(at as u8)).collect()
    };
    (0..count).map(row).collect()
}

fn all(spool: &Spool, file: &mut SpoolFile, session: &Session) -> Result<Vec<Vec<u8>>, Stop> {
    let mut reader = spool.reader(file, session)?;
    let mut found = Vec::new();
    while let Some(row) = reader.next(file, session)? {
        found.push(row.to_vec());
    }
    assert_eq!(reader.next(file, session)?, None, "the end is for good");
    Ok(found)
}

/// Deals rows to spools in turn, and reads each spool twice, the second time beside another one.
fn deal(file: &mut SpoolFile, rows: &[Vec<u8>], session: &Session) -> Result<(), Stop> {
    let mut spools: Vec<Spool> = (0..SHAPE.written).map(|_| Spool::new()).collect();
    for (number, row) in rows.iter().enumerate() {
        spools[number % SHAPE.written].append(row, file, session)?;
    }
    for spool in &mut spools {
        spool.finish(file, session)?;
    }
    for (number, spool) in spools.iter().enumerate() {
        let dealt: Vec<&Vec<u8>> = rows.iter().skip(number).step_by(SHAPE.written).collect();
        assert_eq!(spool.rows(), dealt.len() as u64);
        assert_eq!(spool.bytes(), dealt.iter().map(|row| row.len() as u64).sum::<u64>());
        let mut beside = spools[0].reader(file, session)?;
        let first = beside.next(file, session)?.map(<[u8]>::to_vec);
        assert_eq!(first.as_ref(), rows.first());
        for _ in 0..2 {
            let found = all(spool, file, session)?;
            assert!(found.iter().eq(dealt.iter().copied()), "spool {number}");
        }
        beside.close(file, session);
        assert_eq!(beside.next(file, session)?, None);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 40,
        ..Default::default()
    })]

    /// Each spool of a file gives its rows in the order in which they came, again and again.
    #[test]
    fn spools_give_back_what_was_appended(
        seed in any::<u64>(),
        io in 0..4_usize,
        count in 0..600_u64,
        bytes in prop::sample::select(vec![0_u64, 10, 300, 5_000]),
        wanted_bytes in prop::sample::select(vec![0_u64, 1 << 20, 8 << 20]),
    ) {
        let rows = rows(&mut Dice(seed), count, bytes);
        let mut report = world(seed).run(move |world, session| {
            let shape = SpoolShape { wanted_bytes, ..SHAPE };
            let mut file = file(world, FilesystemIo::ALL[io], shape, session);
            deal(&mut file, &rows, session).expect("no fault");
            assert!(file.memory_bytes() <= shape.bytes() + (64 << 10));
            file.close(session);
            assert_eq!(file.memory_bytes(), 0);
        });
        common::assert_nothing_is_left(report.disks.get_mut("disk").expect("the only one"));
        report.result.expect("no failure");
    }
}

/// A spool without rows makes no file, and space that is given back is used again: twenty rounds go
/// through a disk with room for a few.
#[test]
fn space_is_used_again_and_none_is_taken_for_nothing() {
    let mut simulation = world(1);
    simulation.disks[0].content.set_capacity(4 << 20);
    testbed::run(simulation, |world, session| {
        let mut file = file(world, FilesystemIo::SetAll, SHAPE, session);
        let mut empty = Spool::new();
        empty.finish(&mut file, session).expect("nothing to do");
        assert_eq!(all(&empty, &mut file, session).expect("no fault"), Vec::<Vec<u8>>::new());
        assert_eq!((file.memory_bytes(), file.temp_bytes()), (0, 0));
        for round in 1..=20 {
            let mut spool = Spool::new();
            for row in rows(&mut Dice(round), 1_000, 1_000) {
                spool.append(&row, &mut file, session).expect("no fault");
            }
            spool.finish(&mut file, session).expect("no fault");
            spool.discard(&mut file);
        }
        let written = session.account().totals();
        let written = written.statistic(Statistic::PhysicalWritesDirectTemporary) << 15;
        assert_eq!(written, file.temp_bytes());
        assert!(written > 2 * (4 << 20), "{written}");
        file.close(session);
    });
}

/// Each operation in turn fails, is lost, goes elsewhere or rots: the rows are right or there is an
/// error, no further call goes through, and nothing is left.
#[test]
fn whatever_fails_the_rows_are_right_or_there_are_none() {
    let faults = [Fault::Eio, Fault::Enospc, Fault::Rot, Fault::MisdirectedRead, Fault::LostWrite];
    let both = |fault| [(fault, FilesystemIo::SetAll), (fault, FilesystemIo::None)];
    for (fault, io) in faults.into_iter().flat_map(both) {
        let (mut refused, mut nth) = (0, 0);
        loop {
            nth += 1;
            let mut simulation = world(1);
            let plan = FaultPlan::new(nth).nth(nth, fault, Scope::all());
            simulation.disks[0].content.plan_faults(plan);
            let (dealt, mut fs) = deal_in(simulation, io);
            let Some(injected) = fs.injected().first().cloned() else { break };
            if let Err(stop) = dealt {
                refused += 1;
                let kind = stop.refusal().expect("nothing halts for a spool");
                let kinds = [RefusalKind::Io, RefusalKind::NoSpace, RefusalKind::Corrupt];
                assert!(kinds.contains(&kind), "{fault:?} at {injected:?}: {stop}");
            }
            fs.close_all();
            let left = fs.list(common::DIRECTORY).unwrap_or_default();
            let may_leave = injected.operation == sim::fs::Operation::Remove;
            assert!(left.is_empty() || may_leave, "{fault:?} at {injected:?}: {left:?}");
            assert_eq!(fs.space().0, 0, "{fault:?} at {injected:?}");
        }
        assert!(refused >= 5, "{fault:?}: {refused} of {nth}");
    }
}

fn deal_in(simulation: Simulation, io: FilesystemIo) -> (Result<(), Stop>, sim::fs::FileSystem) {
    let mut report = simulation.run(move |world, session| {
        let mut file = file(world, io, SHAPE, session);
        let dealt = deal(&mut file, &rows(&mut Dice(7), 400, 700), session);
        if dealt.is_err() {
            assert!(Spool::new().append(b"row", &mut file, session).is_err(), "it stays failed");
            assert_eq!(file.memory_bytes(), 0, "and has given everything back");
        }
        dealt
    });
    let disk = report.disks.remove("disk").expect("the only one");
    (report.result.expect("no panic"), disk)
}

/// A file that is dropped and not closed leaves nothing either.
#[test]
fn what_is_dropped_leaves_nothing() {
    for appended in [0, 1, 200, 2_000] {
        let mut report = world(1).run(move |world, session| {
            let mut file = file(world, FilesystemIo::SetAll, SHAPE, session);
            let mut spool = Spool::new();
            for row in rows(&mut Dice(3), appended, 200) {
                spool.append(&row, &mut file, session).expect("no fault");
            }
        });
        common::assert_nothing_is_left(report.disks.get_mut("disk").expect("the only one"));
        report.result.expect("no failure");
    }
}
