//! A simulated ring behaves as a real one: it refuses the requests that a kernel refuses, takes
//! files of any disk, goes on after faults, and when dropped leaves no request behind.

use std::path::Path;

use os::{Cause, Completion, File, FileOptions, IoBuf, IoKind, Request, Ring, RingConfig, Session};
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use sim::model::DiskParameters;
use sim::{DiskSpec, Simulation, World};
use waits::{Nanos, WaitEvent};

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };
const BUFFERED: FileOptions = FileOptions { direct: false, write_through: false };
const BLOCK: usize = 4096;

fn file(world: &World, path: &str, session: &Session) -> File {
    world.disk().create(Path::new(path), 16 * BLOCK as u64, DIRECT, session).expect("no fault")
}

fn block_of(byte: u8) -> IoBuf {
    IoBuf::copy_of(&[byte; BLOCK])
}

fn write(file: &File, offset: u64, buffer: IoBuf, tag: u64) -> Request {
    Request { file: file.clone(), kind: IoKind::Write, offset, buffer, tag }
}

fn read(file: &File, offset: u64, tag: u64) -> Request {
    let buffer = IoBuf::zeroed(BLOCK);
    Request { file: file.clone(), kind: IoKind::Read, offset, buffer, tag }
}

fn reap_all(ring: &mut Ring, session: &Session) -> Vec<Completion> {
    let mut done = Vec::new();
    let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
    ring.reap(u32::MAX, None, &mut done, waiting).expect("the ring works");
    done.sort_by_key(|completion| completion.tag);
    done
}

fn content(disk: &FileSystem, path: &str) -> Vec<u8> {
    let mut disk = disk.clone();
    let file = disk.open(path).expect("it exists");
    let mut bytes = vec![0; disk.len(file).expect("open") as usize];
    let read = disk.read(file, 0, &mut bytes).expect("no fault");
    assert_eq!(read, bytes.len());
    bytes
}

/// Dropping a ring waits for the requests in flight, as it must where a kernel still has the
/// buffers: the writes are done, though the ring held the last handle of the file.
#[test]
fn a_dropped_ring_waits_for_what_is_in_flight() {
    let report = Simulation::new(1).run(|world, session| {
        let mut ring = world.disk().ring(&RingConfig::new(4), session).expect("simulated");
        let file = file(world, "/file", session);
        for number in 0..4 {
            let request = write(&file, number * BLOCK as u64, block_of(number as u8 + 1), number);
            ring.push(request, session).expect("room");
        }
        ring.submit().expect("no fault");
        drop(file);
        let before = session.now();
        drop(ring);
        session.now().since(before)
    });
    assert!(report.result.expect("no failure") >= Nanos::from_micros(50));
    let bytes = content(&report.disks["disk"], "/file");
    for number in 0..4 {
        assert!(bytes[number * BLOCK..][..BLOCK].iter().all(|b| *b == number as u8 + 1));
    }
}

/// A ring works on the file that it was given, whichever disk that lies on.
#[test]
fn a_ring_takes_files_of_other_disks() {
    let mut simulation = Simulation::new(1);
    let model = DiskParameters::builtin("fixed").expect("built in");
    simulation.disks.push(DiskSpec::empty("second", model));
    let report = simulation.run(|world, session| {
        let options = (16 * BLOCK as u64, DIRECT);
        let mut files = Vec::new();
        for name in ["disk", "second"] {
            let disk = world.disk_called(name);
            files.push(disk.create(Path::new("/member"), options.0, options.1, session)?);
        }
        let mut ring = world.disk().ring(&RingConfig::new(2), session)?;
        for (number, file) in files.iter().enumerate() {
            ring.push(write(file, 0, block_of(number as u8 + 1), number as u64), session)?;
        }
        for completion in reap_all(&mut ring, session) {
            completion.result?;
        }
        Ok::<(), os::Error>(())
    });
    report.result.expect("no failure").expect("no fault");
    for (number, name) in ["disk", "second"].into_iter().enumerate() {
        let bytes = content(&report.disks[name], "/member");
        assert!(bytes[..BLOCK].iter().all(|byte| *byte == number as u8 + 1), "{name}");
    }
}

/// A request that a kernel refuses is refused here: a write to a file opened for reading, and
/// direct I/O that isn't aligned. The rest of the batch is done.
#[test]
fn a_ring_refuses_what_a_kernel_refuses() {
    let report = Simulation::new(1).run(|world, session| {
        let writable = file(world, "/file", session);
        let path = Path::new("/file");
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        writable.write_at(0, &[7; BLOCK], waiting).expect("no fault");
        let disk = world.disk();
        let readable = disk.open_read_only(path, BUFFERED, session).expect("it exists");
        let mut ring = disk.ring(&RingConfig::new(8), session).expect("simulated");
        let odd = write(&writable, 100, block_of(9), 0);
        let short = write(&writable, 0, IoBuf::zeroed(100), 1);
        let forbidden = write(&readable, 0, block_of(9), 2);
        let good = write(&writable, BLOCK as u64, block_of(8), 3);
        // Unaligned requests are refused before they come to the ring.
        let refused = [odd, short].map(|request| ring.push(request, session));
        let refused = refused.map(|pushed| pushed.map_err(|error| error.cause()));
        for request in [forbidden, good, read(&readable, 0, 4)] {
            ring.push(request, session).expect("room");
        }
        let done = reap_all(&mut ring, session);
        let went_well: Vec<bool> = done.iter().map(|one| one.result.is_ok()).collect();
        (refused, went_well, done[2].buffer.to_vec())
    });
    let (refused, went_well, read) = report.result.expect("no failure");
    assert_eq!(refused, [Err(Cause::Invalid), Err(Cause::Invalid)]);
    assert_eq!(went_well, [false, true, true]);
    assert_eq!(read, vec![7; BLOCK]);
    let bytes = content(&report.disks["disk"], "/file");
    assert!(bytes[BLOCK..][..BLOCK].iter().all(|byte| *byte == 8));
}

