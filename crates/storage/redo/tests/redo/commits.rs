//! Group commit by many, under every leader, with power cuts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use ids::{Rba, Scn};
use os::probe::DurableWrite;
use os::{Session, ThreadHandle, ThreadSpec};
use redo::{CommitLeader, LOG_BLOCKS_MIN, LOG_BUFFER_BYTES_MIN, RedoConfig};
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use sim::model::DiskParameters;
use sim::{Failure, Perturbation, Simulation, World};
use stop::Stop;
use testbed::{racing, run, run_kept};
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{
    Checkpoints, commit, commit_all, fresh, groups, mirrored, open, put, read_files, record, small,
};

/// The load of a run of committing sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    sessions: u64,
    commits: u64,
    lgwr: bool,
    /// Whether a session changes the leader all the time.
    switches: bool,
    /// The longest pause between two commits.
    thinks_ns: u64,
}

impl Load {
    pub(crate) fn of(seed: u64) -> Load {
        let lgwr = !seed.is_multiple_of(3);
        let switches = lgwr && seed.is_multiple_of(4);
        let thinks_ns = [1, 50_000, 200_000][(seed / 3 % 3) as usize];
        Load { sessions: 1 + seed % 16, commits: 6, lgwr, switches, thinks_ns }
    }
}

fn thread(
    name: String,
    session: &Session,
    body: impl FnOnce(&Session) + Send + 'static,
) -> ThreadHandle {
    session.spawn(ThreadSpec::foreground(name), body).expect("a thread starts")
}

/// Runs the load to its end; `acknowledged` has the highest SCN that a session was told is durable.
pub(crate) fn run_load(
    load: Load,
    config: &RedoConfig,
    checkpoints: &Checkpoints,
    acknowledged: &Arc<AtomicU64>,
    world: &World,
    session: &Session,
) {
    let slow = Nanos::from_micros(200);
    let (redo, signal, ckpt) = checkpoints.open(world, config, slow, session);
    let inside = redo.clone();
    let lgwr = load.lgwr.then(|| {
        let body = move |s: &Session| inside.run_lgwr(s).expect("no halt");
        session.spawn(ThreadSpec::background("fb_lgwr"), body).expect("a thread starts")
    });
    let user = |number: u64| {
        let (redo, acknowledged) = (redo.clone(), Arc::clone(acknowledged));
        thread(format!("user{number}"), session, move |session| {
            for turn in 0..load.commits {
                // Pauses are random, so that some sessions come just when a write ends.
                let thinks = session.os().random() % load.thinks_ns;
                session.pause(Nanos(thinks), session.waiting(WaitEvent::PlSqlLockTimer));
                let length = session.os().random() % 6_000;
                if session.os().random() % 4 == 0 {
                    put(&redo, number * 1_000 + 500 + turn, 50, session);
                }
                let placed = commit(&redo, number * 1_000 + turn, length as usize, session);
                assert!(redo.durable_scn(session) >= placed.scn);
                acknowledged.fetch_max(placed.scn.get(), SeqCst);
            }
        })
    };
    let users: Vec<ThreadHandle> = (0..load.sessions).map(user).collect();
    if load.switches {
        for turn in 0..20 {
            let leader = [CommitLeader::Lgwr, CommitLeader::Session][turn % 2];
            redo.set_commit_leader(leader, session);
            session.pause(Nanos::from_micros(90), session.waiting(WaitEvent::PlSqlLockTimer));
        }
    }
    for user in users {
        user.join(session).expect("no panic");
    }
    checkpoints.stop(&signal, session);
    ckpt.join(session).expect("no panic");
    redo.stop(session);
    if let Some(lgwr) = lgwr {
        lgwr.join(session).expect("no panic");
        assert_eq!(redo.durable_scn(session), redo.last_scn(session), "all was flushed");
    }
}

/// The smallest configuration with this many writes in flight.
pub(crate) fn with_writes(writes_in_flight: u32) -> RedoConfig {
    let log_buffer_bytes = LOG_BUFFER_BYTES_MIN / 2 * (writes_in_flight as usize + 1);
    RedoConfig { writes_in_flight, log_buffer_bytes, ..small() }
}

/// On a disk that does several writes at once.
pub(crate) fn wide(mut simulation: Simulation) -> Simulation {
    let wide = "name = 'wide'\nkind = 'fixed'\nsource = 'for this test'\nservice_us = 100\n\
                servers = 4\n";
    simulation.disks[0].model = DiskParameters::parse(wide).expect("a good model");
    simulation
}

