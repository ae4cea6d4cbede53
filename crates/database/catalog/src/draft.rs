//! Drafts: the definitions that statements ask for, made from specs without looking at rows.
//!
//! ```text
//!   TableSpec ──▶ columns ──▶ constraints, each with the index that it needs ──▶ TableDefinition
//! ```
//!
//! An object without a segment has a number from the top of all numbers; `renumber` gives it its
//! own when there is one.
//!
//! Invariants
//!   * every refusal of a statement that needs no rows comes from here
//!   * a foreign key's columns are in the order of the unique index that it refers to
//!
//! DEFAULTs and CHECKs of a draft are in `draft_parts`.
//!
//! Callers: `create`, `alter`.

use ids::{ObjectNo, Scn};
use relation::{ColumnDefinition, ForeignKey, IndexColumn, IndexDefinition, TableDefinition};
use stop::{RefusalKind, SqlState, Stop};
use value::{COLUMNS_MAX, NullOrdering};

use crate::SequenceDefinition;
use crate::definition_names::{index_names, place_of};
use crate::dictionary::Dictionary;
use crate::generated_names::GeneratedNames;
use crate::names;
use crate::spec::{ColumnSpec, ConstraintSpec, ForeignKeySpec, IndexSpec, Rule, TableSpec};

/// The most columns of an index, as in Oracle.
pub const INDEX_COLUMNS_MAX: usize = 32;
/// The most indexes of a table.
pub const INDEXES_MAX: usize = 64;

/// What CREATE INDEX makes, where its name is taken: that is told as of a table (42P07).
const AN_INDEX: &str = "an index or constraint";

/// A table as a statement asks for it.
pub(crate) struct Draft<'a> {
    pub(crate) dictionary: &'a Dictionary,
    pub(crate) table: TableDefinition,
    /// The sequences that are made with it.
    pub(crate) sequences: Vec<SequenceDefinition>,
    /// The names that were made up.
    pub(crate) generated: GeneratedNames,
    /// The names that the statement gives to constraints; none of them is made up for another one.
    given: Vec<String>,
    /// The next number for an object without a segment.
    next: u32,
    /// The number of the first new sequence.
    pub(crate) first_sequence: u32,
}

/// The number of a table, or of a segment, that isn't made yet.
const NEW_TABLE: u32 = u32::MAX;

/// The number of a segment that isn't made yet.
pub(crate) const NEW_SEGMENT: ObjectNo = ObjectNo::new(NEW_TABLE);

