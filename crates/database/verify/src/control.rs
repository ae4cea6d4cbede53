//! The files that an opening reads first: both copies of the control file, the doublewrite file,
//! the headers of the redo logs and the redo from the checkpoint on, the data files' lengths and
//! headers.
//!
//! Caller: `closed`.

use std::path::{Path, PathBuf};

use format::REDO_BLOCK;
use ids::{BlockNo, BlockSize, Dba, Scn};
use instance::LostGroup;
use os::probe::DurableWrite;
use os::{Cause, Disk, File, FileOptions, IoBuf, OwnedFiles, Session};
use redo::{LogGroup, Reader, RecordPosition, RedoConfig};
use space::{
    ControlContent, ControlCopy, ControlFile, ControlState, look_at_file_header, no_control_file,
    open_data_file_read_only, unfinished,
};
use stop::Stop;
use waits::WaitEvent;

use crate::report::Run;
use crate::source::DataFile;
use crate::{Finding, Kind};

/// The files of a database that is shut, open to be read.
pub(crate) struct Files {
    pub(crate) content: ControlContent,
    /// The last SCN at which a block was changed; none if the redo can't be read to its end.
    pub(crate) last_scn: Option<Scn>,
    /// Whether there is redo after the checkpoint, which the blocks may lack.
    pub(crate) has_redo: bool,
    /// Whether a crash has left a file that has yet to get its name (rule space/SP10).
    pub(crate) has_unnamed: bool,
    /// The data files that are there.
    pub(crate) data: Vec<(DataFile, File)>,
    /// The locks that keep others from opening the database.
    _copies: [ControlCopy; 2],
}

/// The most writes by which a crash leaves one copy behind the other: one number was passed over
/// (rule space/SP12), and one write was under way.
const BEHIND_MAX: u64 = 2;

/// What is said of a file that another program has locked.
const IN_USE: &str = "is in use by a running instance, and isn't checked";

/// The place of a database that is shut, and the options to open its files.
#[derive(Clone, Copy)]
pub(crate) struct ClosedDatabase<'p> {
    pub(crate) disk: &'p Disk,
    pub(crate) directory: &'p Path,
    pub(crate) options: FileOptions,
    pub(crate) session: &'p Session,
}

impl Files {
    /// Opens the files that are there. Refused if no copy of the control file can be used.
    pub(crate) fn open(place: ClosedDatabase<'_>, run: &mut Run<'_, '_>) -> Result<Files, Stop> {
        let copies =
            ControlFile::look(place.disk, place.directory, place.options.direct, place.session)?;
        let content = believed(place, &copies, run)?;
        if content.state == ControlState::Creating {
            return Err(unfinished(&content, place.disk, place.directory, "verify", place.session));
        }
        check_doublewrite(place, &content, run)?;
        let mut has_unnamed = false;
        let read = check_logs(place, &content, &mut has_unnamed, run)?;
        let last_scn = read.as_ref().map(|redo| redo.last_scn);
        let has_redo = read.is_some_and(|redo| redo.has_records);
        let data = data_files(place, &content, &mut has_unnamed, run)?;
        Ok(Files { content, last_scn, has_redo, has_unnamed, data, _copies: copies })
    }
}

impl ClosedDatabase<'_> {
    /// The path where the next opening will find a file that is listed (VF8).
    fn now_at(self, path: PathBuf, has_unnamed: &mut bool) -> PathBuf {
        match space::unnamed_path(self.disk, &path, self.session) {
            Ok(Some(unnamed)) => {
                *has_unnamed = true;
                unnamed
            }
            // If the path is wrong, opening the file says so.
            Ok(None) | Err(_) => path,
        }
    }

    /// Refuses if this process can't read the first block of a file for a reason of its own (VF9).
    fn may_read(self, path: &Path, block_size: BlockSize) -> Result<(), Stop> {
        let file = self.disk.open_read_only(path, self.options, self.session);
        let mut block = IoBuf::zeroed(block_size.bytes());
        let waiting = self.session.waiting(WaitEvent::DbFileSequentialRead);
        match file.and_then(|file| file.read_at(0, &mut block, waiting)) {
            Err(error) => of_file(error).map(|_| ()),
            Ok(()) => Ok(()),
        }
    }
}

