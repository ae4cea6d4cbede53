//! The crash sweep: at each operation of a load, what a power cut there leaves is drawn, opened and
//! held against the journal as it was; and so is what is left by cuts while it is opened.
//!
//! One run of a load shows all its crash points (the simulator clones the disk at each), and so
//! does one opening. An image is opened once: what is found in it follows from it. It is compared
//! as often as it is left at another moment. A crash state is counted by the hash of its image.
//!
//! A seed decides everything, so a message that names kind and seed repeats what it tells.
//!
//! Callers: the tests, and the example `crash_sweep`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use database::{Database, Options};
use format::FileHeader;
use instance::Instance;
use os::{Disk, FileOptions, Session};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{CrashPoints, Outside, Perturbation, Report, Simulation, World};
use stop::Stop;

use crate::found::locks;
use crate::oracle::difference;
use crate::shape::{Base, DIRECTORY, machine_for};
use crate::{
    Bases, Breach, By, Check, Found, Journal, Load, Look, Record, Shape, Tally, Violation, compare,
    inspect,
};

/// Of the images one in so many is opened under a disturbed schedule, which costs twice as much.
const DISTURBED_ONE_IN: u64 = 4;

/// And one in so many in a cache as small as the load's, where recovery has to evict what it has
/// rolled forward; the others in one that holds most of the database, which takes half the time.
const CRAMPED_ONE_IN: u64 = 4;

/// Of the images that a crash of the load left, in a database whose redo logs have two members, so
/// many lose one of these before they are opened.
const MEMBER_LOST_ONE_IN: u64 = 3;

/// And one in so many is opened a second time, under another schedule.
const OPENED_TWICE_ONE_IN: u64 = 16;

/// One in so many is looked at once more when it was opened and shut again, as a DBA would.
const VERIFIED_ONE_IN: u64 = 32;

/// Of one in so many every row is locked, to see that nobody has it: none of those that are opened
/// twice, for it changes them.
const LOCKED_ONE_IN: u64 = 8;

/// One in so many is looked at closely: indexes backwards, each row by its own key.
const CLOSELY_ONE_IN: u64 = 8;

/// After so many seeds a load has again whatever it has by its seed; then it goes the other way to
/// the engine.
const SPECIAL: u64 = 12;

/// Draws that give an image that is known already are made up for, so many times at most.
const DRAWS_PER_STATE: u64 = 4;

/// Which sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A few transactions of one or two sessions, crashed at every third operation.
    Small,
    /// More of both, under a disturbed schedule, crashed here and there.
    Large,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Small, Kind::Large];

    /// As the command line has it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Small => "small",
            Kind::Large => "large",
        }
    }

    /// The sweep of this seed.
    pub fn sweep(self, seed: u64) -> Sweep {
        match self {
            Kind::Small => Sweep::small(seed),
            Kind::Large => Sweep::large(seed),
        }
    }
}

/// One load, crashed everywhere.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Which of the two.
    pub kind: Kind,
    /// The database.
    pub shape: Shape,
    /// What runs when the power goes.
    pub load: Load,
    /// The disturbance of the load's schedule.
    pub perturbation: Perturbation,
    /// Where a crash of the load has no more states than this, all are opened; else so many are
    /// drawn.
    pub states_per_cut: u64,
    /// The same for crashes of recovery.
    pub states_per_nested_cut: u64,
    /// How often recovery is cut, of every state, on each level of nesting.
    pub cuts_in_recovery: usize,
    /// Crashes nested so deep: 1 is the load's only.
    pub depth_max: u32,
    /// Every so many operations the power is cut; 1 is everywhere.
    pub stride: u64,
}

