//! Buffers for I/O: aligned, owned, and moved into a ring while the kernel has their address.
//!
//! A buffer belongs to one owner at a time. While a request is in flight the ring owns it, so
//! no code can read or write it, and its memory can't be freed (rule O7).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::num::NonZero;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::{Cause, Error};

/// The alignment of every buffer's address, in bytes; no device in use demands more.
pub const IO_ALIGNMENT: usize = 4096;

/// A buffer for I/O: zeroed at birth, aligned to [`IO_ALIGNMENT`].
pub struct IoBuf {
    start: NonNull<u8>,
    length: usize,
    /// The pool that gets the memory back; `None` if the memory is from the heap.
    region: Option<Arc<Region>>,
}

// The small size lets an owner of many buffers keep them beside its other hot fields.
const _: () = assert!(size_of::<Option<IoBuf>>() == 24);

// SAFETY: an IoBuf is the only way to its bytes (rule O7), as a Box<[u8]> is.
unsafe impl Send for IoBuf {}
// SAFETY: a shared IoBuf hands out shared slices only.
unsafe impl Sync for IoBuf {}

impl IoBuf {
    /// A buffer of `length` bytes with memory of its own.
    pub fn zeroed(length: usize) -> IoBuf {
        IoBuf { start: allocate(length), length, region: None }
    }

    /// A buffer without bytes, for requests that move none.
    pub const fn empty() -> IoBuf {
        let start = NonNull::without_provenance(NonZero::new(IO_ALIGNMENT).expect("not zero"));
        IoBuf { start, length: 0, region: None }
    }

    /// A buffer with a copy of these bytes.
    pub fn copy_of(bytes: &[u8]) -> IoBuf {
        let mut buffer = IoBuf::zeroed(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// Gives the buffer up. The machine gets the memory of a pool's buffer back at once, not only
    /// with the pool's last buffer.
    pub fn discard(self) {
        let Some(region) = &self.region else { return };
        if self.length.is_multiple_of(IO_ALIGNMENT) {
            region.has_holes();
            let start = self.start.as_ptr().cast();
            // SAFETY: this is memory of the mapping that `map` made, reached through this buffer
            // only (O7), which ends here; after the advice it is zeros. A start that isn't a page
            // is refused. A kernel that refuses keeps the memory, as a pool does anyway.
            let _ = unsafe { madvise(start, self.length, Advice::LinuxDontNeed) };
        }
    }

    /// The number of the buffer's pool, if it has one: a ring that has registered the pool saves
    /// work.
    pub(crate) fn pool_id(&self) -> Option<u64> {
        self.region.as_ref().map(|region| region.id)
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }
}

/// The size from which memory is requested in huge pages. They cause fewer faults, and an I/O has
/// fewer pieces of physical memory. A device takes a limited number of pieces per request (254 on
/// one measured machine, so that a 1 MiB read into small pages became two requests).
pub const HUGE_PAGE: usize = 2 << 20;

/// From this size on a buffer's memory is mapped, and the machine has it back with the buffer. The
/// heap keeps what is freed, and finds no place for the next aligned piece among what was allocated
/// meanwhile: 49 buffers of a MiB, one after the other, left it 10 MiB larger.
const MAPPED_MIN: usize = 128 << 10;

/// A buffer of a pool that is so long is to be few pieces of physical memory.
const LONG: usize = 256 << 10;

fn layout(length: usize) -> Layout {
    assert!(length > 0, "a buffer without bytes");
    Layout::from_size_align(length, IO_ALIGNMENT).expect("a buffer's size fits the address space")
}

/// Allocates zeroed memory, which the caller frees with [`release`].
fn allocate(length: usize) -> NonNull<u8> {
    let layout = layout(length);
    let got = match length >= MAPPED_MIN {
        true => map(length).ok(),
        // SAFETY: the layout's size isn't zero (asserted in `layout`).
        false => NonNull::new(unsafe { alloc_zeroed(layout) }),
    };
    got.unwrap_or_else(|| handle_alloc_error(layout))
}

/// Frees the memory that `allocate` returned.
///
/// # Safety `start` is from `allocate` with the same length, is freed once, and isn't used any
/// more.
unsafe fn release(start: NonNull<u8>, length: usize) {
    if length >= MAPPED_MIN {
        // SAFETY: mapped with the same length (the caller's promise).
        unsafe { unmap(start, length) }
    } else {
        // SAFETY: allocated with the same layout (the caller's promise).
        unsafe { dealloc(start.as_ptr(), layout(length)) }
    }
}

/// Frees the memory that `map` returned.
///
/// # Safety `start` is from `map` with the same length, is freed once, and isn't used any more.
unsafe fn unmap(start: NonNull<u8>, length: usize) {
    // SAFETY: `map` left exactly this mapping (the caller's promise).
    // A machine that can have no more mappings (`vm.max_map_count`) refuses to take one out of the
    // middle of others: then the addresses stay, without memory.
    unsafe {
        let (start, length) = (start.as_ptr().cast(), whole_pages(length));
        if munmap(start, length).is_err() {
            let _ = madvise(start, length, Advice::LinuxDontNeed);
        }
    }
}

/// Maps memory. A mapping of at least a huge page begins at one, and may consist of huge pages.
fn map(length: usize) -> Result<NonNull<u8>, rustix::io::Errno> {
    let is_huge = length >= HUGE_PAGE;
    let wanted = whole_pages(length);
    let mapped = wanted + if is_huge { HUGE_PAGE } else { 0 };
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping, at an address that the kernel chooses.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, access, MapFlags::PRIVATE)? };
    if !is_huge {
        return Ok(NonNull::new(base.cast()).expect("a mapping doesn't begin at zero"));
    }
    let before = (base as usize).next_multiple_of(HUGE_PAGE) - base as usize;
    // SAFETY: `before` + `wanted` <= `mapped`: all three pieces lie inside the mapping just made,
    // no code uses the first and the last, and the advice changes no content.
    unsafe {
        let start = base.byte_add(before);
        if before > 0 {
            munmap(base, before)?;
        }
        let after = mapped - before - wanted;
        if after > 0 {
            munmap(start.byte_add(wanted), after)?;
        }
        // A kernel that refuses makes this slower, not wrong.
        let _ = madvise(start, wanted, Advice::LinuxHugepage);
        Ok(NonNull::new(start.cast()).expect("a mapping doesn't begin at zero"))
    }
}

