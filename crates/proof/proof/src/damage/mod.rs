//! Silent damage: a database that was shut is changed as no engine would, with right checksums, and
//! `verify` must tell it.
//!
//! ```text
//!   load ─▶ shut: the earlier time ─▶ load ─▶ shut: nothing is found
//!                        │                      │ each kind of damage, in a place by the seed
//!                        └── blocks of then ──▶ damaged ─▶ verify tells one of the kinds that fit
//!                                                      └─▶ opening comes to an end
//! ```
//!
//! What is changed is either bytes of blocks, which are sealed again, or rows, by the crates below
//! the dictionary, which hold no constraints. Rule PF13 is in the README.
//!
//! * [`DamageCheck`]: one database and each damage of it; [`DamageTally`]: what was tried.
//!
//! Callers: the tests, and the example `damage` for long runs.

mod blocks;
mod damages;
mod entries;
mod image;
mod made;
mod older;
mod rows;
mod tally;

use std::fmt;
use std::path::Path;

use database::Database;
use instance::Instance;
use os::{Disk, FileOptions, Session};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::{Outside, Perturbation, Simulation};
use stop::Stop;
use verify::Kind;

use crate::shape::DIRECTORY;
use crate::sweep::left;
use crate::{Bases, Violation};
use damages::{Damage, Done, How};
use made::Made;
use rows::Below;
pub use tally::DamageTally;

/// A database, and each damage of it.
#[derive(Clone, Copy, Debug)]
pub struct DamageCheck {
    /// Decides everything else.
    pub seed: u64,
}

/// What a check has told.
#[derive(Clone, Default)]
struct Told {
    kinds: Vec<Kind>,
    lines: Vec<String>,
}

/// What became of an opening of a damaged database.
enum Opened {
    /// It was refused, or what was opened stopped.
    Refused,
    /// It was opened; what was found while it was.
    Open(Told),
}

impl DamageCheck {
    /// The check of this seed.
    pub fn of(seed: u64) -> DamageCheck {
        DamageCheck { seed }
    }

    /// Runs it. What is wrong is told with the line that repeats it.
    pub fn run(&self, bases: &mut Bases) -> Result<DamageTally, Violation> {
        self.all(bases).map_err(|Violation(what)| {
            let seed = self.seed;
            Violation(format!(
                "{what}\nto repeat it: cargo run --profile proof -p proof --example damage -- \
                 {seed} {}",
                seed + 1
            ))
        })
    }

    fn all(&self, bases: &mut Bases) -> Result<DamageTally, Violation> {
        let made = Made::by(self.seed, bases)?;
        let mut tally = DamageTally::default();
        tally.databases += 1;
        for (number, damage) in (0_u64..).zip(Damage::ALL) {
            let seed = self.seed.wrapping_mul(1_000).wrapping_add(number);
            let one = One { made: &made, damage: *damage, seed };
            let wrong = |Violation(what)| Violation(format!("{}: {what}", damage.name()));
            one.run(&mut tally).map_err(wrong)?;
        }
        Ok(tally)
    }
}

impl fmt::Display for DamageCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damage of seed {}", self.seed)
    }
}

/// One damage of a database.
struct One<'a> {
    made: &'a Made,
    damage: Damage,
    seed: u64,
}