/// The disk as the simulation left it.
pub(crate) fn left<R>(mut report: Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

/// The disk as a power cut at one operation leaves it, and what was known then.
struct Shot {
    number: u64,
    disk: FileSystem,
    record: Record,
}

impl Sweep {
    /// A few transactions, crashed at every third operation.
    pub fn small(seed: u64) -> Sweep {
        let load = Load {
            seed,
            sessions: 1 + u32::from(seed % 3 == 2),
            transactions: 6,
            changes_max: 3,
            tables: [2, 4, 3, 4][(seed / 2 % 4) as usize],
            checkpoint_every: (seed % 2 == 1).then_some(5),
            pauses_every: (seed % 3 != 2).then_some(3),
            alters: seed % 7 == 2,
            defines: seed % 3 == 1,
            serializable: seed % 4 == 2,
            commit_modes: seed % 5 == 3,
            leaves_open: seed % 4 == 3,
            by: By::of_seed(seed, SPECIAL),
        };
        let races = if load.sessions > 1 { Perturbation::RACES } else { Perturbation::NONE };
        Sweep {
            kind: Kind::Small,
            shape: Shape::of(seed),
            load,
            perturbation: races,
            states_per_cut: 6,
            states_per_nested_cut: 2,
            cuts_in_recovery: 1,
            depth_max: 3,
            stride: 3,
        }
    }

    /// Several sessions under a disturbed schedule, crashed here and there.
    pub fn large(seed: u64) -> Sweep {
        let load = Load {
            seed,
            sessions: 1 + (seed % 4) as u32,
            transactions: [60, 30, 24, 20][(seed % 4) as usize],
            changes_max: 4 + 4 * (seed % 3) as u32,
            tables: 3 + (seed / 3 % 2) as usize,
            checkpoint_every: (!seed.is_multiple_of(5)).then_some(12),
            pauses_every: (seed % 3 != 1).then_some(8),
            alters: seed % 4 == 2,
            defines: seed % 4 != 2,
            serializable: seed % 3 != 2,
            commit_modes: seed % 3 == 1,
            leaves_open: seed % 2 == 1,
            by: By::of_seed(seed, SPECIAL),
        };
        Sweep {
            kind: Kind::Large,
            load,
            perturbation: Perturbation::RACES,
            states_per_cut: 4,
            stride: 17,
            ..Sweep::small(seed)
        }
    }

    /// Cuts the power at each operation of the load, from the database of its shape.
    pub fn run(&self, bases: &mut Bases) -> Result<Tally, Breach> {
        let base = bases.of(&self.shape, 1 + self.kind as u64);
        let mut run = Run { sweep: self, tally: Tally::default(), opened: BTreeMap::new() };
        run.everything(base).map_err(|breach| {
            let (kind, Load { seed, by, .. }) = (self.kind.name(), self.load);
            breach.with(format!(
                "{self:?}\nto repeat it: cargo run --profile proof -p proof --example crash_sweep \
                 -- {kind} {seed} {} --by {by}",
                seed + 1
            ))
        })?;
        Ok(run.tally)
    }

    /// Runs the load, and collects every `stride`th crash point.
    fn run_load(&self, base: &Base) -> Result<(Vec<Shot>, Shot), Breach> {
        let (journal, shots) =
            (Journal::from(base.record.clone()), Outside::<Vec<Shot>>::default());
        let mut machine = self.machine(self.load.seed, &base.disk, self.perturbation);
        let (known, collected) = (journal.clone(), shots.clone());
        let (begin, stride) = (base.disk.crash_points(), self.stride);
        // From its seed, so that sweeps of neighbouring seeds don't cut at the same places.
        let first = self.load.seed % stride;
        machine.crash_points = Some(CrashPoints::new(move |_, number, cut| {
            let number = number - begin;
            if number % stride == first {
                let disk = alone(cut());
                let record = known.record();
                collected.with(|shots| shots.push(Shot { number, disk, record }));
            }
        }));
        let (load, options) = (self.load, self.shape.options());
        let told = journal.clone();
        let report = machine.run(move |world, session| {
            load.run(
                Database::open_in(&world.disk(), Path::new(DIRECTORY), &options, session)?,
                &told,
                session,
            )
        });
        match &report.result {
            Ok(Ok(())) => {}
            Ok(Err(stop)) => return Err(halts(format!("the load stopped: {stop}"))),
            Err(failure) => return Err(halts(format!("in the load: {failure}"))),
        }
        let disk = left(report);
        let end = Shot { number: disk.crash_points() - begin + 1, disk, record: journal.record() };
        Ok((shots.take(), end))
    }

    /// What is left when one member of a redo log group goes too. Not where members are added and
    /// dropped: the other may not be good then. Nor after a crash of recovery, for the same reason.
    fn without_a_member(&self, state: &FileSystem, depth: u32, seed: u64) -> Option<FileSystem> {
        let loses = self.shape.creation.log_members == 2 && !self.load.alters && depth == 1;
        if !loses || !(seed >> 16).is_multiple_of(MEMBER_LOST_ONE_IN) {
            return None;
        }
        let (group, copy) = (1 + seed % 3, ["", "b"][(seed >> 8) as usize % 2]);
        let mut state = state.clone();
        let removed = state.remove(format!("{DIRECTORY}/redo0{group}{copy}.log"));
        removed.and_then(|()| state.sync_dir(DIRECTORY)).expect("each group has two members");
        Some(state)
    }

    /// Opens, inspects and shuts; and what cuts at `cuts` operations drawn by `seed` leave.
    fn open(&self, state: &FileSystem, seed: u64, cuts: usize) -> Result<Opening, Breach> {
        let mut machine = self.machine(seed, state, self.disturbed(seed));
        let drawn = Outside::new(Drawn {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            cuts: Vec::new(),
        });
        if cuts > 0 {
            let (drawn, begin) = (drawn.clone(), state.crash_points());
            machine.crash_points = Some(CrashPoints::new(move |_, number, cut| {
                drawn.with(|drawn| drawn.offer(number - begin, cuts, || alone(cut())));
            }));
        }
        let options = self.opening(seed).options();
        let body = move |world: &World, session: &Session| look(world, &options, seed, session);
        let report = machine.run(body);
        let (found, mended) = match &report.result {
            Ok(Ok(found)) => found.clone(),
            Ok(Err(breach)) => return Err(breach.clone()),
            Err(failure) => return Err(halts(format!("while it was opened: {failure}"))),
        };
        let cuts = drawn.with(|drawn| std::mem::take(&mut drawn.cuts));
        Ok(Opening { found, mended, cuts })
    }

    /// The data files when it was recovered and shut, and nobody did anything else: who reads a
    /// block cleans it out or doesn't, as it comes.
    fn recover(&self, state: &FileSystem, seed: u64) -> Result<BTreeMap<String, Vec<u8>>, Breach> {
        let machine = self.machine(seed, state, self.disturbed(seed));
        let parameters = self.opening(seed).parameters;
        let report = machine.run(move |world, session| {
            let instance =
                Instance::open(&world.disk(), Path::new(DIRECTORY), &parameters, session)?;
            instance.wait_for_dead(session);
            instance.shutdown(session)
        });
        match &report.result {
            Ok(Ok(())) => Ok(data_files(&mut left(report))),
            Ok(Err(stop)) => {
                Err(Violation(format!("it can't be recovered: {stop}")).by(Check::Opens))
            }
            Err(failure) => Err(halts(format!("while it was recovered: {failure}"))),
        }
    }

    fn machine(&self, seed: u64, disk: &FileSystem, perturbation: Perturbation) -> Simulation {
        machine_for(self.shape.parameters.failpoints, seed, disk.clone(), perturbation)
    }

    /// How an instance runs that is opened by this seed.
    fn opening(&self, seed: u64) -> Shape {
        match (seed >> 40).is_multiple_of(CRAMPED_ONE_IN) {
            true => self.shape.clone(),
            false => self.shape.roomy(),
        }
    }

    fn disturbed(&self, seed: u64) -> Perturbation {
        match (seed >> 32).is_multiple_of(DISTURBED_ONE_IN) {
            true => Perturbation::RACES,
            false => Perturbation::NONE,
        }
    }
}

/// Opens, looks at everything, shuts; and looks at it then.
fn look(
    world: &World,
    options: &Options,
    seed: u64,
    session: &Session,
) -> Result<(Found, Mended), Breach> {
    let say = |stop: Stop| Violation(format!("it doesn't open: {stop}")).by(Check::Opens);
    let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
    let database = Database::open_in(&disk, directory, options, session).map_err(say)?;
    let opened = database.instance().opened();
    let mended = Mended {
        rolled_back: opened.rolled_back,
        repaired: opened.recovered.repaired,
        dropped: opened.dropped + database.catalog().opened().orphans as u64,
    };
    let close = if is_looked_at_closely(seed) { Look::Close } else { Look::Usual };
    let found = inspect(&database, close, session);
    let mut found = found.map_err(|violation| violation.by(Check::Agrees));
    if is_locked(seed) {
        let unlocked = |found| locks(&database, &found, session).map(|()| found);
        found = found.and_then(|found| unlocked(found).map_err(|wrong| wrong.by(Check::Unlocked)));
    }
    let say = |stop: Stop| Violation(format!("it doesn't shut: {stop}")).by(Check::Shuts);
    let shut = database.shutdown_by(session).map_err(say);
    let found = found?;
    shut?;
    if is_verified(seed) {
        let verified = verify_shut(&disk, directory, session);
        verified.map_err(|violation| violation.by(Check::Verifies))?;
    }
    Ok((found, mended))
}

/// Somebody panicked, or was stopped.
fn halts(what: String) -> Breach {
    Violation(what).by(Check::Runs)
}

/// The checksum of a block, with which it begins.
const CHECKSUM_BYTES: usize = 4;

/// The data files; none of their bytes may depend on the schedule of an opening, but for which
/// checkpoint the header of a file says (and so its checksum): how many are made while it is opened
/// and shut, and at which redo block, depends on which changes LGWR wrote together.
fn data_files(disk: &mut FileSystem) -> BTreeMap<String, Vec<u8>> {
    let names = disk.list(DIRECTORY).expect("a database that was opened has its folder");
    let data = names.into_iter().filter(|name| name.ends_with(".dbf"));
    data.map(|name| {
        let file = disk.open(format!("{DIRECTORY}/{name}")).expect("it was listed");
        let mut bytes = vec![0; disk.len(file).expect("it is open") as usize];
        let read = disk.read(file, 0, &mut bytes).expect("it is open");
        assert_eq!(read, bytes.len(), "{name} is read whole");
        let header = FileHeader::at_mut(&mut bytes, FileHeader::START);
        (header.checkpoint_number, header.checkpoint_block) = (0.into(), 0.into());
        header.checkpoint_sequence = 0.into();
        bytes[..CHECKSUM_BYTES].fill(0);
        (name, bytes)
    })
    .collect()
}

/// Where two sets of files first differ: the file, and the offset in it.
fn first_difference(
    one: &BTreeMap<String, Vec<u8>>,
    other: &BTreeMap<String, Vec<u8>>,
) -> Option<String> {
    if !one.keys().eq(other.keys()) {
        return Some(format!("{:?} and {:?}", one.keys(), other.keys()));
    }
    one.iter().zip(other.values()).find_map(|((name, ours), theirs)| {
        let at = ours.iter().zip(theirs).position(|(a, b)| a != b);
        let (length, lengths_differ) = (ours.len().min(theirs.len()), ours.len() != theirs.len());
        at.or(lengths_differ.then_some(length)).map(|at| format!("{name} from byte {at} on"))
    })
}

/// Whether an opening by this seed locks every row.
fn is_locked(seed: u64) -> bool {
    let is_opened_twice = seed.is_multiple_of(OPENED_TWICE_ONE_IN);
    !is_opened_twice && (seed >> 24).is_multiple_of(LOCKED_ONE_IN)
}

/// Whether an opening by this seed looks closely.
fn is_looked_at_closely(seed: u64) -> bool {
    (seed >> 48).is_multiple_of(CLOSELY_ONE_IN)
}

/// Whether an opening by this seed ends with that.
fn is_verified(seed: u64) -> bool {
    (seed >> 8).is_multiple_of(VERIFIED_ONE_IN)
}

/// Every block, and how they hang together.
fn verify_shut(disk: &Disk, directory: &Path, session: &Session) -> Result<(), Violation> {
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    let options = FileOptions { direct: false, write_through: false };
    let report = verify::closed(disk, directory, options, &mut task, session);
    let say = |what: String| Violation(format!("shut, it isn't in order: {what}"));
    let report = report.map_err(|stop| say(stop.to_string()))?;
    match report.is_clean() {
        true => Ok(()),
        false => Err(say(format!("{}\n{report}", findings.join("\n")))),
    }
}

fn alone(mut disks: Vec<FileSystem>) -> FileSystem {
    let mut disk = disks.pop().expect("the machine has one disk");
    disk.close_all();
    disk
}

/// What an opening had to do: transactions to roll back, blocks to repair, segments to drop.
#[derive(Clone, Copy)]
struct Mended {
    rolled_back: u64,
    repaired: u64,
    dropped: u64,
}

/// What came of an opening.
struct Opening {
    found: Found,
    mended: Mended,
    cuts: Vec<(u64, FileSystem)>,
}

/// A draw of so many operations out of a number that isn't known before (reservoir sampling).
struct Drawn {
    random: Xoshiro256PlusPlus,
    cuts: Vec<(u64, FileSystem)>,
}

impl Drawn {
    fn offer(&mut self, number: u64, wanted: usize, disk: impl FnOnce() -> FileSystem) {
        if self.cuts.len() < wanted {
            self.cuts.push((number, disk()));
            return;
        }
        let place = self.random.random_range(0..number) as usize;
        if place < wanted {
            self.cuts[place] = (number, disk());
        }
    }
}

/// A sweep that is going on.
struct Run<'a> {
    sweep: &'a Sweep,
    tally: Tally,
    /// What was found in each image.
    opened: BTreeMap<u64, Arc<Found>>,
}

