//! A paced real file takes the time that its model says, and holds what was written.

use os::{Completion, FileOptions, IoBuf, IoKind, Request, RingConfig};
use sim::model::DiskParameters;
use sim::pace::PacedDisk;
use testbed::Folder;
use waits::{SessionKind, WaitEvent};

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };
const BLOCK: usize = 4096;
const COUNT: u64 = 25;
const SERVICE_MS: u64 = 4;

fn paced(clock: os::Clock) -> PacedDisk {
    let text = format!(
        "name = \"slow\"\nkind = \"fixed\"\nsource = \"test\"\nservice_us = {}\nservers = 1",
        SERVICE_MS * 1_000
    );
    let model = DiskParameters::parse(&text).expect("a valid model");
    PacedDisk::new(&os::linux::disk(), &model, clock, 1)
}

/// One server of 4 ms: 25 reads take 100 ms, one after the other or all at once through a ring, and
/// return the written data.
#[test]
fn a_paced_file_takes_its_models_time() {
    let world = os::linux::start();
    let session = world.adopt("pacer", SessionKind::Foreground);
    let paced = paced(world.clock().clone());
    let disk = paced.disk();
    let folder = Folder::new("paced");
    let path = folder.0.join("file");
    let length = COUNT * BLOCK as u64;
    let file = disk.create(&path, length, DIRECT, &session).expect("created");
    for number in 0..COUNT {
        let block = IoBuf::copy_of(&[number as u8 + 1; BLOCK]);
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        file.write_at(number * BLOCK as u64, &block, waiting).expect("written");
    }
    let start = session.now();
    for number in 0..COUNT {
        let mut block = IoBuf::zeroed(BLOCK);
        let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
        file.read_at(number * BLOCK as u64, &mut block, waiting).expect("read");
        assert!(block.iter().all(|byte| *byte == number as u8 + 1));
    }
    let in_turn_ms = session.now().since(start).as_micros() / 1_000;
    let mut ring = disk.ring(&RingConfig::new(COUNT as u32), &session).expect("a ring");
    let start = session.now();
    for tag in 0..COUNT {
        let (offset, buffer) = (tag * BLOCK as u64, IoBuf::zeroed(BLOCK));
        let request = Request { file: file.clone(), kind: IoKind::Read, offset, buffer, tag };
        ring.push(request, &session).expect("room");
    }
    let mut done: Vec<Completion> = Vec::new();
    let waiting = session.waiting(WaitEvent::DbFileParallelRead);
    ring.reap(COUNT as u32, None, &mut done, waiting).expect("read");
    let at_once_ms = session.now().since(start).as_micros() / 1_000;
    for completion in &done {
        completion.result.as_ref().expect("no error");
        assert!(completion.buffer.iter().all(|byte| *byte == completion.tag as u8 + 1));
    }
    println!("in turn {in_turn_ms} ms, at once {at_once_ms} ms, {:?}", paced.lateness());
    for measured in [in_turn_ms, at_once_ms] {
        // A read is never early, and late only as far as a busy machine wakes sleepers late.
        assert!((COUNT * SERVICE_MS..COUNT * SERVICE_MS * 3).contains(&measured), "{measured} ms");
    }
}
