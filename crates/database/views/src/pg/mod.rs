//! PostgreSQL's catalogue, as far as its clients ask: what `\d` of its shell, drivers and tools
//! join.
//!
//! Oids are stable (see `oids`). Lists of columns (`int2vector`, arrays) are texts, because there
//! is no type for them: `1 2` and `{1,2}`.
//!
//! Source: PostgreSQL 15, "System Catalogs".

mod class;
mod empty;
mod keys;
mod server;
mod types;

use crate::view::View;

pub(crate) use types::{all_oids as type_oids, name_of as type_name};

/// The views.
pub(crate) const GROUPS: &[&[View]] =
    &[class::VIEWS, keys::VIEWS, types::VIEWS, server::VIEWS, empty::VIEWS];
