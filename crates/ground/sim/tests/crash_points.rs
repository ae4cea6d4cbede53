//! The disks shown at a crash point are those that a power cut there leaves.

use std::path::Path;

use os::{FileOptions, IoBuf, IoKind, Request, RingConfig, Session, ThreadSpec};
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{CrashPoints, Failure, Outside, Perturbation, Simulation, World};
use waits::WaitEvent;

const BLOCK: u64 = 4096;
const BUFFERED: FileOptions = FileOptions { direct: false, write_through: false };
const DURABLE: FileOptions = FileOptions { direct: true, write_through: true };

/// One thread makes, fills, renames and removes files; the other has writes in flight meanwhile.
fn program(world: &World, session: &Session) {
    let disk = world.disk();
    let other = world.disk();
    let writer = session.spawn(ThreadSpec::foreground("writer"), move |session| {
        let file = other.create(Path::new("/w"), 8 * BLOCK, BUFFERED, session).expect("no fault");
        let mut ring = other.ring(&RingConfig::new(8), session).expect("simulated");
        for round in 0..3 {
            for number in 0..4 {
                let buffer = IoBuf::copy_of(&[round * 4 + number; BLOCK as usize]);
                let (offset, tag) = (u64::from(number) * BLOCK, u64::from(number));
                let request =
                    Request { file: file.clone(), kind: IoKind::Write, offset, buffer, tag };
                ring.push(request, session).expect("room");
            }
            let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
            ring.reap(4, None, &mut Vec::new(), waiting).expect("the ring works");
            file.sync(session.waiting(WaitEvent::LogFileSync)).expect("no fault");
        }
    });
    let writer = writer.expect("one more thread");
    disk.create_dir(Path::new("/d"), session).expect("no fault");
    for number in 0..3 {
        let (made, named) = (format!("/d/new{number}"), format!("/d/file{number}"));
        let file = disk.create(Path::new(&made), BLOCK, DURABLE, session).expect("no fault");
        let waiting = session.waiting(WaitEvent::ControlFileParallelWrite);
        file.write_at(0, &[number; BLOCK as usize], waiting).expect("no fault");
        disk.rename(Path::new(&made), Path::new(&named), session).expect("no fault");
    }
    disk.remove(Path::new("/d/file0"), session).expect("no fault");
    assert!(writer.join(session).is_ok());
}

fn simulation(seed: u64) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.perturbation = Perturbation::RACES;
    simulation
}

/// All facts of a crash: the operations done, and the states that can be left.
fn told(mut disk: FileSystem) -> (u64, Vec<(u64, String)>) {
    disk.close_all();
    assert!(disk.power_lost());
    let states = CrashStates::of(&disk);
    let of = |seed| (states.sample(seed).image_hash().0, states.describe_sample(seed));
    (disk.operations(), (0..12).map(of).collect())
}

/// A watched run goes as an unwatched one, and shows at each operation the disks that a run cut
/// there is left with.
#[test]
fn a_crash_point_is_shown_as_a_cut_leaves_it() {
    for seed in 0..8 {
        let shown = Outside::<Vec<FileSystem>>::default();
        let mut watched = simulation(seed);
        let collected = shown.clone();
        watched.crash_points = Some(CrashPoints::new(move |disk, number, cut| {
            collected.with(|shown| {
                assert_eq!((disk, number), (0, shown.len() as u64 + 1));
                shown.extend(cut());
            });
        }));
        let watched = watched.run(program);
        let alone = simulation(seed).run(program);
        assert_eq!(watched.result, Ok(()));
        assert_eq!(watched.log_hash, alone.log_hash, "seed {seed}");
        let shown = shown.take();
        assert_eq!(shown.len() as u64, alone.disks["disk"].crash_points());
        assert!(shown.len() > 25, "{} operations", shown.len());
        for (at, shown) in (1..).zip(shown) {
            let mut cut = simulation(seed);
            cut.disks[0].content.lose_power_at(at);
            let mut cut = cut.run(program);
            assert_eq!(cut.result, Err(Failure::PowerLost));
            let left = cut.disks.remove("disk").expect("the machine's disk");
            assert_eq!(told(shown), told(left), "seed {seed}, operation {at}");
        }
    }
}