fn config_of(seed: u64) -> RedoConfig {
    let mut config = with_writes(1 + (seed / 8 % 4) as u32);
    config.durable_write = os::probe::DurableWrite::ALL[(seed / 2 % 4) as usize];
    config.groups = mirrored(&[LOG_BLOCKS_MIN; 3], 1 + (seed / 3 % 2) as usize);
    if seed % 2 == 1 {
        config.commit_leader = CommitLeader::Lgwr;
    }
    config
}

/// No session waits for ever, whichever side leads; the simulator would report a deadlock. Sessions
/// that lead do so even with no log writer that could rescue them. (Seed 86: a gatherer fell asleep
/// because its batch had come to begin a log, and each session that was woken left the write to the
/// sleeper.)
#[test]
fn every_commit_ends_under_every_leader() {
    for seed in 0..400 {
        let config = config_of(seed);
        let load = Load::of(seed);
        let report = racing(wide(fresh(&config, seed))).run(move |world, session| {
            let acknowledged = Arc::new(AtomicU64::new(0));
            let checkpoints = Checkpoints::new();
            run_load(load, &config, &checkpoints, &acknowledged, world, session);
        });
        report.result.unwrap_or_else(|f| panic!("seed {seed}, {load:?}: {f}"));
        // A lost wake-up that only the log writer's 3 seconds rescued would show here.
        let took = report.elapsed_ns;
        assert!(took < 2_000_000_000, "seed {seed}, {load:?}: it took {took} ns");
    }
}

/// On a disk as fast as memory a write ends while other sessions are on their way to sleep for it:
/// none of them sleeps on. No log writer is there to rescue them.
#[test]
fn a_write_that_ends_just_now_wakes_who_is_about_to_sleep() {
    let fast = "name = 'fast'\nkind = 'fixed'\nsource = 'for this test'\nservice_us = 2\n\
                servers = 1\n";
    for seed in 0..1_500 {
        let config = small();
        let mut simulation = fresh(&config, seed);
        // Delays are longer than a write.
        simulation.perturbation = Perturbation { delay_ns_max: 40_000, ..Perturbation::RACES };
        simulation.disks[0].model = DiskParameters::parse(fast).expect("a good model");
        run(simulation, move |world, session| {
            let redo = open(world, &config, session);
            let user = |number: u64| {
                let redo = redo.clone();
                thread(format!("user{number}"), session, move |session| {
                    (0..2).for_each(|turn| _ = commit(&redo, number * 10 + turn, 50, session));
                })
            };
            let users: Vec<ThreadHandle> = (0..2 + seed % 3).map(user).collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
        });
    }
}

/// The power goes at any moment: in every state that this can leave, what was acknowledged is
/// there, without a hole.
#[test]
fn what_was_acknowledged_survives_a_power_cut() {
    let mut cut = 0;
    for seed in 0..300 {
        let outcome = cut_power(seed, &config_of(seed)).unwrap_or_else(|lost| panic!("{lost}"));
        cut += u32::from(outcome);
    }
    assert!(cut > 200, "only {cut} runs lost power");
}

/// Runs a load and cuts the power in it. Returns whether it did, or what was lost.
pub(crate) fn cut_power(seed: u64, config: &RedoConfig) -> Result<bool, String> {
    cut_power_and(seed, config, &mut |_, _, _| Ok(()))
}

/// The check of each state that a cut leaves: the files, from where redo is needed, and the SCN
/// that was acknowledged last.
pub(crate) type Look<'a> = dyn FnMut(FileSystem, (Rba, Scn), u64) -> Result<(), Stop> + 'a;

