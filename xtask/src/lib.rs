//! Where this workspace lies, for the programs that work on it.
//!
//! Callers: the verbs of `xtask` itself, and of `bench`.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it asks cargo, in the real world"
)]

pub mod workspace;