fn whole_pages(length: usize) -> usize {
    length.next_multiple_of(IO_ALIGNMENT)
}

impl Deref for IoBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `length` initialised bytes that only this IoBuf reaches (O7).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for IoBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes this the only slice.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for IoBuf {
    fn drop(&mut self) {
        match &self.region {
            None if self.length == 0 => {}
            // SAFETY: from `allocate` with the same length, and dropped once.
            None => unsafe { release(self.start, self.length) },
            Some(region) => region.give_back(self.start),
        }
    }
}

impl fmt::Debug for IoBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoBuf({} bytes)", self.length)
    }
}

/// The memory of a pool, in one piece, so that one registration covers every buffer.
pub(crate) struct Region {
    id: u64,
    start: NonNull<u8>,
    buffer_bytes: usize,
    buffers: u32,
    /// What was mapped: of long buffers whole huge pages, so that no buffer lies in small ones.
    mapped: usize,
    /// The lock is held for a push or a pop, never across a call that blocks.
    free: Mutex<Vec<u32>>,
    /// For buffers that are [`IoArea`]s: the number of lent pieces of each.
    lent: Box<[AtomicU32]>,
    /// Whether the memory of some buffers was given back.
    is_holey: AtomicBool,
}

// SAFETY: the region's bytes are reached only through the IoBufs that it lends, each once.
unsafe impl Send for Region {}
// SAFETY: as above; the free list is behind a mutex.
unsafe impl Sync for Region {}

impl Region {
    fn try_new(buffers: u32, buffer_bytes: usize, lent: Box<[AtomicU32]>) -> Result<Region, Error> {
        static NEXT_ID: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let bytes = buffers as usize * buffer_bytes;
        // The memory is mapped whatever its size, so that each buffer's memory can be given back
        // (`discard`).
        let is_long = buffer_bytes >= LONG && bytes >= HUGE_PAGE;
        let mapped = if is_long { bytes.next_multiple_of(HUGE_PAGE) } else { bytes };
        let start = map(mapped).map_err(|_| {
            let what = format!("get {bytes} bytes of memory");
            Error::new(what, Cause::NoMemory, "the machine doesn't give as many")
        })?;
        let free = if lent.is_empty() { (0..buffers).rev().collect() } else { Vec::new() };
        Ok(Region {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            start,
            buffer_bytes,
            buffers,
            mapped,
            free: Mutex::new(free),
            lent,
            is_holey: AtomicBool::new(false),
        })
    }

