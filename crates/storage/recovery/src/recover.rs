//! The steps of recovery (RC1).

use std::path::{Path, PathBuf};

use cache::{CacheConfig, DataFile};
use change::Layer;
use ids::{Rba, Scn};
use os::{Disk, File, Session};
use redo::{LogEnd, Reader, RedoConfig};
use space::{ControlContent, ControlFile, FileCheckpoint};
use stop::{Failpoints, RefusalKind, Stop};
use waits::Nanos;

use crate::ahead::Start;
use crate::progress::Progress;
use crate::roll::{Done, Roll, Surveyed};

/// Where the parts of the database are, and how to work on them.
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
    /// The cache to replay in.
    pub cache: CacheConfig,
    /// Owners of blocks.
    pub layers: &'a [&'static Layer],
    /// What a test breaks on purpose.
    pub failpoints: Failpoints,
    /// Is told, every MiB of redo or so, how far it has come.
    pub progress: &'a dyn Fn(Progress),
}

/// What recovery did.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Where it began.
    pub from: Rba,
    /// Where the redo ended, and why.
    pub end: LogEnd,
    /// Redo records that were read.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Changes that blocks hadn't got.
    pub applied: u64,
    /// Changes that they had.
    pub skipped: u64,
    /// Blocks that were brought into the cache before their changes were applied.
    pub brought: u64,
    /// Torn blocks that were repaired from the doublewrite file.
    pub repaired: u64,
    /// How long it took.
    pub elapsed: Nanos,
    /// Of that, until the end of the redo was known. Most changes are applied by then.
    pub surveyed_in: Nanos,
    /// Of that, applying what was left then; the rest is making durable, mending and writing.
    pub applied_in: Nanos,
}

/// Brings the data files to the end of the redo, and moves the control file's checkpoint to the
/// start of the log after it: there the next log is to be begun.
pub fn recover(
    layout: Layout<'_>,
    control: &mut ControlFile,
    session: &Session,
) -> Result<Recovered, Stop> {
    let started = session.now();
    // The control file may know of SCNs whose redo was never durable; none is given out again.
    let known = control.content().checkpoint_scn;
    let from = (control.content().checkpoint, known.next());
    let mut redo = layout.redo.clone();
    let (end, lost) = end_of_nothing(&layout, from, session)?;
    let mut logs = Logs { layout: &layout, redo: &mut redo, control };
    logs.distrust(&lost, session)?;
    let mut recovered = match end {
        Some(end) => {
            logs.secure(from.0, &end, session)?;
            Recovered::nothing(from.0, end)
        }
        None => roll_forward(&mut logs, from, session)?,
    };
    let next = Rba::block(recovered.end.next_sequence(), 1);
    let last_scn = recovered.end.last_scn.max(known);
    // Before the redo that was applied is given up (rule space/SP19).
    let number = control.content().checkpoint_number;
    let checkpoint = FileCheckpoint { number, at: next, scn: last_scn };
    checkpoint.write(&layout.files, session)?;
    let moved = control.update(
        |content| {
            content.checkpoint = next;
            content.checkpoint_scn = last_scn;
            content.require_checkpoint(&checkpoint, &layout.files);
        },
        session,
    );
    moved.map_err(Stop::from)?;
    recovered.elapsed = session.now().since(started);
    Ok(recovered)
}

/// The logs, as far as they can be relied on.
struct Logs<'a> {
    layout: &'a Layout<'a>,
    /// Without the members that can't be.
    redo: &'a mut RedoConfig,
    control: &'a mut ControlFile,
}

impl Logs<'_> {
    /// Members of log groups that can't be read or written are no good from now on, and the control
    /// file says so before anybody relies on the others (rule redo/RD18).
    fn distrust(&mut self, lost: &[PathBuf], session: &Session) -> Result<(), Stop> {
        if lost.is_empty() {
            return Ok(());
        }
        self.redo.distrust(lost);
        let directory = self.layout.directory;
        let says = |content: &mut ControlContent| content.set_log_members(directory, lost, false);
        self.control.update(says, session).map_err(Stop::from)
    }

    /// Makes the end of the redo durable, in all members (rule redo/RD17).
    fn secure(&mut self, from: Rba, end: &LogEnd, session: &Session) -> Result<(), Stop> {
        let secured = redo::secure(self.layout.disk, self.redo, from, end, session)?;
        self.distrust(&secured.lost, session)
    }
}

/// Where the redo ends, if there is no record from here on; and members of logs that can't be
/// relied on. After a shutdown in good order that is so, and no cache is needed.
fn end_of_nothing(
    layout: &Layout<'_>,
    (from, first_scn): Start,
    session: &Session,
) -> Result<(Option<LogEnd>, Vec<PathBuf>), Stop> {
    let mut reader = Reader::open(layout.disk, layout.redo, from, first_scn, session)?;
    let is_empty = reader.next(session)?.is_none();
    let end = reader.end().filter(|_| is_empty);
    let lost = reader.lost_members().to_vec();
    reader.close(session)?;
    Ok((end, lost))
}

/// Does everything from here on again, and has it written.
fn roll_forward(logs: &mut Logs<'_>, from: Start, session: &Session) -> Result<Recovered, Stop> {
    let (started, layout) = (session.now(), logs.layout);
    let mut roll = Roll::open(layout, from.0, session)?;
    let Surveyed { found, end: (end, known_at), rolled } = roll.survey(logs.redo, from, session)?;
    let surveyed_in = known_at.since(started);
    let applied_then = session.now().since(known_at);
    logs.distrust(&found.lost, session)?;
    roll.check_end(&end)?;
    logs.secure(from.0, &end, session)?;
    let Some((_, first_scn)) = found.first else {
        let message = format!("cannot recover: {end}, and there was redo before; check the device");
        return Err(Stop::refuse(RefusalKind::Corrupt, message));
    };
    let (files, doublewrite) = (&layout.files, &layout.doublewrite);
    let limits = (Scn::new(first_scn.get() - 1), end.last_scn);
    let restored = cache::doublewrite::restore(files, doublewrite, limits.0, limits.1, session)?;
    let repaired = restored.restored.len() as u64;
    let began = session.now();
    let mut rest = found.rest;
    if rolled.is_err() || repaired > 0 {
        // RC8: the buffers may have blocks as they were before.
        drop(roll);
        roll = Roll::open(layout, from.0, session)?;
        rest = Some((from.0, first_scn));
    }
    let applied_at = roll.finish((logs.redo, rest), (&found, &end), session)?;
    let Done { applied, skipped, brought, .. } = roll.done;
    Ok(Recovered {
        records: found.records,
        bytes: found.bytes,
        applied,
        skipped,
        brought,
        repaired,
        surveyed_in,
        applied_in: Nanos(applied_then.0 + applied_at.since(began).0),
        ..Recovered::nothing(from.0, end)
    })
}

impl Recovered {
    /// There was nothing to be done from here to the end.
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
            elapsed: Nanos::ZERO,
            surveyed_in: Nanos::ZERO,
            applied_in: Nanos::ZERO,
        }
    }
}
