//! The one way to declare a structure on disk (F5).
//!
//! `layout!` takes a struct with its size and with the offset of each field. From it come
//!   * the struct itself, `#[repr(C)]`, with the zerocopy derives that turn bytes into it and
//!     back without `unsafe`
//!   * compile-time asserts of the size and of every offset
//!   * a [`Layout`], the rows of its table in the document; the sentences are the doc comments
//!
//! Invariants
//!   * every layout has alignment 1 (`Unaligned`) and no padding (`IntoBytes`), so it may lie at
//!     any place in a buffer and no byte of it is undefined
//!   * a field whose name starts with `reserved` is zero on disk (F4)
//!
//! Callers: the files of this crate that declare a layout, and `document`.

/// The shape of one structure on disk.
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) bytes: usize,
    pub(crate) fields: &'static [Field],
}

/// One row of a layout.
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) name: &'static str,
    pub(crate) stored_as: &'static str,
    pub(crate) about: &'static str,
}

/// Declares a structure on disk; see the head of this file.
macro_rules! layout {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident: $bytes:literal {
            $(
                $(#[doc = $field_about:literal])+
                $offset:literal => $field_vis:vis $field:ident: $stored_as:ty,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(
            Clone, Copy, PartialEq, Eq, Debug,
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::KnownLayout,
            zerocopy::Immutable, zerocopy::Unaligned,
        )]
        #[repr(C)]
        $vis struct $name {
            $(
                $(#[doc = $field_about])+
                $field_vis $field: $stored_as,
            )+
        }

        const _: () = assert!(size_of::<$name>() == $bytes);
        $(const _: () = assert!(std::mem::offset_of!($name, $field) == $offset);)+

        impl $name {
            /// The structure at this offset.
            ///
            /// # Panics
            /// When the bytes end before the structure does.
            #[inline]
            pub fn at(bytes: &[u8], offset: usize) -> &$name {
                let (found, _) = <$name as zerocopy::FromBytes>::ref_from_prefix(&bytes[offset..])
                    .expect("a structure lies inside its block");
                found
            }

            /// The structure at this offset, mutable.
            ///
            /// # Panics When the bytes end before the structure does.
            #[inline]
            pub fn at_mut(bytes: &mut [u8], offset: usize) -> &mut $name {
                let (found, _) =
                    <$name as zerocopy::FromBytes>::mut_from_prefix(&mut bytes[offset..])
                        .expect("a structure lies inside its block");
                found
            }

            /// Reads the structure at the beginning of these bytes. Returns it with the bytes
            /// behind it.
            #[inline]
            pub fn read(bytes: &[u8]) -> Result<(&$name, &[u8]), crate::PayloadFault> {
                <$name as zerocopy::FromBytes>::ref_from_prefix(bytes)
                    .map_err(|_| crate::PayloadFault::Short(stringify!($name)))
            }

            /// Reads `count` structures, one directly after the other, at the beginning of these
            /// bytes. Returns them with the bytes behind them.
            pub fn read_many(
                bytes: &[u8],
                count: usize,
            ) -> Result<(&[$name], &[u8]), crate::PayloadFault> {
                <[$name] as zerocopy::FromBytes>::ref_from_prefix_with_elems(bytes, count)
                    .map_err(|_| crate::PayloadFault::Short(stringify!($name)))
            }

            /// The structure in these bytes, which must be exactly its length: a payload that was
            /// checked (rule change/CH9).
            ///
            /// # Panics When there are fewer bytes, or more.
            #[inline]
            pub fn whole(payload: &[u8]) -> &$name {
                <$name as zerocopy::FromBytes>::ref_from_bytes(payload)
                    .expect("a payload is checked before it is used (rule change/CH9)")
            }

            /// The structures in these bytes, one directly after the other: a payload that was
            /// checked (rule change/CH9).
            ///
            /// # Panics When the bytes end within a structure.
            pub fn whole_many(payload: &[u8]) -> &[$name] {
                <[$name] as zerocopy::FromBytes>::ref_from_bytes(payload)
                    .expect("a payload is checked before it is used (rule change/CH9)")
            }

            /// The stored bytes.
            #[inline]
            pub fn bytes(&self) -> &[u8] {
                zerocopy::IntoBytes::as_bytes(self)
            }

            /// The stored bytes of several structures, one directly after the other.
            #[allow(dead_code, reason = "few layouts are stored in numbers")]
            #[inline]
            pub fn bytes_of_many(all: &[$name]) -> &[u8] {
                zerocopy::IntoBytes::as_bytes(all)
            }

            /// The structure as a part of a payload.
            #[allow(dead_code, reason = "few layouts are parts of payloads")]
            pub(crate) const PART: crate::changes::Part = crate::changes::Part {
                name: concat!("`", stringify!($name), "`"),
                skip: |rest| $name::read(rest).map(|(_, rest)| rest),
            };

            /// Any number of these structures as a part of a payload.
            #[allow(dead_code, reason = "few layouts are parts of payloads")]
            pub(crate) const MANY: crate::changes::Part = crate::changes::Part {
                name: concat!("any number of `", stringify!($name), "`"),
                skip: |rest| {
                    let count = rest.len() / size_of::<$name>();
                    $name::read_many(rest, count).map(|(_, rest)| rest)
                },
            };

            /// The shape of this structure, for the document.
            pub(crate) const LAYOUT: crate::layout::Layout = crate::layout::Layout {
                name: stringify!($name),
                about: concat!($($about),+),
                bytes: $bytes,
                fields: &[$(crate::layout::Field {
                    offset: $offset,
                    bytes: size_of::<$stored_as>(),
                    name: stringify!($field),
                    stored_as: stringify!($stored_as),
                    about: concat!($($field_about),+),
                }),+],
            };
        }
    };
}
pub(crate) use layout;

#[cfg(test)]
mod tests {
    use crate::document::LAYOUTS;

    #[test]
    fn the_fields_of_a_layout_cover_it_without_gap_or_overlap() {
        for layout in LAYOUTS {
            let mut end = 0;
            for field in layout.fields {
                assert_eq!(field.offset, end, "{}.{}", layout.name, field.name);
                end += field.bytes;
            }
            assert_eq!(end, layout.bytes, "{}", layout.name);
        }
    }
}