/// Against what an image is held.
#[derive(Clone, Copy)]
struct Known<'a> {
    record: &'a Record,
    /// What was found in the image from which this one came by a crash of recovery (PF3).
    before: Option<&'a Found>,
}

impl Run<'_> {
    fn everything(&mut self, base: &Base) -> Result<(), Breach> {
        let (shots, end) = self.sweep.run_load(base)?;
        self.tally.load_ended(self.sweep, &end.record);
        for shot in shots {
            let known = Known { record: &shot.record, before: None };
            let crashed = self.crash(&shot.disk, known, 1, shot.number);
            let after = || format!("after cut {} in the load", shot.number);
            crashed.map_err(|breach| breach.with(after()))?;
        }
        // What the load left without a crash must open too.
        let known = Known { record: &end.record, before: None };
        let uncut = self.state(&end.disk, known, 0);
        uncut.map(|_| ()).map_err(|breach| breach.with("without a crash"))
    }

    /// Opens what a crash can leave.
    fn crash(
        &mut self,
        disk: &FileSystem,
        known: Known<'_>,
        depth: u32,
        seed: u64,
    ) -> Result<(), Breach> {
        self.tally.cuts += 1;
        self.tally.depth = self.tally.depth.max(depth);
        let sweep = self.sweep;
        let wanted = if depth == 1 { sweep.states_per_cut } else { sweep.states_per_nested_cut };
        let states = CrashStates::of(disk);
        if let Some(all) = states.exhaustive(wanted) {
            for state in all {
                let opened = self.state(&state.fs, known, depth);
                opened.map_err(|breach| breach.with(states.describe(state.number)))?;
            }
            return Ok(());
        }
        let mut new = 0;
        for number in 0..wanted * DRAWS_PER_STATE {
            let draw = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number);
            let state = states.sample(draw);
            let opened = self.state(&state, known, depth);
            let is_new = opened.map_err(|breach| breach.with(states.describe_sample(draw)));
            new += u64::from(is_new?);
            if new == wanted {
                break;
            }
        }
        Ok(())
    }

    /// Opens one crash state, unless its image is known, and asks the oracle; then goes on with
    /// what is left by cuts in the opening. True if the image was new.
    fn state(&mut self, state: &FileSystem, known: Known<'_>, depth: u32) -> Result<bool, Breach> {
        let hash = state.image_hash().0;
        if let Some(found) = self.opened.get(&hash) {
            let found = Arc::clone(found);
            self.ask(&found, known)?;
            return Ok(false);
        }
        let sweep = self.sweep;
        let nests = depth > 0 && depth < sweep.depth_max;
        let cuts = if nests { sweep.cuts_in_recovery } else { 0 };
        let poorer = sweep.without_a_member(state, depth, hash);
        self.tally.members_lost += u64::from(poorer.is_some());
        let state = poorer.as_ref().unwrap_or(state);
        let opening = sweep.open(state, hash, cuts)?;
        self.tally.openings += 1;
        self.tally.verified += u64::from(is_verified(hash));
        self.tally.locked += u64::from(is_locked(hash));
        self.tally.closely += u64::from(is_looked_at_closely(hash));
        self.tally.rolled_back += u64::from(opening.mended.rolled_back > 0);
        self.tally.repaired += u64::from(opening.mended.repaired > 0);
        self.tally.dropped += u64::from(opening.mended.dropped > 0);
        self.tally.images.insert(hash);
        let found = Arc::new(opening.found);
        self.opened.insert(hash, Arc::clone(&found));
        self.ask(&found, known)?;
        if hash.is_multiple_of(OPENED_TWICE_ONE_IN) {
            self.tally.opened_twice += 1;
            let (one, other) = (sweep.recover(state, hash)?, sweep.recover(state, !hash)?);
            if let Some(place) = first_difference(&one, &other) {
                let what = format!("recovered under two schedules, its data files differ: {place}");
                return Err(Violation(what).by(Check::Schedules));
            }
        }
        for (cut, disk) in opening.cuts {
            let known = Known { record: known.record, before: Some(&found) };
            let crashed = self.crash(&disk, known, depth + 1, hash ^ cut);
            crashed.map_err(|breach| breach.with(format!("after cut {cut} in recovery")))?;
        }
        Ok(true)
    }

    fn ask(&mut self, found: &Found, known: Known<'_>) -> Result<(), Breach> {
        if let Some(before) = known.before {
            difference(before, found).map_err(|Violation(what)| {
                let what = format!("recovery was cut, and the next one found less: {what}");
                Violation(what).by(Check::CutAgain)
            })?;
        }
        compare(known.record, found, &mut self.tally)
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sweep of seed {}", self.kind.name(), self.load.seed)
    }
}
