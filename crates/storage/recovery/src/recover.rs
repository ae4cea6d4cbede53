//! The steps of recovery (RC1, RC12, RC13).

use std::path::{Path, PathBuf};

use cache::{CacheConfig, DataFile};
use change::Layer;
use ids::{Rba, Scn};
use os::{Disk, File, Session};
use redo::{LogEnd, Reader, RecordPosition, RedoConfig};
use space::{ControlContent, ControlFile, ControlState, FileCheckpoint};
use stop::{Failpoints, RefusalKind, Stop};
use waits::Nanos;

use crate::apply::Found;
use crate::progress::Progress;
use crate::roll::{Roll, RollPass};

/// The files of the database, and how to work on them.
pub struct Layout<'a> {
    /// The disk.
    pub disk: &'a Disk,
    /// The database's directory.
    pub directory: &'a Path,
    /// The data files.
    pub files: Vec<DataFile>,
    /// The doublewrite file.
    pub doublewrite: File,
    /// How logs are read.
    pub redo: &'a RedoConfig,
    /// Configuration of the cache in which changes are applied.
    pub cache: CacheConfig,
    /// The layers, which own the kinds of blocks.
    pub layers: &'a [&'static Layer],
    /// What a test breaks on purpose.
    pub failpoints: Failpoints,
    /// Called about every MiB of redo with the progress.
    pub progress: &'a dyn Fn(Progress),
}

/// What recovery did.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Where reading began.
    pub from: Rba,
    /// Where the redo ended, and why.
    pub end: LogEnd,
    /// Redo records that were read.
    pub records: u64,
    /// Bytes of these records.
    pub bytes: u64,
    /// Changes that were applied.
    pub applied: u64,
    /// Changes that their blocks had already.
    pub skipped: u64,
    /// Blocks that were brought into the cache before their changes were applied.
    pub brought: u64,
    /// Torn blocks that were repaired from the doublewrite file.
    pub repaired: u64,
    /// Whether the headers of the data files still have the checkpoint of the shutdown, behind
    /// which there is no redo (RC14).
    pub leaves_headers: bool,
    /// The whole time of recovery.
    pub elapsed: Nanos,
    /// Of that, the time until the end of the redo was known. Most changes are applied by then.
    pub surveyed_in: Nanos,
    /// Of that, the time in which the rest was applied; what is left over is making durable,
    /// repairing and writing.
    pub applied_in: Nanos,
}

/// Brings the data files to the end of the redo, and moves the control file's checkpoint to the
/// start of the next log, which is still to be begun.
pub fn recover(
    layout: Layout<'_>,
    control: &mut ControlFile,
    session: &Session,
) -> Result<Recovered, Stop> {
    let started = session.now();
    // The control file may know SCNs whose redo was never durable. None is given out again.
    let known = control.content().checkpoint_scn;
    let from = RecordPosition { scn: known.next(), rba: control.content().checkpoint };
    let mut redo = layout.redo.clone();
    let quiet = match control.content().state {
        ControlState::Shut => end_after_shutdown(&layout, from, session)?,
        ControlState::Creating | ControlState::Open => None,
    };
    let (end, lost) = match quiet {
        Some(end) => (Some(end), Vec::new()),
        None => {
            // Before anything else is written (rule space/SP12).
            control.settle(session)?;
            end_of_nothing(&layout, from, session)?
        }
    };
    let mut logs = Logs { layout: &layout, redo: &mut redo, control };
    logs.mark_invalid(&lost, session)?;
    let mut recovered = match end {
        Some(end) => {
            logs.make_end_durable(from.rba, &end, session)?;
            Recovered::nothing(from.rba, end)
        }
        None => roll_forward(&mut logs, from, session)?,
    };
    recovered.leaves_headers = quiet.is_some();
    let at = Rba::block(recovered.end.next_sequence(), 1);
    let scn = recovered.end.last_scn.max(known);
    move_checkpoint(&layout, control, MovedTo { at, scn }, quiet.is_some(), session)?;
    recovered.elapsed = session.now().since(started);
    Ok(recovered)
}

/// Where the checkpoint moves.
#[derive(Clone, Copy)]
struct MovedTo {
    at: Rba,
    scn: Scn,
}

/// Moves the checkpoint in the control file; before that in the headers of the data files, unless
/// they are left (RC13, RC14).
fn move_checkpoint(
    layout: &Layout<'_>,
    control: &mut ControlFile,
    MovedTo { at, scn }: MovedTo,
    leaves_headers: bool,
    session: &Session,
) -> Result<(), Stop> {
    let moves = |content: &mut ControlContent| {
        (content.checkpoint, content.checkpoint_scn) = (at, scn);
    };
    if leaves_headers {
        return control.step(moves, session).map_err(Stop::from);
    }
    // Before the redo that was applied is given up (rule space/SP19).
    let checkpoint = FileCheckpoint { number: control.content().checkpoint_number, at, scn };
    checkpoint.write(&layout.files, session)?;
    let moved = control.update(
        |content| {
            moves(content);
            content.require_checkpoint(&checkpoint, &layout.files);
        },
        session,
    );
    moved.map_err(Stop::from)
}

