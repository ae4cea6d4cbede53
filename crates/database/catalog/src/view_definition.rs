//! What views are: the text of a query, and the objects that the query reads.
//!
//! The text is SQL's; nothing here understands it. It names objects as they were called when the
//! view was made, so none of them is renamed or dropped while the view is there (DC36).
//!
//! Callers: `view_statements`, `texts`, `dependents`; SQL, which binds views into queries.

use ids::ObjectNo;

use crate::ObjectId;

/// What a view is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewDefinition {
    /// Its number.
    pub object: ObjectNo,
    /// Its name.
    pub name: String,
    /// The text of its query.
    pub text: String,
    /// The names of its columns, in their order.
    pub columns: Vec<String>,
    /// The objects that its query reads, each once.
    pub depends_on: Vec<Dependency>,
}

/// An object that a view reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The object.
    pub object: ObjectId,
    /// The places of the columns that are read, ascending; none for a sequence.
    pub columns: Vec<usize>,
}

impl ViewDefinition {
    /// Whether the view reads the object itself, not through another view.
    pub fn reads(&self, object: ObjectId) -> bool {
        self.depends_on.iter().any(|one| one.object == object)
    }

    /// Whether the view reads this column of the object.
    pub fn reads_column(&self, object: ObjectId, column: usize) -> bool {
        let mut all = self.depends_on.iter();
        all.any(|one| one.object == object && one.columns.contains(&column))
    }
}
