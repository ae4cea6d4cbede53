//! The control file: its two copies, read and written (rules SP1, SP2, SP3).
//!
//! Callers: `instance` (create, open, shut), its checkpoint process (checkpoints).

use std::path::{Path, PathBuf};

use format::{
    BlockFault, BlockHeader, BlockKind, CONTROL_BLOCK, FORMAT, OLDEST, RESTORE_ALL, check, seal,
};
use ids::{BlockNo, Dba, FileNo};
use os::{Disk, Error, File, FileOptions, IoBuf, OwnedFiles, Session};
use stop::{Halt, RefusalKind, Stop};
use waits::WaitEvent;

use crate::place::place_of;
use crate::{ControlContent, Probed};

pub(crate) const NAMES: [&str; 2] = ["control01.ctl", "control02.ctl"];
const ADDRESS: Dba = Dba { file: FileNo::CONTROL, block: BlockNo::new(0) };

/// A copy of the control file, to be looked at only.
#[derive(Debug)]
pub struct ControlCopy {
    /// Its path.
    pub path: PathBuf,
    /// Its version and its content, or its fault.
    pub said: Result<(u64, ControlContent), String>,
    /// The file, locked, so that the database can't be opened meanwhile (SP7).
    _file: Option<File>,
}

/// The control file: both copies, open and locked.
#[derive(Debug)]
pub struct ControlFile {
    /// The copies in the order in which they are written: the believed, or newer, one last (SP1).
    copies: Vec<File>,
    content: ControlContent,
    version: u64,
    /// Whether it was written since it was opened.
    is_settled: bool,
    /// Whether one copy has an older version than the other, since the last write was a step.
    is_uneven: bool,
    /// The hash of the place where they are (SP22).
    place: u64,
}

impl ControlFile {
    /// Makes both copies, locked until they are closed. The directory must have neither. If this
    /// fails, nothing is left.
    pub fn create(
        disk: &Disk,
        directory: &Path,
        direct: bool,
        content: ControlContent,
        session: &Session,
    ) -> Result<ControlFile, Stop> {
        content.check()?;
        let bytes = CONTROL_BLOCK.bytes() as u64;
        let place = place_of(disk, directory);
        let content = ControlContent { place, ..content };
        let (is_settled, is_uneven) = (false, false);
        let copies = Vec::new();
        let mut control = ControlFile { copies, content, version: 0, is_settled, is_uneven, place };
        let mut make = |name| {
            let made = disk.create(&directory.join(name), bytes, options(direct), session)?;
            control.copies.push(made);
            Ok::<(), Error>(())
        };
        let made = NAMES.into_iter().try_for_each(&mut make);
        match made.and_then(|()| control.write(session)) {
            Ok(()) => Ok(control),
            Err(error) => {
                for copy in &control.copies {
                    let _ = disk.remove(copy.path(), session);
                }
                Err(Stop::from(error))
            }
        }
    }

    /// Opens both copies and uses the newer whole one.
    pub fn open(
        disk: &Disk,
        directory: &Path,
        direct: bool,
        session: &Session,
    ) -> Result<ControlFile, Stop> {
        let corrupt = |what: String| {
            Stop::refuse(RefusalKind::Corrupt, format!("cannot open the database: {what}"))
        };
        check_is_database(disk, directory, session)?;
        let mut copies = Vec::new();
        let mut whole: Vec<(u64, ControlContent, usize)> = Vec::new();
        let mut faults = Vec::new();
        let mut owned = OwnedFiles::default();
        for (place, name) in NAMES.into_iter().enumerate() {
            let path = directory.join(name);
            let file = disk.open(&path, options(direct), session).map_err(missing(&path))?;
            owned.lock(&file, session).map_err(not_owned)?;
            match read(&file, session) {
                Ok((version, content)) => whole.push((version, content, place)),
                // Another program has written it, which knew more, even if the other copy is whole.
                Err(Fault::Other(fault)) => return Err(corrupt(fault)),
                Err(Fault::Damaged(fault)) => faults.push(fault),
            }
            copies.push(file);
        }
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
        let (version, content, place) = newest.ok_or_else(|| no_control_file("open", &faults))?;
        // This may be the only whole copy, so it is written last.
        copies[..].rotate_left(place + 1);
        faults.iter().for_each(|fault| {
            session.os().notice(&format!(
                "the other copy of the control file is used, and written over this one: {}",
                without_advice(fault)
            ))
        });
        let (is_settled, is_uneven) = (false, false);
        let place = place_of(disk, directory);
        Ok(ControlFile { copies, content, version, is_settled, is_uneven, place })
    }

