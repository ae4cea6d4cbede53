//! Growth of data files (rules SP8, SP27).
//!
//! ```text
//!   zeros written, synced ─▶ control file has it ─▶ redo: the extent map has it ─▶ extents taken
//! ```
//!
//! A crash between two steps leaves a file that is longer than the control file or the map says,
//! with zeros there. The next growth begins with the missing step.
//!
//! Invariants
//!   * no redo names a block that isn't durable as zeros
//!   * one session at a time grows files; a session that waited for it looks again before it grows
//!     more
//!   * the order of what is held: `growing`, then the control file; redo credits are taken with
//!     neither control file nor latch held
//!
//! Callers: `room` and `create`, when no file of a tablespace has a free extent; `ahead`, before
//! that.

use change::credits_for;
use format::{ExtentMap, U32Le};
use ids::FileNo;
use latch::FrameOrder;
use os::{Cause, File, FileOperation, FileOptions, IoBuf, Session};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::ahead::free_count;
use crate::apply::{Count, GROW, LAYER};
use crate::data_file::{EXTENT_MAP, extents_of};
use crate::room::{Skipped, doubled_max};
use crate::tablespace::DataFile;
use crate::{Space, TablespaceContent, UNDO_TABLESPACE};

/// The bytes of one write of zeros.
const FILL_BYTES: usize = 1 << 20;

impl Space {
    /// Makes the first file of the tablespace, from `turn` on, that can grow have `wanted` free
    /// extents, or as many as a session waits for (SP29), but at least one. Returns at once if
    /// there are free extents besides `skipped`. Refused if no file can grow; the message says that
    /// `whom` needs the extent.
    pub(crate) fn grow(
        &self,
        tablespace: &TablespaceContent,
        turn: usize,
        wanted: u32,
        whom: &str,
        skipped: &Skipped,
        session: &Session,
    ) -> Result<(), Stop> {
        let _growing = self.shared.growing.hold(tablespace.number.0.into(), session);
        self.changes().halt().check(session)?;
        // Another session may have done it, or a tablespace may have got another file.
        if self.find_free(tablespace.number, turn, 1, skipped, session)?.is_some() {
            return Ok(());
        }
        let mut refused = None;
        for file in self.files_of(tablespace.number, turn, session) {
            match self.grow_file(file, tablespace, session) {
                Ok(true) => return self.grow_on(file, tablespace, wanted, session),
                Ok(false) => {}
                Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => {
                    refused.get_or_insert(stop);
                }
                Err(stop) => return Err(stop),
            }
        }
        Err(refused.unwrap_or_else(|| {
            let name = &tablespace.name;
            // The greatest length of these first data files is chosen when a database is created.
            // Deleting rows makes undo, whose room comes back when transactions end.
            let (shorten, most) = match name.as_str() {
                UNDO_TABLESPACE => ("let transactions be shorter", "undo_bytes_max"),
                _ => ("delete rows", "data_bytes_max"),
            };
            let message = format!(
                "cannot give {whom} another extent: tablespace {name} is full, and its data files \
                 have all the blocks that they may have; {shorten}, or create a database with a \
                 larger {most} (an application can also call Instance::add_data_file)"
            );
            Stop::refuse(RefusalKind::NoSpace, message)
        }))
    }

