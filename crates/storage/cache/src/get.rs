//! Getting a block: from the cache, by another session's read, or from disk.
//!
//! ```text
//!   pin ──▶ on the chain? ──yes──▶ being read? ──no──▶ Pin
//!    ▲           │ no                  │ yes: wait (read by other session) ──▶ Pin, or its fault
//!    │           ▼
//!    │      claim a frame ──▶ enter it, Reading ──▶ read, check ──▶ Pin
//!    └── a session was faster ─┘                        └── fault: off the chain, Failed
//! ```
//!
//! Invariants
//!   * one session reads a block, and no other touches the frame's bytes meanwhile (CB4)
//!   * no latch is held across the read (CB2)
//!   * a hit takes no latch: it pins on a hint, then checks the frame that it has pinned (CB3)
//!   * no byte of a block is seen before `format::check` has accepted it (rule format/F2)
//!
//! Callers: sessions, through `Cache::pin` and `Cache::pin_new`.

use format::BlockFault;
use ids::{BlockSize, Dba};
use latch::{FrameBlock, FrameOrder};
use os::{Cost, IoBuf, Session};
use stop::{Refusal, RefusalKind, Stop, check_call};
use waits::{Nanos, Statistic, WaitEvent};

use crate::Cache;
use crate::files::DataFile;
use crate::frame::{FAILED, READING};
use crate::pin::{Pin, PinnedBlock, PinnedFrame, is_unwritten};

/// How the buffer of a block that isn't in the cache is filled.
#[derive(Clone, Copy)]
enum Fill<'f> {
    /// From disk. A block that was never written is refused.
    Read,
    /// From disk. A block that was never written is zeros.
    ReadOrUnwritten,
    /// From disk. A block that was never written, or is damaged, is zeros.
    ReadOrZeros,
    /// With zeros, without a read.
    Zeros,
    /// With zeros if this says that the block belongs to nobody; otherwise as `ReadOrZeros`. It is
    /// asked once the frame is on its chain.
    ZerosIf(&'f dyn Fn() -> bool),
}

/// Why a block was requested. Each reason has its own statistic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Get {
    /// A current get.
    Current,
    /// A consistent get.
    Consistent,
}

impl Get {
    const fn statistic(self) -> Statistic {
        match self {
            Get::Current => Statistic::CurrentGets,
            Get::Consistent => Statistic::ConsistentGets,
        }
    }
}

impl Cache {
    /// Pins this block, and reads it if it isn't in the cache. A block that was never written, is
    /// damaged, or is older than its last write is refused (`Corrupt`); one that the device can't
    /// read is refused (`Io`). The caller holds no latch: this may wait for a read or for a free
    /// buffer.
    #[inline(always)] // Returned through memory, a pin would cost a fifth of the whole hit.
    pub fn pin<'a>(&'a self, address: Dba, session: &'a Session) -> Result<Pin<'a>, Stop> {
        self.get(address, Fill::Read, session)
    }

