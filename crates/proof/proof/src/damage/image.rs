//! The data files of a database that is shut, as blocks, and which segment has which of them.
//!
//! Callers: `made`; the damages, which change blocks of a copy.

use access::is_of;
use format::{BlockHeader, BlockKind};
use ids::{Dba, FileNo};
use sim::fs::FileSystem;
use space::{
    Blocks, ControlContent, DIRECTORY_FIRST, EntrySeen, HeaderSeen, Holds, look_at_directory,
    look_at_header,
};

use crate::shape::DIRECTORY;

/// A data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DataFile {
    pub(super) number: FileNo,
    pub(super) path: String,
    pub(super) block_bytes: usize,
    pub(super) extent_blocks: u32,
    pub(super) tablespace: u16,
    pub(super) blocks: Vec<Vec<u8>>,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) files: Vec<DataFile>,
}

/// A segment, as its header says.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) object: u32,
    pub(super) holds: Holds,
    pub(super) header: Dba,
    /// Those that were handed out, the header first.
    pub(super) blocks: Vec<Dba>,
}

impl Image {
    pub(super) fn of(disk: &FileSystem, content: &ControlContent) -> Image {
        let mut disk = disk.clone();
        let files = content.data_files.iter().map(|entry| {
            let tablespace = content.tablespace(entry.tablespace).expect("each file is of one");
            let block_bytes = tablespace.block_size.bytes();
            let file = disk.open(path(&entry.path)).expect("it was closed in good order");
            let mut bytes = vec![0; disk.len(file).expect("it is open") as usize];
            let read = disk.read(file, 0, &mut bytes).expect("it is open");
            assert_eq!(read, bytes.len(), "{} is read whole", entry.path);
            let mut blocks: Vec<_> = bytes.chunks(block_bytes).map(<[u8]>::to_vec).collect();
            blocks.truncate(entry.blocks as usize);
            DataFile {
                number: entry.number,
                path: entry.path.clone(),
                block_bytes,
                extent_blocks: tablespace.extent_blocks,
                tablespace: tablespace.number.0,
                blocks,
            }
        });
        Image { files: files.collect() }
    }

    /// The disk with these data files, of which it has those of `before`.
    pub(super) fn onto(&self, disk: &FileSystem, before: &Image) -> FileSystem {
        let mut disk = disk.clone();
        for (now, before) in self.files.iter().zip(&before.files).filter(|(now, was)| now != was) {
            let file = disk.open(path(&now.path)).expect("it is there");
            if now.blocks.len() < before.blocks.len() {
                let bytes = now.blocks.len() * now.block_bytes;
                disk.set_len(file, bytes as u64).expect("it may be shorter");
            }
            for (number, block) in now.blocks.iter().enumerate() {
                if before.blocks.get(number) != Some(block) {
                    let at = (number * now.block_bytes) as u64;
                    disk.write(file, at, block, false).expect("there is room");
                }
            }
            disk.sync(file).expect("it is open");
            disk.close(file).expect("it is open");
        }
        disk
    }

    pub(super) fn file(&self, number: FileNo) -> Option<&DataFile> {
        self.files.iter().find(|file| file.number == number)
    }

    /// A block's bytes; none beyond the end of its file.
    pub(super) fn block(&self, at: Dba) -> Option<&[u8]> {
        self.file(at.file)?.blocks.get(at.block.get() as usize).map(|block| &block[..])
    }

    /// The same of a block that is there.
    pub(super) fn known(&self, at: Dba) -> &[u8] {
        self.block(at).expect("the file has the block")
    }

    /// To be changed; `seal` it.
    pub(super) fn block_mut(&mut self, at: Dba) -> &mut [u8] {
        let file = self.files.iter_mut().find(|file| file.number == at.file);
        &mut file.expect("there is the file").blocks[at.block.get() as usize]
    }

    /// Gives a block that was changed its checksum.
    pub(super) fn seal(&mut self, at: Dba) {
        format::seal(self.block_mut(at), at);
    }

    /// Puts the bytes there that the block has in another image; zeros if it has none.
    pub(super) fn set(&mut self, at: Dba, bytes: Option<&[u8]>) {
        let block = self.block_mut(at);
        match bytes {
            Some(bytes) => block.copy_from_slice(bytes),
            None => block.fill(0),
        }
    }

    /// Every block.
    pub(super) fn all(&self) -> impl Iterator<Item = (Dba, &[u8])> {
        self.files.iter().flat_map(|file| {
            let blocks = (0..).zip(&file.blocks);
            blocks.map(|(number, block)| (Dba::new(file.number.get(), number), &block[..]))
        })
    }

    /// What a block is; none if it was never written.
    pub(super) fn kind(&self, at: Dba) -> Option<BlockKind> {
        let block = self.block(at)?;
        block.iter().any(|byte| *byte != 0).then(|| BlockHeader::at(block, 0).kind())
    }

    /// The segments that the directory has.
    pub(super) fn segments(&self) -> Vec<Segment> {
        let entries = |at: Dba| look_at_directory(self.known(at)).unwrap_or_default();
        let mut all = entries(DIRECTORY_FIRST);
        let own = all.iter().find(|entry| entry.holds == Holds::Directory).cloned();
        if let Some(own) = own.and_then(|own| self.segment(&own)) {
            let others = own.blocks.iter().skip(1);
            let others = others.filter(|at| self.kind(**at) == Some(BlockKind::Directory));
            all.extend(others.flat_map(|at| entries(*at)));
        }
        all.iter().filter_map(|entry| self.segment(entry)).collect()
    }

    fn segment(&self, entry: &EntrySeen) -> Option<Segment> {
        let HeaderSeen { extents, high_water, .. } =
            look_at_header(self.block(entry.header)?).ok()?;
        let blocks = extents.into_iter().flat_map(Blocks::addresses);
        Some(Segment {
            object: entry.object.get(),
            holds: entry.holds,
            header: entry.header,
            blocks: blocks.take(high_water as usize).collect(),
        })
    }

    /// Blocks of a segment that are of one of these kinds, and its own in this life.
    pub(super) fn of_kinds(&self, segment: &Segment, kinds: &[BlockKind]) -> Vec<Dba> {
        let is_its = |at: &Dba| is_of(self.known(*at), kinds, segment.object);
        segment.blocks.iter().copied().filter(is_its).collect()
    }
}

fn path(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}
