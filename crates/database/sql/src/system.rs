//! Functions that ask the catalogue: `format_type`, `pg_get_constraintdef`, a cast to `regclass`.
//!
//! ```text
//!   pg_get_indexdef(i.indexrelid) ─ bind ─▶ HostCall::Catalog(IndexDefinition)
//!                                              │ run: for each row
//!                                              ▼
//!                             CatalogFunctions::answer, of whoever knows the catalogue's views
//! ```
//!
//! What has one answer for all, such as the privileges of the one user, is among the functions of
//! `expression`.
//!
//! Callers: `bind`, `run`; `database` implements [`CatalogFunctions`].
//! Source: PostgreSQL's documentation, "System Catalog Information Functions".

use expression::{Kind, Typed};
use stop::Stop;
use value::{OwnedValue, Type, Value};

use crate::schema::VirtualContext;

/// A question to the catalogue. The arguments are oids, unless it says another thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CatalogQuestion {
    /// `format_type(type, modifier)`; the modifier may be NULL.
    FormatType,
    /// `pg_get_indexdef(index)`, or `(index, column, is_pretty)`.
    IndexDefinition,
    /// `pg_get_constraintdef(constraint)`, or `(constraint, is_pretty)`.
    ConstraintDefinition,
    /// `pg_get_viewdef(view)`, or `(view, is_pretty)`.
    ViewDefinition,
    /// `obj_description(object)`, or `(object, catalogue)`: the name of a view as a text.
    Description,
    /// `col_description(table, column)`.
    ColumnDescription,
    /// `pg_table_is_visible(table)`: whether its name is found without a schema.
    IsVisible,
    /// The name of a relation: an oid cast to `regclass`.
    RelationName,
    /// The oid of the relation of this name: a text cast to `regclass`; refused if there is none.
    RelationOid,
    /// `to_regclass(name)`: the same, and NULL if there is none.
    RelationOidOrNull,
    /// The name of a schema: an oid cast to `regnamespace`.
    SchemaName,
    /// The oid of a type of this name: a text cast to `regtype`.
    TypeOid,
}

impl CatalogQuestion {
    /// The question that a function of this name asks with so many arguments.
    pub(crate) fn of(name: &str, arguments: usize) -> Option<CatalogQuestion> {
        use CatalogQuestion as Q;
        Some(match (name, arguments) {
            ("format_type", 2) => Q::FormatType,
            ("pg_get_indexdef", 1 | 3) => Q::IndexDefinition,
            ("pg_get_constraintdef", 1 | 2) => Q::ConstraintDefinition,
            ("pg_get_viewdef", 1 | 2) => Q::ViewDefinition,
            ("obj_description", 1 | 2) => Q::Description,
            ("col_description", 2) => Q::ColumnDescription,
            ("pg_table_is_visible", 1) => Q::IsVisible,
            ("to_regclass", 1) => Q::RelationOidOrNull,
            _ => return None,
        })
    }

    /// The kind of each argument.
    pub(crate) fn arguments(self) -> &'static [Kind] {
        use CatalogQuestion as Q;
        const OID: Kind = Kind::Whole;
        match self {
            Q::FormatType | Q::ColumnDescription => &[OID, OID],
            Q::IndexDefinition => &[OID, OID, Kind::Boolean],
            Q::ConstraintDefinition | Q::ViewDefinition => &[OID, Kind::Boolean],
            Q::Description => &[OID, Kind::Text],
            Q::IsVisible | Q::RelationName | Q::SchemaName => &[OID],
            Q::RelationOid | Q::RelationOidOrNull | Q::TypeOid => &[Kind::Text],
        }
    }

    /// The kind of the answer.
    pub(crate) fn kind(self) -> Kind {
        use CatalogQuestion as Q;
        match self {
            Q::IsVisible => Kind::Boolean,
            Q::RelationOid | Q::RelationOidOrNull | Q::TypeOid => Kind::Whole,
            _ => Kind::Text,
        }
    }
}

/// Who answers questions to the catalogue.
pub trait CatalogFunctions: Send + Sync {
    /// The answer: NULL if there is no such thing. The arguments are of the kinds that the question
    /// has, or NULL; those at the end may be missing.
    fn answer(
        &self,
        question: CatalogQuestion,
        arguments: &[Value<'_>],
        of: &VirtualContext<'_>,
    ) -> Result<OwnedValue, Stop>;
}

/// A cast to one of PostgreSQL's names of types that isn't the name of a type here.
pub(crate) enum SystemCast {
    /// To a type.
    To(Type),
    /// The answer to a question.
    Asks(CatalogQuestion),
    /// The name of the one user.
    Role,
}

/// What a cast of such a value to the type of this name is; none if it has another meaning, or
/// none.
pub(crate) fn system_cast(name: &str, value: &Typed) -> Option<SystemCast> {
    use CatalogQuestion as Q;
    let is_oid = value.kind.is_number();
    Some(match name {
        "regclass" if is_oid => SystemCast::Asks(Q::RelationName),
        "regclass" => SystemCast::Asks(Q::RelationOid),
        "regtype" if is_oid => SystemCast::Asks(Q::FormatType),
        "regtype" => SystemCast::Asks(Q::TypeOid),
        "regnamespace" if is_oid => SystemCast::Asks(Q::SchemaName),
        "regrole" if is_oid => SystemCast::Role,
        "oid" | "xid" | "cid" | "int8" => SystemCast::To(Type::BigInt),
        "int2" => SystemCast::To(Type::SmallInt),
        "int4" => SystemCast::To(Type::Integer),
        "float4" | "float8" => SystemCast::To(Type::Double),
        "numeric" => SystemCast::To(Type::Number(None)),
        "bool" => SystemCast::To(Type::Boolean),
        "date" => SystemCast::To(Type::Date),
        "timestamp" => SystemCast::To(Type::Timestamp),
        // There are no arrays: the catalogue has them as texts.
        "name" | "text" | "varchar" | "bpchar" | "char" | "regproc" | "int2vector"
        | "oidvector" | "array" => SystemCast::To(Type::Text),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An oid becomes a name, and a name an oid.
    #[test]
    fn a_cast_to_regclass_goes_both_ways() {
        let question = |value: &Typed| match system_cast("regclass", value) {
            Some(SystemCast::Asks(question)) => question,
            _ => panic!("it asks the catalogue"),
        };
        let of_oid = question(&Typed::value(Value::Int(16_388)));
        assert_eq!((of_oid, of_oid.kind()), (CatalogQuestion::RelationName, Kind::Text));
        let of_name = question(&Typed::literal("emp"));
        assert_eq!((of_name, of_name.kind()), (CatalogQuestion::RelationOid, Kind::Whole));
        assert!(system_cast("mood", &Typed::literal("good")).is_none());
    }

    #[test]
    fn a_function_asks_with_the_arguments_that_it_has() {
        assert_eq!(CatalogQuestion::of("format_type", 2), Some(CatalogQuestion::FormatType));
        assert_eq!(CatalogQuestion::of("format_type", 1), None);
        for arguments in [1, 3] {
            let found = CatalogQuestion::of("pg_get_indexdef", arguments).expect("a question");
            assert!(arguments <= found.arguments().len());
        }
    }
}