impl<'a> Draft<'a> {
    /// The draft of a new table, whose sequences are numbered from `first_sequence` on.
    pub(crate) fn create(
        spec: &TableSpec,
        first_sequence: u32,
        dictionary: &'a Dictionary,
    ) -> Result<Draft<'a>, Stop> {
        names::check("table", &spec.name)?;
        dictionary.check_free(&spec.name)?;
        let object = ObjectNo::new(NEW_TABLE);
        let table = TableDefinition::new(object, &spec.name, object);
        let of_constraints = spec.constraints.iter().filter_map(|one| one.name.clone());
        let of_indexes = spec.indexes.iter().map(|one| one.name.clone());
        let given = of_constraints.chain(of_indexes).collect();
        let mut draft = Draft { first_sequence, given, ..Draft::alter(table, dictionary) };
        if spec.columns.is_empty() {
            return Err(draft.refuse("it has no column; name one"));
        }
        for column in &spec.columns {
            draft.add_column(column)?;
        }
        // The primary key comes first, because foreign keys to the table itself need it.
        let is_primary = |one: &&ConstraintSpec| matches!(one.rule, Rule::PrimaryKey(_));
        let is_foreign = |one: &&ConstraintSpec| matches!(one.rule, Rule::ForeignKey(_));
        let constraints = merged(&spec.constraints);
        let all = || constraints.iter();
        for one in all().filter(is_primary) {
            if let Rule::PrimaryKey(columns) = &one.rule {
                for column in columns {
                    let place = draft.column(column)?;
                    draft.table.columns[place].not_null = true;
                }
            }
            draft.add_constraint(one)?;
        }
        // A foreign key needs no index of its own where one of these begins with its columns.
        for index in &spec.indexes {
            draft.add_index(index)?;
        }
        let others = all().filter(|one| !is_primary(one) && !is_foreign(one));
        for one in others.chain(all().filter(is_foreign)) {
            draft.add_constraint(one)?;
        }
        Ok(draft)
    }

    /// The draft of a change of an existing table.
    pub(crate) fn alter(table: TableDefinition, dictionary: &'a Dictionary) -> Draft<'a> {
        let (sequences, generated, given) = (Vec::new(), GeneratedNames::default(), Vec::new());
        let next = NEW_TABLE - 1;
        Draft { dictionary, table, sequences, generated, given, next, first_sequence: 1 }
    }

    /// Whether an object has no number of its own yet.
    pub(crate) fn is_new(object: ObjectNo) -> bool {
        // Only the last of four thousand million segments could have such a number.
        object.get() > NEW_TABLE - 1_000
    }

    /// Adds a column behind the others.
    pub(crate) fn add_column(&mut self, spec: &ColumnSpec) -> Result<(), Stop> {
        names::check("column", &spec.name)?;
        if self.table.columns.iter().any(|column| column.name == spec.name) {
            let what = format!("it has two columns {}; rename one", spec.name);
            return Err(self.refuse_as(SqlState::DUPLICATE_COLUMN, &what));
        }
        if self.table.columns.len() == COLUMNS_MAX {
            let what = format!("it has more than {COLUMNS_MAX} columns");
            return Err(self.refuse_as(SqlState::TOO_MANY_COLUMNS, &what));
        }
        let default = self.default_of(spec)?;
        let not_null = spec.not_null || default.sequence().is_some();
        let column = ColumnDefinition::new(&spec.name, spec.kind, not_null);
        self.table.columns.push(ColumnDefinition { default, ..column });
        Ok(())
    }

    /// Adds a constraint, and the index that it needs.
    pub(crate) fn add_constraint(&mut self, spec: &ConstraintSpec) -> Result<(), Stop> {
        if let Some(name) = &spec.name {
            names::check("constraint", name)?;
            self.check_free("a constraint or index", name)?;
        }
        match &spec.rule {
            Rule::PrimaryKey(columns) => self.add_primary(spec, columns),
            Rule::Unique(columns) => {
                let name = self.name_for(spec, &format!("{}_key", columns.join("_")));
                let columns = self.key_columns(columns)?;
                self.push_index(name, columns, true, false).map(|_| ())
            }
            Rule::Check(condition) => self.add_check(spec, condition),
            Rule::CheckExpression { text, columns } => self.add_expression(spec, text, columns),
            Rule::ForeignKey(key) => self.add_foreign_key(spec, key),
        }
    }

    fn add_primary(&mut self, spec: &ConstraintSpec, columns: &[String]) -> Result<(), Stop> {
        if let Some(has) = self.table.indexes.iter().find(|index| index.primary) {
            let what = format!("it has a primary key already, {}", has.name);
            return Err(self.refuse_as(SqlState::INVALID_TABLE_DEFINITION, &what));
        }
        let name = self.name_for(spec, "pkey");
        let columns = self.key_columns(columns)?;
        let of = |column: &&IndexColumn| &self.table.columns[column.column];
        if let Some(column) = columns.iter().find(|column| !of(column).not_null) {
            let what = format!(
                "column {} of its primary key may be NULL; SET NOT NULL first",
                of(&column).name
            );
            return Err(self.refuse(&what));
        }
        self.push_index(name, columns, true, true).map(|_| ())
    }

    fn key_columns(&self, names: &[String]) -> Result<Vec<IndexColumn>, Stop> {
        names.iter().map(|name| self.column(name).map(IndexColumn::ascending)).collect()
    }

    /// Adds the index of a CREATE INDEX.
    pub(crate) fn add_index(&mut self, spec: &IndexSpec) -> Result<ObjectNo, Stop> {
        names::check("index", &spec.name)?;
        self.check_free(AN_INDEX, &spec.name)?;
        let mut columns = Vec::new();
        for column in &spec.columns {
            let direction = column.direction;
            let nulls = column.nulls.unwrap_or(NullOrdering::of(direction));
            columns.push(IndexColumn { column: self.column(&column.name)?, direction, nulls });
        }
        self.push_index(spec.name.clone(), columns, spec.unique, false)
    }

    /// Adds an index that was made for an earlier definition, if this one allows it.
    pub(crate) fn push_made(&mut self, index: IndexDefinition) -> Result<(), Stop> {
        self.check_free(AN_INDEX, &index.name)?;
        self.check_another(&index.name, &index.columns, index.unique)?;
        self.table.indexes.push(index);
        Ok(())
    }

    /// Refuses an index that is like another one, or one too many.
    fn check_another(&self, name: &str, columns: &[IndexColumn], unique: bool) -> Result<(), Stop> {
        let same = |has: &&IndexDefinition| has.columns == columns && has.unique == unique;
        if let Some(has) = self.table.indexes.iter().find(same) {
            let what = format!("its index {} has the same columns as {name}", has.name);
            return Err(self.refuse(&what));
        }
        if self.table.indexes.len() == INDEXES_MAX {
            return Err(self.refuse(&format!("it has more than {INDEXES_MAX} indexes")));
        }
        Ok(())
    }

    fn push_index(
        &mut self,
        name: String,
        columns: Vec<IndexColumn>,
        unique: bool,
        primary: bool,
    ) -> Result<ObjectNo, Stop> {
        let count = columns.len();
        if !(1..=INDEX_COLUMNS_MAX).contains(&count) {
            let what = format!("index {name} has {count} columns; it has 1 to {INDEX_COLUMNS_MAX}");
            return Err(self.refuse_as(SqlState::TOO_MANY_COLUMNS, &what));
        }
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|before| before.column == column.column) {
                let twice = &self.table.columns[column.column].name;
                let what = format!("index {name} has column {twice} twice");
                return Err(self.refuse_as(SqlState::DUPLICATE_COLUMN, &what));
            }
        }
        self.check_another(&name, &columns, unique)?;
        let object = ObjectNo::new(self.next);
        self.next -= 1;
        let segment = object;
        let index =
            IndexDefinition { object, name, segment, columns, unique, primary, since: Scn::ZERO };
        self.table.indexes.push(index);
        Ok(object)
    }

    fn add_foreign_key(&mut self, spec: &ConstraintSpec, key: &ForeignKeySpec) -> Result<(), Stop> {
        let is_own = key.references == self.table.name;
        let parent = match is_own {
            true => self.table.clone(),
            false => TableDefinition::clone(self.dictionary.table(&key.references)?),
        };
        let mut columns = Vec::new();
        for name in &key.columns {
            columns.push(self.column(name)?);
        }
        let (index, places) = self.referenced(&parent, key)?;
        if places.len() != columns.len() {
            let what = format!(
                "a foreign key has {} columns, and the key of {} that it refers to has {}",
                columns.len(),
                parent.name,
                places.len()
            );
            return Err(self.refuse_as(SqlState::INVALID_FOREIGN_KEY, &what));
        }
        // The child's columns, in the order of the index.
        let order = index.columns.iter().map(|of| {
            let at = places.iter().position(|place| *place == of.column);
            columns[at.expect("the index has exactly these columns")]
        });
        let columns: Vec<usize> = order.collect();
        let referenced_columns: Vec<usize> = index.columns.iter().map(|of| of.column).collect();
        for (own, other) in columns.iter().zip(&referenced_columns) {
            let (own, other) = (&self.table.columns[*own], &parent.columns[*other]);
            if !own.kind.shares_keys_with(other.kind) {
                let what = format!(
                    "column {} is {} and can't refer to {} of {}, which is {}",
                    own.name, own.kind, other.name, parent.name, other.kind
                );
                return Err(self.refuse_as(SqlState::DATATYPE_MISMATCH, &what));
            }
        }
        let name = self.name_for(spec, &format!("{}_fkey", key.columns.join("_")));
        let referenced_index = index.object;
        let index = self.index_beginning(&columns, &name)?;
        self.table.foreign_keys.push(ForeignKey {
            name,
            table: self.table.object,
            columns,
            index,
            references: parent.object,
            referenced_columns,
            referenced_index,
            on_delete: key.on_delete,
        });
        Ok(())
    }

    /// The unique index of the columns that a foreign key refers to, and their places in the order
    /// in which it names them.
    fn referenced(
        &self,
        parent: &TableDefinition,
        key: &ForeignKeySpec,
    ) -> Result<(IndexDefinition, Vec<usize>), Stop> {
        let places = |index: &IndexDefinition| index.columns.iter().map(|of| of.column).collect();
        if key.referenced_columns.is_empty() {
            let primary = parent.indexes.iter().find(|index| index.primary);
            let none = || {
                let what = format!(
                    "a foreign key refers to {}, which has no primary key; name the columns",
                    parent.name
                );
                self.refuse_as(SqlState::UNDEFINED_OBJECT, &what)
            };
            return primary.map(|index| (index.clone(), places(index))).ok_or_else(none);
        }
        let mut wanted = Vec::new();
        for name in &key.referenced_columns {
            wanted.push(place_of(parent, name)?);
        }
        let mut sorted = wanted.clone();
        sorted.sort_unstable();
        let is_it = |index: &&IndexDefinition| {
            let mut has: Vec<usize> = places(index);
            has.sort_unstable();
            index.unique && has == sorted
        };
        let none = || {
            let what = format!(
                "a foreign key refers to ({}) of {}, which no PRIMARY KEY, UNIQUE or unique index \
                 has as its columns; add one",
                key.referenced_columns.join(", "),
                parent.name
            );
            self.refuse_as(SqlState::INVALID_FOREIGN_KEY, &what)
        };
        parent.indexes.iter().find(is_it).map(|index| (index.clone(), wanted)).ok_or_else(none)
    }

    /// An index that begins with these columns. If there is none, one is made for the foreign key
    /// of this name, which the table doesn't have yet.
    fn index_beginning(&mut self, columns: &[usize], key: &str) -> Result<ObjectNo, Stop> {
        if let Some(index) = self.table.indexes.iter().find(|index| index.begins_with(columns)) {
            return Ok(index.object);
        }
        let name = self.make_name(format!("{key}_idx"), key);
        let columns = columns.iter().copied().map(IndexColumn::ascending).collect();
        self.push_index(name, columns, false, false)
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Result<usize, Stop> {
        place_of(&self.table, name)
    }

    /// Whether an index or a constraint has the name. One that the draft has lost is free.
    fn is_taken(&self, name: &str) -> bool {
        self.dictionary.has_index_name_beside(self.table.object, name)
            || index_names(&self.table).any(|has| has == name)
    }

    /// Refuses a name that an index or a constraint has; `what` would get it.
    fn check_free(&self, what: &str, name: &str) -> Result<(), Stop> {
        match self.is_taken(name) {
            true => Err(names::taken(what, name)),
            false => Ok(()),
        }
    }

    /// The name of a constraint: the given one, or one that is made up.
    pub(crate) fn name_for(&mut self, spec: &ConstraintSpec, kind: &str) -> String {
        match &spec.name {
            Some(name) => name.clone(),
            None => self.make_name(format!("{}_{kind}", self.table.name), ""),
        }
    }

    /// Makes up a name from this stem that no index or constraint has or is given, and that isn't
    /// `other`.
    fn make_name(&mut self, stem: String, other: &str) -> String {
        let is_given = |name: &str| self.given.iter().any(|given| given == name);
        let is_taken = |name: &str| name == other || is_given(name) || self.is_taken(name);
        let name = names::free(&stem, is_taken);
        self.generated.add_constraint(&name, stem);
        name
    }

    pub(crate) fn refuse(&self, what: &str) -> Stop {
        let what = format!("cannot define table {}: {what}", self.table.name);
        Stop::refuse(RefusalKind::Invalid, what)
    }

    /// The same, with the state of what is wrong.
    fn refuse_as(&self, state: SqlState, what: &str) -> Stop {
        self.refuse(what).map_refusal(|refusal| refusal.with_state(state))
    }
}