    /// As [`pin`](Cache::pin), but a block that was never written comes as zeros, as a heap may
    /// have it (CB40).
    pub fn pin_or_unwritten<'a>(
        &'a self,
        address: Dba,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        self.get(address, Fill::ReadOrUnwritten, session)
    }

    /// As [`pin`](Cache::pin), but `None` if the block was never written. The zeros that were read
    /// don't stay in the cache, where another session would take them for a block.
    pub fn pin_if_written<'a>(
        &'a self,
        address: Dba,
        session: &'a Session,
    ) -> Result<Option<Pin<'a>>, Stop> {
        match self.pin(address, session) {
            // Not read again: a writer may be writing it for the first time.
            Err(Stop::Refused(refusal)) if refusal == never_written(address) => Ok(None),
            pinned => pinned.map(Some),
        }
    }

    /// Pins this block if it is in the cache and has been read. It waits for nothing, so the caller
    /// may hold more pins than one that waits may.
    pub fn pin_cached<'a>(&'a self, address: Dba, session: &'a Session) -> Option<Pin<'a>> {
        self.pin_cached_for(Get::Current, address, session)
    }

    /// As [`pin_cached`](Cache::pin_cached), for this reason.
    pub fn pin_cached_for<'a>(
        &'a self,
        get: Get,
        address: Dba,
        session: &'a Session,
    ) -> Option<Pin<'a>> {
        self.begin_get(get, session);
        self.pin_resident(address, session).filter(|(_, is_read)| *is_read).map(|(pin, _)| pin)
    }

    /// Pins this block if the first look finds it in the cache. It takes no latch, so the caller
    /// may hold latches of blocks that come before this one.
    pub fn pin_at_hand<'a>(&'a self, address: Dba, session: &'a Session) -> Option<Pin<'a>> {
        self.count_get(Get::Current, session);
        self.pin_hinted(address, session)
    }

    /// Pins a block that the caller is going to format, without reading it. Its bytes are zeros,
    /// unless the cache has the block already.
    #[inline(never)]
    pub fn pin_new<'a>(&'a self, address: Dba, session: &'a Session) -> Result<Pin<'a>, Stop> {
        self.get(address, Fill::Zeros, session)
    }

    /// Pins a block that the caller is going to format unless another session has by then (CB39).
    /// The block is read; one that is damaged or was never written comes as zeros.
    pub fn pin_to_format<'a>(
        &'a self,
        address: Dba,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        self.get(address, Fill::ReadOrZeros, session)
    }

    /// As [`pin_to_format`](Cache::pin_to_format), but the block isn't read if `is_unused` says
    /// that it belongs to nobody (CB64). `is_unused` may take latches.
    #[inline(never)]
    pub fn pin_unused<'a>(
        &'a self,
        address: Dba,
        is_unused: &dyn Fn() -> bool,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        self.get(address, Fill::ZerosIf(is_unused), session)
    }

    /// Pins this block and gets its latch shared: [`pin`](Cache::pin) and [`Pin::shared`], in one
    /// step if it is in the cache.
    #[inline(always)]
    pub fn pin_shared<'a>(
        &'a self,
        address: Dba,
        order: FrameOrder,
        session: &'a Session,
    ) -> Result<PinnedBlock<'a>, Stop> {
        self.pin_shared_for(Get::Current, address, order, session)
    }

    /// As [`pin_shared`](Cache::pin_shared), for this reason.
    #[inline(always)]
    pub fn pin_shared_for<'a>(
        &'a self,
        get: Get,
        address: Dba,
        order: FrameOrder,
        session: &'a Session,
    ) -> Result<PinnedBlock<'a>, Stop> {
        self.pin_shared_ahead(get, address, &[], order, session)
    }

    /// As [`pin_shared_for`](Cache::pin_shared_for). The caller is likely to read the bytes at
    /// `places` in the block: they are prefetched (CB35).
    #[inline(always)]
    pub fn pin_shared_ahead<'a>(
        &'a self,
        get: Get,
        address: Dba,
        places: &[usize],
        order: FrameOrder,
        session: &'a Session,
    ) -> Result<PinnedBlock<'a>, Stop> {
        self.begin_get(get, session);
        match self.shared_hinted(address, places, order, session) {
            Some(block) => Ok(block),
            None => {
                let fill =
                    if order == FrameOrder::Heap { Fill::ReadOrUnwritten } else { Fill::Read };
                Ok(self.get_latched(address, fill, session)?.into_shared(order))
            }
        }
    }

    /// Prefetches a block that is going to be read, and the bytes at `places` in it (CB35). Takes
    /// no pin and no latch, and waits for nothing.
    #[inline]
    pub fn prefetch(&self, address: Dba, places: &[usize], session: &Session) {
        if let Some(at) = self.chains.hint(&self.frames, address, session) {
            self.frames[at as usize].prefetch();
            self.ahead.prefetch(at, places);
        }
    }

    #[inline]
    fn begin_get(&self, get: Get, session: &Session) {
        latch::assert_none_held("a get of a block");
        self.count_get(get, session);
    }

    #[inline]
    fn count_get(&self, get: Get, session: &Session) {
        session.count(get.statistic(), 1);
        session.charge(Cost::BufferGet, 1);
    }

    #[inline(always)]
    fn get<'a>(
        &'a self,
        address: Dba,
        fill: Fill<'_>,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        self.begin_get(Get::Current, session);
        match self.pin_hinted(address, session) {
            Some(pin) => Ok(pin),
            None => self.get_latched(address, fill, session),
        }
    }

    /// Pins the block if the first look finds it in the cache, read.
    #[inline(always)]
    fn pin_hinted<'a>(&'a self, address: Dba, session: &'a Session) -> Option<Pin<'a>> {
        let at = self.chains.hint(&self.frames, address, session)?;
        let frame = &self.frames[at as usize];
        frame.pin(session);
        // CB3: the look at the status comes after the pin. If the status is zero, and then the
        // address is right, the frame keeps the block until the pin goes.
        if frame.status.load(session) != 0 || frame.address.load(session) != address.pack() {
            self.let_go(at, session);
            return None;
        }
        frame.touch(session);
        Some(Pin::counted(self, at, session))
    }

    /// As `pin_hinted`, with the block's latch. `None` also if a session holds that latch
    /// exclusively: then the caller pins again and waits.
    #[inline(always)]
    fn shared_hinted<'a>(
        &'a self,
        address: Dba,
        places: &[usize],
        order: FrameOrder,
        session: &'a Session,
    ) -> Option<PinnedBlock<'a>> {
        let at = self.chains.hint(&self.frames, address, session)?;
        self.ahead.prefetch(at, places);
        let frame = &self.frames[at as usize];
        let pinned = PinnedFrame { cache: self, number: at };
        // CB3: as in `pin_hinted`. Another block is let go and never read.
        let is_wanted = || {
            let is_it =
                frame.status.load(session) == 0 && frame.address.load(session) == address.pack();
            if is_it {
                frame.touch(session);
            }
            is_it
        };
        frame.latch.pin_shared(order, pinned, is_wanted, session).map(PinnedBlock::held)
    }

    /// Gets a block that the hint has missed, or that isn't in the cache.
    #[cold]
    fn get_latched<'a>(
        &'a self,
        address: Dba,
        fill: Fill<'_>,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        loop {
            if let Some((pin, is_read)) = self.pin_resident(address, session) {
                if is_read {
                    return Ok(pin);
                }
                match self.await_read(&pin, address, session) {
                    Ok(()) => return Ok(pin),
                    // A block that can't be read can still be formatted.
                    Err(stop) if matches!(fill, Fill::Read) || stop.is_cancelled() => {
                        return Err(stop);
                    }
                    Err(_) => {
                        self.halt.check(session)?;
                        continue;
                    }
                }
            }
            self.halt.check_call(session)?;
            let file = self.files.of(address, session)?;
            let frame = self.claim(address, self.pool(file.block_size), session)?;
            if let Some(pin) = self.enter(frame, address, session) {
                return self.load(pin, address, &file, fill, session);
            }
        }
    }

    /// Pins the block if it is in the cache. Also returns whether it has been read.
    fn pin_resident<'a>(&'a self, address: Dba, session: &'a Session) -> Option<(Pin<'a>, bool)> {
        let chain = self.chains.shared(&self.frames, address, session);
        let at = chain.find(address, session)?;
        let frame = &self.frames[at as usize];
        frame.pin(session);
        // A read that fails takes its frame off the chain first, so one that has ended succeeded.
        let is_read = frame.status.load(session) & READING == 0;
        drop(chain);
        frame.touch(session);
        Some((Pin::counted(self, at, session), is_read))
    }

    /// Waits for the session that reads this block. Returns the fault if its read fails, or why
    /// the waiting session is to leave.
    fn await_read(&self, pin: &Pin<'_>, address: Dba, session: &Session) -> Result<(), Stop> {
        let (frame, shard) = (pin.frame(), self.read_shard(pin.frame_no()));
        let named = name_of(address);
        let waiting = session.waiting(WaitEvent::ReadByOtherSession);
        let waiting = waiting.p(named.file, named.block, named.class);
        let mut guard = shard.latch.exclusive(session);
        while frame.status.load(session) & READING != 0 {
            guard = shard.ended.wait_in_call(guard, waiting, Some(HALT_LOOKED_AT)).0;
            if self.halt.is_raised(session) {
                drop(guard);
                return self.halt.check(session);
            }
            check_call(session)?;
        }
        if frame.status.load(session) & FAILED == 0 {
            return Ok(());
        }
        Err(guard.of(pin.frame_no()).expect("a failed read has left its fault"))
    }

    /// Whether the cache has this block, or a session is reading it.
    pub(crate) fn is_resident(&self, address: Dba, session: &Session) -> bool {
        self.chains.shared(&self.frames, address, session).find(address, session).is_some()
    }

    /// Enters a claimed frame for this block, pinned and in state Reading. `None` if another
    /// session was faster: then the frame is free again.
    pub(crate) fn enter<'a>(
        &'a self,
        at: u32,
        address: Dba,
        session: &'a Session,
    ) -> Option<Pin<'a>> {
        let mut chain = self.chains.exclusive(&self.frames, address, session);
        if chain.find(address, session).is_some() {
            drop(chain);
            self.give_back(at, session);
            return None;
        }
        let frame = &self.frames[at as usize];
        // CB3: before it has its address, so that a session that pins it on a hint finds it
        // Reading.
        frame.occupy(session);
        frame.untouch(session);
        chain.enter(at, address, session);
        Some(Pin::counted(self, at, session))
    }

    /// Fills the frame that this session has entered.
    fn load<'a>(
        &'a self,
        pin: Pin<'a>,
        address: Dba,
        file: &DataFile,
        fill: Fill<'_>,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        let mut loading = Loading::begin(self, &pin, address, file.block_size, session);
        let loaded = match fill {
            Fill::Read => self
                .read(address, file, loading.bytes(), session)
                .and_then(|()| check_written(address, loading.bytes())),
            Fill::ReadOrUnwritten => self.read(address, file, loading.bytes(), session),
            Fill::Zeros => {
                loading.bytes().fill(0);
                Ok(())
            }
            Fill::ZerosIf(is_unused) if is_unused() => {
                loading.bytes().fill(0);
                Ok(())
            }
            Fill::ReadOrZeros | Fill::ZerosIf(_) => {
                match self.read(address, file, loading.bytes(), session) {
                    Err(stop) if stop.refusal() == Some(RefusalKind::Corrupt) => {
                        loading.bytes().fill(0);
                        Ok(())
                    }
                    read => read,
                }
            }
        };
        match &loaded {
            Ok(()) => loading.succeed(),
            Err(stop) => loading.fail(stop.clone()),
        }
        loaded.map(|()| pin)
    }

    /// Reads a block from its file and checks it.
    pub(crate) fn read(
        &self,
        address: Dba,
        file: &DataFile,
        bytes: &mut IoBuf,
        session: &Session,
    ) -> Result<(), Stop> {
        latch::assert_none_held("a read of a block");
        let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
        let waiting = waiting.p(address.file.get().into(), address.block.get().into(), 1);
        file.file.read_at(file.offset(address), bytes, waiting)?;
        session.count(Statistic::PhysicalReads, 1);
        file.check(address, bytes, session)
    }
}

