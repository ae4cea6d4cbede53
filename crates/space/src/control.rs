//! The control file: what the database is, and where recovery begins (rules SP1 to SP3).
//!
//! Callers: `instance` (create, open, shut), its checkpoint process (checkpoints).

use std::path::{Path, PathBuf};

use format::{
    BlockHeader, BlockKind, CONTROL_BLOCK, Control, ScnLe, U16Le, U32Le, U64Le, check, seal,
};
use ids::{BlockNo, BlockSize, Dba, FileNo, Rba, Scn};
use os::{Disk, Error, File, FileOptions, IoBuf, Session};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

const NAMES: [&str; 2] = ["control01.ctl", "control02.ctl"];
const ADDRESS: Dba = Dba { file: FileNo::CONTROL, block: BlockNo::new(0) };

/// In which state a database was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlState {
    /// Its creation didn't come to its end (SP3).
    Creating,
    /// It is open, or wasn't shut in good order.
    Open,
    /// It was shut in good order.
    Shut,
}

impl ControlState {
    const ALL: [(ControlState, u8); 3] =
        [(ControlState::Creating, 1), (ControlState::Open, 2), (ControlState::Shut, 3)];

    fn number(self) -> u8 {
        let found = Self::ALL.iter().find(|(state, _)| *state == self);
        found.expect("every state is in the table").1
    }
}

/// What the control file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlContent {
    /// Identity of the database.
    pub database: u64,
    /// How it was left.
    pub state: ControlState,
    /// Every change below is on disk (SP2); recovery begins here.
    pub checkpoint: Rba,
    /// The last SCN below the checkpoint.
    pub checkpoint_scn: Scn,
    /// Block size of the data file.
    pub block_size: BlockSize,
    /// Blocks of the data file.
    pub data_blocks: u32,
    /// Blocks of one online redo log, its header included.
    pub log_blocks: u32,
    /// How many online redo log groups there are.
    pub log_groups: u16,
    /// Slots of the doublewrite file.
    pub doublewrite_slots: u32,
}

/// Both copies, open.
#[derive(Debug)]
pub struct ControlFile {
    /// In the order in which they are written: the one that is believed comes last (SP1).
    copies: Vec<File>,
    content: ControlContent,
    version: u64,
}

impl ControlFile {
    /// Makes both copies. The directory must have neither.
    pub fn create(
        disk: &Disk,
        directory: &Path,
        direct: bool,
        content: ControlContent,
        session: &Session,
    ) -> Result<ControlFile, Stop> {
        let bytes = CONTROL_BLOCK.bytes() as u64;
        let make = |name| disk.create(&directory.join(name), bytes, options(direct), session);
        let copies = NAMES.into_iter().map(make).collect::<Result<Vec<_>, _>>()?;
        let mut control = ControlFile { copies, content, version: 0 };
        control.write(session)?;
        Ok(control)
    }

    /// Opens both copies and believes the newer whole one.
    pub fn open(
        disk: &Disk,
        directory: &Path,
        direct: bool,
        session: &Session,
    ) -> Result<ControlFile, Stop> {
        let mut copies = Vec::new();
        let mut whole: Vec<(u64, ControlContent, usize)> = Vec::new();
        let mut faults = Vec::new();
        for (place, name) in NAMES.into_iter().enumerate() {
            let path = directory.join(name);
            let file = disk.open(&path, options(direct), session).map_err(missing(&path))?;
            if !file.try_lock()? {
                let message = format!(
                    "cannot open the database: another program has it open, for it has locked {}; \
                     end that one first",
                    path.display()
                );
                return Err(Stop::refuse(RefusalKind::WrongState, message));
            }
            match read(&file, session) {
                Ok((version, content)) => whole.push((version, content, place)),
                Err(fault) => faults.push(fault),
            }
            copies.push(file);
        }
        let corrupt = |what: String| {
            Stop::refuse(RefusalKind::Corrupt, format!("cannot open the database: {what}"))
        };
        if let [one, two] = &whole[..]
            && one.1.database != two.1.database
        {
            return Err(corrupt(format!(
                "{} and {} are the control file's copies, and one is of another database; put the \
                 right one there",
                NAMES[0], NAMES[1]
            )));
        }
        let newest = whole.into_iter().max_by_key(|(version, ..)| *version);
        let (version, content, place) = newest.ok_or_else(|| corrupt(faults.join("; ")))?;
        // The other one may be damaged, and this the only whole one: it is written last.
        copies[..].rotate_left(place + 1);
        faults.iter().for_each(|fault| {
            session.os().notice(&format!("the other copy of the control file is used, for {fault}"))
        });
        Ok(ControlFile { copies, content, version })
    }

