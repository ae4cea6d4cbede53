//! Where redo ends, and why: every reason, forged; and damage that is no end.
//!
//! Sources: PostgreSQL's 039_end_of_wal, for what a tail can look like.

use format::{
    BlockHeader, BlockKind, LogHeader, REDO_BLOCK, REDO_PAYLOAD_BYTES, RedoBlock, RedoRecord,
    ScnLe, U16Le, U32Le, U64Le,
};
use ids::{BlockNo, Dba, FileNo, Rba, Scn};
use os::probe::DurableWrite;
use os::{IoBuf, Session};
use redo::{EndReason, RecordFault, RedoConfig, log_path};
use sim::{BadPlaces, World};
use stop::{RefusalKind, Stop};
use testbed::run;
use waits::WaitEvent;

use crate::common::{
    Checkpoints, DATABASE, Found, commit, commit_all, fresh, open, put, read, read_from, record,
    small,
};

const HEAD: usize = RedoBlock::START + RedoBlock::BYTES;

fn with_block(
    world: &World,
    (group, block): (u16, u32),
    session: &Session,
    change: impl FnOnce(&mut [u8]),
) {
    let options = DurableWrite::DirectWriteThrough.file_options();
    let file = world.disk().open(&log_path("/".as_ref(), group), options, session).expect("there");
    let offset = BlockNo::new(block).byte_offset(REDO_BLOCK);
    let mut bytes = IoBuf::zeroed(REDO_BLOCK.bytes());
    let waiting = session.waiting(WaitEvent::DiskFileOperations);
    file.read_at(offset, &mut bytes, waiting).expect("no fault");
    change(&mut bytes);
    file.write_at(offset, &bytes, waiting).expect("no fault");
}

/// Changes a block of log 1 and seals it again, so that all but the change is right.
fn forge(world: &World, block: u32, session: &Session, change: impl FnOnce(&mut [u8])) {
    with_block(world, (1, block), session, |bytes| {
        change(bytes);
        format::seal(bytes, Dba { file: FileNo::redo(1), block: BlockNo::new(block) });
    });
}

fn head(block: &mut [u8]) -> &mut RedoBlock {
    RedoBlock::at_mut(block, RedoBlock::START)
}

/// Ten records in log 1, each in a block of its own; then `spoil`; then what is read.
fn after(
    spoil: impl FnOnce(&World, &RedoConfig, &Session) + Send + 'static,
) -> Result<Found, Stop> {
    let config = small();
    run(fresh(&config, 1), move |world, session| {
        let redo = open(world, &config, session);
        commit_all(&redo, 0..10, session);
        drop(redo);
        spoil(world, &config, session);
        read(world, &config, Rba::block(1, 1), Scn::new(1), session)
    })
}

/// The reason of the end, when block `block` of log 1 was changed like this, and everything behind
/// it is gone.
fn reason(block: u32, change: impl FnOnce(&mut [u8]) + Send + 'static) -> EndReason {
    let found = after(move |world, _, session| {
        (block + 1..=10).for_each(|behind| with_block(world, (1, behind), session, |b| b.fill(0)));
        forge(world, block, session, change);
    });
    let found = found.expect("a torn tail is no damage");
    assert_eq!(found.end.block, block, "{}", found.end);
    assert_eq!((found.end.sequence, found.records.len() as u32), (1, block - 1));
    assert_eq!(found.end.last_scn, Scn::new(u64::from(block - 1)));
    assert!(found.end.to_string().starts_with("redo ends at log 1 block"), "{}", found.end);
    found.end.reason
}

fn address(block: u32) -> Dba {
    Dba { file: FileNo::redo(1), block: BlockNo::new(block) }
}

/// The tail as it was made: zeros.
#[test]
fn redo_ends_where_nothing_was_written() {
    let found = after(|_, _, _| ()).expect("nothing is damaged");
    assert_eq!(found.records.len(), 10);
    assert_eq!(found.end.reason, EndReason::NeverWritten { address: address(11) });
    assert_eq!((found.end.block, found.end.next_sequence()), (11, 2));
}

/// A block that was torn or has rotted.
#[test]
fn redo_ends_at_a_damaged_block() {
    let found = after(|world, _, session| {
        with_block(world, (1, 10), session, |bytes| bytes[3_000] ^= 1);
    });
    let end = found.expect("a torn tail is no damage").end;
    assert!(matches!(end.reason, EndReason::Damaged { .. }), "{end}");
    assert_eq!((end.block, end.last_scn), (10, Scn::new(9)));
    assert!(!end.to_string().contains("restore"), "{end}");
}

