//! A row source: opened, fetched from, closed, and opened again.
//!
//! ```text
//!   closed ──open──▶ open ──fetch: true──▶ open ──fetch: false──▶ over
//!     ▲               │ ▲                                           │
//!     │               │ └──────────────────open─────────────────────┤
//!     └─────close─────┴─────────────────────────────────────────────┘
//!
//!   closed: it has neither memory nor files
//!   over:   a fetch returns false and appends nothing; it may keep what a new start can use
//! ```
//!
//! Invariant: after an error a source may only be closed (RS2).
//!
//! Callers: `sql`, and every source that has others below it.

use expression::Rows;
use stop::Stop;

use crate::World;

/// The most rows of a batch.
pub const BATCH_ROWS_MAX: usize = 1_024;

/// A batch of more bytes than these gets no further row (RS3).
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// A source of rows.
pub trait Source<W: World> {
    /// Starts, or starts again from the first row. Slots are read as they are now.
    fn open(&mut self, world: &mut W) -> Result<(), Stop>;

    /// Appends some rows to `into`, which is empty and as wide as the source: none to
    /// [`World::batch`]. Returns false if none come after these; true promises none (RS1).
    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop>;

    /// Gives all memory and files back, also after an error, also of the sources below. It may be
    /// called at any time, and again.
    fn close(&mut self, world: &mut W);

    /// The number of columns.
    fn width(&self) -> usize;

    /// The most that it has taken for itself since it was made.
    fn work_area(&self) -> WorkArea {
        WorkArea::default()
    }
}

/// Memory and space that a source has taken for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkArea {
    /// The most bytes of memory at once.
    pub memory_bytes_max: u64,
    /// The bytes written to temporary files, over all starts.
    pub temp_bytes: u64,
}

impl<W: World, S: Source<W> + ?Sized> Source<W> for Box<S> {
    fn open(&mut self, world: &mut W) -> Result<(), Stop> {
        (**self).open(world)
    }

    fn fetch(&mut self, world: &mut W, into: &mut Rows) -> Result<bool, Stop> {
        (**self).fetch(world, into)
    }

    fn close(&mut self, world: &mut W) {
        (**self).close(world);
    }

    fn width(&self) -> usize {
        (**self).width()
    }

    fn work_area(&self) -> WorkArea {
        (**self).work_area()
    }
}

/// Whether a batch takes another row.
pub(crate) fn has_room(into: &Rows, most: usize) -> bool {
    into.len() < most && into.bytes_used() < BATCH_BYTES_MAX
}

/// Runs `work` with whole batches from the sources below, whatever the statement wants of the
/// first rows. For sources that need all rows before they give one.
pub(crate) fn with_whole_batches<W: World, T>(
    world: &mut W,
    work: impl FnOnce(&mut W) -> Result<T, Stop>,
) -> Result<T, Stop> {
    with_batches(BATCH_ROWS_MAX, world, work)
}

/// Runs `work` with batches of at most `rows` from the sources below.
pub(crate) fn with_batches<W: World, T>(
    rows: usize,
    world: &mut W,
    work: impl FnOnce(&mut W) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let before = world.batch();
    world.set_batch(rows);
    let done = work(world);
    world.set_batch(before);
    done
}
