//! The files of the online redo log: their names, how they are made and opened, and their headers.
//!
//! A group has one file or several, its members, each with a whole copy of its log. The headers of
//! the members say which log a group holds; see `groups` for the one that it gets next.
//!
//! Invariants
//!   * only a file of the configured length is opened
//!   * only good members are open
//!
//! Callers: the writer, the reader, `create`, `examine`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use format::{
    BlockFault, BlockHeader, BlockKind, LogHeader, REDO_BLOCK, RESTORE_ALL, RedoBlock, ScnLe,
    U16Le, U32Le, U64Le,
};
use ids::{BlockNo, Dba, FileNo, Scn};
use latch::SharedFlag;
use os::probe::DurableWrite;
use os::{Cause, Cost, Disk, Error, File, IoBuf, Session, Waiting};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::EndReason;
use crate::config::{LogGroup, check_groups};
use crate::medium::Medium;

/// A redo block in KiB, the unit in which CPU time is charged for checksums.
pub(crate) const BLOCK_KIB: u64 = REDO_BLOCK.bytes() as u64 / 1024;

/// Number of the only instance that writes redo.
const THREAD: u16 = 1;

/// The usual path of a group's only member.
pub fn log_path(directory: &Path, group: u16) -> PathBuf {
    directory.join(format!("redo{group:02}.log"))
}

/// Makes the files of a new database. Every block is written once, as zeros, so that no later write
/// has to find space. The files hold no log yet, and are locked until they are closed. If one
/// fails, none is left.
pub fn create(disk: &Disk, groups: &[LogGroup], session: &Session) -> Result<Vec<File>, Stop> {
    check_groups(groups.len())?;
    groups.iter().try_for_each(LogGroup::check)?;
    let mut made = Vec::new();
    let all = groups.iter().flat_map(|group| group.members.iter().map(|m| (&m.path, group.blocks)));
    for (path, blocks) in all {
        match create_member(disk, path, blocks, &|| true, session) {
            Ok(file) => made.push(file),
            Err(stop) => {
                remove_made(disk, &made, session);
                return Err(stop);
            }
        }
    }
    Ok(made)
}

/// Makes one file for a member of a group whose logs have `blocks` blocks, locked until it is
/// closed. If that fails, or `go_on` returns false, nothing is left.
pub fn create_member(
    disk: &Disk,
    path: &Path,
    blocks: u32,
    go_on: &dyn Fn() -> bool,
    session: &Session,
) -> Result<File, Stop> {
    let options = DurableWrite::BufferedThenSync.file_options();
    Ok(disk.create_while(path, file_bytes(blocks), options, go_on, session)?)
}

fn remove_made(disk: &Disk, made: &[File], session: &Session) {
    for file in made {
        if let Err(error) = disk.remove(file.path(), session) {
            session.os().notice(&format!("a redo log that isn't used is left: {error}"));
        }
    }
}

pub(crate) fn file_bytes(blocks: u32) -> u64 {
    BlockNo::new(blocks).byte_offset(REDO_BLOCK)
}

/// The owner of a log: what its header has in common with the control file (RD24).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOwner {
    /// Identity of the database.
    pub database: u64,
    /// Its incarnation, and the SCN at which that began.
    pub incarnation: (u32, Scn),
}

impl LogOwner {
    /// Checks that the log with this header is this owner's; `address` is that of the header.
    pub(crate) fn check_owner(&self, header: &LogHeader, address: Dba) -> Result<(), EndReason> {
        let found = header.database.get();
        if found != self.database {
            return Err(EndReason::OtherDatabase { address, found });
        }
        let (found, began) = (header.incarnation.get(), header.incarnation_scn.get());
        if (found, began) != self.incarnation {
            return Err(EndReason::OtherIncarnation { address, found, began });
        }
        Ok(())
    }

