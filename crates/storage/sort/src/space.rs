//! Free pieces of the temporary file.
//!
//! Runs that have been merged leave holes, and the next run fills them, the lowest first. So the
//! file grows by what one merge writes at most, however often its content is merged.
//!
//! Invariant: holes are in order, apart from one another, and below the end.
//!
//! Callers: `temp_file`.

use stop::{RefusalKind, Stop};

/// Neighbouring pieces of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Extent {
    fn end(self) -> u32 {
        self.first + self.count
    }

    /// Adds a piece to a list of extents.
    pub(crate) fn append(extents: &mut Vec<Extent>, piece: u32) {
        match extents.last_mut() {
            Some(last) if last.end() == piece => last.count += 1,
            _ => extents.push(Extent { first: piece, count: 1 }),
        }
    }
}

/// The pieces of a file.
#[derive(Debug)]
pub(crate) struct Space {
    /// No piece from this one on was ever given out.
    end: u32,
    /// The number of pieces that a file can have.
    most: u32,
    holes: Vec<Extent>,
}

impl Space {
    /// With all pieces free; the file can have `most`.
    pub(crate) fn new(most: u32) -> Space {
        Space { end: 0, most, holes: Vec::new() }
    }

    /// Takes a free piece.
    pub(crate) fn take(&mut self) -> Result<u32, Stop> {
        if let Some(hole) = self.holes.first_mut() {
            let piece = hole.first;
            *hole = Extent { first: piece + 1, count: hole.count - 1 };
            if hole.count == 0 {
                self.holes.remove(0);
            }
            return Ok(piece);
        }
        if self.end == self.most {
            let message = "cannot go on: a temporary file has no more blocks; sort or join \
                           less at once";
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        }
        self.end += 1;
        Ok(self.end - 1)
    }

    /// Frees these pieces.
    pub(crate) fn give_back(&mut self, extents: &[Extent]) {
        self.holes.extend_from_slice(extents);
        self.holes.sort_unstable_by_key(|hole| hole.first);
        self.holes.dedup_by(|next, hole| {
            let joins = hole.end() == next.first;
            if joins {
                hole.count += next.count;
            }
            joins
        });
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.holes.capacity() * size_of::<Extent>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_taken_again_lowest_first() {
        let mut space = Space::new(6);
        assert_eq!([0; 5].map(|_: u32| space.take().expect("room")), [0, 1, 2, 3, 4]);
        let extent = |first, count| Extent { first, count };
        space.give_back(&[extent(3, 1), extent(0, 2)]);
        space.give_back(&[extent(2, 1)]);
        assert_eq!(space.holes, [extent(0, 4)]);
        assert_eq!([0; 5].map(|_: u32| space.take().expect("room")), [0, 1, 2, 3, 5]);
        let full = space.take().expect_err("there are six");
        assert_eq!(full.refusal(), Some(RefusalKind::NoSpace));
    }
}
