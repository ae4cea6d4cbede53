//! Disks and rings against queueing theory and against the models' own parameters.

use std::path::Path;

use os::{Completion, File, FileOptions, IoBuf, IoKind, Request, RingConfig, Session, ThreadSpec};
use sim::model::{CostList, DiskParameters};
use sim::{DiskSpec, Simulation, World};
use waits::{Nanos, WaitEvent};

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };
const BLOCK: usize = 4096;
const BLOCKS: u64 = 256;

/// A machine that takes no time, with one disk of this model.
fn machine(model: DiskParameters, seed: u64) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.costs = CostList::free();
    simulation.machine.switch_cost_ns = 0;
    simulation.machine.wake_idle_ns = 0;
    simulation.machine.migration_cost_ns = 0;
    simulation.machine.cpus = 64;
    simulation.time_limit_ns = u64::MAX;
    simulation.disks = vec![DiskSpec::empty("disk", model)];
    simulation
}

fn model(text: &str) -> DiskParameters {
    DiskParameters::parse(text).expect("a valid model")
}

fn one_server(service_us: u32) -> DiskParameters {
    let fixed = "name = \"one\"\nkind = \"fixed\"\nsource = \"test\"\nservers = 1\n";
    model(&format!("{fixed}service_us = {service_us}"))
}

fn file(world: &World, session: &Session) -> File {
    world
        .disk()
        .create(Path::new("/file"), BLOCKS * BLOCK as u64, DIRECT, session)
        .expect("no fault is planned")
}

/// Mean time from arrival to completion, in us, of `requests` reads that arrive at random, on
/// average one in `between_us`.
fn mean_response_us(model: DiskParameters, between_us: f64, requests: u64) -> f64 {
    let report = machine(model, 42).run(move |world, session| {
        let file = file(world, session);
        let mut ring = world.disk().ring(&RingConfig::new(4096), session).expect("simulated");
        let (mut arrived, mut responded) = (Vec::new(), 0u64);
        let mut done: Vec<Completion> = Vec::new();
        let mut next = session.now();
        while arrived.len() < requests as usize || ring.in_flight() > 0 {
            let now = session.now();
            if now >= next && arrived.len() < requests as usize {
                let tag = arrived.len() as u64;
                arrived.push(now);
                let buffer = IoBuf::zeroed(BLOCK);
                let offset = world.os().random() % BLOCKS * BLOCK as u64;
                let request =
                    Request { file: file.clone(), kind: IoKind::Read, offset, buffer, tag };
                ring.push(request, session).expect("room for everything");
                ring.submit().expect("no fault");
                let uniform = (world.os().random() >> 11) as f64 / (1u64 << 53) as f64;
                let gap = -(1.0 - uniform).ln() * between_us * 1_000.0;
                next = next.after(Nanos(gap.round() as u64));
                continue;
            }
            let waiting = session.waiting(WaitEvent::DirectPathRead);
            if ring.in_flight() == 0 {
                session.pause(next.since(now), session.waiting(WaitEvent::PlSqlLockTimer));
                continue;
            }
            let more = arrived.len() < requests as usize;
            let timeout = more.then(|| next.since(now));
            ring.reap(1, timeout, &mut done, waiting).expect("no fault");
            for completion in done.drain(..) {
                completion.result.expect("no fault");
                responded += session.now().since(arrived[completion.tag as usize]).0;
            }
        }
        responded as f64 / requests as f64 / 1_000.0
    });
    report.result.expect("no failure")
}

fn assert_near(measured: f64, expected: f64, tolerance: f64, what: &str) {
    let error = measured / expected - 1.0;
    println!("{what}: measured {measured:.2}, expected {expected:.2} ({:+.2} %)", error * 100.0);
    assert!(error.abs() <= tolerance, "{what}: measured {measured}, expected {expected}");
}

