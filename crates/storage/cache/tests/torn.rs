//! A block at home against its copies in the doublewrite file: whatever each may be, what opening
//! does with the pair.
//!
//! Not found: a copy doesn't say of which database it is, and neither does a block. If a whole
//! doublewrite file is exchanged for another database's, a torn block may be given that one's
//! content where address and SCN fit; what isn't torn never is.
#![forbid(unsafe_code)]

mod common;

use std::path::Path;

use cache::DataFile;
use cache::doublewrite::restore;
use common::{DATA, DOUBLEWRITE, FILE, SIZE, content, dba, disk, small, versions};
use ids::{Dba, Scn};
use os::FilesystemIo;
use sim::Simulation;
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};

/// The block in question, and another one.
const BLOCK: u32 = 3;
const OTHER: u32 = 4;
/// Every change through this one is on disk; the redo ends with the other.
const CHECKPOINT: u64 = 3;
const END: u64 = 10;

/// A whole block after so many changes.
fn whole(address: Dba, number: u64) -> Vec<u8> {
    let mut block = content(address, number);
    format::seal(&mut block, address);
    block
}

/// The first half of one and the second of the other.
fn torn(new: u64, old: u64) -> Vec<u8> {
    let mut block = whole(dba(BLOCK), new);
    block[1024..].copy_from_slice(&whole(dba(BLOCK), old)[1024..]);
    block
}

fn put(fs: &mut FileSystem, path: &str, slot: u64, block: &[u8]) {
    let file = fs.open(path).expect("there");
    fs.write(file, slot * 2048, block, true).expect("written");
    fs.close(file).expect("it is open");
}

/// The disk after opening has looked at it, and what was mended.
fn restored(fs: FileSystem) -> (FileSystem, Vec<Dba>) {
    let mut simulation = Simulation::new(1);
    simulation.disks[0].content = fs;
    let report = simulation.run(move |world, session| {
        let options = FilesystemIo::SetAll.file_options();
        let open = |path| world.disk().open(Path::new(path), options, session).expect("there");
        let files = [DataFile::new(FILE, open(DATA), SIZE)];
        let (from, through) = (Scn::new(CHECKPOINT), Scn::new(END));
        restore(&files, &open(DOUBLEWRITE), from, through, session).expect("no fault")
    });
    (report.disks["disk"].clone(), report.result.expect("it runs").restored)
}

/// What is at home after opening has looked at it with these copies; none if it is still broken.
fn mended(home: &[u8], copies: &[Vec<u8>]) -> (Option<u64>, Vec<Dba>) {
    let mut fs = disk(&small(), 8).content;
    put(&mut fs, DATA, BLOCK.into(), home);
    put(&mut fs, DATA, OTHER.into(), &whole(dba(OTHER), 6));
    copies.iter().zip(0..).for_each(|(copy, slot)| put(&mut fs, DOUBLEWRITE, slot, copy));
    let mut simulation = Simulation::new(1);
    simulation.disks[0].content = fs;
    let report = simulation.run(|world, session| {
        let options = FilesystemIo::SetAll.file_options();
        let open = |path| world.disk().open(Path::new(path), options, session).expect("there");
        let files = [DataFile::new(FILE, open(DATA), SIZE)];
        let (from, through) = (Scn::new(CHECKPOINT), Scn::new(END));
        restore(&files, &open(DOUBLEWRITE), from, through, session).expect("no fault")
    });
    let restored = report.result.expect("it runs").restored;
    let versions = versions(&report.disks["disk"]);
    assert_eq!(versions[&dba(OTHER)], Some(6), "another block was touched");
    (versions[&dba(BLOCK)], restored)
}

