//! A few bytes that are kept in place, without an allocation: heads of payloads.
//!
//! Callers: the layers, which make payloads of changes.

use std::ops::Deref;

/// Up to `N` bytes.
#[derive(Clone, Copy, Debug)]
pub struct FewBytes<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> FewBytes<N> {
    /// No bytes.
    pub const NONE: FewBytes<N> = FewBytes { bytes: [0; N], length: 0 };

    /// How many bytes still fit.
    #[inline]
    pub fn room(&self) -> usize {
        N - self.length
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// When there is no room for them.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }
}

impl<const N: usize> Deref for FewBytes<N> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
