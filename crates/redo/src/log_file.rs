//! The files of the online redo log: their names, their headers, writing to them.
//!
//! One file for each group. Log sequence `s` lives in group `(s - 1) % groups + 1`, so each log
//! overwrites the one that is `groups` older.
//!
//! Invariants
//!   * what `write` or `write_header` has returned from is durable
//!   * a file has the length that the configuration says, or it isn't opened
//!
//! Callers: the writer, the reader, `create`.

use std::path::{Path, PathBuf};

use format::{
    BlockFault, BlockHeader, BlockKind, LogHeader, REDO_BLOCK, ScnLe, U16Le, U32Le, U64Le,
};
use ids::{BlockNo, Dba, FileNo, Scn};
use os::probe::DurableWrite;
use os::{Cost, Disk, Error, File, FileOptions, IoBuf, Session, Waiting};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::config::{check_blocks, check_groups};
use crate::{EndReason, RedoConfig};

/// CPU is charged for checksums in KiB.
pub(crate) const BLOCK_KIB: u64 = REDO_BLOCK.bytes() as u64 / 1024;

/// Where the log of this group is.
pub fn log_path(directory: &Path, group: u16) -> PathBuf {
    directory.join(format!("redo{group:02}.log"))
}

/// The group in which this log lives.
pub(crate) fn group_of(sequence: u32, groups: u16) -> u16 {
    let place = (sequence - 1) % u32::from(groups);
    u16::try_from(place).expect("less than the number of groups, a u16") + 1
}

/// Makes the files of a new database: every block written once, as zeros, so that no later write
/// has to find space. They hold no log yet. If it fails, nothing is left.
pub fn create(
    disk: &Disk,
    directory: &Path,
    groups: u16,
    blocks: u32,
    session: &Session,
) -> Result<(), Stop> {
    check_groups(groups)?;
    check_blocks(blocks)?;
    let options = DurableWrite::BufferedThenSync.file_options();
    for group in 1..=groups {
        let path = log_path(directory, group);
        if let Err(error) = disk.create(&path, file_bytes(blocks), options, session) {
            remove_made(disk, directory, 1..group, session);
            return Err(error.into());
        }
    }
    Ok(())
}

fn remove_made(disk: &Disk, directory: &Path, made: std::ops::Range<u16>, session: &Session) {
    for group in made {
        if let Err(error) = disk.remove(&log_path(directory, group), session) {
            session.os().notice(&format!("a redo log that isn't used is left: {error}"));
        }
    }
}

fn file_bytes(blocks: u32) -> u64 {
    BlockNo::new(blocks).byte_offset(REDO_BLOCK)
}

/// What the header of a new log says, beside what follows from its sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) first_scn: Scn,
    pub(crate) previous_end: u32,
}

/// The open files.
#[derive(Debug)]
pub(crate) struct LogFiles {
    files: Vec<File>,
    pub(crate) database: u64,
    pub(crate) log_blocks: u32,
    needs_sync: bool,
}

impl LogFiles {
    pub(crate) fn open(
        disk: &Disk,
        config: &RedoConfig,
        session: &Session,
    ) -> Result<LogFiles, Stop> {
        let mut options = config.durable_write.file_options();
        if config.skips_sync() {
            options.write_through = false;
        }
        let open = |group| open_log(disk, config, group, options, session);
        Ok(LogFiles {
            files: (1..=config.groups).map(open).collect::<Result<_, _>>()?,
            database: config.database,
            log_blocks: config.log_blocks,
            needs_sync: config.durable_write.needs_sync() && !config.skips_sync(),
        })
    }

    pub(crate) fn groups(&self) -> u16 {
        u16::try_from(self.files.len()).expect("at most 255 groups")
    }

    pub(crate) fn group_of(&self, sequence: u32) -> u16 {
        group_of(sequence, self.groups())
    }

    pub(crate) fn of_group(&self, group: u16) -> &File {
        &self.files[usize::from(group) - 1]
    }

    /// The address of a block of this log.
    pub(crate) fn address(&self, sequence: u32, block: u32) -> Dba {
        Dba { file: FileNo::redo(self.group_of(sequence)), block: BlockNo::new(block) }
    }