    /// Describes a member with a foreign header, or with another block in its header's place, as a
    /// phrase to follow its name; `None` if that isn't what is wrong.
    pub(crate) fn describe_foreign(&self, reason: EndReason) -> Option<String> {
        match reason {
            EndReason::OtherDatabase { found, .. } => Some(format!(
                "is a log of database {found:016x}, and this is database {:016x}: put the right \
                 file back",
                self.database
            )),
            EndReason::OtherIncarnation { found, began, .. } => Some(format!(
                "is a log of incarnation {found} of the database, which began at SCN {began}, and \
                 this is incarnation {}, which began at SCN {}: put the right file back",
                self.incarnation.0, self.incarnation.1
            )),
            EndReason::WrongAddress { .. } | EndReason::OtherKind { .. } => Some(format!(
                "has another block where its header belongs ({reason}): another file lies there, \
                 or a write went astray; put the right file back"
            )),
            _ => None,
        }
    }

    /// The refusal of a group none of whose members is its own; `None` if that isn't what is wrong.
    pub(crate) fn refusal(&self, path: &Path, reason: EndReason) -> Option<Stop> {
        let what = self.describe_foreign(reason)?;
        Some(corrupt(format!("{} {what}; if it is lost, {RESTORE_ALL}", path.display())))
    }
}

/// What the header of a new log says beside its sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) first_scn: Scn,
    pub(crate) previous_end: u32,
}

/// What lies where the header of a log belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HeaderBlock {
    /// The header of a log of this owner and group.
    Log(LogHeader),
    /// Anything else, or nothing.
    Other(EndReason),
}

/// A member of an open group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) path: PathBuf,
    /// The open file, as long as the member is good.
    pub(crate) file: Option<File>,
    /// Whether the reason was said why it can't become good again.
    pub(crate) is_told: Arc<SharedFlag>,
}

impl Member {
    /// A member, good if it has a file.
    pub(crate) fn new(path: &Path, file: Option<File>) -> Member {
        let (path, is_told) = (path.to_path_buf(), Arc::new(SharedFlag::new(false)));
        Member { path, file, is_told }
    }
}

/// An open group. It doesn't change: a session that changes its members makes another one.
#[derive(Clone, Debug)]
pub(crate) struct OpenGroup {
    pub(crate) number: u16,
    pub(crate) blocks: u32,
    pub(crate) members: Vec<Member>,
}

impl OpenGroup {
    pub(crate) fn open(
        medium: &Medium,
        group: &LogGroup,
        session: &Session,
    ) -> Result<OpenGroup, Stop> {
        let blocks = group.blocks;
        let is_alone = group.members.iter().filter(|member| member.good).count() == 1;
        let mut members = Vec::with_capacity(group.members.len());
        for member in &group.members {
            let file = match member.good {
                true => {
                    let opened = medium.open(&member.path, blocks, session);
                    Some(opened.map_err(|stop| match is_alone {
                        true => if_lost(stop, group),
                        false => stop,
                    })?)
                }
                false => None,
            };
            members.push(Member::new(&member.path, file));
        }
        Ok(OpenGroup { number: group.number, blocks, members })
    }