    /// Takes back a buffer of a pool, or a piece of an area.
    fn give_back(&self, start: NonNull<u8>) {
        let number = ((start.addr().get() - self.start.addr().get()) / self.buffer_bytes) as u32;
        if let Some(lent) = self.lent.get(number as usize) {
            // The owner may use the area again after this; all use of the piece comes before.
            lent.fetch_sub(1, Ordering::Release);
            return;
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    }

    /// Called before memory is given back. The kernel must make no more huge pages here, because
    /// khugepaged would fill each with the memory that was given back (`max_ptes_none` is 511 of
    /// 512 pages by default).
    fn has_holes(&self) {
        if self.bytes() >= HUGE_PAGE && !self.is_holey.swap(true, Ordering::Relaxed) {
            // SAFETY: this is the whole mapping that `map` made; the advice changes no content. A
            // kernel that refuses uses more memory, as if nothing had been given back.
            let _ = unsafe {
                madvise(self.start.as_ptr().cast(), self.bytes(), Advice::LinuxNoHugepage)
            };
        }
    }

    fn bytes(&self) -> usize {
        self.buffer_bytes * self.buffers as usize
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: from `map` with the same length; every IoBuf holds an Arc on the region, so none
        // is left.
        unsafe { unmap(self.start, self.mapped) }
    }
}

/// A fixed number of equal buffers in one piece of memory.
#[derive(Clone)]
pub struct IoPool {
    region: Arc<Region>,
}

impl IoPool {
    /// A pool of `buffers` buffers of `buffer_bytes` each, a multiple of [`IO_ALIGNMENT`].
    pub fn new(buffers: u32, buffer_bytes: usize) -> Result<IoPool, Error> {
        if buffers == 0 || buffer_bytes == 0 || !buffer_bytes.is_multiple_of(IO_ALIGNMENT) {
            let what = format!("make a pool of {buffers} buffers of {buffer_bytes} bytes");
            let detail = format!("a buffer is a multiple of {IO_ALIGNMENT} bytes");
            return Err(Error::new(what, Cause::Invalid, detail));
        }
        let region = Region::try_new(buffers, buffer_bytes, Box::default())?;
        Ok(IoPool { region: Arc::new(region) })
    }

    /// A free buffer, with the bytes that it held last; `None` when all are in use.
    pub fn take(&self) -> Option<IoBuf> {
        let number = self.region.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        let offset = number as usize * self.region.buffer_bytes;
        // SAFETY: the buffer with this number lies inside the region.
        let start = unsafe { self.region.start.add(offset) };
        let region = Some(Arc::clone(&self.region));
        Some(IoBuf { start, length: self.region.buffer_bytes, region })
    }

    pub(crate) fn id(&self) -> u64 {
        self.region.id
    }

    /// The whole memory, for registration with the kernel.
    pub(crate) fn memory(&self) -> (*mut u8, usize) {
        (self.region.start.as_ptr(), self.region.bytes())
    }
}

impl fmt::Debug for IoPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoPool({} x {} bytes)", self.region.buffers, self.region.buffer_bytes)
    }
}

/// A piece of memory that is written to a file as a whole, or lent to a ring in pieces. A piece is
/// lent as an [`IoBuf`]; the rest of the area can be used meanwhile.
///
/// Invariant: lent pieces lie inside `lent`, apart from one another, and no code reaches the bytes
/// in there while one is lent.
pub struct IoArea {
    /// The pool. Areas that were made together are the buffers of one pool, each taken for good.
    pool: IoPool,
    number: u32,
    length: usize,
    lent: Range<usize>,
}

impl IoArea {
    /// Makes areas of `length` bytes each, in one piece of memory, all zeros.
    pub fn zeroed<const AREAS: usize>(length: usize) -> [IoArea; AREAS] {
        IoArea::try_zeroed(length).unwrap_or_else(|_| handle_alloc_error(layout(length)))
    }