/// A refusal names the files, and says what to do with them.
fn names_files_and_remedy(stop: &Stop, files: &[&str]) {
    let text = stop.to_string();
    for says in files.iter().chain(&["redo is missing", "back", "restore the whole database"]) {
        assert!(text.contains(says), "'{text}' doesn't say '{says}'");
    }
    assert!(!text.contains('\n'), "{text}");
}

/// What is read after ten records, each in a block of its own, when `reads` reads of these blocks
/// of log 1 fail.
fn unreadable(blocks: std::ops::Range<u64>, reads: u32) -> Result<Found, Stop> {
    let config = small();
    run(fresh(&config, 1), move |world, session| {
        let redo = open(world, &config, session);
        commit_all(&redo, 0..10, session);
        drop(redo);
        let bad = BadPlaces::default();
        for block in blocks {
            let at = block * REDO_BLOCK.bytes() as u64;
            bad.add_for(&log_path("/".as_ref(), 1), at..at + 1, reads);
        }
        read_from(&bad.over(&world.disk()), &config, Rba::block(1, 1), Scn::new(1), session)
    })
}

/// Rule RD26: an unreadable block is an end where a damaged one is, and missing redo where a
/// damaged one is. It is refused where the device may be silent for a while.
#[test]
fn redo_ends_at_a_block_that_can_not_be_read_as_at_a_damaged_one() {
    for block in 1..=11 {
        let found = unreadable(block..block + 1, u32::MAX);
        if block < 10 {
            let stop = found.expect_err("a later write knew that it was durable");
            assert_eq!(stop.refusal(), Some(RefusalKind::Io), "{stop}");
            let through = format!("through SCN {} only", block - 1);
            for says in ["redo is missing", &through, "the device says: cannot read 4096 bytes"] {
                assert!(stop.to_string().contains(says), "'{stop}' doesn't say '{says}'");
            }
            continue;
        }
        let end = found.expect("a torn tail is no damage").end;
        let address = address(block as u32);
        assert_eq!((end.reason, end.block), (EndReason::Unreadable { address }, block as u32));
        assert_eq!(end.last_scn, Scn::new(block - 1));
    }
}

/// Rule RD28: an unreadable header counts as none, but not where its log has begun, nor where the
/// device may be silent for a while.
#[test]
fn a_header_that_can_not_be_read_makes_no_end_of_a_log_that_has_begun() {
    let config = small();
    run(fresh(&config, 1), move |world, session| {
        let redo = open(world, &config, session);
        commit_all(&redo, 0..5, session);
        redo.switch(session).expect("switched");
        commit_all(&redo, 5..10, session);
        drop(redo);
        let read = |group, blocks: u64, reads| {
            let bad = BadPlaces::default();
            let bytes = blocks * REDO_BLOCK.bytes() as u64;
            bad.add_for(&log_path("/".as_ref(), group), 0..bytes, reads);
            read_from(&bad.over(&world.disk()), &config, Rba::block(1, 1), Scn::new(1), session)
        };
        for (blocks, reads) in [(1, u32::MAX), (2, u32::MAX), (1, 1), (2, 1), (2, 2)] {
            assert!(read(2, blocks, reads).is_err(), "{blocks} blocks, {reads} reads");
        }
        // No session needs it. The power may have cut off its header and, before, its first redo.
        for blocks in [1, 2, 20] {
            assert_eq!(read(3, blocks, u32::MAX).expect("it is free").records.len(), 10);
        }
        let silent = read(3, 51, u32::MAX).expect_err("nothing of it is read");
        assert_eq!(silent.refusal(), Some(RefusalKind::Io), "{silent}");
    });
}