/// Short reads and writes go on until they are whole, each in its own slot; a device error comes
/// back with its own request only.
#[test]
fn short_io_goes_on_and_an_error_hits_its_own_request() {
    for seed in 0..30 {
        let mut simulation = Simulation::new(seed);
        let scope = || Scope::of(&[Operation::Read, Operation::Write]);
        let plan = FaultPlan::new(seed).per_million(400_000, Fault::Short, scope()).per_million(
            20_000,
            Fault::Eio,
            scope(),
        );
        simulation.disks[0].content.plan_faults(plan);
        let report = simulation.run(|world, session| {
            let options = BUFFERED;
            let disk = world.disk();
            let file = loop {
                let path = Path::new("/file");
                match disk.create(path, 16 * BLOCK as u64, options, session) {
                    Ok(file) => break file,
                    Err(error) => assert_eq!(error.cause(), Cause::Device),
                }
            };
            let mut ring = disk.ring(&RingConfig::new(16), session).expect("simulated");
            let mut written = [false; 16];
            for tag in 0..16 {
                let request = write(&file, tag * BLOCK as u64, block_of(tag as u8), tag);
                ring.push(request, session).expect("room");
            }
            for completion in reap_all(&mut ring, session) {
                match completion.result {
                    Ok(()) => written[completion.tag as usize] = true,
                    Err(error) => assert_eq!(error.cause(), Cause::Device),
                }
            }
            for tag in 0..16 {
                ring.push(read(&file, tag * BLOCK as u64, tag), session).expect("room");
            }
            let mut right = 0;
            for completion in reap_all(&mut ring, session) {
                if completion.result.is_ok() && written[completion.tag as usize] {
                    assert!(completion.buffer.iter().all(|b| u64::from(*b) == completion.tag));
                    right += 1;
                }
            }
            assert!(ring.has_room() && ring.in_flight() == 0);
            right
        });
        assert!(report.result.expect("no failure") > 4, "seed {seed}");
    }
}

/// A timeout of zero looks once; an endless one waits; one that is up loses no completion.
#[test]
fn time_outs_and_completions_may_come_in_any_order() {
    let report = Simulation::new(1).run(|world, session| {
        let file = file(world, "/file", session);
        let mut ring = world.disk().ring(&RingConfig::new(4), session).expect("simulated");
        let mut done = Vec::new();
        for (tag, timeout) in [0, 1, 99_000, 100_000, 101_000, u64::MAX].into_iter().enumerate() {
            ring.push(read(&file, 0, tag as u64), session).expect("room");
            let waiting = session.waiting(WaitEvent::DirectPathRead);
            ring.reap(1, Some(Nanos(timeout)), &mut done, waiting).expect("no fault");
            let waiting = session.waiting(WaitEvent::DirectPathRead);
            ring.reap(1, None, &mut done, waiting).expect("no fault");
            assert_eq!(ring.in_flight(), 0);
            assert_eq!(done.len(), tag + 1);
        }
    });
    assert_eq!(report.result, Ok(()));
}

/// A sync that is a request covers the writes that were done when it was submitted. A write
/// submitted with it is durable only with the next sync, though it was done before the sync was.
#[test]
fn a_sync_of_a_ring_covers_what_was_done_before_it() {
    let report = Simulation::new(1).run(|world, session| {
        let mut ring = world.disk().ring(&RingConfig::new(4), session).expect("simulated");
        let file = file(world, "/file", session);
        ring.push(write(&file, 0, block_of(1), 0), session).expect("room");
        assert!(reap_all(&mut ring, session).iter().all(|done| done.result.is_ok()));
        ring.push(write(&file, BLOCK as u64, block_of(2), 1), session).expect("room");
        ring.push(Request::sync(file.clone(), 2), session).expect("room");
        assert!(reap_all(&mut ring, session).iter().all(|done| done.result.is_ok()));
    });
    report.result.expect("no failure");
    let mut disk = report.disks["disk"].clone();
    disk.cut_power();
    disk.close_all();
    let states = CrashStates::of(&disk);
    let mut kept = [0, 0];
    for seed in 0..64 {
        let bytes = content(&states.sample(seed), "/file");
        for (block, kept) in kept.iter_mut().enumerate() {
            let whole = bytes[block * BLOCK..][..BLOCK].iter().all(|b| *b == block as u8 + 1);
            *kept += u32::from(whole);
        }
    }
    assert_eq!(kept[0], 64, "what was synced is lost");
    assert!(kept[1] < 64, "what wasn't synced is surely there");
}