    /// The good members.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.members.iter().filter_map(|member| member.file.as_ref())
    }

    /// The number of good members.
    pub(crate) fn copies(&self) -> u64 {
        self.files().count() as u64
    }

    /// The first good member, which is read first.
    pub(crate) fn first(&self) -> &File {
        self.files().next().expect("a group has a good member")
    }

    /// The address of a block of its log.
    pub(crate) fn address(&self, block: u32) -> Dba {
        Dba { file: FileNo::redo(self.number), block: BlockNo::new(block) }
    }

    /// The sealed header of a log that begins in this group.
    pub(crate) fn header(
        &self,
        medium: &Medium,
        sequence: u32,
        beginning: Beginning,
        session: &Session,
    ) -> IoBuf {
        let address = self.address(0);
        let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
        *BlockHeader::of_mut(&mut block) = BlockHeader::new(BlockKind::LogHeader, address);
        *LogHeader::at_mut(&mut block, LogHeader::START) = LogHeader {
            database: U64Le::new(medium.owner.database),
            log_sequence: U32Le::new(sequence),
            blocks: U32Le::new(self.blocks),
            first_scn: ScnLe::new(beginning.first_scn),
            previous_end: U32Le::new(beginning.previous_end),
            group: U16Le::new(self.number),
            thread: U16Le::new(THREAD),
            incarnation: U32Le::new(medium.owner.incarnation.0),
            reserved: [0; 4],
            incarnation_scn: ScnLe::new(medium.owner.incarnation.1),
            began_us: U64Le::new(session.os().calendar_us()),
            next_scn: ScnLe::ZERO,
            next_began_us: U64Le::ZERO,
            reserved2: [0; 56],
        };
        format::seal(&mut block, address);
        session.charge(Cost::ChecksumKib, BLOCK_KIB);
        block
    }

    /// The newest header of the good members, or what lies in its place. A member that can't be
    /// read, or is foreign, is passed over if another can be used. Refused if there are only such
    /// (RD24).
    pub(crate) fn read_header(
        &self,
        owner: &LogOwner,
        session: &Session,
    ) -> Result<HeaderBlock, Stop> {
        let mut newest = None;
        let (mut failed, mut foreign) = (None, None);
        for file in self.files() {
            let found = self.read_header_of(file, owner, session);
            if let Ok(HeaderBlock::Other(reason)) = found
                && let Some(stop) = owner.refusal(file.path(), reason)
            {
                foreign = foreign.or(Some(stop));
                continue;
            }
            match (found, newest) {
                (Err(stop), _) => failed = Some(stop),
                (Ok(HeaderBlock::Other(_)), Some(_)) => {}
                (Ok(HeaderBlock::Log(one)), Some(HeaderBlock::Log(other)))
                    if one.log_sequence.get() <= other.log_sequence.get() => {}
                (Ok(found), _) => newest = Some(found),
            }
        }
        newest.ok_or_else(|| foreign.or(failed).expect("a group has a good member"))
    }

    /// The header of the log that one member holds, or what lies in its place.
    pub(crate) fn read_header_of(
        &self,
        file: &File,
        owner: &LogOwner,
        session: &Session,
    ) -> Result<HeaderBlock, Stop> {
        let address = self.address(0);
        let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
        let waiting = session.waiting(WaitEvent::LogFileSequentialRead);
        match file.read_at(0, &mut block, waiting.p(self.number.into(), 0, 1)) {
            // A device may report a header as unreadable whose write the power cut off (RD28).
            Err(error) if error.cause() == Cause::Device => {
                session.os().notice(&format!("a redo log's header is passed over: {error}"));
                let found = self.others_redo(file, owner, session);
                let other = found.map(|found| EndReason::OtherDatabase { address, found });
                return Ok(HeaderBlock::Other(other.unwrap_or(EndReason::Unreadable { address })));
            }
            read => read?,
        }
        session.charge(Cost::ChecksumKib, BLOCK_KIB);
        let kind = match format::check(&block, address) {
            Ok(header) => header.kind(),
            Err(BlockFault::WrongAddress { found, .. }) => {
                return Ok(HeaderBlock::Other(moved_header(&block, owner, address, found)));
            }
            Err(fault) => return Ok(HeaderBlock::Other(EndReason::from(fault))),
        };
        if kind != BlockKind::LogHeader {
            return Ok(HeaderBlock::Other(EndReason::OtherKind { address, found: kind }));
        }
        let header = *LogHeader::at(&block, LogHeader::START);
        if let Err(reason) = owner.check_owner(&header, address) {
            return Ok(HeaderBlock::Other(reason));
        }
        self.check_shape(file, &header)?;
        Ok(HeaderBlock::Log(header))
    }

    /// The other database to which block 1 of this file belongs, if it does. Then the header that
    /// can't be read is that one's too, and the file isn't written over.
    fn others_redo(&self, file: &File, owner: &LogOwner, session: &Session) -> Option<u64> {
        let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
        self.read(file, 1, &mut block, session).ok()?;
        session.charge(Cost::ChecksumKib, BLOCK_KIB);
        let checked = match format::check(&block, self.address(1)) {
            // The file was a log of another group of that database.
            Err(BlockFault::WrongAddress { found, .. }) => format::check(&block, found),
            checked => checked,
        };
        let is_redo = checked.is_ok_and(|header| header.kind() == BlockKind::Redo);
        let found = RedoBlock::at(&block, RedoBlock::START).database.get();
        (is_redo && found != owner.database).then_some(found)
    }

    /// Refuses a whole header of this owner that contradicts the configuration: that is no accident
    /// of a crash.
    fn check_shape(&self, file: &File, header: &LogHeader) -> Result<(), Stop> {
        let (sequence, blocks) = (header.log_sequence.get(), header.blocks.get());
        let group = header.group.get();
        if group == self.number && blocks == self.blocks && sequence > 0 {
            return Ok(());
        }
        Err(corrupt(format!(
            "the header of {} says log {sequence} of group {group} with {blocks} blocks, and this \
             is a member of group {} with {} blocks: a file of another configuration lies there; \
             put the right one back",
            file.path().display(),
            self.number,
            self.blocks,
        )))
    }

    /// Reads blocks from one member.
    pub(crate) fn read(
        &self,
        file: &File,
        first: u32,
        bytes: &mut [u8],
        session: &Session,
    ) -> Result<(), Error> {
        let blocks = (bytes.len() / REDO_BLOCK.bytes()) as u64;
        let offset = BlockNo::new(first).byte_offset(REDO_BLOCK);
        file.read_at(offset, bytes, self.reading(first, blocks, session))
    }

    /// Reads blocks from a good member that can: in one piece if one can, else block by block, up
    /// to the first block that none can read. Returns the number of blocks read; an error if there
    /// is none.
    pub(crate) fn read_any(
        &self,
        first: u32,
        bytes: &mut [u8],
        session: &Session,
    ) -> Result<u32, Error> {
        let blocks = (bytes.len() / REDO_BLOCK.bytes()) as u32;
        let any = |first: u32, bytes: &mut [u8]| {
            let mut result = Ok(());
            for file in self.files() {
                result = self.read(file, first, bytes, session);
                if result.is_ok() {
                    break;
                }
            }
            result
        };
        let Err(error) = any(first, bytes) else { return Ok(blocks) };
        session.os().notice(&format!("a redo log is read block by block: {error}"));
        for (block, number) in bytes.chunks_exact_mut(REDO_BLOCK.bytes()).zip(first..) {
            match any(number, block) {
                Ok(()) => {}
                Err(error) if number == first => return Err(error),
                Err(_) => return Ok(number - first),
            }
        }
        Ok(blocks)
    }

    pub(crate) fn reading<'s>(&self, first: u32, blocks: u64, session: &'s Session) -> Waiting<'s> {
        let waiting = session.waiting(WaitEvent::LogFileSequentialRead);
        waiting.p(self.number.into(), first.into(), blocks)
    }
}

