//! A database that is shut: its files are read, and nothing is written or recovered (VF1, VF2).
//!
//! Caller: `forebay verify`; tests.

use std::cell::RefCell;
use std::path::Path;

use access::RowAddress;
use format::BlockFault;
use ids::{Dba, FileNo, ObjectNo};
use os::{Disk, File, FileOptions, IoBuf, Session};
use space::ControlState;
use stop::Stop;
use waits::WaitEvent;

use crate::control::{ClosedDatabase, Files, of_file};
use crate::index::walk_visiting;
use crate::pairs::KnownSegments;
use crate::report::Run;
use crate::segments::Segment;
use crate::source::{Check, DataFile, HeapBlock, Seen, Source, Visit, of_heap};
use crate::{
    Report, Task, blocks, dictionary, foreign, heap, index, pairs, rings, segments, sequences,
};

/// The bytes of one read, where blocks are read in order.
const READ_BYTES: usize = 1 << 20;

/// The files of a database that is shut.
struct ClosedSource<'s> {
    files: Vec<DataFile>,
    open: Vec<File>,
    /// The blocks that were read last.
    last: RefCell<BlockRun>,
    session: &'s Session,
}

/// A run of blocks of a file, in memory.
struct BlockRun {
    file: usize,
    first: u32,
    count: u32,
    bytes: IoBuf,
    /// The blocks of the file below this one are read one by one, since a read of all has failed.
    alone_to: u32,
}

/// Checks the database in this directory, which is shut. Nobody can open it meanwhile (VF1).
pub fn closed(
    disk: &Disk,
    directory: &Path,
    options: FileOptions,
    task: &mut Task<'_>,
    session: &Session,
) -> Result<Report, Stop> {
    let mut run = Run::new(task);
    run.directory = Some(directory.display().to_string());
    let place = ClosedDatabase { disk, directory, options, session };
    let files = Files::open(place, &mut run)?;
    let last_scn = files.last_scn;
    // Redo that is left is applied by the next opening, as after a crash, and files are named.
    let is_shut =
        files.content.state == ControlState::Shut && !files.has_redo && !files.has_unnamed;
    let listed = files.content.data_files.len();
    let (shapes, open): (Vec<_>, Vec<_>) = files.data.iter().cloned().unzip();
    run.report.files = shapes.len() as u64;
    let is_whole = shapes.len() == listed;
    let last =
        BlockRun { file: 0, first: 0, count: 0, bytes: IoBuf::zeroed(READ_BYTES), alone_to: 0 };
    let source = ClosedSource { files: shapes, open, last: RefCell::new(last), session };
    let mut check = Check { run: &mut run, source: &source };
    if !is_shut || !is_whole {
        blocks::check(&mut check, blocks::Expected { last_scn, ..blocks::Expected::default() })?;
        let recover = format!("'forebay recover {}'", directory.display());
        let why = match (is_whole, last_scn) {
            (false, _) => "a data file can't be read, or is in use".to_string(),
            (true, None) => format!(
                "the database wasn't shut in good order, and can't be opened before what was found \
                 of its redo is put right. Then open it once, for instance with {recover}, and \
                 verify it again"
            ),
            (true, Some(_)) => format!(
                "the database wasn't shut in good order. Open it once, for instance with \
                 {recover}: that recovers it, and may put right what is found in blocks; then \
                 verify it again"
            ),
        };
        run.report.skipped = Some(why);
        return Ok(run.report);
    }
    let segments::Segments { list: mut segments, is_partial } = segments::check(&mut check)?;
    let used = rings::check(&mut check, &segments)?;
    let dictionary = dictionary::check(&mut check, &segments)?;
    // From here on messages name tables and indexes as users do.
    segments.iter_mut().for_each(|segment| dictionary.name(segment));
    let segments_known = (!is_partial).then_some(&segments[..]);
    let expected = blocks::Expected { used: used.as_ref(), last_scn, segments: segments_known };
    blocks::check(&mut check, expected)?;
    heap::check(&mut check, &segments)?;
    let trees = index::check(&mut check, &segments)?;
    let segments = segments.iter().map(|one| (one.object, one)).collect();
    let ground = KnownSegments { segments: &segments, trees: &trees };
    pairs::check(&mut check, ground, &dictionary)?;
    foreign::check(&mut check, ground, &dictionary)?;
    sequences::check(&mut check, ground, &dictionary)?;
    Ok(run.report)
}