pub(crate) fn cut_power_and(
    seed: u64,
    config: &RedoConfig,
    look: &mut Look<'_>,
) -> Result<bool, String> {
    let acknowledged = Arc::new(AtomicU64::new(0));
    let checkpoints = Checkpoints::new();
    let mut simulation = racing(wide(fresh(config, seed)));
    simulation.disks[0].content.lose_power_at(1 + seed % 25);
    let (told, control, inside) = (Arc::clone(&acknowledged), checkpoints.clone(), config.clone());
    let report = simulation.run(move |world, session| {
        run_load(Load::of(seed / 25 + seed), &inside, &control, &told, world, session);
    });
    match report.result {
        Ok(()) => return Ok(false),
        Err(Failure::PowerLost) => {}
        // The header of the first log could not be written.
        Err(Failure::Panicked { message, .. }) if message.contains("opens") => return Ok(false),
        Err(failure) => return Err(format!("seed {seed}: {failure}")),
    }
    let (from, first_scn) = checkpoints.from();
    let states = CrashStates::of(&report.disks["disk"]);
    for draw in 0..6 {
        let tell = |what: &str| {
            format!("seed {seed}, state {draw}: {what}; {}", states.describe_sample(draw))
        };
        let found = read_files(states.sample(draw), config, from, first_scn);
        let found = found.map_err(|stop| tell(&stop.to_string()))?;
        let told = acknowledged.load(SeqCst);
        if found.end.last_scn.get() < told {
            return Err(tell(&format!("SCN {told} was acknowledged, and {}", found.end)));
        }
        // Reading changes nothing that a second recovery would see.
        let again = read_files(states.sample(draw), config, from, first_scn);
        let again = again.map_err(|stop| tell(&stop.to_string()))?;
        assert_eq!((again.end, again.records), (found.end, found.records));
        let looked = look(states.sample(draw), (from, first_scn), told);
        looked.map_err(|stop| tell(&stop.to_string()))?;
    }
    Ok(true)
}

/// Sixteen sessions share writes: at least six commits for each. A leader writes once and is done.
#[test]
fn sixteen_sessions_share_their_writes() {
    for leader in [CommitLeader::Session, CommitLeader::Lgwr] {
        let mut config = small();
        config.commit_leader = leader;
        config.groups = groups(1_000);
        config.durable_write = os::probe::DurableWrite::DirectWriteThrough;
        let (writes, waits, took_us) = run(fresh(&config, 1), move |world, session| {
            let redo = open(world, &config, session);
            let inside = redo.clone();
            let body = move |s: &Session| inside.run_lgwr(s).expect("no halt");
            let lgwr = session.spawn(ThreadSpec::background("fb_lgwr"), body).expect("a thread");
            let started = session.now();
            let user = |number: u64| {
                let redo = redo.clone();
                thread(format!("user{number}"), session, move |session| {
                    for turn in 0..50 {
                        let count = |statistic| session.account().totals().statistic(statistic);
                        let before = count(Statistic::RedoWrites);
                        commit(&redo, number * 1_000 + turn, 200, session);
                        let writes = count(Statistic::RedoWrites) - before;
                        assert!(writes <= 1, "a leader was trapped: {writes} writes");
                        session.charge_nanos(Nanos::from_micros(5));
                    }
                })
            };
            let users: Vec<ThreadHandle> = (0..16).map(user).collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            let took = session.now().since(started);
            redo.stop(session);
            lgwr.join(session).expect("no panic");
            let totals = world.os().totals();
            let waits = totals.event(WaitEvent::LogFileSync).count;
            (totals.statistic(Statistic::RedoWrites), waits, took.0 / 1_000)
        });
        println!("{leader:?}: 800 commits, {writes} writes, {waits} waits, {took_us} us");
        // The device takes 100 us for a write; a session or the log writer that sleeps on an idle
        // CPU is called by another, which costs both, and the log writer more often.
        let least = if leader == CommitLeader::Session { 6 } else { 5 };
        assert!(took_us * least <= 800 * 100, "{leader:?}: 800 commits took {took_us} us");
        assert!(waits <= 800 + 2 * writes, "{leader:?}: {waits} waits for 800 commits");
    }
}

/// Where a write takes long, sessions that were told together come together again: nearly all of
/// them share each write. Without gathering (RD13) they would be two halves, 8 to a write.
#[test]
fn sessions_gather_for_a_slow_device() {
    let mut config = small();
    config.groups = groups(1_000);
    config.durable_write = os::probe::DurableWrite::DirectWriteThrough;
    let slow = "name = 'slow'\nkind = 'fixed'\nsource = 'for this test'\nservice_us = 500\n\
                servers = 1\n";
    let mut simulation = fresh(&config, 1);
    simulation.disks[0].model = DiskParameters::parse(slow).expect("a good model");
    let writes = run(simulation, move |world, session| {
        let redo = open(world, &config, session);
        let before = world.os().totals();
        let user = |number: u64| {
            let redo = redo.clone();
            thread(format!("user{number}"), session, move |session| {
                for turn in 0..50 {
                    commit(&redo, number * 1_000 + turn, 200, session);
                    session.charge_nanos(Nanos::from_micros(5));
                }
            })
        };
        let users: Vec<ThreadHandle> = (0..16).map(user).collect();
        users.iter().for_each(|user| user.join(session).expect("no panic"));
        world.os().totals().since(&before).statistic(Statistic::RedoWrites)
    });
    assert!(writes <= 60, "800 commits took {writes} writes");
}