/// Returns the error if it is the file's or its device's. Refuses if it comes from the process, its
/// rights or its options: that says nothing of the file (VF9).
pub(crate) fn of_file(error: os::Error) -> Result<os::Error, Stop> {
    let is_so = match error.cause() {
        Cause::NotFound | Cause::NotAFile | Cause::SameFile | Cause::EndOfFile => true,
        Cause::Device | Cause::FailedForGood | Cause::NoSpace | Cause::FileTooLarge => true,
        Cause::PermissionDenied | Cause::ReadOnly => false,
        Cause::NoMemory | Cause::TooManyFiles => false,
        Cause::InUse | Cause::AlreadyExists | Cause::Invalid | Cause::PowerLost => false,
        Cause::DirectIoUnsupported | Cause::IoUringUnavailable | Cause::Other => false,
    };
    match is_so {
        true => Ok(error),
        false => Err(error.while_doing("verify the database").into()),
    }
}

/// The number of data files that this copy lists, that are there, and that are its database's.
fn own_files(place: ClosedDatabase<'_>, content: &ControlContent) -> usize {
    let is_own = |path: PathBuf| {
        let file = place.disk.open_read_only(&path, place.options, place.session).ok()?;
        let database = space::database_of(&file, place.session).ok().flatten()?;
        (database == content.database).then_some(())
    };
    let paths = content.data_files.iter().map(|file| place.directory.join(&file.path));
    paths.filter_map(is_own).count()
}

/// The content of the newer whole copy, as opening would believe it. Of copies of two databases it
/// is the one to which the data files belong.
fn believed(
    place: ClosedDatabase<'_>,
    copies: &[ControlCopy; 2],
    run: &mut Run<'_, '_>,
) -> Result<ControlContent, Stop> {
    let whole: Vec<_> = copies.iter().filter_map(|copy| copy.said.clone().ok()).collect();
    let differ = whole.windows(2).any(|both| both[0].1.database != both[1].1.database);
    let own = |content: &ControlContent| if differ { own_files(place, content) } else { 0 };
    let best = whole.into_iter().max_by_key(|(version, content)| (own(content), *version));
    let Some((newest, content)) = best else {
        let faults: Vec<_> = copies.iter().filter_map(|copy| copy.said.clone().err()).collect();
        return Err(no_control_file("verify", &faults));
    };
    for copy in copies {
        let fault = match &copy.said {
            Err(what) => Some(format!("can't be used: {what}")),
            Ok((_, said)) if said.database != content.database => {
                Some("is of another database".to_string())
            }
            Ok((version, _)) if version + BEHIND_MAX < newest => Some(format!(
                "is of another time: it says what write {version} said, and the other copy what \
                 write {newest} did"
            )),
            Ok(_) => None,
        };
        if let Some(what) = fault {
            run.find(&Finding::of_file(Kind::Control, copy.path.display().to_string(), what));
        }
    }
    Ok(content)
}

/// Checks the doublewrite file, which opening needs even with `doublewrite` off.
fn check_doublewrite(
    place: ClosedDatabase<'_>,
    content: &ControlContent,
    run: &mut Run<'_, '_>,
) -> Result<(), Stop> {
    let path = instance::doublewrite_path(place.directory);
    let block_size = content.system().block_size.bytes() as u64;
    let needed = u64::from(content.doublewrite_slots) * block_size;
    let length = place
        .disk
        .open_read_only(&path, place.options, place.session)
        .and_then(|file| file.length());
    let what = match length {
        Err(error) => format!("can't be used: {}", of_file(error)?.advise("")),
        Ok(length) if length < needed => format!("has {length} bytes, and {needed} are needed"),
        Ok(_) => return Ok(()),
    };
    run.find(&Finding::of_file(Kind::Doublewrite, path.display().to_string(), what));
    Ok(())
}