/// A name, the blocks in the doublewrite file, and the version that they give.
type Copies = (&'static str, Vec<Vec<u8>>, Option<u64>);

/// What lies in the doublewrite file, and the version that a torn block gets from it.
fn copies() -> Vec<Copies> {
    let block = |number| whole(dba(BLOCK), number);
    vec![
        ("none", vec![], None),
        ("the same", vec![block(7)], Some(7)),
        ("an older one", vec![block(5)], Some(5)),
        ("a newer one", vec![block(9)], Some(9)),
        ("the newest there can be", vec![block(END)], Some(END)),
        ("an older and a newer one", vec![block(5), block(9)], Some(9)),
        ("a newer and an older one", vec![block(9), block(5)], Some(9)),
        ("a torn one", vec![torn(9, 5)], None),
        ("a torn and an older one", vec![torn(9, 5), block(5)], Some(5)),
        ("of another block", vec![whole(dba(OTHER), 7)], None),
        ("of a block that isn't", vec![whole(Dba::new(9, BLOCK), 7)], None),
        ("at the checkpoint", vec![block(CHECKPOINT)], None),
        ("left from long ago", vec![block(1)], None),
        ("ahead of the redo", vec![block(END + 1)], None),
        ("ahead of the redo, and a usable one", vec![block(END + 1), block(7)], Some(7)),
        ("rubbish", vec![vec![0xA5; 2048]], None),
    ]
}

/// What is whole is left alone, old or new, whatever the copies are: the redo does the rest.
#[test]
fn a_whole_block_is_left_alone() {
    for version in [2, 5, 7, END] {
        for (what, copies, _) in copies() {
            let found = mended(&whole(dba(BLOCK), version), &copies);
            assert_eq!(found, (Some(version), vec![]), "home {version}, copy: {what}");
        }
    }
}

/// What is torn is repaired from the newest copy that is whole, newer than the checkpoint, and not
/// ahead of the redo; without one it stays as it is, and to read it is refused.
#[test]
fn a_torn_block_is_repaired_or_left() {
    let mut unreadable = whole(dba(BLOCK), 7);
    unreadable[..512].fill(0);
    for home in [torn(7, 5), torn(5, 7), unreadable, vec![0xA5; 2048], whole(dba(OTHER), 7)] {
        for (what, copies, expected) in copies() {
            let (version, restored) = mended(&home, &copies);
            assert_eq!(version, expected, "copy: {what}");
            assert_eq!(restored.len(), usize::from(expected.is_some()), "copy: {what}");
            if expected.is_none() {
                let fault = format::check(&home, dba(BLOCK)).expect_err("it is broken").to_string();
                assert!(fault.contains("file 1 block 3") || fault.contains("1/3"), "{fault}");
            }
        }
    }
}

/// A block that was never written, or whose first write left nothing, is as good as torn.
#[test]
fn zeros_are_repaired_or_left() {
    for (what, copies, expected) in copies() {
        let (version, _) = mended(&[0; 2048], &copies);
        assert_eq!(version, Some(expected.unwrap_or(0)), "copy: {what}");
    }
}

/// A write home that failed may come to the medium all the same, torn, when the power goes. So a
/// block that is older than its copy is durable as it is before the copy may be overwritten: else
/// there would be nothing left to mend it from.
#[test]
fn a_write_that_failed_tears_nothing_later() {
    let mut fs = disk(&small(), 8).content;
    put(&mut fs, DATA, BLOCK.into(), &whole(dba(BLOCK), 5));
    put(&mut fs, DOUBLEWRITE, 0, &whole(dba(BLOCK), 7));
    fs.plan_faults(FaultPlan::new(1).nth(1, Fault::Eio, Scope::of(&[Operation::Write])));
    let file = fs.open(DATA).expect("there");
    let failed = fs.write(file, u64::from(BLOCK) * 2048, &whole(dba(BLOCK), 7), false);
    assert!(failed.is_err(), "it was to fail");
    fs.close(file).expect("it is open");
    fs.plan_faults(FaultPlan::new(1));
    let (mut mended, _) = restored(fs);
    // The next batch of a writer.
    put(&mut mended, DOUBLEWRITE, 0, &whole(dba(OTHER), 9));
    mended.cut_power();
    let states = CrashStates::of(&mended);
    for sample in 0..64 {
        let found = versions(&states.sample(sample))[&dba(BLOCK)];
        assert!(matches!(found, Some(5 | 7)), "{}", states.describe_sample(sample));
    }
}

/// What can't be read at home is written from its copy: the power may have cut off its write in a
/// way that the device tells by an error.
#[test]
fn a_block_that_can_not_be_read_is_written_from_its_copy() {
    let mut fs = disk(&small(), 8).content;
    put(&mut fs, DATA, BLOCK.into(), &torn(7, 5));
    put(&mut fs, DOUBLEWRITE, 0, &whole(dba(BLOCK), 7));
    let reads = Scope::of(&[Operation::Read]).under(DATA);
    fs.plan_faults(FaultPlan::new(1).from_nth(1, Fault::Eio, reads));
    let (mut mended, found) = restored(fs);
    mended.plan_faults(FaultPlan::new(1));
    assert_eq!((found, versions(&mended)[&dba(BLOCK)]), (vec![dba(BLOCK)], Some(7)));
}