/// The log groups, without members that can't be relied on.
struct Logs<'a> {
    layout: &'a Layout<'a>,
    /// The configuration, without these members.
    redo: &'a mut RedoConfig,
    control: &'a mut ControlFile,
}

impl Logs<'_> {
    /// Marks members as invalid that can't be read or written. The control file says so before
    /// anybody relies on the others (rule redo/RD18).
    fn mark_invalid(&mut self, lost: &[PathBuf], session: &Session) -> Result<(), Stop> {
        if lost.is_empty() {
            return Ok(());
        }
        self.redo.mark_invalid(lost);
        let directory = self.layout.directory;
        let says = |content: &mut ControlContent| content.set_log_members(directory, lost, false);
        self.control.update(says, session).map_err(Stop::from)
    }

    /// Makes the end of the redo durable in all members (rule redo/RD17).
    fn make_end_durable(&mut self, from: Rba, end: &LogEnd, session: &Session) -> Result<(), Stop> {
        let rewritten = redo::rewrite_tail(self.layout.disk, self.redo, from, end, session)?;
        self.mark_invalid(&rewritten.lost, session)
    }
}

/// The end of the redo if the control file says *shut*, and there is nothing behind its checkpoint
/// but the end of that log (RC14). Nothing is made durable: nobody needs this log any more.
fn end_after_shutdown(
    layout: &Layout<'_>,
    from: RecordPosition,
    session: &Session,
) -> Result<Option<LogEnd>, Stop> {
    let mut reader = Reader::open_to_look(layout.disk, layout.redo, from, session)?;
    let is_empty = reader.next(session)?.is_none();
    let end = reader.end().filter(|end| is_empty && end.sequence == from.rba.sequence);
    reader.close(session)?;
    Ok(end)
}

/// The end of the redo if there is no record from here on, and members that can't be relied on.
/// Then no cache is needed.
fn end_of_nothing(
    layout: &Layout<'_>,
    from: RecordPosition,
    session: &Session,
) -> Result<(Option<LogEnd>, Vec<PathBuf>), Stop> {
    let mut reader = Reader::open(layout.disk, layout.redo, from, session)?;
    let is_empty = reader.next(session)?.is_none();
    let end = reader.end().filter(|_| is_empty);
    let lost = reader.lost_members().to_vec();
    reader.close(session)?;
    Ok((end, lost))
}

/// Applies everything from here on, and writes it.
fn roll_forward(
    logs: &mut Logs<'_>,
    from: RecordPosition,
    session: &Session,
) -> Result<Recovered, Stop> {
    let (started, layout) = (session.now(), logs.layout);
    let mut roll = Roll::open(layout, from.rba, session)?;
    let RollPass { read, applied } = roll.roll(logs.redo, from, None, session)?;
    let end = read.end.expect("a reader without a next record knows its end");
    let surveyed_in = read.end_known_at.since(started);
    let applied_then = session.now().since(read.end_known_at);
    logs.mark_invalid(&read.lost, session)?;
    roll.check_end(&end, session)?;
    logs.make_end_durable(from.rba, &end, session)?;
    let Some(first) = read.first else {
        let message = format!(
            "cannot recover the database in {}: {end}, and when it was read first there was redo; \
             look at the kernel's log and at the device of the redo logs, and try again",
            layout.directory.display()
        );
        return Err(Stop::refuse(RefusalKind::Corrupt, message));
    };
    let (files, doublewrite) = (&layout.files, &layout.doublewrite);
    let before = Scn::new(first.scn.get() - 1);
    let restored = cache::doublewrite::restore(files, doublewrite, before, end.last_scn, session)?;
    let repaired = restored.restored.len() as u64;
    let began = session.now();
    let mut rest = read.rest;
    if applied.is_err() || repaired > 0 {
        // RC16: the buffers may hold blocks as they were before the repair.
        drop(roll);
        roll = Roll::open(layout, from.rba, session)?;
        rest = Some(RecordPosition { scn: first.scn, rba: from.rba });
    }
    let applied_at = roll.finish(logs.redo, rest, &read, &end, session)?;
    let Found { applied, skipped, .. } = roll.found(session);
    let brought = roll.brought();
    Ok(Recovered {
        records: read.records,
        bytes: read.bytes,
        applied,
        skipped,
        brought,
        repaired,
        surveyed_in,
        applied_in: Nanos(applied_then.0 + applied_at.since(began).0),
        ..Recovered::nothing(from.rba, end)
    })
}

impl Recovered {
    /// The result if there was nothing to apply.
    fn nothing(from: Rba, end: LogEnd) -> Recovered {
        Recovered {
            from,
            end,
            records: 0,
            bytes: 0,
            applied: 0,
            skipped: 0,
            brought: 0,
            repaired: 0,
            leaves_headers: false,
            elapsed: Nanos::ZERO,
            surveyed_in: Nanos::ZERO,
            applied_in: Nanos::ZERO,
        }
    }
}