/// M/M/1: mean time in the system = S / (1 - rho).
#[test]
fn an_exponential_server_answers_as_m_m_1_says() {
    let text = include_str!("../models/exponential.toml");
    for rho in [0.3, 0.7] {
        let service = model(text).expected_read_mean_us(BLOCK as u64).expect("known");
        let measured = mean_response_us(model(text), service / rho, 150_000);
        assert_near(measured, service / (1.0 - rho), 0.04, &format!("M/M/1 at {rho}"));
    }
}

/// M/D/1: mean time in the system = S + rho S / (2 (1 - rho)).
#[test]
fn a_constant_server_answers_as_m_d_1_says() {
    for rho in [0.3, 0.7] {
        let measured = mean_response_us(one_server(100), 100.0 / rho, 150_000);
        let expected = 100.0 + rho * 100.0 / (2.0 * (1.0 - rho));
        assert_near(measured, expected, 0.03, &format!("M/D/1 at {rho}"));
    }
}

/// N parallel I/Os on a disk that serves one at a time take N service times, by threads with
/// blocking reads and by one ring alike.
#[test]
fn n_parallel_reads_on_one_server_take_n_service_times() {
    let by_threads = machine(one_server(100), 1).run(|world, session| {
        let file = file(world, session);
        let start = session.now();
        let readers: Vec<_> = (0..16)
            .map(|number: u64| {
                let file = file.clone();
                session.spawn(ThreadSpec::foreground(format!("r{number}")), move |session| {
                    let mut block = [0; BLOCK];
                    let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
                    file.read_at(number * BLOCK as u64, &mut block, waiting).expect("no fault");
                })
            })
            .collect();
        for reader in readers {
            reader.expect("started").join(session).expect("no panic");
        }
        session.now().since(start).as_micros()
    });
    assert_eq!(by_threads.result, Ok(1_600));
    let by_ring = machine(one_server(100), 1).run(|world, session| {
        let file = file(world, session);
        let start = session.now();
        let mut ring = world.disk().ring(&RingConfig::new(16), session).expect("simulated");
        for tag in 0..16 {
            let buffer = IoBuf::zeroed(BLOCK);
            let offset = tag * BLOCK as u64;
            let request = Request { file: file.clone(), kind: IoKind::Read, offset, buffer, tag };
            ring.push(request, session).expect("room");
        }
        let mut done = Vec::new();
        ring.reap(16, None, &mut done, session.waiting(WaitEvent::DbFileParallelRead))
            .expect("no fault");
        (done.len(), session.now().since(start).as_micros())
    });
    assert_eq!(by_ring.result, Ok((16, 1_600)));
}

/// The session sees the mean and the p99 of an SSD's reads that the model's parameters give.
#[test]
fn reads_through_the_engines_door_show_the_models_mean_and_p99() {
    let nvme = DiskParameters::builtin("nvme").expect("built in");
    let mean = nvme.expected_read_mean_us(BLOCK as u64).expect("known");
    let p99 = nvme.expected_read_quantile_us(BLOCK as u64, 0.99).expect("known");
    let report = machine(nvme, 3).run(|world, session| {
        let file = file(world, session);
        let mut block = [0; BLOCK];
        let mut times: Vec<u64> = (0..40_000)
            .map(|_| {
                let start = session.now();
                let offset = world.os().random() % BLOCKS * BLOCK as u64;
                let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
                file.read_at(offset, &mut block, waiting).expect("no fault");
                session.now().since(start).0
            })
            .collect();
        times.sort_unstable();
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64 / 1_000.0;
        (mean, times[times.len() * 99 / 100] as f64 / 1_000.0)
    });
    let (mean_seen, p99_seen) = report.result.expect("no failure");
    assert_near(mean_seen, mean, 0.03, "mean of an NVMe read, us");
    assert_near(p99_seen, p99, 0.05, "p99 of an NVMe read, us");
}