#[test]
fn redo_does_not_end_where_the_device_falls_silent() {
    let all = u64::from(small().groups[0].blocks);
    for block in [1, 5, 10, 11] {
        // More than one write.
        let stop = unreadable(block..all, u32::MAX).expect_err("nothing behind it is read");
        assert_eq!(stop.refusal(), Some(RefusalKind::Io), "{stop}");
        for says in ["/redo01.log", "if log_buffer was larger", "--set log_buffer=SIZE"] {
            assert!(stop.to_string().contains(says), "'{stop}' doesn't say '{says}'");
        }
    }
    let mut refused = 0;
    for reads in 1..20 {
        match unreadable(10..11, reads) {
            Ok(found) if found.records.len() == 10 => {}
            Ok(found) => assert!(reads > 8, "after {reads} reads: {}", found.end),
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(RefusalKind::Io), "{stop}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "it was never readable again after the search");
}

/// A block that says that it belongs elsewhere.
#[test]
fn redo_ends_at_a_misdirected_block() {
    let found = after(|world, _, session| {
        let mut third = Vec::new();
        with_block(world, (1, 3), session, |bytes| third = bytes.to_vec());
        with_block(world, (1, 10), session, |bytes| bytes.copy_from_slice(&third));
    });
    let end = found.expect("a torn tail is no damage").end;
    assert_eq!(end.reason, EndReason::WrongAddress { address: address(10), found: address(3) });
}

/// Blocks that are whole, of another database or log.
#[test]
fn redo_ends_at_a_foreign_block() {
    let other = reason(7, |block| head(block).database = U64Le::new(5));
    assert_eq!(other, EndReason::OtherDatabase { address: address(7), found: 5 });
    let later = reason(7, |block| head(block).log_sequence = U32Le::new(4));
    assert_eq!(later, EndReason::LaterLife { address: address(7), found: 4 });
    let earlier = reason(7, |block| head(block).log_sequence = U32Le::ZERO);
    assert_eq!(earlier, EndReason::EarlierLife { address: address(7), found: 0 });
    let kind = reason(7, |block| {
        *BlockHeader::of_mut(block) = BlockHeader::new(BlockKind::Heap, address(7));
    });
    assert_eq!(kind, EndReason::OtherKind { address: address(7), found: BlockKind::Heap });
}

/// A block whose head can't be true.
#[test]
fn redo_ends_at_a_block_that_can_not_be() {
    for (used, first) in [(0, 0), (4_049, 0), (u16::MAX, u16::MAX), (100, 101), (164, 20)] {
        let reason = reason(4, move |block| {
            head(block).used = U16Le::new(used);
            head(block).first_record = U16Le::new(first);
        });
        let bad = EndReason::BadBlock { address: address(4), used, first_record: first };
        assert_eq!(reason, bad);
    }
}

/// Records that can't be records, or aren't the next.
#[test]
fn redo_ends_at_a_record_that_can_not_be() {
    let rba = Rba { sequence: 1, block: 6, offset: HEAD as u16 };
    for length in [0, 15, (96 << 10) + 1, u32::MAX] {
        let reason = reason(6, move |block| {
            RedoRecord::at_mut(block, HEAD).length = U32Le::new(length);
        });
        let fault = RecordFault::Length { found: length };
        assert_eq!(reason, EndReason::BadRecord { rba, fault });
    }
    let vectors = reason(6, |block| RedoRecord::at_mut(block, HEAD).vectors = U16Le::new(2));
    let fault = RecordFault::VectorBeyondRecord(1);
    assert_eq!(vectors, EndReason::BadRecord { rba, fault });
    for scn in [0, 5, 7, u64::MAX] {
        let reason = reason(6, move |block| {
            RedoRecord::at_mut(block, HEAD).scn = ScnLe::new(Scn::new(scn));
        });
        let (expected, found) = (Scn::new(6), Scn::new(scn));
        assert_eq!(reason, EndReason::WrongScn { rba, expected, found });
    }
    let cut = reason(6, |block| RedoRecord::at_mut(block, HEAD).length = U32Le::new(9_000));
    assert_eq!(cut, EndReason::CutOff { rba, block: 7 });
}

/// A record that goes on in a block which says that one begins there.
#[test]
fn redo_ends_where_a_record_is_broken() {
    let config = small();
    let end = run(fresh(&config, 1), move |world, session| {
        let redo = open(world, &config, session);
        commit(&redo, 0, 100, session);
        commit(&redo, 1, 9_000, session);
        forge(world, 3, session, |block| head(block).first_record = U16Le::new(10));
        read(world, &config, Rba::block(1, 1), Scn::new(1), session)
    })
    .expect("the last write may be anything")
    .end;
    let rba = Rba { sequence: 1, block: 2, offset: HEAD as u16 };
    assert_eq!(end.reason, EndReason::BrokenRecord { rba, block: 3 });
    assert_eq!((end.block, end.last_scn), (2, Scn::new(1)));
}

/// Log 4 is written over log 1: what is left of log 1 behind its end isn't redo.
#[test]
fn redo_ends_at_a_block_of_an_earlier_life() {
    let config = small();
    let (end, last) = run(fresh(&config, 1), move |world, session| {
        let checkpoints = Checkpoints::new();
        let slow = waits::Nanos::from_micros(10);
        let (redo, signal, ckpt) = checkpoints.open(world, &config, slow, session);
        for tag in 0..160 {
            commit(&redo, tag, 10, session);
        }
        checkpoints.stop(&signal, session);
        ckpt.join(session).expect("no panic");
        let (from, first) = checkpoints.from();
        let found = read(world, &config, from, first, session).expect("nothing is damaged");
        (found.end, redo.last_scn(session))
    });
    assert_eq!((end.sequence, end.last_scn), (4, last));
    assert_eq!(end.reason, EndReason::EarlierLife { address: address(end.block), found: 1 });
}

/// The log is full to its last block, and no other has begun.
#[test]
fn redo_ends_with_the_last_log() {
    let config = small();
    let (found, nothing) = run(fresh(&config, 1), move |world, session| {
        let redo = open(world, &config, session);
        for tag in 1..u64::from(config.groups[0].blocks) {
            commit(&redo, tag, 10, session);
        }
        let found = read(world, &config, Rba::block(1, 1), Scn::new(1), session);
        let at_end = redo.position(session);
        let nothing = read(world, &config, at_end, redo.last_scn(session).next(), session);
        commit(&redo, 99, 10, session);
        let went_on = read(world, &config, at_end, Scn::new(51), session).expect("whole");
        assert_eq!(went_on.records.len(), 1);
        (found.expect("whole"), nothing.expect("nothing is there yet"))
    });
    assert_eq!((found.end.reason, found.end.block), (EndReason::EndOfLastLog, 51));
    assert_eq!((nothing.records.len(), nothing.end), (0, found.end));
}

/// A block lost from a write that was durable: the stamp of the next write proves it.
#[test]
fn redo_that_was_durable_is_missed() {
    for lost in 1..10 {
        let stop = after(move |world, _, session| {
            with_block(world, (1, lost), session, |bytes| bytes.fill(0));
        });
        let stop = stop.expect_err("a later write knew that it was durable");
        assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
        names_files_and_remedy(&stop, &["/redo01.log"]);
    }
}

/// A hole that writes in flight can leave: what lies behind is whole, and never handed out.
#[test]
fn redo_ends_at_a_hole_between_writes_in_flight() {
    for hole in 8..=10 {
        let found = after(move |world, _, session| {
            // As if writes of these blocks had been in flight together, begun when 7 was durable.
            for block in 8..=10 {
                forge(world, block, session, |bytes| {
                    BlockHeader::of_mut(bytes).stamp(Scn::new(7), 0);
                });
            }
            with_block(world, (1, hole), session, |bytes| bytes.fill(0));
        });
        let end = found.expect("nobody was told of what was in flight").end;
        let expected = EndReason::NeverWritten { address: address(hole) };
        assert_eq!((end.block, end.reason), (hole, expected), "{end}");
        assert_eq!(end.last_scn, Scn::new(u64::from(hole) - 1));
    }
}

/// The last block torn after any of its sectors: behind that lies what lay there before.
#[test]
fn redo_ends_at_a_block_torn_at_any_sector() {
    for sectors in 1..8 {
        let found = after(move |world, _, session| {
            with_block(world, (1, 10), session, |bytes| bytes[512 * sectors..].fill(0xA5));
        });
        let end = found.expect("a torn tail is no damage").end;
        let damaged = matches!(end.reason, EndReason::Damaged { fault }
            if matches!(fault, format::BlockFault::BadChecksum { .. }));
        assert!(damaged && end.block == 10 && end.last_scn == Scn::new(9), "{end}");
    }
}

/// The next log says that there was more, or something else.
#[test]
fn a_log_that_ends_before_the_next_began_is_damage() {
    for spoil in 0..4 {
        let config = small();
        let stop = run(fresh(&config, 1), move |world, session| {
            let redo = open(world, &config, session);
            commit_all(&redo, 0..3, session);
            redo.switch(session).expect("log 2 is free");
            commit_all(&redo, 3..5, session);
            redo.switch(session).expect("log 3 is free");
            commit(&redo, 5, 100, session);
            match spoil {
                0 => with_block(world, (1, 3), session, |bytes| bytes[50] ^= 1),
                1 => with_block(world, (2, 0), session, |bytes| bytes[50] ^= 1),
                2 => with_block(world, (2, 2), session, |bytes| bytes.fill(0)),
                _ => with_block(world, (2, 0), session, |bytes| {
                    LogHeader::at_mut(bytes, LogHeader::START).first_scn = ScnLe::new(Scn::new(9));
                    format::seal(bytes, Dba { file: FileNo::redo(2), block: BlockNo::new(0) });
                }),
            }
            read(world, &config, Rba::block(1, 1), Scn::new(1), session)
        })
        .expect_err("this can't be a torn tail");
        assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{spoil}: {stop}");
        names_files_and_remedy(&stop, &["/redo02.log"]);
    }
}

/// A checkpoint whose log isn't there, and one that doesn't go with the logs.
#[test]
fn a_checkpoint_without_its_log_is_damage() {
    let config = small();
    run(fresh(&config, 1), move |world, session| {
        let redo = open(world, &config, session);
        commit_all(&redo, 0..3, session);
        let last = redo.last_scn(session).next();
        let read = |from, first| read(world, &config, from, first, session);
        assert!(read(Rba::block(2, 1), last).is_ok(), "log 1 is the newest");
        for from in [Rba::block(3, 1), Rba::block(2, 2), Rba { offset: 99, ..Rba::block(1, 1) }] {
            let stop = read(from, last).expect_err("nothing is there");
            assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
            names_files_and_remedy(&stop, &["/redo01.log"]);
        }
        redo.switch(session).expect("log 2 is free");
        commit(&redo, 4, 100, session);
        with_block(world, (1, 0), session, |bytes| bytes.fill(0));
        let stop = read(Rba::block(1, 1), Scn::new(1)).expect_err("log 1 is gone");
        assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
        names_files_and_remedy(&stop, &["/redo01.log", "/redo02.log"]);
        let stop = read(Rba::block(2, 1), Scn::new(2)).expect_err("SCNs 2 and 3 are gone");
        assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
        names_files_and_remedy(&stop, &["/redo02.log"]);
    });
}

/// Any bytes give an end or an error: no panic, no endless reading.
#[test]
fn any_bytes_give_an_end_or_an_error() {
    let config = small();
    for seed in 0..300 {
        let config = config.clone();
        let ended = run(fresh(&config, seed), move |world, session| {
            let redo = open(world, &config, session);
            for tag in 0..12 {
                put(&redo, tag, (world.os().random() % 9_000) as usize, session);
                if world.os().random() % 2 == 0 {
                    let last = redo.last_scn(session);
                    redo.make_durable(last, session, WaitEvent::LogFileSync).expect("no halt");
                }
            }
            let blocks = u64::from(redo.position(session).block);
            for _ in 0..=world.os().random() % 3 {
                let block = (1 + world.os().random() % blocks) as u32;
                let (at, value) = (world.os().random(), world.os().random());
                // Mostly where lengths and numbers are.
                let start = HEAD - 16;
                let at = start + at as usize % if value % 3 == 0 { 96 } else { 4_096 - start };
                let seals = value % 8 > 0;
                with_block(world, (1, block), session, |bytes| {
                    // Zeros, or what a change made of them, are no block to seal.
                    let never = bytes[5] == 0;
                    bytes[at] = (value >> 32) as u8;
                    if seals && !never {
                        format::seal(bytes, address(block));
                    }
                });
            }
            let (disk, from) = (world.disk(), Rba::block(1, 1));
            let from = redo::RecordPosition { scn: Scn::new(1), rba: from };
            let opened = redo::Reader::open(&disk, &config, from, session);
            let mut reader = opened.expect("the header is whole");
            loop {
                match reader.next(session) {
                    Ok(Some(record)) => assert!(record.vectors().count() < 3_000),
                    Ok(None) => return reader.end().is_some(),
                    Err(stop) => return stop.refusal() == Some(RefusalKind::Corrupt),
                }
            }
        });
        assert!(ended, "seed {seed}");
    }
}

/// What the tests rely on.
#[test]
fn a_small_record_has_a_block_of_its_own() {
    assert!(record(1, 100).len() < REDO_PAYLOAD_BYTES);
    assert_eq!(small().database, DATABASE);
}

/// The control file's SCN is that of the newest record when the checkpoint was noted, not of the
/// one before the checkpoint: so no stamp is above it.
#[test]
fn a_damaged_block_at_the_checkpoint_is_no_end() {
    for damaged in [1, 2, 5] {
        let config = small();
        let stop = run(fresh(&config, 1), move |world, session| {
            let redo = open(world, &config, session);
            commit_all(&redo, 0..10, session);
            let known = redo.last_scn(session);
            drop(redo);
            with_block(world, (1, damaged), session, |bytes| bytes[3_000] ^= 1);
            read(world, &config, Rba::block(1, damaged), known.next(), session)
        })
        .expect_err("what follows was durable");
        assert!(stop.to_string().contains("redo is missing"), "{stop}");
    }
}
