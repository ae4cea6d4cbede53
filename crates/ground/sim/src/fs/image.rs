//! The content of one file at one moment: a length and the chunks that are not all zero.
//!
//! ```text
//!   Image { len, chunks ──▶ { 0 ──▶ Chunk, 7 ──▶ Chunk, ... } }     absent chunk = zeros
//! ```
//!
//! Copy-on-write twice over: cloning an image shares the map, and changing one chunk of a shared
//! map copies that chunk only. So a snapshot costs nothing and a crash state costs what it changes.
//!
//! Invariants
//!   * bytes at and beyond `len` are zero in every stored chunk
//!   * a chunk's cached digest is that of its bytes: every change of bytes forgets it
//!   * equal content has equal digests, whether zero chunks are stored or absent
//!
//! Callers: `file` for the two views, `crash` for the surviving image.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::mix;

const CHUNK_BYTES: usize = 4096;
const CHUNK_BYTES_U64: u64 = 4096;
const DIGEST_UNKNOWN: u64 = 0;
const DIGEST_ZEROS: u64 = 1;

/// Largest file. Far above any capacity, so that sums of offsets cannot overflow.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 48;

/// A stable hash of names, sizes and contents: equal file systems have equal hashes, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageHash(pub u64);

impl fmt::Display for ImageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

struct Chunk {
    bytes: [u8; CHUNK_BYTES],
    /// Cache of the digest; relaxed, because it is a pure function of `bytes`.
    digest: AtomicU64,
}

impl Clone for Chunk {
    fn clone(&self) -> Chunk {
        Chunk { bytes: self.bytes, digest: AtomicU64::new(DIGEST_UNKNOWN) }
    }
}

impl Chunk {
    fn zeroed() -> Chunk {
        Chunk { bytes: [0; CHUNK_BYTES], digest: AtomicU64::new(DIGEST_UNKNOWN) }
    }

    fn bytes_mut(&mut self) -> &mut [u8; CHUNK_BYTES] {
        *self.digest.get_mut() = DIGEST_UNKNOWN;
        &mut self.bytes
    }

    /// None for a chunk of zeros, which must count as an absent one.
    fn digest(&self) -> Option<u64> {
        let mut digest = self.digest.load(Ordering::Relaxed);
        if digest == DIGEST_UNKNOWN {
            digest = match is_zero(&self.bytes) {
                true => DIGEST_ZEROS,
                false => mix::bytes(&self.bytes).max(DIGEST_ZEROS + 1),
            };
            self.digest.store(digest, Ordering::Relaxed);
        }
        (digest != DIGEST_ZEROS).then_some(digest)
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
    bytes == &ZEROS[..bytes.len()]
}

/// See the file's essay.
#[derive(Clone, Default)]
pub(crate) struct Image {
    len: u64,
    chunks: Arc<BTreeMap<u64, Arc<Chunk>>>,
}

impl Image {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Copies the bytes from `offset`; fewer at the end of the file.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let wanted = to_u64(buffer.len()).min(self.len.saturating_sub(offset));
        let wanted = to_usize(wanted);
        for piece in pieces(offset, wanted) {
            let target = &mut buffer[piece.data];
            match self.chunks.get(&piece.chunk) {
                Some(chunk) => target.copy_from_slice(&chunk.bytes[piece.inside]),
                None => target.fill(0),
            }
        }
        wanted
    }