/// Checks the headers of the good members, then reads the redo from the checkpoint on as opening
/// does; none if it can't be read to its end. A group without a header holds no log (rule
/// redo/RD28), and is no loss if the redo comes to its end all the same.
fn check_logs(
    place: ClosedDatabase<'_>,
    content: &ControlContent,
    has_unnamed: &mut bool,
    run: &mut Run<'_, '_>,
) -> Result<Option<RedoSeen>, Stop> {
    let mut config = instance::redo_to_read(place.directory, content);
    for member in config.groups.iter_mut().flat_map(|group| &mut group.members) {
        member.path = place.now_at(std::mem::take(&mut member.path), has_unnamed);
    }
    let (lost, headless) = look_at_members(place, &mut config)?;
    let (unreadable, lost): (Vec<_>, Vec<_>) =
        lost.into_iter().partition(|member| member.is_unreadable);
    unreadable.iter().for_each(|member| run.find(&member.finding(Kind::Unreadable)));
    config.mark_invalid(&unreadable.into_iter().map(|member| member.path).collect::<Vec<_>>());
    for member in &lost {
        let ClosedDatabase { disk, directory, session, .. } = place;
        let lost = || LostGroup::find(disk, directory, content, member.group, session);
        run.find(&match member.why.as_ref().map(|_| lost()) {
            None => member.finding(Kind::InUse),
            Some(Ok(lost)) if lost.is_link(&member.path) => Finding {
                what: format!(
                    "of group {} is a symbolic link that leads to no file, and is to be removed \
                     before the group is made anew",
                    member.group
                ),
                ..member.finding(Kind::LostLog)
            },
            Some(Ok(_)) => member.finding(Kind::LostLog),
            Some(Err(_)) => member.finding(Kind::Log),
        });
    }
    config.mark_invalid(&lost.into_iter().map(|member| member.path).collect::<Vec<_>>());
    let has_good = |group: &LogGroup| group.members.iter().any(|member| member.good);
    let read = match config.groups.iter().all(has_good) {
        true => Some(read_redo(place, &config, content)),
        false => None,
    };
    let kind = if let Some(Ok(_)) = read { Kind::FreeLog } else { Kind::Log };
    headless.iter().for_each(|member| run.find(&member.finding(kind)));
    match read {
        Some(Err(stop)) if headless.is_empty() => {
            let file = place.directory.display().to_string();
            run.find(&Finding::of_file(Kind::Redo, file, format!("can't be opened: {stop}")));
            Ok(None)
        }
        read => Ok(read.and_then(Result::ok)),
    }
}

/// A member of a redo log group that can't be used.
struct NoGood {
    path: PathBuf,
    group: u16,
    /// `None` if another program has it open.
    why: Option<String>,
    /// Whether this process lacks the right to read it, so that nothing is known of it.
    is_unreadable: bool,
}

impl NoGood {
    fn finding(&self, kind: Kind) -> Finding {
        let what = match &self.why {
            Some(why) if self.is_unreadable => {
                format!("of group {} isn't checked: {why}", self.group)
            }
            Some(why) => format!("of group {} is no good: {why}", self.group),
            None => format!("of group {} {IN_USE}", self.group),
        };
        let mut finding = Finding::of_file(kind, self.path.display().to_string(), what);
        finding.advice = finding.advice.replace("NUMBER", &self.group.to_string());
        finding
    }
}

/// Checks the members that the control file calls good, and locks them to read redo. Returns those
/// that can't be used, and those of groups in which none has a header.
fn look_at_members(
    place: ClosedDatabase<'_>,
    config: &mut RedoConfig,
) -> Result<(Vec<NoGood>, Vec<NoGood>), Stop> {
    let owner = config.owner();
    let (mut lost, mut headless) = (Vec::new(), Vec::new());
    for group in &config.groups {
        let alone = LogGroup { members: Vec::new(), ..group.clone() };
        let (mut has_header, mut without) = (false, Vec::new());
        for member in group.members.iter().filter(|member| !member.good) {
            place.session.os().notice(&format!(
                "the member {} of redo log group {} is invalid, and wasn't looked at; it is good \
                 again when a log has begun there, as long as the file can be written: each \
                 opening begins a log in the next group ('forebay recover {}')",
                member.path.display(),
                group.number,
                place.directory.display()
            ));
        }
        for member in group.members.iter().filter(|member| member.good) {
            let (path, number) = (&member.path, group.number);
            let no_good =
                |why| NoGood { path: path.clone(), group: number, why, is_unreadable: false };
            let opened = place.disk.open_read_only(path, place.options, place.session);
            let has_others = group.members.iter().filter(|member| member.good).count() > 1;
            match opened {
                Err(error) if has_others && error.cause() == Cause::PermissionDenied => {
                    let unread = no_good(Some(error.to_string()));
                    lost.push(NoGood { is_unreadable: true, ..unread });
                    continue;
                }
                _ => place.may_read(path, REDO_BLOCK)?,
            }
            let looked = redo::look_at_member(
                place.disk,
                place.options,
                &owner,
                &alone,
                &member.path,
                place.session,
            );
            let looked = match own(place, &member.path, &mut config.owned) {
                Err(error) if error.cause() == Cause::InUse => {
                    lost.push(no_good(None));
                    continue;
                }
                Err(error) if looked.is_ok() => Err(of_file(error)?.to_string()),
                _ => looked,
            };
            match looked {
                Ok(None) => has_header = true,
                Ok(Some(reason)) => without.push(no_good(Some(reason.to_string()))),
                Err(why) => lost.push(no_good(Some(why))),
            }
        }
        if has_header { &mut lost } else { &mut headless }.append(&mut without);
    }
    Ok((lost, headless))
}

