//! A world for row sources, inputs of given rows, and how results are compared.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::cell::Cell;
use std::path::PathBuf;

use expression::{Arena, Evaluation, Expression, Rows};
use ids::FileNo;
use os::{Disk, FilesystemIo, Session};
use rowsource::{Counts, Figures, Source, Spill, World};
use sim::Simulation;
use sim::fs::FileSystem;
use sort::{Budget, SORT_AREA_BYTES_MIN, SortConfig};
use stop::{Halt, RefusalKind, Stop};
use testbed::Dice;
use value::{OwnedValue, Timestamp, Value};

pub(crate) const DIRECTORY: &str = "/temp";

/// Budgets from nothing, where each source has what it can't do without, to plenty.
pub(crate) const BUDGETS: [u64; 4] = [0, 64 << 10, 2 << 20, 1 << 30];

/// A simulated machine with an empty directory for temporary files.
pub(crate) fn machine(seed: u64) -> Simulation {
    let mut simulation = Simulation::new(seed);
    let content = &mut simulation.disks[0].content;
    content.create_dir(DIRECTORY).expect("an empty disk");
    content.sync_dir("/").expect("no fault yet");
    simulation
}

/// Asserts that nothing is left on disk: no name, no space.
pub(crate) fn assert_nothing_is_left(fs: &mut FileSystem) {
    fs.close_all();
    assert_eq!(fs.list(DIRECTORY).expect("a directory"), Vec::<String>::new());
    assert_eq!(fs.space().0, 0, "bytes that nobody can reach");
}

/// A statement without anything around it.
pub(crate) struct TestWorld<'s> {
    session: &'s Session,
    disk: Disk,
    config: SortConfig,
    halt: Halt,
    budget: Budget,
    arena: Arena,
    slots: Vec<OwnedValue>,
    dice: Cell<u64>,
    batch: usize,
    figures: Vec<Figures>,
    /// The most rows of a batch at the next fetch of the test; it doubles.
    pub(crate) wanted: usize,
    /// How often `check` was asked, and when it says no.
    pub(crate) checks: Cell<u64>,
    pub(crate) cancelled_at: Option<u64>,
    /// Rows that the inputs gave since the last check.
    unchecked: Cell<usize>,
}

impl<'s> TestWorld<'s> {
    pub(crate) fn new(budget: u64, world: &sim::World, session: &'s Session) -> TestWorld<'s> {
        let config = SortConfig {
            directory: PathBuf::from(DIRECTORY),
            area_bytes: SORT_AREA_BYTES_MIN * 4,
            filesystem_io: FilesystemIo::SetAll,
            file: FileNo::new(1_000),
            budget: None,
        };
        TestWorld {
            session,
            disk: world.disk(),
            config,
            halt: Halt::new(session.os()),
            budget: Budget::new(session.os(), budget),
            arena: Arena::new(),
            slots: vec![OwnedValue::NULL; 8],
            dice: Cell::new(1),
            batch: 1,
            figures: vec![Figures::default(); 8],
            wanted: 1,
            checks: Cell::new(0),
            cancelled_at: None,
            unchecked: Cell::new(0),
        }
    }

    /// The memory that is granted now.
    pub(crate) fn granted(&self) -> u64 {
        self.budget.reading(self.session).granted_bytes
    }
}

impl World for TestWorld<'_> {
    fn session(&self) -> &Session {
        self.session
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn spill(&self) -> Spill<'_> {
        Spill { disk: &self.disk, config: &self.config, halt: &self.halt }
    }

    fn check(&self) -> Result<(), Stop> {
        self.unchecked.set(0);
        self.checks.set(self.checks.get() + 1);
        match self.cancelled_at {
            Some(at) if self.checks.get() >= at => {
                Err(Stop::refuse(RefusalKind::Busy, "cancelled by the test"))
            }
            _ => Ok(()),
        }
    }

    fn evaluation(&self) -> Evaluation<'_> {
        Evaluation {
            slots: &self.slots,
            arena: &self.arena,
            moment: Timestamp::MIN,
            user: "",
            dice: &self.dice,
            subqueries: None,
        }
    }

    fn reset_arena(&mut self) {
        self.arena.reset();
    }

    fn slots(&self) -> &[OwnedValue] {
        &self.slots
    }

    fn set_slot(&mut self, slot: usize, value: OwnedValue) {
        self.slots[slot] = value;
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn set_batch(&mut self, rows: usize) {
        assert!((1..=rowsource::BATCH_ROWS_MAX).contains(&rows), "a batch of {rows}");
        self.batch = rows;
    }

    fn counts(&self) -> Counts {
        Counts { consistent_gets: self.checks.get(), ..Counts::default() }
    }

    fn figures(&mut self, place: usize) -> &mut Figures {
        &mut self.figures[place]
    }
}

pub(crate) type Row = Vec<OwnedValue>;

/// An input of given rows.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    width: usize,
    rows: Vec<Row>,
    next: Option<usize>,
    /// Fails when it comes to this row.
    pub(crate) fails_at: Option<usize>,
    /// Gives only rows whose first column equals this slot.
    pub(crate) by_slot: Option<usize>,
    pub(crate) starts: usize,
}

impl Given {
    pub(crate) fn new(width: usize, rows: &[Row]) -> Given {
        assert!(rows.iter().all(|row| row.len() == width));
        let (rows, next) = (rows.to_vec(), None);
        Given { width, rows, next, fails_at: None, by_slot: None, starts: 0 }
    }
}

impl<'s> Source<TestWorld<'s>> for Given {
    fn open(&mut self, _: &mut TestWorld<'s>) -> Result<(), Stop> {
        self.starts += 1;
        self.next = Some(0);
        Ok(())
    }