    /// Stores `data`, all of which must lie within the length.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        assert!(offset + to_u64(data.len()) <= self.len, "a write lies within the length");
        let chunks = Arc::make_mut(&mut self.chunks);
        for piece in pieces(offset, data.len()) {
            let source = &data[piece.data];
            if is_zero(source)
                && (source.len() == CHUNK_BYTES || !chunks.contains_key(&piece.chunk))
            {
                chunks.remove(&piece.chunk);
                continue;
            }
            let chunk = chunks.entry(piece.chunk).or_insert_with(|| Arc::new(Chunk::zeroed()));
            Arc::make_mut(chunk).bytes_mut()[piece.inside].copy_from_slice(source);
        }
    }

    /// Stores the part of `data` that lies within the length.
    pub(crate) fn write_clipped(&mut self, offset: u64, data: &[u8]) {
        let room = self.len.saturating_sub(offset).min(to_u64(data.len()));
        self.write(offset.min(self.len), &data[..to_usize(room)]);
    }

    /// Truncates the file or extends it by zeros.
    pub(crate) fn set_len(&mut self, len: u64) {
        let shrinks = len < self.len;
        self.len = len;
        if !shrinks || self.chunks.is_empty() {
            return;
        }
        let chunks = Arc::make_mut(&mut self.chunks);
        let _gone = chunks.split_off(&len.div_ceil(CHUNK_BYTES_U64));
        if let Some(last) = chunks.get_mut(&(len / CHUNK_BYTES_U64)) {
            let inside = to_usize(len % CHUNK_BYTES_U64);
            Arc::make_mut(last).bytes_mut()[inside..].fill(0);
        }
    }

    /// Takes the chunks that hold `offset..offset + length` from `other`, shared.
    pub(crate) fn share(&mut self, other: &Image, offset: u64, length: usize) {
        assert_eq!(self.len, other.len, "chunks are shared between images of one length");
        let chunks = Arc::make_mut(&mut self.chunks);
        for piece in pieces(offset, length) {
            match other.chunks.get(&piece.chunk) {
                Some(chunk) => chunks.insert(piece.chunk, Arc::clone(chunk)),
                None => chunks.remove(&piece.chunk),
            };
        }
    }

    /// Flips one bit on the medium.
    pub(crate) fn flip(&mut self, offset: u64, mask: u8) {
        let mut byte = [0];
        if self.read(offset, &mut byte) == 1 {
            self.write(offset, &[byte[0] ^ mask]);
        }
    }

    /// A hash of length and content; a sum over chunks, so that only changed chunks are read.
    pub(crate) fn digest(&self) -> u64 {
        let content = self.chunks.iter().filter_map(|(position, chunk)| {
            chunk.digest().map(|digest| mix::pair(*position, digest))
        });
        mix::pair(self.len, content.fold(0, u64::wrapping_add))
    }
}

/// The part of a byte range that falls into one chunk.
struct Piece {
    chunk: u64,
    inside: std::ops::Range<usize>,
    data: std::ops::Range<usize>,
}

fn pieces(offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset + to_u64(done);
        let start = to_usize(at % CHUNK_BYTES_U64);
        let taken = (CHUNK_BYTES - start).min(length - done);
        let piece = Piece {
            chunk: at / CHUNK_BYTES_U64,
            inside: start..start + taken,
            data: done..done + taken,
        };
        done += taken;
        Some(piece)
    })
}

pub(crate) fn to_u64(number: usize) -> u64 {
    u64::try_from(number).expect("a size in memory fits 64 bits")
}

pub(crate) fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("a size bounded by a buffer fits memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(len: u64) -> Image {
        let mut image = Image::default();
        image.set_len(len);
        image
    }

    #[test]
    fn zeros_are_not_stored_and_do_not_change_the_digest() {
        let mut zeroed = image(20_000);
        zeroed.write(0, &[0; 20_000]);
        assert!(zeroed.chunks.is_empty());
        zeroed.write(100, &[1, 2, 3]);
        assert_ne!(zeroed.digest(), image(20_000).digest());
        zeroed.write(100, &[0, 0, 0]);
        assert_eq!(zeroed.chunks.len(), 1, "a partly zeroed chunk stays");
        assert_eq!(zeroed.digest(), image(20_000).digest());
    }

    #[test]
    fn a_cut_tail_reads_as_zeros_when_the_file_grows_again() {
        let mut image = image(9000);
        image.write(0, &[9; 9000]);
        image.set_len(4100);
        image.set_len(9000);
        let mut bytes = vec![1; 9000];
        assert_eq!(image.read(0, &mut bytes), 9000);
        assert!(bytes[..4100].iter().all(|byte| *byte == 9));
        assert!(bytes[4100..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_clone_is_untouched_by_changes_to_the_original() {
        let mut image = image(8192);
        image.write(4000, &[5; 200]);
        let snapshot = image.clone();
        let digest = snapshot.digest();
        image.write(4050, &[6; 10]);
        image.set_len(4001);
        assert_eq!(snapshot.digest(), digest);
        assert_ne!(image.digest(), digest);
        let mut bytes = [0; 200];
        assert_eq!(snapshot.read(4000, &mut bytes), 200);
        assert_eq!(bytes, [5; 200]);
    }

    #[test]
    fn equal_chunks_at_other_positions_give_other_digests() {
        let (mut left, mut right) = (image(8192), image(8192));
        left.write(0, &[1; 4096]);
        right.write(4096, &[1; 4096]);
        assert_ne!(left.digest(), right.digest());
    }
}
