//! Prefetching of memory.
//!
//! Callers: the buffer cache, and code that reads rows.

/// The size of a line of the processor's cache, in bytes.
pub const CACHE_LINE: usize = 64;

/// Asks the processor for the cache line at an address that is going to be read, and goes on
/// without it. It is a hint: any address will do, even an unmapped one.
#[inline]
pub fn prefetch(address: usize) {
    // SAFETY: a prefetch returns nothing to the program, and faults at no address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks the processor for all cache lines of these bytes.
#[inline]
pub fn prefetch_all(bytes: &[u8]) {
    bytes.iter().step_by(CACHE_LINE).for_each(|byte| prefetch(std::ptr::from_ref(byte).addr()));
}
