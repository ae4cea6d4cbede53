//! Refusals of what a caller asks wrongly, with the names of table and column (RL15).
//!
//! Callers: all of this crate.

use stop::{Refusal, RefusalKind, SqlState, Stop};
use value::{Misfit, MisreadKind, Misreads, RowView};

use crate::Relation;

impl Relation {
    /// A row for a caller's closure. It notes in `misreads` what the closure asks wrongly.
    #[inline]
    pub(crate) fn row_for<'a>(
        &'a self,
        bytes: &'a [u8],
        misreads: &'a Misreads,
    ) -> Result<RowView<'a>, Stop> {
        self.row(bytes).map(|row| row.noting(misreads))
    }

    /// Refuses the statement if a closure has asked a row wrongly.
    #[inline]
    pub(crate) fn check_misreads(&self, misreads: &Misreads) -> Result<(), Stop> {
        match misreads.first() {
            None => Ok(()),
            Some(misread) => Err(self.misread(misread.column, misread.why)),
        }
    }

    #[cold]
    fn misread(&self, column: usize, why: MisreadKind) -> Stop {
        let what = match why {
            MisreadKind::NoColumn => return self.no_column(column),
            MisreadKind::Dropped => return self.dropped_column(column),
            MisreadKind::NotInteger(kind) => format!("a whole number: it is {kind}"),
            MisreadKind::NotText(kind) => format!("a text: it is {kind}"),
        };
        let definition = self.definition();
        let name = &definition.columns[column].name;
        self.invalid(&format!(
            "cannot read column {name} of table {} as {what}; read it with get",
            definition.name
        ))
    }

    /// Refuses a column that isn't there or was dropped.
    pub(crate) fn check_column(&self, column: usize) -> Result<(), Stop> {
        match self.definition().columns.get(column) {
            Some(_) if self.layout().is_dropped(column) => Err(self.dropped_column(column)),
            Some(_) => Ok(()),
            None => Err(self.no_column(column)),
        }
    }

    #[cold]
    fn no_column(&self, column: usize) -> Stop {
        let definition = self.definition();
        self.invalid(&format!(
            "table {} has no column {column}: it has {}, counted from 0; ask it for the column by \
             its name",
            definition.name,
            definition.columns.len()
        ))
    }

    #[cold]
    pub(crate) fn dropped_column(&self, column: usize) -> Stop {
        self.invalid(&format!(
            "column {column} of table {}, counted from 0, was dropped; ask for the table and its \
             columns again",
            self.definition().name
        ))
    }

    /// The refusal of a key with fewer or more values than its index has columns.
    #[cold]
    pub(crate) fn wrong_key(&self, number: usize, values: usize) -> Stop {
        let (definition, index) = (self.definition(), self.index_definition(number));
        let names = index.columns.iter().map(|of| definition.columns[of.column].name.as_str());
        self.invalid(&format!(
            "cannot look for a key of {values} values in index {} of table {}: it has {} columns \
             ({})",
            index.name,
            definition.name,
            index.columns.len(),
            names.collect::<Vec<_>>().join(", ")
        ))
    }

    /// Refuses a key that hasn't a value for each column of its index.
    #[inline]
    pub(crate) fn check_key_length(&self, number: usize, length: usize) -> Result<(), Stop> {
        match length == self.indexes()[number].columns.len() {
            true => Ok(()),
            false => Err(self.wrong_key(number, length)),
        }
    }

    /// Refuses a key of an index that isn't unique, where one row is meant.
    #[inline]
    pub(crate) fn check_unique(&self, number: usize) -> Result<(), Stop> {
        let index = self.index_definition(number);
        match index.unique {
            true => Ok(()),
            false => Err(self.invalid(&format!(
                "cannot change the row with a key of index {} of table {}: it isn't unique; name \
                 a range",
                index.name,
                self.definition().name
            ))),
        }
    }

    /// Refuses an index that isn't unique where a conflict is looked for.
    pub(crate) fn check_arbiter(&self, number: usize) -> Result<(), Stop> {
        let index = self.index_definition(number);
        match index.unique {
            true => Ok(()),
            false => Err(self.invalid(&format!(
                "cannot look for a conflict by index {} of table {}: it isn't unique; name a \
                 unique index",
                index.name,
                self.definition().name
            ))),
        }
    }

    /// The refusal of a value that doesn't fit its column.
    #[cold]
    pub(crate) fn misfit(&self, misfit: &Misfit) -> Stop {
        let table = &self.definition().name;
        Refusal::from(misfit.clone()).led_by(&format!("table {table}: ")).table(table).into()
    }

    /// The refusal of a value for a column that is GENERATED ALWAYS AS IDENTITY (RL18).
    #[cold]
    pub(crate) fn always_generated(&self, column: usize) -> Stop {
        let definition = self.definition();
        let (column, table) = (&definition.columns[column].name, &definition.name);
        let message = format!(
            "cannot set column {column} of table {table}: it is GENERATED ALWAYS AS IDENTITY"
        );
        let refusal = Refusal::new(RefusalKind::Invalid, message);
        let refusal = refusal.with_state(SqlState::GENERATED_ALWAYS).hint("leave it as it is");
        refusal.table(table).column(column).into()
    }

    #[cold]
    fn invalid(&self, message: &str) -> Stop {
        Stop::refuse(RefusalKind::Invalid, message)
    }
}
