//! Writing a run, block after block, piece after piece.
//!
//! Callers: `passes`; `sorter`, when the chunks are full; `spool`.

use format::{BlockHeader, BlockKind, SORT_BLOCK, SortBlock};
use os::{Cost, IoBuf};
use stop::Stop;

use crate::record::{self, BLOCK_KIB};
use crate::run::Run;
use crate::space::Extent;
use crate::temp_file::TempFile;

/// Where the records of a block begin.
pub(crate) const RECORDS_AT: usize = SortBlock::START + SortBlock::BYTES;

/// A run that is being written.
pub(crate) struct RunWriter {
    run: Run,
    piece: Option<Piece>,
    /// The block of the piece that is being filled.
    block: u32,
    /// The offset of the next record in that block.
    at: usize,
}

/// The piece that is being filled.
struct Piece {
    number: u32,
    buffer: IoBuf,
}

impl RunWriter {
    /// A writer of a new run without rows.
    pub(crate) fn new(temp: &mut TempFile<'_>) -> RunWriter {
        let run = Run { number: temp.state.runs, extents: Vec::new(), blocks: 0, rows: 0 };
        temp.state.runs += 1;
        RunWriter { run, piece: None, block: 0, at: RECORDS_AT }
    }

    /// Adds a row, as it lies in a chunk.
    #[inline]
    pub(crate) fn append(&mut self, record: &[u8], temp: &mut TempFile<'_>) -> Result<(), Stop> {
        self.room(record.len(), temp)?.copy_from_slice(record);
        Ok(())
    }

    /// Adds a row of this key and payload.
    #[inline]
    pub(crate) fn put(
        &mut self,
        key: &[u8],
        payload: &[u8],
        temp: &mut TempFile<'_>,
    ) -> Result<(), Stop> {
        record::put(self.room(record::length_of(key, payload), temp)?, key, payload);
        Ok(())
    }

    /// The place of a further record of this length, which counts as a row from now on.
    #[inline]
    fn room(&mut self, length: usize, temp: &mut TempFile<'_>) -> Result<&mut [u8], Stop> {
        if self.at + length > SORT_BLOCK.bytes() {
            self.end_block(temp)?;
        }
        if self.piece.is_none() {
            self.begin_piece(temp)?;
        }
        let at = self.block as usize * SORT_BLOCK.bytes() + self.at;
        self.at += length;
        self.run.rows += 1;
        let piece = self.piece.as_mut().expect("it was just begun, or is being filled");
        Ok(&mut piece.buffer[at..][..length])
    }

    /// Ends the run. It can be read once the writes have completed.
    pub(crate) fn finish(mut self, temp: &mut TempFile<'_>) -> Result<Run, Stop> {
        if self.at > RECORDS_AT {
            self.end_block(temp)?;
        }
        if let Some(Piece { number, mut buffer }) = self.piece {
            buffer[self.block as usize * SORT_BLOCK.bytes()..].fill(0);
            temp.write(number, buffer)?;
        }
        self.run.extents.shrink_to_fit();
        Ok(self.run)
    }

    #[cold]
    fn begin_piece(&mut self, temp: &mut TempFile<'_>) -> Result<(), Stop> {
        let buffer = temp.write_buffer()?;
        let number = temp.state.space.take()?;
        Extent::append(&mut self.run.extents, number);
        self.piece = Some(Piece { number, buffer });
        Ok(())
    }

    /// Completes the block, and writes the piece if that was its last block.
    #[cold]
    fn end_block(&mut self, temp: &mut TempFile<'_>) -> Result<(), Stop> {
        let piece = self.piece.as_mut().expect("a block with records is in a piece");
        let start = self.block as usize * SORT_BLOCK.bytes();
        let block = &mut piece.buffer[start..][..SORT_BLOCK.bytes()];
        block[self.at..].fill(0);
        let address = temp.address(piece.number, self.block);
        *BlockHeader::of_mut(block) = BlockHeader::new(BlockKind::Sort, address);
        *SortBlock::at_mut(block, SortBlock::START) = SortBlock {
            sort: temp.state.sort.into(),
            run: self.run.number.into(),
            number: self.run.blocks.into(),
            used: ((self.at - RECORDS_AT) as u32).into(),
            reserved: [0; 4],
        };
        format::seal(block, address);
        temp.session.charge(Cost::ChecksumKib, BLOCK_KIB);
        temp.session.charge(Cost::CopyKib, BLOCK_KIB);
        self.run.blocks += 1;
        self.block += 1;
        self.at = RECORDS_AT;
        if self.block == temp.state.plan.piece_blocks() {
            let Piece { number, buffer } = self.piece.take().expect("it was just filled");
            self.block = 0;
            temp.write(number, buffer)?;
        }
        Ok(())
    }
}