    fn fetch(&mut self, world: &mut TestWorld<'s>, into: &mut Rows) -> Result<bool, Stop> {
        assert!(into.is_empty() && into.width() == self.width, "RS1");
        let next = self.next.as_mut().expect("it is open");
        while into.len() < world.batch()
            && let Some(row) = self.rows.get(*next)
        {
            if self.fails_at == Some(*next) {
                return Err(Stop::refuse(RefusalKind::Io, "the input fails"));
            }
            let slot = self.by_slot.map(|slot| world.slots()[slot].get());
            if slot.is_none_or(|slot| slot.compare(row[0].get()).is_some_and(|o| o.is_eq())) {
                into.push(row.iter().map(OwnedValue::get));
            }
            *next += 1;
        }
        world.unchecked.set(world.unchecked.get() + into.len());
        assert!(world.unchecked.get() <= 2 * rowsource::BATCH_ROWS_MAX, "RS6: nobody asks `check`");
        Ok(*next < self.rows.len())
    }

    fn close(&mut self, _: &mut TestWorld<'s>) {
        self.next = None;
    }

    fn width(&self) -> usize {
        self.width
    }
}

/// All rows of a source, in batches that grow as those of a statement do.
pub(crate) fn all<'s>(
    source: &mut dyn Source<TestWorld<'s>>,
    world: &mut TestWorld<'s>,
) -> Result<Vec<Row>, Stop> {
    let mut found = Vec::new();
    let mut batch = Rows::new(source.width());
    source.open(world)?;
    world.wanted = 1;
    loop {
        batch.clear();
        world.set_batch(world.wanted);
        let more = source.fetch(world, &mut batch)?;
        assert_eq!(world.batch(), world.wanted, "RS3: it is set back");
        assert!(batch.len() <= world.wanted, "RS1: {} of {}", batch.len(), world.wanted);
        let row = |row: expression::RowOf<'_>| {
            (0..batch.width()).map(|column| row.get(column).to_owned()).collect()
        };
        found.extend(batch.iter().map(row));
        if !more {
            break;
        }
        world.wanted = (world.wanted * 2).min(rowsource::BATCH_ROWS_MAX);
    }
    batch.clear();
    let more = source.fetch(world, &mut batch)?;
    assert!(!more && batch.is_empty(), "RS1: it is over");
    Ok(found)
}

/// The rows as texts, sorted: two lists are equal if they have the same rows, each as often.
pub(crate) fn sorted(rows: &[Row]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(shown).collect();
    texts.sort_unstable();
    texts
}

/// A row as a text.
pub(crate) fn shown(row: &Row) -> String {
    format!("{:?}", row.iter().map(OwnedValue::get).collect::<Vec<_>>())
}

/// The rows with each value as one that stands for all that are equal to it, sorted: for results
/// that may have any of them.
pub(crate) fn sorted_by_amount(rows: &[Row]) -> Vec<String> {
    let amount = |value: &OwnedValue| match value.get() {
        Value::Int(int) => format!("{}", int as f64),
        Value::Number(number) => format!("{}", number.to_f64()),
        Value::Double(double) => format!("{}", double + 0.0),
        other => format!("{other:?}"),
    };
    let mut texts: Vec<String> =
        rows.iter().map(|row| row.iter().map(amount).collect::<Vec<_>>().join(", ")).collect();
    texts.sort_unstable();
    texts
}

/// A value of a small number of different ones, of all kinds of numbers, or NULL.
pub(crate) fn number(dice: &mut Dice, different: u64) -> OwnedValue {
    let int = dice.below(different) as i64 - 1;
    let value = match dice.below(10) {
        0 => Value::Null,
        1 => Value::Double(f64::NAN),
        2 => Value::Double(-0.0),
        3 => Value::Double(0.0),
        4 | 5 => Value::Double(int as f64),
        6 | 7 => Value::Number(int.into()),
        _ => Value::Int(int),
    };
    value.to_owned()
}

/// A text of a small number of different ones, some with trailing blanks, or NULL.
pub(crate) fn text(dice: &mut Dice) -> OwnedValue {
    let texts = ["", "a", "a ", "a  ", "b", "ab", "ab\t"];
    match dice.below(8) as usize {
        7 => OwnedValue::NULL,
        at => Value::Text(texts[at]).to_owned(),
    }
}

/// Rows of a number, a text, a number of their own, and a filling of this many bytes.
pub(crate) fn rows(dice: &mut Dice, count: u64, different: u64, filling: usize) -> Vec<Row> {
    let row = |place: u64| {
        let filling = "x".repeat(filling);
        let place = Value::Int(place as i64).to_owned();
        vec![number(dice, different), text(dice), place, Value::Text(&filling).to_owned()]
    };
    (0..count).map(row).collect()
}

/// The width of these rows.
pub(crate) const WIDTH: usize = 4;

/// A column of the row.
pub(crate) fn column(column: usize) -> Expression {
    Expression::Column(column)
}

/// A whole number.
pub(crate) fn constant(int: i64) -> Expression {
    Expression::Constant(Value::Int(int).to_owned())
}

/// Runs a program in a machine, and asserts that it left nothing on disk.
pub(crate) fn run_clean(seed: u64, program: impl FnOnce(&sim::World, &Session) + Send + 'static) {
    let ((), mut fs) = testbed::run_kept(machine(seed), program);
    assert_nothing_is_left(&mut fs);
}

/// A text.
pub(crate) fn constant_text(text: &str) -> Expression {
    Expression::Constant(Value::Text(text).to_owned())
}