    /// Looks at both copies, each by itself, and writes nothing. While the result is kept the
    /// database can't be opened.
    pub fn look(
        disk: &Disk,
        directory: &Path,
        direct: bool,
        session: &Session,
    ) -> Result<[ControlCopy; 2], Stop> {
        check_is_database(disk, directory, session)?;
        let mut owned = OwnedFiles::default();
        let [one, two]: [Result<_, Stop>; 2] = NAMES.map(|name| {
            let path = directory.join(name);
            let file = match disk.open_read_only(&path, options(direct), session) {
                Ok(file) => file,
                // This error tells nothing about the file.
                Err(error) if !is_of_file(&error) => {
                    return Err(error.while_doing("look at the control file").into());
                }
                Err(error) => {
                    let said = Err(without_advice(&missing(&path)(error).to_string()).to_string());
                    return Ok(ControlCopy { path, said, _file: None });
                }
            };
            owned.lock(&file, session).map_err(not_owned)?;
            let said = read(&file, session).map_err(|fault| match fault {
                Fault::Damaged(what) => without_advice(&what).to_string(),
                Fault::Other(what) => what,
            });
            Ok(ControlCopy { path, said, _file: Some(file) })
        });
        Ok([one?, two?])
    }

    /// Its content.
    pub fn content(&self) -> &ControlContent {
        &self.content
    }

    /// Changes the content and writes both copies (SP1). After an I/O error the control file must
    /// not be used any more.
    ///
    /// # Panics
    /// When the change makes the content unsound: the caller has it checked before, by
    /// [`ControlContent::check`].
    pub fn update(
        &mut self,
        change: impl FnOnce(&mut ControlContent),
        session: &Session,
    ) -> Result<(), Error> {
        change(&mut self.content);
        self.write(session)
    }

    /// Changes the content, unless the changed content is refused, and writes both copies. If they
    /// can't be written the instance halts.
    pub fn describe<T>(
        &mut self,
        halt: &Halt,
        change: impl FnOnce(&mut ControlContent) -> Result<T, Stop>,
        session: &Session,
    ) -> Result<T, Stop> {
        halt.check(session)?;
        let mut after = self.content.clone();
        let changed = change(&mut after)?;
        after.check()?;
        let written = self.update(|content| *content = after, session);
        let failed =
            |error| halt.raise(format!("the control file can't be written: {error}"), session);
        written.map(|()| changed).map_err(failed)
    }

    /// Changes the content and writes it to one copy, the older one. It is durable when this
    /// returns, and the next write begins with the other copy (SP1). After an I/O error the control
    /// file must not be used any more.
    pub fn step(
        &mut self,
        change: impl FnOnce(&mut ControlContent),
        session: &Session,
    ) -> Result<(), Error> {
        change(&mut self.content);
        let block = self.next_block();
        write_copy(&self.copies[0], &block, session)?;
        self.copies.rotate_left(1);
        (self.is_settled, self.is_uneven) = (true, true);
        Ok(())
    }

    /// Whether the copies have different versions, since the last write went to one of them.
    pub fn is_uneven(&self) -> bool {
        self.is_uneven
    }

    /// Has the next write say, besides what it changes, what opening has to say: the place (SP22),
    /// what a probe has found, if there was one, and that a checkpoint of the data files may follow
    /// (SP19). It gets a version number that no earlier write can have had (SP12).
    pub fn prepare(&mut self, probed: Option<Probed>) {
        // Skips the version of a write that may have failed.
        self.version += 1;
        self.content.announce_checkpoint();
        self.content.place = self.place;
        self.content.probed = probed.or(self.content.probed);
    }

    /// Writes both copies, unless it was written since it was opened. Opening does this before
    /// anything that only goes with this content (SP12).
    pub fn settle(&mut self, session: &Session) -> Result<(), Error> {
        match self.is_settled {
            true => Ok(()),
            false => self.write(session),
        }
    }

    /// Refuses if no copy has its name any more: then the directory was removed, renamed or
    /// replaced, and a file made under its name would lie elsewhere.
    pub fn check_directory(
        &self,
        disk: &Disk,
        directory: &Path,
        session: &Session,
    ) -> Result<(), Stop> {
        for copy in &self.copies {
            if disk.has_its_name(copy, session)? {
                return Ok(());
            }
        }
        let message = format!(
            "{} isn't the directory any more that was opened: it was removed, renamed or replaced; \
             give it its name back, or shut the database and open it where it is",
            directory.display()
        );
        Err(Stop::refuse(RefusalKind::WrongState, message))
    }

    /// The files of the copies.
    pub fn copies(&self) -> &[File] {
        &self.copies
    }

    fn write(&mut self, session: &Session) -> Result<(), Error> {
        let block = self.next_block();
        self.copies.iter().try_for_each(|copy| write_copy(copy, &block, session))?;
        (self.is_settled, self.is_uneven) = (true, false);
        Ok(())
    }

    /// The content as the block of the next version.
    fn next_block(&mut self) -> IoBuf {
        if let Err(stop) = self.content.check() {
            panic!("the control file is to say what can't be: {stop}");
        }
        self.version += 1;
        let mut block = IoBuf::zeroed(CONTROL_BLOCK.bytes());
        *BlockHeader::of_mut(&mut block) = BlockHeader::new(BlockKind::Control, ADDRESS);
        self.content.store(self.version, &mut block);
        seal(&mut block, ADDRESS);
        block
    }
}

