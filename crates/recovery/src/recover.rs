//! The steps of recovery (RC1).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cache::{Cache, CacheConfig};
use change::{Layer, Sabotage, replay};
use ids::{BlockSize, FileNo, Rba, Scn};
use latch::Shared64;
use os::{Disk, File, Session, ThreadHandle, ThreadSpec};
use redo::{LogEnd, Reader, RedoConfig};
use space::ControlFile;
use stop::{Halt, RefusalKind, Stop};
use waits::Nanos;

use crate::ahead::Ahead;
use crate::gate::ReplayGate;
use crate::line::Line;
use crate::progress::Progress;

/// Where the parts of the database are, and how to work on them.
pub struct Layout<'a> {
    /// The disk.
    pub disk: &'a Disk,
    /// The database's directory.
    pub directory: &'a Path,
    /// The data files, each with its block size.
    pub files: Vec<(FileNo, File, BlockSize)>,
    /// The doublewrite file.
    pub doublewrite: File,
    /// How logs are read.
    pub redo: &'a RedoConfig,
    /// The cache to replay in.
    pub cache: CacheConfig,
    /// Owners of blocks.
    pub layers: &'a [&'static Layer],
    /// What a test breaks on purpose.
    pub sabotage: Sabotage,
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
    /// Of that, until the end of the redo was known.
    pub surveyed_in: Nanos,
    /// Of that, until all changes were applied, from then on; the rest is writing.
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
    let from = control.content().checkpoint;
    // The control file may know of SCNs whose redo was never durable; none is given out again.
    let known = control.content().checkpoint_scn;
    let mut redo = layout.redo.clone();
    let (found, lost) = survey(&layout, (from, known.next()), session)?;
    distrust(&lost, (&layout, &mut redo), control, session)?;
    let mut recovered = Recovered {
        from,
        end: found.end,
        records: found.records,
        bytes: found.bytes,
        applied: 0,
        skipped: 0,
        brought: 0,
        repaired: 0,
        elapsed: Nanos::ZERO,
        surveyed_in: session.now().since(started),
        applied_in: Nanos::ZERO,
    };
    let last_scn = recovered.end.last_scn.max(known);
    let secured = redo::secure(layout.disk, &redo, &recovered.end, session)?;
    distrust(&secured.lost, (&layout, &mut redo), control, session)?;
    let layout = Layout { redo: &redo, ..layout };
    if let Some(first_scn) = found.first_scn {
        let before_first = Scn::new(first_scn.get() - 1);
        let restored = cache::doublewrite::restore(
            &layout.files,
            &layout.doublewrite,
            before_first,
            recovered.end.last_scn,
            session,
        )?;
        recovered.repaired = restored.restored.len() as u64;
        roll_forward(&layout, (from, first_scn), &mut recovered, session)?;
    }
    let next = Rba::block(recovered.end.next_sequence(), 1);
    let moved = control.update(
        |content| {
            content.checkpoint = next;
            content.checkpoint_scn = last_scn;
        },
        session,
    );
    moved.map_err(Stop::from)?;
    recovered.elapsed = session.now().since(started);
    Ok(recovered)
}