/// Opens a member only to be read, and locks it.
fn own(place: ClosedDatabase<'_>, path: &Path, owned: &mut OwnedFiles) -> Result<(), os::Error> {
    let options = DurableWrite::BufferedThenSync.file_options();
    let file = place.disk.open_read_only(path, options, place.session)?;
    owned.lock(&file, place.session)
}

/// Redo that was read from the control file's checkpoint to its end.
struct RedoSeen {
    last_scn: Scn,
    has_records: bool,
}

fn read_redo(
    place: ClosedDatabase<'_>,
    config: &RedoConfig,
    content: &ControlContent,
) -> Result<RedoSeen, Stop> {
    let (known, session) = (content.checkpoint_scn, place.session);
    let from = RecordPosition { scn: known.next(), rba: content.checkpoint };
    let mut reader = Reader::open(place.disk, config, from, session)?;
    let mut has_records = false;
    while reader.next(session)?.is_some() {
        has_records = true;
    }
    let end = reader.end().expect("there is no next record");
    reader.close(session)?;
    Ok(RedoSeen { last_scn: end.last_scn.max(known), has_records })
}

fn data_files(
    place: ClosedDatabase<'_>,
    content: &ControlContent,
    has_unnamed: &mut bool,
    run: &mut Run<'_, '_>,
) -> Result<Vec<(DataFile, File)>, Stop> {
    let (mut files, mut owned) = (Vec::new(), OwnedFiles::default());
    for entry in &content.data_files {
        let path = place.now_at(place.directory.join(&entry.path), has_unnamed);
        let Some(tablespace) = content.tablespace(entry.tablespace) else { continue };
        let block_size = tablespace.block_size;
        place.may_read(&path, block_size)?;
        let mut find = |kind: Kind, what: String| {
            run.find(&Finding::of_file(kind, path.display().to_string(), what));
        };
        let expected = content.expected(entry);
        let opened =
            open_data_file_read_only(place.disk, &path, place.options, &expected, place.session);
        let (file, fault) = match opened {
            Ok(file) => (file, None),
            Err(stop) if stop.refusal().is_none() => return Err(stop),
            // If the file is there, its other blocks are checked all the same.
            Err(stop) => match place.disk.open_read_only(&path, place.options, place.session) {
                Ok(file) => (file, Some(stop)),
                Err(_) => {
                    find(Kind::File, format!("can't be used: {stop}"));
                    continue;
                }
            },
        };
        match owned.lock(&file, place.session) {
            Err(error) if error.cause() == Cause::InUse => {
                find(Kind::InUse, IN_USE.to_string());
                continue;
            }
            Err(error) => find(Kind::File, format!("can't be used: {}", of_file(error)?)),
            Ok(()) => {}
        }
        if let Some(stop) = fault {
            find(Kind::File, format!("can't be used: {stop}"));
        }
        let mut block = IoBuf::zeroed(block_size.bytes());
        let waiting = place.session.waiting(WaitEvent::DbFileSequentialRead);
        let address = Dba { file: entry.number, block: BlockNo::new(0) };
        if file.read_at(0, &mut block, waiting).is_ok()
            && format::check(&block, address).is_ok()
            && let Err(what) = look_at_file_header(&block, &content.history(), entry, tablespace)
        {
            find(Kind::File, what);
        }
        let file_of = DataFile {
            number: entry.number,
            path: entry.path.clone(),
            block_size,
            blocks: entry.blocks,
            extent_blocks: tablespace.extent_blocks,
            tablespace: entry.tablespace.0,
        };
        files.push((file_of, file));
    }
    Ok(files)
}