impl ClosedSource<'_> {
    /// Reads a block into `last`. Returns its offset there; none if the file ends before.
    fn load(&self, file: usize, number: u32) -> Result<Option<usize>, os::Error> {
        let shape = &self.files[file];
        let size = shape.block_size.bytes();
        let mut last = self.last.borrow_mut();
        let is_in = |last: &BlockRun| {
            last.file == file && (last.first..last.first + last.count).contains(&number)
        };
        if !is_in(&last) {
            let is_same = last.file == file;
            let reads_on = is_same && number == last.first + last.count;
            let is_alone = is_same && number < last.alone_to;
            let most = if reads_on && !is_alone { (READ_BYTES / size) as u32 } else { 1 };
            let there =
                (self.open[file].length()? / size as u64).min(u64::from(shape.blocks)) as u32;
            let count = most.min(there.saturating_sub(number));
            if count == 0 {
                return Ok(None);
            }
            let waiting = self.session.waiting(WaitEvent::DirectPathRead);
            let waiting = waiting.p(shape.number.get().into(), number.into(), count.into());
            let at = u64::from(number) * size as u64;
            let alone_to = if is_same { last.alone_to } else { 0 };
            // If the read fails, the bytes from before are gone too.
            (last.file, last.first, last.count, last.alone_to) = (file, number, 0, alone_to);
            let read = |last: &mut BlockRun, count: u32| {
                let result =
                    self.open[file].read_at(at, &mut last.bytes[..count as usize * size], waiting);
                last.count = if result.is_ok() { count } else { 0 };
                result
            };
            if let Err(error) = read(&mut last, count) {
                if count == 1 {
                    return Err(error);
                }
                last.alone_to = number + count;
                read(&mut last, 1)?;
            }
        }
        Ok(Some((number - last.first) as usize * size))
    }
}

/// The text of a fault without the block's address, which every finding names.
fn said(fault: &BlockFault) -> String {
    let Dba { file, block } = fault.address();
    let text = fault.to_string();
    let rest = text.strip_prefix(&format!("file {file} block {block} ")).unwrap_or(&text);
    // The finding's kind has the advice.
    rest.split("; ").next().unwrap_or(rest).to_string()
}

impl Source for ClosedSource<'_> {
    fn files(&self) -> &[DataFile] {
        &self.files
    }

    fn read(&self, address: Dba) -> Result<Seen, Stop> {
        let place = self.files.iter().position(|file| file.number == address.file);
        let Some(file) = place else { return Ok(Seen::Nowhere) };
        let number = address.block.get();
        if number >= self.files[file].blocks {
            return Ok(Seen::Nowhere);
        }
        let at = match self.load(file, number) {
            Ok(Some(at)) => at,
            Ok(None) => return Ok(Seen::Nowhere),
            Err(error) => {
                return Ok(Seen::Damaged(format!("can't be read: {}", of_file(error)?)));
            }
        };
        let last = self.last.borrow();
        let bytes = &last.bytes[at..at + self.files[file].block_size.bytes()];
        Ok(match format::check(bytes, address) {
            Ok(_) => Seen::Whole(bytes.to_vec()),
            Err(BlockFault::NeverWritten { .. }) => Seen::Unwritten,
            Err(fault) => Seen::Damaged(said(&fault)),
        })
    }

    fn blocks_by_now(&self, file: FileNo) -> u32 {
        self.files.iter().find(|one| one.number == file).map_or(0, |file| file.blocks)
    }

    fn begin_moment(&self) -> Result<(), Stop> {
        Ok(())
    }

    fn settled(&self, address: Dba, object: u32) -> Result<HeapBlock, Stop> {
        Ok(of_heap(self.read(address)?, object))
    }

    fn entries(&self, index: &Segment, visit: &mut Visit<'_>) -> Result<(), Stop> {
        let mut visit = |key: &[u8], row: RowAddress| visit(row, key);
        // `index::check` has checked the tree before.
        walk_visiting(self, index, &mut visit).map(|_| ())
    }

    fn is_there(&self, _: ObjectNo) -> bool {
        true
    }

    fn has_segment(&self, _: &str) -> Result<bool, Stop> {
        Ok(false)
    }

    fn is_live(&self) -> bool {
        false
    }

    fn pause(&self, _: u32) {}
}
