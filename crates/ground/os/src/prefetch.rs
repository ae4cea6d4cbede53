//! Memory asked for ahead.
//!
//! Callers: the buffer cache, and who reads rows.

/// Bytes of a line of the processor's cache.
pub const CACHE_LINE: usize = 64;

/// Asks the processor for the line of memory at an address that is going to be read, and goes on
/// without it. A hint: any address will do, also one where there is nothing.
#[inline]
pub fn prefetch(address: usize) {
    // SAFETY: a prefetch gives nothing to the program, and faults at no address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