    /// What it says.
    pub fn content(&self) -> &ControlContent {
        &self.content
    }

    /// Changes it and writes both copies (SP1). After an error it isn't to be used any more.
    pub fn update(
        &mut self,
        change: impl FnOnce(&mut ControlContent),
        session: &Session,
    ) -> Result<(), Error> {
        change(&mut self.content);
        self.write(session)
    }

    /// The files, for messages.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.copies.iter().map(|file| file.path().to_path_buf()).collect()
    }

    fn write(&mut self, session: &Session) -> Result<(), Error> {
        self.version += 1;
        let block = encode(&self.content, self.version);
        for file in &self.copies {
            // Write-through: one copy is durable before the other is touched (SP1).
            let waiting = session.waiting(WaitEvent::ControlFileParallelWrite).p(1, 1, 1);
            file.write_at(0, &block, waiting)?;
        }
        Ok(())
    }
}

fn options(direct: bool) -> FileOptions {
    FileOptions { direct, write_through: true }
}

fn missing(path: &Path) -> impl Fn(Error) -> Stop {
    let path = path.display().to_string();
    move |error| match error.cause() {
        os::Cause::NotFound => {
            let message = format!(
                "cannot open the database: its control file {path} isn't there; if the other copy \
                 is, copy it to this name; if neither is, this is no database"
            );
            Stop::refuse(RefusalKind::NotFound, message)
        }
        _ => Stop::from(error),
    }
}

fn encode(content: &ControlContent, version: u64) -> IoBuf {
    let mut block = IoBuf::zeroed(CONTROL_BLOCK.bytes());
    *BlockHeader::of_mut(&mut block) = BlockHeader::new(BlockKind::Control, ADDRESS);
    *Control::at_mut(&mut block, Control::START) = Control {
        database: U64Le::new(content.database),
        version: U64Le::new(version),
        checkpoint_scn: ScnLe::new(content.checkpoint_scn),
        checkpoint_sequence: U32Le::new(content.checkpoint.sequence),
        checkpoint_block: U32Le::new(content.checkpoint.block),
        block_bytes: U32Le::new(content.block_size.bytes() as u32),
        data_blocks: U32Le::new(content.data_blocks),
        log_blocks: U32Le::new(content.log_blocks),
        doublewrite_slots: U32Le::new(content.doublewrite_slots),
        log_groups: U16Le::new(content.log_groups),
        state: content.state.number(),
        reserved: [0; 13],
    };
    seal(&mut block, ADDRESS);
    block
}

fn read(file: &File, session: &Session) -> Result<(u64, ControlContent), String> {
    let mut block = IoBuf::zeroed(CONTROL_BLOCK.bytes());
    let path = file.path().display();
    let waiting = session.waiting(WaitEvent::ControlFileSequentialRead).p(0, 0, 1);
    file.read_at(0, &mut block, waiting).map_err(|error| error.to_string())?;
    let header = check(&block, ADDRESS).map_err(|fault| format!("{path}: {fault}"))?;
    if header.kind() != BlockKind::Control {
        return Err(format!("{path} is a {}, not a control file", header.kind()));
    }
    let stored = Control::at(&block, Control::START);
    let state = ControlState::ALL.iter().find(|(_, number)| *number == stored.state);
    let block_size = BlockSize::new(stored.block_bytes.get() as usize);
    let (Some((state, _)), Some(block_size)) = (state, block_size) else {
        return Err(format!("{path} holds values that no program has written"));
    };
    let content = ControlContent {
        database: stored.database.get(),
        state: *state,
        checkpoint: Rba::block(stored.checkpoint_sequence.get(), stored.checkpoint_block.get()),
        checkpoint_scn: stored.checkpoint_scn.get(),
        block_size,
        data_blocks: stored.data_blocks.get(),
        log_blocks: stored.log_blocks.get(),
        log_groups: stored.log_groups.get(),
        doublewrite_slots: stored.doublewrite_slots.get(),
    };
    Ok((stored.version.get(), content))
}