/// Members of log groups that can't be read or written are no good from now on, and the control
/// file says so before anybody relies on the others (rule redo/RD18).
fn distrust(
    lost: &[PathBuf],
    (layout, redo): (&Layout<'_>, &mut RedoConfig),
    control: &mut ControlFile,
    session: &Session,
) -> Result<(), Stop> {
    if lost.is_empty() {
        return Ok(());
    }
    redo.distrust(lost);
    let says =
        control.update(|content| content.set_log_members(layout.directory, lost, false), session);
    says.map_err(Stop::from)
}

struct Survey {
    first_scn: Option<Scn>,
    records: u64,
    bytes: u64,
    end: LogEnd,
}

/// Reads the redo once, only to know where it begins and ends: torn blocks are repaired within
/// these limits before anything is done again. And which members of logs can't be relied on.
fn survey(
    layout: &Layout<'_>,
    (from, first_scn): (Rba, Scn),
    session: &Session,
) -> Result<(Survey, Vec<PathBuf>), Stop> {
    let mut reader = Reader::open(layout.disk, layout.redo, from, first_scn, session)?;
    let (mut first_scn, mut records, mut bytes) = (None, 0, 0);
    while let Some(record) = reader.next(session)? {
        first_scn.get_or_insert(record.scn);
        records += 1;
        bytes += record.bytes().len() as u64;
    }
    let end = reader.end().expect("a reader without a next record knows its end");
    let lost = reader.lost_members().to_vec();
    Ok((Survey { first_scn, records, bytes, end }, lost))
}

fn roll_forward(
    layout: &Layout<'_>,
    from: (Rba, Scn),
    recovered: &mut Recovered,
    session: &Session,
) -> Result<(), Stop> {
    let halt = Halt::new(session.os());
    let gate = Arc::new(ReplayGate::new(from.0));
    let as_gate: Arc<dyn cache::RedoGate> = gate.clone();
    let cache = Cache::open(
        session.os(),
        layout.disk.clone(),
        layout.files.clone(),
        layout.doublewrite.clone(),
        layout.cache.clone(),
        as_gate,
        halt.clone(),
        session,
    )?;
    let mut writers = Vec::new();
    let done = start_writers(&cache, &layout.cache, &halt, &mut writers, session)
        .and_then(|()| replay_all(layout, (from, &halt), &gate, &cache, recovered, session))
        .and_then(|()| {
            // Everything below the end is to be on disk, and nothing lies beyond it.
            let end = Rba::block(recovered.end.next_sequence(), 1);
            gate.move_to(end, session);
            cache.checkpoint(end, session)
        });
    cache.stop(session);
    for writer in writers {
        if writer.join(session).is_err() {
            halt.raise(format!("{} panicked", writer.name()), session);
        }
    }
    done.and_then(|()| halt.check(session))
}

fn replay_all(
    layout: &Layout<'_>,
    (from, halt): ((Rba, Scn), &Halt),
    gate: &ReplayGate,
    cache: &Arc<Cache>,
    recovered: &mut Recovered,
    session: &Session,
) -> Result<(), Stop> {
    let started = session.now();
    let ahead = Arc::new(Ahead {
        disk: layout.disk.clone(),
        redo: layout.redo.clone(),
        from,
        cache: Arc::clone(cache),
        line: Line::new(session.os(), halt),
        brought: Shared64::new(0),
    });
    let process = ahead.start(halt, session)?;
    let applied = apply_all(layout, &ahead.line, (gate, cache), recovered, session);
    ahead.line.close(session);
    // A panic has raised the halt already.
    let _ = process.join(session);
    applied?;
    recovered.brought = ahead.brought.load(session);
    recovered.applied_in = session.now().since(started);
    halt.check(session)
}

fn apply_all(
    layout: &Layout<'_>,
    line: &Line,
    (gate, cache): (&ReplayGate, &Cache),
    recovered: &mut Recovered,
    session: &Session,
) -> Result<(), Stop> {
    let started = session.now();
    let (mut records, mut bytes) = (0, 0);
    while let Some(batch) = line.take(session)? {
        // RC7: below all of its changes.
        let first = batch.records.first().expect("a batch has records");
        gate.move_to(first, session);
        for (block, changes) in batch.records.by_block() {
            let Layout { layers, sabotage, .. } = *layout;
            let replayed = replay(block, changes, layers, cache, sabotage, session)?;
            recovered.applied += replayed.applied;
            recovered.skipped += replayed.skipped;
        }
        records += batch.records.count() as u64;
        bytes += batch.records.bytes() as u64;
        line.give_back(batch, session);
        let elapsed = session.now().since(started);
        (layout.progress)(Progress { applied: bytes, of: recovered.bytes, elapsed });
    }
    if records != recovered.records {
        let message = format!(
            "cannot recover: the redo had {} records when it was read first, and {records} now; \
             check the device",
            recovered.records
        );
        return Err(Stop::refuse(RefusalKind::Corrupt, message));
    }
    Ok(())
}

/// Those that were started are in `writers` also if one can't be: they are to be ended.
fn start_writers(
    cache: &Arc<Cache>,
    config: &CacheConfig,
    halt: &Halt,
    writers: &mut Vec<ThreadHandle>,
    session: &Session,
) -> Result<(), Stop> {
    for number in 0..config.writers {
        let (cache, halt) = (Arc::clone(cache), halt.clone());
        let name = format!("fb_dbw{number}");
        let spec = ThreadSpec::background(name.clone());
        let started = session.spawn(spec, move |session| {
            let guard = halt.guard(format!("{name} panicked"), session);
            cache.run_writer(number, session);
            guard.disarm();
        });
        writers.push(started.map_err(Stop::from)?);
    }
    Ok(())
}
