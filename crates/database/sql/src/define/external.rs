//! CREATE EXTERNAL TABLE.
//!
//! Its files needn't be there: they are opened by the statements that read them.
//!
//! Callers: `define`.

use catalog::ExternalSpec;
use stop::{RefusalKind, Stop};
use syntax::CreateExternalTable;

use super::Done;
use crate::engine::Frame;
use crate::files::layout_of;
use crate::names::Name;

impl Frame<'_> {
    /// CREATE EXTERNAL TABLE, whose text this is.
    pub(super) fn create_external(
        &mut self,
        create: &CreateExternalTable,
        text: &str,
    ) -> Result<Done, Stop> {
        let name = Name::of_users(&create.name)?;
        if create.if_not_exists && self.object_named(&name).is_some() {
            return Ok(Done::Skipped);
        }
        // Whatever may be wrong with it is found now, and not by each statement that reads it.
        let columns = layout_of(create)?.into_columns().collect();
        let spec = ExternalSpec { name, columns, options: text.to_string() };
        let made = self.catalog.create_external(&spec, self.session).map(|_| ());
        Done::unless(create.if_not_exists, RefusalKind::AlreadyExists, made)
    }
}
