//! Tables in huge pages.
//!
//! A table with an entry for each block of a cache is read at random, in many places. In pages of 4
//! KiB each look also misses the processor's table of translations.
//!
//! Callers: the buffer cache and the latches of its frames.

use std::sync::Arc;

use rustix::mm::{Advice, madvise};

use crate::{HUGE_PAGE, IO_ALIGNMENT};

/// The bytes from which a table is asked for in huge pages: below that, what they waste at both
/// ends would be much beside the table.
const WORTH_IT: usize = 8 * HUGE_PAGE;

/// A table of `count` values, each made by `make` from its number. The part of it that fills huge
/// pages lies in such, if the kernel has them.
pub fn huge_table<T>(count: usize, mut make: impl FnMut(usize) -> T) -> Arc<[T]> {
    let mut table = Arc::new_uninit_slice(count);
    let values = Arc::get_mut(&mut table).expect("nobody else has it yet");
    advise(values.as_ptr().addr(), size_of_val(values));
    for (value, number) in values.iter_mut().zip(0..) {
        value.write(make(number));
    }
    // SAFETY: each value was written.
    unsafe { table.assume_init() }
}

/// Asks for huge pages, before the memory is used for the first time. A kernel that refuses makes
/// this slower, not wrong.
fn advise(start: usize, bytes: usize) {
    let first = start.next_multiple_of(IO_ALIGNMENT);
    let length = (start + bytes).saturating_sub(first) / IO_ALIGNMENT * IO_ALIGNMENT;
    if length >= WORTH_IT {
        // SAFETY: whole pages within memory of the caller's; the advice changes no content.
        let _ = unsafe {
            madvise(std::ptr::without_provenance_mut(first), length, Advice::LinuxHugepage)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_made_from_its_number() {
        for count in [0, 1, 3 << 20] {
            let table = huge_table(count, |number| number as u64);
            assert!(table.iter().copied().eq(0..count as u64), "{count} values");
        }
    }
}
