//! Writes the same bytes to several files at once.
//!
//! ```text
//!   bytes ─▶ a buffer each ─▶ ring ─┬─▶ file ─┬─▶ all have ended: a result for each
//!                                   └─▶ file ─┘
//! ```
//!
//! A session that writes copies keeps a ring of its own for that, made at its first such write.
//! Where the disk has no asynchronous I/O, the files are written one after the other.
//!
//! Callers: `redo`, for the members of a log group.

use crate::{
    Completion, Cost, Disk, Error, File, IoBuf, IoKind, Request, Ring, RingBackend, RingConfig,
    Waiting,
};

/// The most copies of one write.
pub const COPIES_MAX: usize = 8;

/// The most bytes of buffers that a session keeps (rule database/DB7).
const SPARE_BYTES_MAX: usize = 128 << 10;

/// The state that a session keeps for its next write of copies.
#[derive(Debug)]
pub(crate) struct Copier {
    /// The ring; `None` if this disk has no asynchronous I/O.
    ring: Option<Ring>,
    disk: Disk,
    spare: Vec<IoBuf>,
    done: Vec<Completion>,
}

impl Disk {
    /// Writes all of `bytes` at `offset` of each of these files, all at once, and waits for all.
    /// The result for each file is as that of [`File::write_at`]. This is one wait, as `waiting`
    /// says.
    ///
    /// # Panics With more than [`COPIES_MAX`] files.
    pub fn write_copies(
        &self,
        files: &[&File],
        offset: u64,
        bytes: &[u8],
        waiting: Waiting<'_>,
    ) -> Vec<Result<(), Error>> {
        assert!(files.len() <= COPIES_MAX, "{} copies at once", files.len());
        let one_by_one =
            || files.iter().map(|file| file.write_at(offset, bytes, waiting)).collect();
        if files.len() <= 1 {
            return one_by_one();
        }
        let mut kept = waiting.session().copier().borrow_mut();
        let copier = match kept.take().filter(|copier| copier.disk.is_same(self)) {
            Some(copier) => kept.insert(copier),
            None => kept.insert(Copier::new(self, waiting)),
        };
        match &mut copier.ring {
            None => one_by_one(),
            Some(_) => match copier.write(files, offset, bytes, waiting) {
                Ok(results) => results,
                Err(error) => {
                    // The drop waits for I/O that may still be in flight; the ring isn't used
                    // again.
                    *kept = None;
                    files.iter().map(|_| Err(error.clone())).collect()
                }
            },
        }
    }
}

impl Copier {
    fn new(disk: &Disk, waiting: Waiting<'_>) -> Copier {
        let config =
            RingConfig { backend: RingBackend::Native, ..RingConfig::new(COPIES_MAX as u32) };
        let ring = disk.ring(&config, waiting.session()).ok().map(Ring::waited_for);
        Copier { ring, disk: disk.clone(), spare: Vec::new(), done: Vec::new() }
    }

    fn write(
        &mut self,
        files: &[&File],
        offset: u64,
        bytes: &[u8],
        waiting: Waiting<'_>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        let session = waiting.session();
        let ring = self.ring.as_mut().expect("the caller has looked");
        let mut results: Vec<_> = files.iter().map(|_| Ok(())).collect();
        self.spare.retain(|buffer| buffer.len() == bytes.len());
        for (place, file) in files.iter().enumerate() {
            let mut buffer = self.spare.pop().unwrap_or_else(|| IoBuf::zeroed(bytes.len()));
            buffer.copy_from_slice(bytes);
            session.charge(Cost::CopyKib, bytes.len().div_ceil(1024) as u64);
            let (file, tag) = ((*file).clone(), place as u64);
            let request = Request { file, kind: IoKind::Write, offset, buffer, tag };
            if let Err(error) = ring.push(request, session) {
                results[place] = Err(error);
            }
        }
        ring.reap(ring.in_flight(), None, &mut self.done, waiting)?;
        for Completion { tag, buffer, result } in self.done.drain(..) {
            results[tag as usize] = result;
            if bytes.len() * files.len() <= SPARE_BYTES_MAX {
                self.spare.push(buffer);
            }
        }
        for (file, result) in files.iter().zip(&mut results) {
            if result.is_ok() && file.syncs_each_write() {
                *result = file.end_beside_others("write", waiting);
            }
        }
        Ok(results)
    }
}