/// Writes one copy. Write-through: it is durable before the other is touched (SP1).
fn write_copy(copy: &File, block: &IoBuf, session: &Session) -> Result<(), Error> {
    let waiting = session.waiting(WaitEvent::ControlFileParallelWrite).p(1, 1, 1);
    copy.write_at(0, block, waiting)
}

/// The refusal to open a database of which another program has a file.
pub(crate) fn not_owned(error: Error) -> Stop {
    Stop::from(error.while_doing("open the database"))
}

fn options(direct: bool) -> FileOptions {
    FileOptions { direct, write_through: true }
}

/// Whether the error comes from the file or its device, rather than from this process.
fn is_of_file(error: &Error) -> bool {
    matches!(error.cause(), os::Cause::NotFound | os::Cause::NotAFile | os::Cause::Device)
}

/// Refuses a directory that isn't there, or that has no control file.
fn check_is_database(disk: &Disk, directory: &Path, session: &Session) -> Result<(), Stop> {
    for name in NAMES {
        match disk.look_up(&directory.join(name), session) {
            Ok(None) => {}
            Err(error) if error.cause() == os::Cause::NotFound => {}
            // Opening the file says what is wrong with it.
            Ok(Some(_)) | Err(_) => return Ok(()),
        }
    }
    let path = directory.display();
    let create = format!(
        "check the path, or create a database there, for instance with 'forebay load create {path}'"
    );
    let is_file = matches!(disk.look_up(directory, session), Ok(Some(os::NameKind::File)));
    let message = match disk.list(directory, session) {
        _ if is_file => format!("{path} is a file, and no directory; check the path"),
        Err(error) if error.cause() == os::Cause::NotFound => {
            format!("there is no directory {path}; {create}")
        }
        Ok(names) if names.is_empty() => {
            format!("there is no database in {path}, which is empty; {create}")
        }
        _ => format!(
            "there is no database in {path}, because it has no control file ({}, {}); check the \
             path; if the creation of a database was ended there early, remove {path}; if a \
             database was there, {RESTORE_ALL}",
            NAMES[0], NAMES[1]
        ),
    };
    Err(Stop::refuse(RefusalKind::NotFound, message))
}

/// The refusal to `verb` a database of which neither copy can be used, for these faults.
pub fn no_control_file(verb: &str, faults: &[String]) -> Stop {
    // The advice comes once, behind the faults.
    let faults = faults.iter().map(|fault| without_advice(fault));
    let message = format!(
        "cannot {verb} the database: {}; put a good copy of the control file there, as new as the \
         other files; without one, {RESTORE_ALL}",
        faults.collect::<Vec<_>>().join(", and ")
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}

/// What is wrong with a copy, without what to do if there were no other.
fn without_advice(fault: &str) -> &str {
    fault.split("; ").next().unwrap_or(fault)
}

fn missing(path: &Path) -> impl Fn(Error) -> Stop {
    let path = path.display().to_string();
    move |error| match error.cause() {
        os::Cause::NotFound => {
            let message = format!(
                "cannot open the database: its control file {path} isn't there; copy the other \
                 copy to this name"
            );
            Stop::refuse(RefusalKind::NotFound, message)
        }
        _ => Stop::from(error),
    }
}

/// The length of a control file of format 1.
const FORMAT_1_BYTES: u64 = 4 << 10;

/// Why a copy can't be used.
enum Fault {
    /// The copy is damaged; the other may be used.
    Damaged(String),
    /// Another program has written it: a later one, or one from before the first release.
    Other(String),
}

impl From<String> for Fault {
    fn from(what: String) -> Fault {
        Fault::Damaged(what)
    }
}

fn read(file: &File, session: &Session) -> Result<(u64, ControlContent), Fault> {
    let mut block = IoBuf::zeroed(CONTROL_BLOCK.bytes());
    let path = file.path().display();
    let (length, wanted) = (file.length().map_err(|error| error.to_string())?, block.len() as u64);
    if length != wanted {
        let hint = match length {
            FORMAT_1_BYTES => {
                "as control files of format 1 had, which was never released; create \
                               the database again"
            }
            _ => "so it is no control file, or was cut off; put a good copy there",
        };
        return Err(format!("{path} has {length} bytes and should have {wanted}, {hint}").into());
    }
    let waiting = session.waiting(WaitEvent::ControlFileSequentialRead).p(0, 0, 1);
    file.read_at(0, &mut block, waiting).map_err(|error| error.to_string())?;
    let header = check(&block, ADDRESS).map_err(|fault| match fault {
        BlockFault::UnknownFormat { found, .. } if found > FORMAT => {
            Fault::Other(format!("{path}: {fault}"))
        }
        fault => Fault::Damaged(format!("{path}: {fault}")),
    })?;
    if header.format() < OLDEST {
        return Err(Fault::Other(format!(
            "{path}: the database is of format {}, which was never released, and this program \
             opens {OLDEST} to {FORMAT}; create the database again",
            header.format()
        )));
    }
    if header.kind() != BlockKind::Control {
        return Err(format!("{path} is a {}, not a control file", header.kind()).into());
    }
    ControlContent::load(&block)
        .ok_or_else(|| format!("{path} holds values that no program has written").into())
}
