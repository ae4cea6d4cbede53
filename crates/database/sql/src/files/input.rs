//! Bytes that rows are read from: a file, one packed by gzip, the client.
//!
//! Invariant: between two calls there is an open file and a position in it, and no I/O in flight
//! (rule SQ43).
//!
//! Callers: `reader`.

use std::io::Write;
use std::path::Path;

use flate2::write::MultiGzDecoder;
use os::{File, FileOperation, FileOptions, Session};
use stop::{SqlState, Stop};
use syntax::Compression;

use super::stream::no_client;
use crate::refuse::refuse;
use crate::schema::VirtualContext;

/// The most bytes of one read of a plain file.
const PIECE_BYTES: usize = 256 << 10;
/// The same of a packed one. Gzip makes at most a thousand bytes of one: what a piece unpacks to
/// stays within some MiB.
const PACKED_BYTES: usize = 8 << 10;

/// The way in which files of others are opened: through the page cache.
pub(super) const PLAIN: FileOptions = FileOptions { direct: false, write_through: false };

/// The two bytes that a file packed by gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Where bytes come from.
pub(super) enum Input {
    /// A file as it is.
    Plain(Pieces),
    /// A file packed by gzip.
    Packed(Pieces, Box<MultiGzDecoder<Vec<u8>>>),
    /// The client.
    Client,
}

impl Input {
    /// Opens a file. Without a word about its packing, its first bytes say it.
    pub(super) fn open(
        path: &Path,
        compression: Option<Compression>,
        of: &VirtualContext<'_>,
    ) -> Result<Input, Stop> {
        let file = of.disk().open_read_only(path, PLAIN, of.session)?;
        let pieces = Pieces { end: file.length()?, file, at: 0 };
        let is_packed = match compression {
            Some(compression) => compression == Compression::Gzip,
            None => pieces.begins_with(GZIP, of.session)?,
        };
        Ok(match is_packed {
            true => Input::Packed(pieces, Box::new(MultiGzDecoder::new(Vec::new()))),
            false => Input::Plain(pieces),
        })
    }

    /// Appends the next bytes to `into`. Returns false if none come any more.
    pub(super) fn read(
        &mut self,
        into: &mut Vec<u8>,
        of: &VirtualContext<'_>,
    ) -> Result<bool, Stop> {
        match self {
            Input::Plain(pieces) => pieces.read(PIECE_BYTES, into, of.session),
            Input::Packed(pieces, decoder) => {
                let mut packed = Vec::new();
                let goes_on = pieces.read(PACKED_BYTES, &mut packed, of.session)?;
                let unpacked = match goes_on {
                    true => decoder.write_all(&packed),
                    false => decoder.try_finish(),
                };
                unpacked.map_err(|error| damaged(pieces.file.path(), &error))?;
                into.append(decoder.get_mut());
                Ok(goes_on)
            }
            Input::Client => {
                let client = of.client.ok_or_else(|| no_client("FROM STDIN", "copy_in"))?;
                let mut piece = Vec::new();
                client.read(&mut piece, of.session)?;
                into.extend_from_slice(&piece);
                Ok(!piece.is_empty())
            }
        }
    }
}

/// A file that is read from its beginning to the end that it had when it was opened.
pub(super) struct Pieces {
    file: File,
    at: u64,
    end: u64,
}

impl Pieces {
    fn begins_with<const N: usize>(&self, sign: [u8; N], session: &Session) -> Result<bool, Stop> {
        if self.end < N as u64 {
            return Ok(false);
        }
        let mut begin = [0; N];
        self.file.read_at(0, &mut begin, FileOperation::Read.waiting(session))?;
        Ok(begin == sign)
    }

    fn read(&mut self, most: usize, into: &mut Vec<u8>, session: &Session) -> Result<bool, Stop> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let (begin, bytes) = (into.len(), left.min(most));
        if bytes == 0 {
            return Ok(false);
        }
        into.resize(begin + bytes, 0);
        self.file.read_at(self.at, &mut into[begin..], FileOperation::Read.waiting(session))?;
        self.at += bytes as u64;
        Ok(true)
    }
}

#[cold]
fn damaged(path: &Path, error: &std::io::Error) -> Stop {
    let message = format!("{} can't be unpacked by gzip: {error}", path.display());
    refuse(SqlState::DATA_CORRUPTED, message)
}