/// A completion that comes while its waiter, timed out, still stands in the run queue wakes no
/// thread a second time, and is there when the waiter looks. (Found by seed 1 of `everything`.)
#[test]
fn a_completion_after_the_time_out_wakes_nobody_twice() {
    let mut simulation = machine(one_server(100), 1);
    simulation.machine.cpus = 1;
    let report = simulation.run(|world, session| {
        let file = file(world, session);
        let mut ring = world.disk().ring(&RingConfig::new(1), session).expect("simulated");
        let busy = session.spawn(ThreadSpec::background("busy"), |session| {
            session.charge_nanos(Nanos::from_micros(500));
        });
        let buffer = IoBuf::zeroed(BLOCK);
        ring.push(Request { file, kind: IoKind::Read, offset: 0, buffer, tag: 7 }, session)
            .expect("room");
        let mut done = Vec::new();
        let waiting = session.waiting(WaitEvent::DirectPathRead);
        ring.reap(1, Some(Nanos::from_micros(50)), &mut done, waiting).expect("no fault");
        busy.expect("started").join(session).expect("no panic");
        done.iter().map(|completion| completion.tag).collect::<Vec<u64>>()
    });
    assert_eq!(report.result, Ok(vec![7]));
}

/// Where a buffered write has its file for itself, writes to one file follow each other, and writes
/// to two files don't; direct ones never do. This holds for blocking calls and for a ring.
#[test]
fn buffered_writes_into_one_file_wait_for_each_other_where_the_machine_says_so() {
    const BUFFERED: FileOptions = FileOptions { direct: false, write_through: true };
    let took = |alone: bool, options: FileOptions, files: usize, by_ring: bool| {
        let many = "name = \"many\"\nkind = \"fixed\"\nsource = \"test\"\nservers = 64\n";
        let mut machine = machine(model(&format!("{many}service_us = 100")), 1);
        machine.machine.buffered_writes_alone = alone;
        let report = machine.run(move |world, session| {
            let open = |number: usize| {
                let path = format!("/file{number}");
                let disk = world.disk();
                disk.create(Path::new(&path), BLOCKS * BLOCK as u64, options, session)
                    .expect("no fault is planned")
            };
            let files: Vec<File> = (0..files).map(open).collect();
            let began = session.now();
            if by_ring {
                let mut ring = world.disk().ring(&RingConfig::new(8), session).expect("simulated");
                for tag in 0..4 {
                    let file = files[tag as usize % files.len()].clone();
                    let (kind, offset) = (IoKind::Write, tag * BLOCK as u64);
                    let buffer = IoBuf::zeroed(BLOCK);
                    let request = Request { file, kind, offset, buffer, tag };
                    ring.push(request, session).expect("there is room");
                }
                let mut done: Vec<Completion> = Vec::new();
                let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
                ring.reap(4, None, &mut done, waiting).expect("no fault is planned");
                assert!(done.iter().all(|completion| completion.result.is_ok()));
            } else {
                let writer = |number: usize| {
                    let file = files[number % files.len()].clone();
                    let body = move |session: &Session| {
                        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
                        let buffer = IoBuf::zeroed(BLOCK);
                        let offset = (number * BLOCK) as u64;
                        file.write_at(offset, &buffer, waiting).expect("no fault is planned");
                    };
                    session.spawn(ThreadSpec::background("writer"), body).expect("simulated")
                };
                let writers: Vec<_> = (0..4).map(writer).collect();
                writers.iter().for_each(|writer| writer.join(session).expect("no panic"));
            }
            session.now().since(began)
        });
        report.result.expect("it runs").as_micros()
    };
    for by_ring in [false, true] {
        assert_eq!(took(true, BUFFERED, 1, by_ring), 400);
        assert_eq!(took(true, BUFFERED, 2, by_ring), 200);
        assert_eq!(took(true, DIRECT, 1, by_ring), 100);
        assert_eq!(took(false, BUFFERED, 1, by_ring), 100);
    }
}
