//! Free space and segments: the directory, the segment headers and the extent maps agree.
//!
//! An extent changes its segment in one group that changes its file's map. So if the map hasn't
//! changed while the headers were read, they belong to one moment (VF10).
//!
//! Callers: `closed`, `live`.

use std::collections::{BTreeMap, BTreeSet};

use format::{BlockHeader, BlockKind};
use ids::{Dba, FileNo, ObjectNo};
use space::{
    Blocks, DIRECTORY_FIRST, EntrySeen, HeaderSeen, Holds, MapSeen, SegmentState, extents_of_run,
    look_at_directory, look_at_header, look_at_map, map_of,
};
use stop::Stop;

use crate::Kind;
use crate::source::{Check, DataFile, Looks, Seen, Source, Suspicion, within_files};

/// A segment whose header agrees with the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) name: String,
    pub(crate) object: u32,
    pub(crate) header: Dba,
    pub(crate) holds: Holds,
    pub(crate) state: SegmentState,
    extents: Vec<Blocks>,
    pub(crate) high_water: u32,
    /// The first of the blocks that were given back.
    pub(crate) free: Option<Dba>,
}

/// The blocks of extents up to the high water, the header first.
fn handed_out(extents: &[Blocks], high_water: u32) -> impl Iterator<Item = Dba> + '_ {
    extents.iter().flat_map(|run| run.addresses()).take(high_water as usize)
}

impl Segment {
    /// Whether the segment uses this block: of a table or an index those handed out, else all.
    pub(crate) fn uses(&self, block: Dba) -> bool {
        let limit = match self.holds {
            Holds::Table | Holds::Index => self.high_water,
            Holds::Undo | Holds::Directory => u32::MAX,
        };
        let mut before = 0;
        for run in &self.extents {
            let nth = block.block.get().checked_sub(run.first.block.get());
            if let Some(nth) = nth.filter(|nth| run.first.file == block.file && *nth < run.count) {
                return before + nth < limit;
            }
            before += run.count;
        }
        false
    }

    /// What it is, for messages.
    pub(crate) fn described(&self) -> String {
        let what = match self.holds {
            Holds::Table => "table",
            Holds::Index => "index",
            Holds::Undo | Holds::Directory => "segment",
        };
        format!("{what} {}", self.name)
    }

    /// Whether it is an index that a user can drop, and not one of the dictionary's.
    pub(crate) fn is_users_index(&self) -> bool {
        let is_permanent = self.state == SegmentState::Permanent;
        self.holds == Holds::Index && is_permanent && !self.name.starts_with('_')
    }

    /// The blocks that were handed out, the header first.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Dba> + '_ {
        handed_out(&self.extents, self.high_water)
    }
}

/// One look at free space and segments.
struct SpaceLook<'c, 'l, 's> {
    files: &'c [DataFile],
    looks: &'c Looks<'l>,
    suspicions: &'s mut Vec<Suspicion>,
    maps: BTreeMap<FileNo, MapSeen>,
    owners: BTreeMap<(FileNo, u32), (String, Dba)>,
    /// Whether a block couldn't be used: then an extent without a segment needn't be lost.
    is_partial: bool,
}

/// The segments that were found.
pub(crate) struct Segments {
    pub(crate) list: Vec<Segment>,
    /// Whether there may be others, of which a block can't be used.
    pub(crate) is_partial: bool,
}

/// Checks free space, and finds the segments.
pub(crate) fn check(check: &mut Check<'_, '_, '_>) -> Result<Segments, Stop> {
    let source = check.source;
    let segments = check.settle(|looks, suspicions| {
        let (maps, owners) = (BTreeMap::new(), BTreeMap::new());
        let files = source.files();
        let mut look = SpaceLook { files, looks, suspicions, maps, owners, is_partial: false };
        look.maps()?;
        let entries = look.directory()?;
        let mut list = Vec::new();
        for entry in entries {
            list.extend(look.segment(entry)?);
        }
        look.leaks();
        Ok(Segments { list, is_partial: look.is_partial })
    })?;
    check.run.report.segments = segments.list.len() as u64;
    Ok(segments)
}