impl One<'_> {
    fn run(&self, tally: &mut DamageTally) -> Result<(), Violation> {
        let Some((disk, done)) = self.damaged()? else { return Ok(()) };
        let told = self.verified(&disk)?;
        let is_noticed = told.kinds.iter().any(|kind| done.expects.contains(kind));
        let Done { what, expects } = &done;
        if !is_noticed {
            let lines = told.lines.join("\n");
            return Err(Violation(format!("{what}: {expects:?} was expected, and told:\n{lines}")));
        }
        tally.noticed(self.damage, &told.kinds);
        match self.opened(&disk)? {
            Opened::Refused => tally.refused(self.damage),
            Opened::Open(_) if self.damage.keeps_shut() => {
                return Err(Violation(format!("{what}: it was opened all the same")));
            }
            Opened::Open(told) => {
                let is_noticed = told.kinds.iter().any(|kind| expects.contains(kind));
                tally.opened(self.damage, is_noticed);
                if !is_noticed && self.damage.is_told_open() {
                    let lines = told.lines.join("\n");
                    return Err(Violation(format!(
                        "{what}: while it is open {expects:?} was expected, and told:\n{lines}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The disk with the damage, and what was done; none where there is no place for it.
    fn damaged(&self) -> Result<Option<(FileSystem, Done)>, Violation> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        match self.damage.how() {
            How::Bytes(act) => {
                let mut image = self.made.now.clone();
                let Some(done) = act(self.made, &mut image, &mut random) else { return Ok(None) };
                Ok(Some((image.onto(&self.made.disk, &self.made.now), done)))
            }
            How::Rows(act) => {
                let (inside, kept) = (self.made.inside(), Outside::<Option<Done>>::default());
                let into = kept.clone();
                let report = machine(self.seed, &self.made.disk).run(move |world, session| {
                    let directory = Path::new(DIRECTORY);
                    let parameters = &inside.options.parameters;
                    let instance = Instance::open(&world.disk(), directory, parameters, session)?;
                    let below = Below { instance: &instance, made: &inside, session };
                    let done = act(&below, &mut random);
                    into.with(|into| *into = done);
                    instance.shutdown(session)
                });
                match &report.result {
                    Ok(Ok(())) => {}
                    Ok(Err(stop)) => return Err(Violation(format!("it stopped: {stop}"))),
                    Err(failure) => return Err(Violation(format!("in the machine: {failure}"))),
                }
                let disk = left(report);
                Ok(kept.take().map(|done| (disk, done)))
            }
        }
    }

    fn verified(&self, disk: &FileSystem) -> Result<Told, Violation> {
        let report = machine(self.seed, disk)
            .run(|world, session| closed(&world.disk(), Path::new(DIRECTORY), session));
        match report.result {
            Ok(Ok(told)) => Ok(told),
            Ok(Err(stop)) => Err(Violation(format!("verify was refused: {stop}"))),
            Err(failure) => Err(Violation(format!("verify came to no end: {failure}"))),
        }
    }

    /// Opens it, checks it while it is open, and drops it.
    fn opened(&self, disk: &FileSystem) -> Result<Opened, Violation> {
        let options = self.made.options.clone();
        let report = machine(self.seed, disk).run(move |world, session| {
            let Ok(database) =
                Database::open_in(&world.disk(), Path::new(DIRECTORY), &options, session)
            else {
                return Opened::Refused;
            };
            let told = open(database.instance(), session);
            database.abort_by(session);
            told.map_or(Opened::Refused, Opened::Open)
        });
        report.result.map_err(|failure| Violation(format!("opening came to no end: {failure}")))
    }
}

/// The machine of a damaged database. The engine doesn't check itself, or it would notice first.
fn machine(seed: u64, disk: &FileSystem) -> Simulation {
    let mut simulation = crate::machine(seed, disk.clone(), Perturbation::NONE);
    simulation.check_effort = Some(0);
    simulation
}

/// What is told of a database that is shut.
fn closed(disk: &Disk, directory: &Path, session: &Session) -> Result<Told, Stop> {
    let mut told = Told::default();
    let tell = &mut |finding: &verify::Finding| told.take(finding);
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    let options = FileOptions { direct: false, write_through: false };
    verify::closed(disk, directory, options, &mut task, session)?;
    Ok(told)
}

/// What is told of one that is open.
fn open(instance: &Instance, session: &Session) -> Result<Told, Stop> {
    let mut told = Told::default();
    let tell = &mut |finding: &verify::Finding| told.take(finding);
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    verify::open(instance, &mut task, session)?;
    Ok(told)
}

impl Told {
    fn take(&mut self, finding: &verify::Finding) {
        self.lines.push(finding.to_string());
        if !self.kinds.contains(&finding.kind) {
            self.kinds.push(finding.kind);
        }
    }
}

/// One of these, by chance.
fn pick<'a, T>(random: &mut Xoshiro256PlusPlus, of: &'a [T]) -> Option<&'a T> {
    use rand::RngExt;
    (!of.is_empty()).then(|| &of[random.random_range(0..of.len())])
}