/// Refuses a block that was never written.
pub fn check_written(address: Dba, bytes: &[u8]) -> Result<(), Stop> {
    if !is_unwritten(bytes) {
        return Ok(());
    }
    Err(Stop::Refused(never_written(address)))
}

/// How often a session that waits for another one's read looks at the halt.
const HALT_LOOKED_AT: Nanos = Nanos::from_secs(1);

/// The refusal of a block that was never written.
fn never_written(address: Dba) -> Refusal {
    let fault = BlockFault::NeverWritten { address };
    Refusal::new(RefusalKind::Corrupt, fault.to_string())
}

/// A read under way. However it ends, also by a panic, the sessions that wait for it are told.
pub(crate) struct Loading<'a> {
    cache: &'a Cache,
    /// The frame, which the reading session has pinned.
    frame: u32,
    pub(crate) address: Dba,
    size: BlockSize,
    /// `None` while it is lent to a ring, and after the read.
    buffer: Option<IoBuf>,
    /// Whether it has failed, though not everything may have been done for that yet.
    has_failed: bool,
    has_ended: bool,
    session: &'a Session,
}

impl<'a> Loading<'a> {
    /// Begins the read into the frame that this session has entered.
    pub(crate) fn begin(
        cache: &'a Cache,
        pin: &Pin<'_>,
        address: Dba,
        size: BlockSize,
        session: &'a Session,
    ) -> Loading<'a> {
        let buffer = pin.frame().latch.exclusive(name_of(address), session).buffer.take();
        assert!(buffer.is_some(), "a free frame has its buffer");
        let frame = pin.frame_no();
        Loading {
            cache,
            frame,
            address,
            size,
            buffer,
            has_failed: false,
            has_ended: false,
            session,
        }
    }

    /// The buffer for the block.
    pub(crate) fn bytes(&mut self) -> &mut IoBuf {
        self.buffer.as_mut().expect("the buffer isn't lent")
    }

    /// Lends the buffer to a ring, which gives it back.
    pub(crate) fn lend(&mut self) -> IoBuf {
        self.buffer.take().expect("the buffer isn't lent")
    }

    /// Takes the buffer back from the ring.
    pub(crate) fn take_back(&mut self, buffer: IoBuf) {
        assert_eq!(buffer.len(), self.size.bytes(), "another buffer comes back");
        self.buffer = Some(buffer);
    }

    pub(crate) fn succeed(&mut self) {
        let frame = &self.cache.frames[self.frame as usize];
        frame.latch.exclusive(name_of(self.address), self.session).buffer = self.buffer.take();
        let (set, slot) = frame.home(self.session);
        self.cache.sets[set as usize].state.exclusive(self.session).put_midpoint(slot);
        self.end_reading(None);
    }

    /// Ends a read that has failed. The frame leaves its chain first, so that no other session
    /// comes to wait for it. If this is broken off, it isn't begun again.
    pub(crate) fn fail(&mut self, stop: Stop) {
        self.has_failed = true;
        let (cache, session) = (self.cache, self.session);
        let frame = &cache.frames[self.frame as usize];
        let mut chain = cache.chains.exclusive(&cache.frames, self.address, session);
        chain.remove(self.frame, session);
        drop(chain);
        // A buffer that a failed ring hasn't given back is replaced.
        let buffer = self.buffer.take().unwrap_or_else(|| IoBuf::zeroed(self.size.bytes()));
        frame.latch.exclusive(name_of(self.address), session).buffer = Some(buffer);
        self.end_reading(Some(stop));
    }

    fn end_reading(&mut self, fault: Option<Stop>) {
        self.has_ended = true;
        let shard = self.cache.read_shard(self.frame);
        let mut faults = shard.latch.exclusive(self.session);
        let status = if fault.is_some() { FAILED } else { 0 };
        let before = self.cache.frames[self.frame as usize].status.swap(status, self.session);
        assert_eq!(before, READING, "a read ends that hasn't begun");
        faults.leave(self.frame, fault);
        shard.ended.notify_all(self.session);
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        if self.has_failed {
            // The frame may have left its chain. Who waits for it learns of the halt.
            let what = format!("a session ended as it gave up the read of block {}", self.address);
            self.cache.halt.raise(what, self.session);
        } else {
            let message = format!("the session that was reading {} has ended", self.address);
            self.fail(Stop::refuse(RefusalKind::Io, message));
        }
    }
}

/// The name of waits for a frame whose kind of block isn't known. Its latch is taken with no other
/// frame's held, so the order doesn't matter.
pub(crate) fn name_of(address: Dba) -> FrameBlock {
    let (file, block) = (address.file.get().into(), address.block.get().into());
    FrameBlock { order: FrameOrder::Branch, file, block, class: 0 }
}

/// The number of KiB, rounded up, for charging costs.
pub(crate) fn kib(bytes: usize) -> u64 {
    bytes.div_ceil(1 << 10) as u64
}
