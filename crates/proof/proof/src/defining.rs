//! A connection by which things are defined: by calls of the API, or by the texts of the same
//! definitions.
//!
//! Callers: `define` and `make` of the crash sweep; `model_check`.

use database::{
    Alteration, Condition, Connection, ConstraintSpec, IndexSpec, Rule, SequenceOptions, Table,
    TableSpec,
};
use stop::Stop;

use crate::found::{check_text, expression_text};
use crate::{By, text};

/// A connection, and how it is told of definitions.
pub(crate) struct Defining<'d, 's> {
    by: By,
    connection: &'d mut Connection<'s>,
}

impl<'d, 's> Defining<'d, 's> {
    pub(crate) fn new(by: By, connection: &'d mut Connection<'s>) -> Defining<'d, 's> {
        Defining { by, connection }
    }

    /// The connection, for what isn't a definition.
    pub(crate) fn connection(&mut self) -> &mut Connection<'s> {
        self.connection
    }

    pub(crate) fn table(&self, name: &str) -> Result<Table, Stop> {
        self.connection.table(name)
    }

    fn execute(&mut self, text: &str) -> Result<(), Stop> {
        self.connection.execute(text, &[]).map(drop)
    }

    pub(crate) fn create_table(&mut self, spec: &TableSpec) -> Result<(), Stop> {
        match self.by {
            By::Api => self.connection.create_table(spec).map(drop),
            By::Sql => self.execute(&text::create_table(spec)),
        }
    }

    pub(crate) fn create_index(&mut self, spec: &IndexSpec) -> Result<(), Stop> {
        match self.by {
            By::Api => self.connection.create_index(spec),
            By::Sql => self.execute(&text::create_index(spec)),
        }
    }

    pub(crate) fn create_sequence(
        &mut self,
        name: &str,
        options: &SequenceOptions,
    ) -> Result<(), Stop> {
        match self.by {
            By::Api => self.connection.create_sequence(name, options),
            By::Sql => self.execute(&text::create_sequence(name, options)),
        }
    }

    pub(crate) fn alter_table(&mut self, name: &str, alteration: &Alteration) -> Result<(), Stop> {
        if self.by == By::Api {
            return self.connection.alter_table(name, alteration);
        }
        // A condition has places of columns, and a text their names.
        let names: Vec<String> = match alteration {
            Alteration::AddConstraint(ConstraintSpec { rule: Rule::Check(_), .. }) => {
                let table = self.table(name)?;
                let columns = table.definition().columns.iter();
                columns.map(|column| column.name.clone()).collect()
            }
            _ => Vec::new(),
        };
        let name_of = |place: usize| text::quoted(&names[place]);
        self.execute(&text::alter_table(name, alteration, &name_of))
    }

    pub(crate) fn drop_table(&mut self, name: &str, cascade: bool) -> Result<(), Stop> {
        match self.by {
            By::Api => self.connection.drop_table(name, cascade),
            By::Sql => {
                let cascade = if cascade { " cascade" } else { "" };
                self.execute(&format!("drop table {}{cascade}", text::quoted(name)))
            }
        }
    }

    pub(crate) fn truncate_table(&mut self, name: &str) -> Result<(), Stop> {
        match self.by {
            By::Api => self.connection.truncate_table(name),
            By::Sql => self.execute(&format!("truncate table {}", text::quoted(name))),
        }
    }

    pub(crate) fn drop_index(&mut self, name: &str) -> Result<(), Stop> {
        match self.by {
            By::Api => self.connection.drop_index(name),
            By::Sql => self.execute(&format!("drop index {}", text::quoted(name))),
        }
    }

    pub(crate) fn drop_sequence(&mut self, name: &str) -> Result<(), Stop> {
        match self.by {
            By::Api => self.connection.drop_sequence(name),
            By::Sql => self.execute(&format!("drop sequence {}", text::quoted(name))),
        }
    }

    /// What the dictionary says of a CHECK with this condition on columns of these names.
    pub(crate) fn check_text(&self, condition: &Condition, names: &[&str]) -> String {
        match self.by {
            By::Api => check_text(condition),
            By::Sql => {
                let name_of = |place: usize| text::quoted(names[place]);
                expression_text(&text::condition(condition, &name_of))
            }
        }
    }
}