    /// Does what [`zeroed`](IoArea::zeroed) does, but returns an error where the machine lacks the
    /// memory.
    pub fn try_zeroed<const AREAS: usize>(length: usize) -> Result<[IoArea; AREAS], Error> {
        let lent = (0..AREAS).map(|_| AtomicU32::new(0)).collect();
        let region = Region::try_new(AREAS as u32, length.next_multiple_of(IO_ALIGNMENT), lent)?;
        let pool = IoPool { region: Arc::new(region) };
        Ok(std::array::from_fn(|number| IoArea {
            pool: pool.clone(),
            number: number as u32,
            length,
            lent: 0..0,
        }))
    }

    /// The memory of all areas that were made together, for a ring to register with the kernel.
    pub fn pool(&self) -> &IoPool {
        &self.pool
    }

    /// The number of bytes in the area.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether a piece is lent.
    pub fn is_lent(&self) -> bool {
        self.lent_count().load(Ordering::Acquire) > 0
    }

    /// Lends this piece until the buffer is dropped.
    ///
    /// # Panics When the piece isn't inside the area, or while a lent piece doesn't end before it
    /// begins.
    pub fn lend(&mut self, piece: Range<usize>) -> IoBuf {
        let Range { start, end } = piece;
        assert!(start < end && end <= self.length, "an area has no such piece");
        self.lent = if self.is_lent() {
            assert!(start >= self.lent.end, "pieces of an area are lent in their order");
            self.lent.start..end
        } else {
            start..end
        };
        self.lent_count().fetch_add(1, Ordering::Relaxed);
        let region = Some(Arc::clone(&self.pool.region));
        IoBuf { start: self.at(start), length: end - start, region }
    }

    /// The bytes of this piece.
    ///
    /// # Panics When the piece isn't inside the area, or some of it may be lent.
    pub fn bytes(&mut self, piece: Range<usize>) -> &mut [u8] {
        let Range { start, end } = piece;
        assert!(start <= end && end <= self.length, "an area has no such piece");
        let apart = end <= self.lent.start || start >= self.lent.end;
        let is_free = apart || self.lent_count().load(Ordering::Acquire) == 0;
        assert!(is_free, "a piece of an area is used while it is lent");
        // SAFETY: the piece lies inside this area, which is this IoArea's alone; no IoBuf has any
        // of it (both asserted above), and `&mut self` makes this the only slice.
        unsafe { std::slice::from_raw_parts_mut(self.at(start).as_ptr(), end - start) }
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        let region = &self.pool.region;
        assert!(offset <= self.length);
        // SAFETY: areas lie in the region side by side, and the offset isn't beyond this one's end.
        unsafe { region.start.add(self.number as usize * region.buffer_bytes + offset) }
    }

    fn lent_count(&self) -> &AtomicU32 {
        &self.pool.region.lent[self.number as usize]
    }
}

