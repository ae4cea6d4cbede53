//! What opening looks at first: both copies of the control file, the redo logs' headers, the data
//! files' lengths and headers.
//!
//! Caller: `closed`.

use std::path::Path;

use ids::{BlockNo, Dba};
use os::{Disk, File, FileOptions, IoBuf, Session};
use redo::LogGroup;
use space::{
    ControlContent, ControlCopy, ControlFile, ControlState, look_at_file_header,
    open_data_file_read_only,
};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::report::Run;
use crate::source::DataFile;
use crate::{Finding, Kind};

/// The files of a database that is shut, open to be read.
pub(crate) struct Files {
    pub(crate) content: ControlContent,
    /// Those that are there; a file that isn't was found to be missing.
    pub(crate) data: Vec<(DataFile, File)>,
    /// Keep others from opening the database.
    _copies: [ControlCopy; 2],
}

/// Where a database is, and how its files are opened.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) disk: &'p Disk,
    pub(crate) directory: &'p Path,
    pub(crate) options: FileOptions,
    pub(crate) session: &'p Session,
}

impl Files {
    /// Opens what is there. Refused if it is no database, or nothing is known of it.
    pub(crate) fn open(place: Place<'_>, run: &mut Run<'_, '_>) -> Result<Files, Stop> {
        let copies =
            ControlFile::look(place.disk, place.directory, place.options.direct, place.session)?;
        let content = believed(&copies, run)?;
        if content.state == ControlState::Creating {
            let message = format!(
                "cannot verify {}: its creation didn't come to its end; remove it and create it \
                 again",
                place.directory.display()
            );
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        check_logs(place, &content, run);
        let data = data_files(place, &content, run)?;
        Ok(Files { content, data, _copies: copies })
    }
}

/// What the newer whole copy says, as opening would believe it.
fn believed(copies: &[ControlCopy; 2], run: &mut Run<'_, '_>) -> Result<ControlContent, Stop> {
    let whole = |copy: &ControlCopy| copy.said.clone().ok();
    let newest = copies.iter().filter_map(whole).max_by_key(|(version, _)| *version);
    let Some((_, content)) = newest else {
        let faults: Vec<_> = copies.iter().filter_map(|copy| copy.said.clone().err()).collect();
        let message = format!("cannot verify the database: {}", faults.join("; "));
        return Err(Stop::refuse(RefusalKind::Corrupt, message));
    };
    for copy in copies {
        let fault = match &copy.said {
            Err(what) => Some(format!("can't be used: {what}")),
            Ok((_, said)) if said.database != content.database => {
                Some("is of another database".to_string())
            }
            Ok(_) => None,
        };
        if let Some(what) = fault {
            let file = copy.path.display().to_string();
            run.find(&Finding { kind: Kind::Control, file, block: None, what });
        }
    }
    Ok(content)
}

/// The headers of the members that are good: after a crash one may be half written.
fn check_logs(place: Place<'_>, content: &ControlContent, run: &mut Run<'_, '_>) {
    for group in &content.log_groups {
        let alone = LogGroup { number: group.number, blocks: group.blocks, members: Vec::new() };
        for member in group.members.iter().filter(|member| member.good) {
            let path = place.directory.join(&member.path);
            let media = (place.disk, place.options);
            let looked =
                redo::look_at_member(media, content.database, (&alone, &path), place.session);
            if let Err(what) = looked {
                let file = path.display().to_string();
                let what = format!("of group {} is no good: {what}", group.number);
                run.find(&Finding { kind: Kind::Log, file, block: None, what });
            }
        }
    }
}

fn data_files(
    place: Place<'_>,
    content: &ControlContent,
    run: &mut Run<'_, '_>,
) -> Result<Vec<(DataFile, File)>, Stop> {
    let mut files = Vec::new();
    for entry in &content.data_files {
        let path = place.directory.join(&entry.path);
        let Some(tablespace) = content.tablespace(entry.tablespace) else { continue };
        let block_size = tablespace.block_size;
        let mut find = |what: String| {
            let file = path.display().to_string();
            run.find(&Finding { kind: Kind::File, file, block: None, what });
        };
        let what = (content.history(), entry, block_size);
        let opened =
            open_data_file_read_only(place.disk, &path, place.options, what, place.session);
        let file = match opened {
            Ok(file) => file,
            Err(stop) if stop.refusal().is_none() => return Err(stop),
            Err(stop) => {
                find(format!("can't be used: {stop}"));
                // Its other blocks are looked at all the same, if it is there.
                match place.disk.open_read_only(&path, place.options, place.session) {
                    Ok(file) => file,
                    Err(_) => continue,
                }
            }
        };
        let mut block = IoBuf::zeroed(block_size.bytes());
        let waiting = place.session.waiting(WaitEvent::DbFileSequentialRead);
        let address = Dba { file: entry.number, block: BlockNo::new(0) };
        if file.read_at(0, &mut block, waiting).is_ok()
            && format::check(&block, address).is_ok()
            && let Err(what) = look_at_file_header(&block, (content.history(), entry, tablespace))
        {
            find(what);
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