/// In the account of a session the whole of a commit is `log file sync`, whichever session wrote.
#[test]
fn a_commit_is_log_file_sync_from_end_to_end() {
    for leader in [CommitLeader::Session, CommitLeader::Lgwr] {
        let mut config = small();
        config.commit_leader = leader;
        let (own, all) = run(fresh(&config, 2), move |world, session| {
            let redo = open(world, &config, session);
            let inside = redo.clone();
            let body = move |s: &Session| inside.run_lgwr(s).expect("no halt");
            let lgwr = session.spawn(ThreadSpec::background("fb_lgwr"), body).expect("a thread");
            session.pause(Nanos::from_micros(50), session.waiting(WaitEvent::PlSqlLockTimer));
            let before = session.account().totals();
            commit_all(&redo, 0..10, session);
            let own = session.account().totals().since(&before);
            redo.stop(session);
            lgwr.join(session).expect("no panic");
            (own, world.os().totals())
        });
        assert_eq!(own.event(WaitEvent::LogFileParallelWrite).count, 0);
        assert!(own.event(WaitEvent::LogFileSync).total.0 > 10 * 100_000);
        assert_eq!(all.statistic(Statistic::RedoSynchWrites), 10);
        assert_eq!(all.statistic(Statistic::RedoWrites), 10);
        assert_eq!(all.statistic(Statistic::RedoBlocksWritten), 10);
        assert_eq!(all.statistic(Statistic::RedoEntries), 10);
        assert_eq!(all.statistic(Statistic::RedoWastage), 10 * (4_048 - 148));
        assert!(all.statistic(Statistic::RedoWriteTime) >= 10 * 100);
        let written = all.event(WaitEvent::LogFileParallelWrite).count;
        assert_eq!(written > 0, leader == CommitLeader::Lgwr, "{written} by the log writer");
    }
}

/// Two writes of a log are in flight and their syncs overlap; one of them fails. The other's pages
/// are as much in doubt, whatever its sync returned (rule M11).
#[test]
fn a_sync_that_ends_well_beside_one_that_failed_is_not_believed() {
    let (mut faults, mut commits, mut refusals) = (0, 0, 0);
    for seed in 0..600 {
        let mut config = with_writes(4);
        config.durable_write = DurableWrite::BufferedThenSync;
        let mut simulation = wide(fresh(&config, seed));
        simulation.perturbation = Perturbation { delay_ns_max: 40_000, ..Perturbation::RACES };
        let scope = Scope::of(&[Operation::Sync]);
        let plan = FaultPlan::new(seed).nth(2 + seed % 12, Fault::Eio, scope);
        simulation.disks[0].content.plan_faults(plan);
        let told = Arc::new(AtomicU64::new(0));
        let [done, refused] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let (inside, acknowledged) = (config.clone(), Arc::clone(&told));
        let counts = (Arc::clone(&done), Arc::clone(&refused));
        let ((), mut disk) = run_kept(simulation, move |world, session| {
            let redo = open(world, &inside, session);
            let user = |n: u64| {
                let (redo, told) = (redo.clone(), Arc::clone(&acknowledged));
                let (done, refused) = counts.clone();
                thread(format!("user{n}"), session, move |session| {
                    for turn in 0..10 {
                        let mut record = record(n * 100 + turn, 100);
                        let Ok(credits) = redo.reserve(record.len(), session) else { return };
                        let scn = redo.append(credits, &mut record, session).scn;
                        if redo.make_durable(scn, session, WaitEvent::LogFileSync).is_err() {
                            refused.fetch_add(1, SeqCst);
                            return;
                        }
                        told.fetch_max(scn.get(), SeqCst);
                        done.fetch_add(1, SeqCst);
                    }
                })
            };
            let users: Vec<_> = (0..8).map(user).collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
        });
        faults += disk.injected().len();
        commits += done.load(SeqCst);
        refusals += refused.load(SeqCst);
        disk.plan_faults(FaultPlan::new(0));
        disk.cut_power();
        let states = CrashStates::of(&disk);
        for draw in 0..8 {
            let found = read_files(states.sample(draw), &config, Rba::block(1, 1), Scn::new(1));
            let found = found.expect("read");
            assert!(found.end.last_scn.get() >= told.load(SeqCst), "seed {seed}: {}", found.end);
        }
    }
    println!("{faults} syncs failed, {commits} commits, {refusals} refused");
    // More sessions than one are refused where syncs overlap.
    assert!(faults > 500 && commits > 1_000 && refusals > 1_000, "the runs test nothing");
}