/// The segment by its header now; none if it is gone.
pub(crate) fn again(source: &dyn Source, segment: &Segment) -> Result<Option<Segment>, Stop> {
    let Seen::Whole(bytes) = source.read(segment.header)? else { return Ok(None) };
    let header = look_at_header(&bytes).ok().filter(|header| header.object == segment.object);
    let header = header.map(|header| within_files(source, header));
    Ok(header.map(|header| Segment {
        extents: header.extents,
        high_water: header.high_water,
        free: header.free,
        ..segment.clone()
    }))
}

impl SpaceLook<'_, '_, '_> {
    fn suspect(&mut self, block: Dba, what: impl Into<String>) {
        self.suspicions.push(Suspicion::new(Kind::Space, block, what));
    }

    fn file(&self, number: FileNo) -> Option<&DataFile> {
        self.files.iter().find(|file| file.number == number)
    }

    fn maps(&mut self) -> Result<(), Stop> {
        for file in self.files {
            let at = map_of(file.number);
            let bytes = self.looks.bytes(at)?;
            // After the map was read, for a file is longer before its map says so (rule space/SP8).
            let blocks = self.looks.source.blocks_by_now(file.number);
            let map = bytes.and_then(|bytes| look_at_map(&bytes, blocks, file.extent_blocks));
            match map {
                Ok(map) => _ = self.maps.insert(file.number, map),
                Err(what) => self.suspect(at, what),
            }
        }
        Ok(())
    }

    /// The entries of the directory.
    fn directory(&mut self) -> Result<Vec<EntrySeen>, Stop> {
        let mut entries = self.directory_block(DIRECTORY_FIRST, true)?;
        let own = entries.iter().find(|entry| entry.object == ObjectNo::DIRECTORY).cloned();
        if let Some(own) = own
            && let Ok(bytes) = self.looks.bytes(own.header)?
            && let Ok(header) = look_at_header(&bytes)
        {
            let header = within_files(self.looks.source, header);
            let blocks: Vec<_> = handed_out(&header.extents, header.high_water).collect();
            // The last one may never have been formatted.
            for (place, block) in blocks.iter().enumerate().skip(1) {
                let must_be = place + 1 < blocks.len();
                entries.extend(self.directory_block(*block, must_be)?);
            }
        }
        let (mut objects, mut names) = (BTreeMap::new(), BTreeMap::new());
        for entry in &entries {
            let is_named = entry.state != SegmentState::Dropping;
            let same_object = objects.insert(entry.object, entry.block);
            let same_name = is_named.then(|| names.insert(&entry.name, entry.block)).flatten();
            if let Some(other) = same_object.or(same_name) {
                let (name, object) = (&entry.name, entry.object);
                let what = format!("is the header of {name} ({object}), as another one is");
                let suspicion = Suspicion::new(Kind::Space, entry.header, what);
                self.suspicions.push(suspicion.and(entry.block).and(other));
            }
        }
        Ok(entries)
    }

    fn directory_block(&mut self, at: Dba, must_be: bool) -> Result<Vec<EntrySeen>, Stop> {
        let seen = self.looks.read(at)?;
        // If it was never formatted, it may hold a block that a former segment has left.
        let is_formatted = match &seen {
            Seen::Whole(bytes) => BlockHeader::at(bytes, 0).kind() == BlockKind::Directory,
            seen => *seen != Seen::Unwritten,
        };
        if !must_be && !is_formatted {
            return Ok(Vec::new());
        }
        let seen = self.looks.bytes(at)?.and_then(|bytes| look_at_directory(&bytes));
        Ok(seen.unwrap_or_else(|what| {
            self.is_partial = true;
            if must_be {
                self.suspect(at, what);
            }
            Vec::new()
        }))
    }

    /// Compares a header with its entry, and notes its extents.
    fn segment(&mut self, entry: EntrySeen) -> Result<Option<Segment>, Stop> {
        let EntrySeen { block, name, object, header: at, holds, state } = entry;
        let header = self.looks.bytes(at)?.and_then(|bytes| look_at_header(&bytes));
        let header = header.and_then(|header| {
            let is_dropping = state == SegmentState::Dropping;
            let same = (header.object, header.holds, header.is_dropping);
            match same == (object.get(), holds, is_dropping) {
                true => Ok(header),
                false => Err(format!("says that it is of {same:?}")),
            }
        });
        let header = match header {
            Ok(header) => header,
            Err(what) => {
                self.is_partial = true;
                let what = format!("is the header of segment {name} ({object}) and {what}");
                self.suspicions.push(Suspicion::new(Kind::Space, at, what).and(block));
                return Ok(None);
            }
        };
        if header.extents[0].first != at {
            self.suspect(at, format!("is the header of {name}, and not its first block"));
        }
        self.extents_of(&name, at, &header);
        let HeaderSeen { extents, high_water, free, .. } = within_files(self.looks.source, header);
        let object = object.get();
        Ok(Some(Segment { name, object, header: at, holds, state, extents, high_water, free }))
    }

    fn extents_of(&mut self, name: &str, at: Dba, header: &HeaderSeen) {
        let tablespace = self.file(at.file).map(|file| file.tablespace);
        for run in &header.extents {
            let number = run.first.file;
            let Some(file) = self.file(number) else {
                // In an open database the file may have been added meanwhile.
                if !self.looks.source.is_live() {
                    self.suspect(
                        at,
                        format!("gives {name} an extent of file {number}, which isn't"),
                    );
                }
                continue;
            };
            // The header may lie in a file that was added meanwhile.
            let of_another =
                tablespace.map_or(!self.looks.source.is_live(), |its| its != file.tablespace);
            if of_another {
                self.suspect(
                    at,
                    format!("gives {name} an extent of another tablespace, {}", run.first),
                );
                continue;
            }
            let Some(map) = self.maps.get(&number) else { continue };
            let of_run = extents_of_run(*run, file.extent_blocks);
            let Some(numbers) = of_run.filter(|numbers| numbers.end <= map.extents) else {
                let what = format!(
                    "gives {name} {} blocks from {} on, which aren't extents",
                    run.count, run.first
                );
                self.suspicions.push(Suspicion::new(Kind::Space, at, what).and(map_of(number)));
                continue;
            };
            for extent in numbers {
                let before = self.owners.insert((number, extent), (name.to_string(), at));
                if let Some((other, its)) = before {
                    let what = format!(
                        "gives {name} extent {extent} of file {number}, as {its} gives {other}"
                    );
                    let suspicion = Suspicion::new(Kind::Space, at, what);
                    self.suspicions.push(suspicion.and(its).and(map_of(number)));
                }
            }
        }
    }

    /// Checks that the extents in use are those that segments have.
    fn leaks(&mut self) {
        let maps = std::mem::take(&mut self.maps);
        for (file, map) in &maps {
            let owned: BTreeSet<u32> = self
                .owners
                .range((*file, 0)..=(*file, u32::MAX))
                .map(|((_, extent), _)| *extent)
                .collect();
            let taken: BTreeSet<u32> = map.taken.iter().copied().collect();
            let lost: Vec<u32> = match self.is_partial {
                true => Vec::new(),
                false => taken.difference(&owned).copied().collect(),
            };
            for extent in lost {
                self.suspect(
                    map_of(*file),
                    format!("has extent {extent} in use, which no segment has"),
                );
            }
            for extent in owned.difference(&taken) {
                let (name, header) = self.owners[&(*file, *extent)].clone();
                let what = format!("has extent {extent} free, which {name} has");
                let suspicion = Suspicion::new(Kind::Space, map_of(*file), what);
                self.suspicions.push(suspicion.and(header));
            }
        }
    }
}