/// The constraints of a new table, without a UNIQUE of columns that have a key anyhow: UNIQUE
/// PRIMARY KEY is one key. It has the name of either; two keys that both have one stay two.
fn merged(constraints: &[ConstraintSpec]) -> Vec<ConstraintSpec> {
    let is_primary = |one: &&ConstraintSpec| matches!(one.rule, Rule::PrimaryKey(_));
    let (primary, others): (Vec<_>, Vec<_>) = constraints.iter().partition(is_primary);
    let mut kept: Vec<ConstraintSpec> = primary.into_iter().cloned().collect();
    for one in others {
        let is_same = |has: &&mut ConstraintSpec| match (&has.rule, &one.rule) {
            (Rule::PrimaryKey(key) | Rule::Unique(key), Rule::Unique(columns)) => {
                key == columns && (has.name.is_none() || one.name.is_none())
            }
            _ => false,
        };
        match kept.iter_mut().find(is_same) {
            Some(has) if has.name.is_none() => has.name.clone_from(&one.name),
            Some(_) => {}
            None => kept.push(one.clone()),
        }
    }
    kept
}

/// Replaces the number `from` by `to`, in the table and where it refers to itself.
pub(crate) fn renumber(table: &mut TableDefinition, from: ObjectNo, to: ObjectNo) {
    let change = |number: &mut ObjectNo| {
        if *number == from {
            *number = to;
        }
    };
    change(&mut table.object);
    change(&mut table.segment);
    for index in &mut table.indexes {
        change(&mut index.object);
        change(&mut index.segment);
    }
    for key in table.foreign_keys.iter_mut().chain(&mut table.referenced_by) {
        change(&mut key.table);
        change(&mut key.index);
        change(&mut key.references);
        change(&mut key.referenced_index);
    }
}
