//! The standard's views of the dictionary, in schema `information_schema`.
//!
//! They show the tables that users have made, and the views of this room; columns of the standard
//! that say nothing here are left out.
//!
//! Source: ISO/IEC 9075-11, "Information and Definition Schemas"; PostgreSQL 15, "The Information
//! Schema", for what its clients ask.

mod constraints;
mod tables;

use crate::view::View;

#[cfg(test)]
pub(crate) use tables::internal_name;

/// The views.
pub(crate) const GROUPS: &[&[View]] = &[tables::VIEWS, constraints::VIEWS];