/// What a block is that was sealed for another address: a foreign header, or another block.
fn moved_header(block: &[u8], owner: &LogOwner, address: Dba, found: Dba) -> EndReason {
    let moved = EndReason::WrongAddress { address, found };
    match format::check(block, found) {
        Ok(header) if header.kind() == BlockKind::LogHeader => {
            let header = LogHeader::at(block, LogHeader::START);
            owner.check_owner(header, address).err().unwrap_or(moved)
        }
        _ => moved,
    }
}

/// A refusal because of what lies on disk.
pub(crate) fn corrupt(message: String) -> Stop {
    Stop::refuse(RefusalKind::Corrupt, message)
}

/// The refusal because redo that is needed isn't there: `what` names the log, and what is wrong.
pub(crate) fn redo_is_missing(what: &str) -> Stop {
    corrupt(format!(
        "redo is missing: {what}; put the redo log back as it was; if it is lost, {RESTORE_ALL}"
    ))
}

/// Adds advice to the refusal of a group without a member that can be opened, if this member isn't
/// there.
pub(crate) fn if_lost(stop: Stop, group: &LogGroup) -> Stop {
    let others = match group.members.len() {
        1 => "has no other member",
        _ => "has no other member that can be used",
    };
    match stop.refusal() {
        Some(RefusalKind::NotFound) => stop.saying(&format!(
            "redo log group {} {others}: put it back; if it is lost, {RESTORE_ALL}",
            group.number
        )),
        _ => stop,
    }
}

/// A block with such a fault ends a log for this reason.
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