    /// Makes a file that has grown once, and had nothing free before, grow on.
    fn grow_on(
        &self,
        file: FileNo,
        tablespace: &TablespaceContent,
        wanted: u32,
        session: &Session,
    ) -> Result<(), Stop> {
        let wanted = wanted.min(doubled_max(tablespace));
        loop {
            let free = {
                let map = self.pin(file, EXTENT_MAP, session)?;
                free_count(&map.shared(FrameOrder::ExtentMap, session))
            };
            if free >= wanted {
                return Ok(());
            }
            match self.grow_file(file, tablespace, session) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                // The file has some free extents, if fewer than wanted.
                Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => return Ok(()),
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Makes a file grow once. False if it has its greatest length. The caller holds `growing`.
    pub(crate) fn grow_file(
        &self,
        number: FileNo,
        tablespace: &TablespaceContent,
        session: &Session,
    ) -> Result<bool, Stop> {
        let file = self.file(number, session);
        let mapped = {
            let map = self.pin(number, EXTENT_MAP, session)?;
            let map = map.shared(FrameOrder::ExtentMap, session);
            ExtentMap::at(&map, ExtentMap::START).extents.get()
        };
        let mut blocks = file.blocks;
        // A growth that a crash cut off may have left blocks that the map doesn't have yet.
        if extents_of(blocks, tablespace.extent_blocks) <= mapped {
            blocks = file.blocks_after_growth();
            if extents_of(blocks, tablespace.extent_blocks) <= mapped {
                return Ok(false);
            }
            self.extend(&file, tablespace, blocks, session)?;
        }
        let count = U32Le::new(extents_of(blocks, tablespace.extent_blocks));
        let extents = Count { count };
        let map = self.pin(number, EXTENT_MAP, session)?;
        let mut group = self.changes().begin(credits_for(&[size_of::<Count>()]), session)?;
        let map = map.exclusive(FrameOrder::ExtentMap, session);
        group.change(map, &LAYER, GROW, &[extents.bytes()]);
        group.commit(session);
        Ok(true)
    }

    /// Makes the file longer, durably, and writes its length to the control file.
    fn extend(
        &self,
        data_file: &DataFile,
        tablespace: &TablespaceContent,
        blocks: u32,
        session: &Session,
    ) -> Result<(), Stop> {
        let bytes_of = |blocks: u32| u64::from(blocks) * tablespace.block_size.bytes() as u64;
        let (file, from, to) = (&data_file.file, bytes_of(data_file.blocks), bytes_of(blocks));
        let filled = self.file_to_fill(file, session)?;
        if let Err(error) = fill(&filled, from, to, session) {
            if file.is_failed() || filled.is_failed() {
                // After a failed sync the content of blocks in use is unknown too (M11).
                let cause = format!("a data file can't be made to grow: {error}");
                return Err(self.changes().halt().raise(cause, session));
            }
            // The file is cut back; if that fails, the next growth overwrites the blocks.
            let waiting = FileOperation::Resize.waiting(session);
            let _ = filled.set_len(from, waiting);
            let what = format!("make {} grow by {} bytes", file.path().display(), to - from);
            return Err(Stop::from(match error.cause() {
                Cause::NoSpace => {
                    error.while_doing(what).advise("free space there: the disk is full")
                }
                _ => error.while_doing(what),
            }));
        }
        let number = data_file.number;
        self.update_control(session, |content| {
            let entry = content.data_files.iter_mut().find(|entry| entry.number == number);
            entry.expect("a data file is in the control file").blocks = blocks;
        })?;
        self.shared.tablespaces.exclusive(session).file_mut(number).blocks = blocks;
        Ok(())
    }

    /// The opening through which the file is filled. If a write of a block in use could get the
    /// error of a full disk (rule os/O8), it is another opening, which is synced.
    fn file_to_fill(&self, file: &File, session: &Session) -> Result<File, Stop> {
        let FileOptions { direct, write_through } = file.options();
        if direct || !write_through {
            return Ok(file.clone());
        }
        let options = FileOptions { direct, write_through: false };
        let filled = self.shared.disk.open(file.path(), options, session)?;
        if !filled.is_same_file(file)? {
            let path = file.path().display();
            let message = format!(
                "cannot make {path} grow: another file has its name now; put the right one back"
            );
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        Ok(filled)
    }
}

fn fill(file: &File, from: u64, to: u64, session: &Session) -> Result<(), os::Error> {
    let zeros = IoBuf::zeroed(FILL_BYTES);
    let mut offset = from;
    while offset < to {
        let bytes = (to - offset).min(FILL_BYTES as u64);
        let waiting = session.waiting(WaitEvent::DataFileInitWrite).p(1, 256, 0);
        file.write_at(offset, &zeros[..bytes as usize], waiting)?;
        offset += bytes;
    }
    if file.options().write_through {
        return Ok(());
    }
    file.sync(session.waiting(WaitEvent::DataFileInitWrite).p(1, 256, 0))
}
