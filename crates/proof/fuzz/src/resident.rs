//! The memory of this process, as the system counts it.
//!
//! Callers: `play`.

#![expect(clippy::disallowed_methods, reason = "what the system says of this process is no file")]

/// The bytes of a page.
const PAGE_BYTES: u64 = 4 << 10;

/// The bytes of memory that this process has; none where the system doesn't say.
pub(crate) fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory() {
        let Some(before) = resident_bytes() else { return };
        let more = std::hint::black_box(vec![7_u8; 64 << 20]);
        let with = resident_bytes().expect("it was said before");
        assert!(with >= before + (std::hint::black_box(&more).len() as u64) / 2, "{before} {with}");
    }
}