    /// Writes whole blocks of a log, durably.
    pub(crate) fn write(
        &self,
        sequence: u32,
        first_block: u32,
        bytes: &[u8],
        waiting: Waiting<'_>,
    ) -> Result<(), Error> {
        let file = self.of_group(self.group_of(sequence));
        file.write_at(BlockNo::new(first_block).byte_offset(REDO_BLOCK), bytes, waiting)?;
        if self.needs_sync {
            file.sync(waiting)?;
        }
        Ok(())
    }

    /// Begins a log, durably (RD6).
    pub(crate) fn write_header(
        &self,
        sequence: u32,
        beginning: Beginning,
        waiting: Waiting<'_>,
    ) -> Result<(), Error> {
        let address = self.address(sequence, 0);
        let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
        *BlockHeader::of_mut(&mut block) = BlockHeader::new(BlockKind::LogHeader, address);
        *LogHeader::at_mut(&mut block, LogHeader::START) = LogHeader {
            database: U64Le::new(self.database),
            log_sequence: U32Le::new(sequence),
            blocks: U32Le::new(self.log_blocks),
            first_scn: ScnLe::new(beginning.first_scn),
            previous_end: U32Le::new(beginning.previous_end),
            group: U16Le::new(self.group_of(sequence)),
            reserved: [0; 10],
        };
        format::seal(&mut block, address);
        waiting.session().charge(Cost::ChecksumKib, BLOCK_KIB);
        self.write(sequence, 0, &block, waiting)
    }

    /// The header of the log that a group's file holds, or what is there instead.
    pub(crate) fn read_header(
        &self,
        group: u16,
        session: &Session,
    ) -> Result<Result<LogHeader, EndReason>, Stop> {
        let address = Dba { file: FileNo::redo(group), block: BlockNo::new(0) };
        let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
        let waiting = session.waiting(WaitEvent::LogFileSequentialRead).p(group.into(), 0, 1);
        self.of_group(group).read_at(0, &mut block, waiting)?;
        session.charge(Cost::ChecksumKib, BLOCK_KIB);
        let kind = match format::check(&block, address) {
            Ok(header) => header.kind(),
            Err(fault) => return Ok(Err(EndReason::from(fault))),
        };
        if kind != BlockKind::LogHeader {
            return Ok(Err(EndReason::OtherKind { address, found: kind }));
        }
        let header = *LogHeader::at(&block, LogHeader::START);
        let found = header.database.get();
        if found != self.database {
            return Ok(Err(EndReason::OtherDatabase { address, found }));
        }
        self.check_shape(group, &header)?;
        Ok(Ok(header))
    }

    /// A header of ours, whole, that says something else than the configuration isn't an accident
    /// of a crash.
    fn check_shape(&self, group: u16, header: &LogHeader) -> Result<(), Stop> {
        let (sequence, blocks) = (header.log_sequence.get(), header.blocks.get());
        let right = header.group.get() == group
            && blocks == self.log_blocks
            && sequence > 0
            && self.group_of(sequence) == group;
        if right {
            return Ok(());
        }
        Err(corrupt(format!(
            "the header of {} says log {sequence} of group {} with {blocks} blocks, and this \
             database has {} groups of {} blocks: a file of another configuration lies there; put \
             the right one back",
            self.of_group(group).path().display(),
            header.group.get(),
            self.groups(),
            self.log_blocks,
        )))
    }
}

fn open_log(
    disk: &Disk,
    config: &RedoConfig,
    group: u16,
    options: FileOptions,
    session: &Session,
) -> Result<File, Stop> {
    let path = log_path(&config.directory, group);
    let file = disk.open(&path, options, session)?;
    let (found, expected) = (file.length()?, file_bytes(config.log_blocks));
    if found != expected {
        return Err(corrupt(format!(
            "{} has {found} bytes, and a redo log of {} blocks has {expected}: put the right file \
             back",
            path.display(),
            config.log_blocks
        )));
    }
    Ok(file)
}

/// A refusal because of what is on disk.
pub(crate) fn corrupt(message: String) -> Stop {
    Stop::refuse(RefusalKind::Corrupt, message)
}

/// What a block that is none of ours ends a log with.
impl From<BlockFault> for EndReason {
    fn from(fault: BlockFault) -> EndReason {
        match fault {
            BlockFault::NeverWritten { address } => EndReason::NeverWritten { address },
            BlockFault::WrongAddress { address, found } => {
                EndReason::WrongAddress { address, found }
            }
            fault => EndReason::Damaged { fault },
        }
    }
}