impl fmt::Debug for IoArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoArea({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lent piece is the area's own memory, and the rest can be used meanwhile.
    #[test]
    fn an_area_lends_pieces_of_itself() {
        let [mut area, mut other] = IoArea::zeroed(4 * 4096);
        let _out = other.lend(0..100);
        area.bytes(0..4096).fill(1);
        let first = area.lend(0..2048);
        let mut second = area.lend(2048..8192);
        assert!(first.iter().all(|byte| *byte == 1));
        second.fill(2);
        area.bytes(8192..16_384).fill(3);
        drop((first, second));
        assert_eq!([0, 2048, 8191, 8192].map(|at| area.bytes(at..at + 1)[0]), [1, 2, 2, 3]);
        assert_eq!(area.lend(0..16_384)[2047], 1);
    }

    /// Lent bytes can't be reached, not even with a piece that only touches them.
    #[test]
    #[should_panic(expected = "used while it is lent")]
    fn what_is_lent_is_not_used() {
        let [mut area] = IoArea::zeroed(8192);
        let _out = area.lend(4096..8192);
        let _ = area.bytes(0..4097);
    }

    /// A piece can't be lent twice.
    #[test]
    #[should_panic(expected = "lent in their order")]
    fn a_piece_is_lent_once() {
        let [mut area] = IoArea::zeroed(8192);
        let _out = area.lend(0..4096);
        let _ = area.lend(4095..8192);
    }

    /// A buffer is aligned and starts as zeros; a pool lends each of its buffers once.
    #[test]
    fn a_pool_lends_each_buffer_once() {
        let pool = IoPool::new(3, 8192).expect("a good size");
        let mut lent: Vec<IoBuf> = (0..3).map(|_| pool.take().expect("free")).collect();
        assert!(pool.take().is_none());
        for (i, buffer) in lent.iter_mut().enumerate() {
            assert_eq!(buffer.as_ptr() as usize % IO_ALIGNMENT, 0);
            assert!(buffer.iter().all(|b| *b == 0));
            buffer.fill(i as u8 + 1);
        }
        assert!(lent.iter().enumerate().all(|(i, b)| b.iter().all(|x| *x == i as u8 + 1)));
        lent.clear();
        assert!(pool.take().is_some());
    }

    /// Large buffers are zeros too, begin at a huge page, and can be filled to the last byte.
    #[test]
    fn a_large_buffer_is_mapped_whole() {
        for length in [HUGE_PAGE, HUGE_PAGE + 1, 5 * HUGE_PAGE + 4096] {
            let mut buffer = IoBuf::zeroed(length);
            assert_eq!(buffer.as_ptr() as usize % HUGE_PAGE, 0);
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(7);
            assert_eq!(buffer[length - 1], 7);
        }
    }

    /// A buffer that was given up has no memory, and is zeros when it is taken again.
    #[test]
    fn a_buffer_that_was_given_up_is_zeros_again() {
        let pool = IoPool::new(512, 8192).expect("a good size");
        let mut buffer = pool.take().expect("free");
        buffer.fill(7);
        buffer.discard();
        let again = pool.take().expect("free");
        assert!(again.iter().all(|byte| *byte == 0));
        let small = IoPool::new(1, 4096).expect("a good size");
        small.take().expect("free").discard();
        assert!(small.take().is_some());
    }

    /// The same holds in a pool that is shorter than a huge page, while others of its buffers are
    /// used.
    #[test]
    fn a_buffer_that_was_given_up_has_no_memory() {
        let pool = IoPool::new(16, 8192).expect("a good size");
        let mut lent: Vec<IoBuf> = std::iter::from_fn(|| pool.take()).collect();
        lent.iter_mut().for_each(|buffer| buffer.fill(7));
        assert_eq!(resident_pages(&pool), 32);
        lent.drain(1..).for_each(IoBuf::discard);
        assert_eq!(resident_pages(&pool), 2);
        assert!(lent[0].iter().all(|byte| *byte == 7));
        assert!(pool.take().expect("free").iter().all(|byte| *byte == 0));
    }

    /// The number of pages of the pool's memory that are resident.
    fn resident_pages(pool: &IoPool) -> usize {
        let (start, length) = pool.memory();
        let mut pages = vec![0; length.div_ceil(IO_ALIGNMENT)];
        // SAFETY: the memory is the pool's, and there is a byte for each of its pages.
        let asked = unsafe { libc::mincore(start.cast(), length, pages.as_mut_ptr()) };
        assert_eq!(asked, 0, "the kernel knows");
        pages.iter().filter(|page| **page & 1 == 1).count()
    }

    /// A buffer outlives the handle of the pool that lent it.
    #[test]
    fn a_buffer_outlives_its_pool() {
        let buffer = IoPool::new(1, 4096).expect("a good size").take().expect("free");
        assert_eq!(buffer.len(), 4096);
    }

    /// A buffer without bytes has no memory to give back.
    #[test]
    fn a_buffer_can_be_empty() {
        let mut buffer = IoBuf::empty();
        assert!(buffer.is_empty() && buffer.as_ptr().addr().is_multiple_of(IO_ALIGNMENT));
        buffer.fill(1);
    }

    /// A size that direct I/O couldn't use is refused by name.
    #[test]
    fn an_unaligned_size_is_refused() {
        let error = IoPool::new(4, 5000).expect_err("not a multiple");
        assert!(error.to_string().contains("multiple of 4096"), "{error}");
    }
}
