//! Names of columns that are given none, as PostgreSQL makes them.
//!
//! A column and a function have a name of their own. A CAST has the name of what is within it if
//! that is such a one, and else that of its type.
//!
//! Callers: `select`. Source: PostgreSQL's `FigureColname`.

use sqlparser::ast::{DataType, Expr, Function, SelectItem, SetExpr, TrimWhereField};
use syntax::TypeName;
use value::Type;

use super::UNNAMED;
use super::expression::strip;
use crate::names::{fold, parts_of};

/// A name.
struct Label {
    name: String,
    /// Whether it is one of its own.
    is_own: bool,
}

/// The name of a result's column that is given none.
pub(super) fn name_of(expr: &Expr) -> String {
    label_of(expr).map_or_else(|| UNNAMED.into(), |label| label.name)
}

fn label_of(expr: &Expr) -> Option<Label> {
    let own = |name: &str| Some(Label { name: name.into(), is_own: true });
    match strip(expr) {
        Expr::Identifier(name) => own(&fold(name)),
        Expr::CompoundIdentifier(names) => own(&fold(names.last()?)),
        Expr::Function(Function { name, .. }) => own(&parts_of(name).ok()?.pop()?),
        Expr::Collate { expr, .. } => label_of(expr),
        Expr::Cast { expr, data_type, .. } => Some(own_or(Some(&**expr), type_name(data_type))),
        // PostgreSQL has the name of a column behind ELSE, with which ORDER BY may be ambiguous.
        Expr::Case { .. } => Some(own_or(None, "case".into())),
        Expr::TypedString(written) => Some(own_or(None, type_name(&written.data_type))),
        Expr::Interval(_) => Some(own_or(None, "interval".into())),
        Expr::Exists { .. } => own("exists"),
        Expr::Extract { .. } => own("extract"),
        Expr::Substring { shorthand: true, .. } => own("substr"),
        Expr::Substring { .. } => own("substring"),
        Expr::Position { .. } => own("position"),
        Expr::Trim { trim_where: Some(TrimWhereField::Leading), .. } => own("ltrim"),
        Expr::Trim { trim_where: Some(TrimWhereField::Trailing), .. } => own("rtrim"),
        Expr::Trim { .. } => own("btrim"),
        Expr::Ceil { .. } => own("ceil"),
        Expr::Floor { .. } => own("floor"),
        Expr::Overlay { .. } => own("overlay"),
        Expr::Subquery(query) => match &*query.body {
            SetExpr::Select(select) => match &select.projection[..] {
                [SelectItem::UnnamedExpr(expr)] => own(&name_of(expr)),
                [SelectItem::ExprWithAlias { alias, .. }] => own(&fold(alias)),
                _ => None,
            },
            SetExpr::Values(_) => own("column1"),
            _ => None,
        },
        _ => None,
    }
}

/// The name of what is within, if that has one of its own, or else this one.
fn own_or(within: Option<&Expr>, otherwise: String) -> Label {
    let within = within.and_then(label_of).filter(|label| label.is_own);
    within.unwrap_or(Label { name: otherwise, is_own: false })
}

/// The name that PostgreSQL's catalogue has for a type.
fn type_name(written: &DataType) -> String {
    let name = match written {
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => {
            "varchar"
        }
        DataType::Real | DataType::Float4 => "float4",
        DataType::Timestamp(..) => "timestamp",
        other => match syntax::type_of(other) {
            Ok(TypeName::Interval) => "interval",
            Ok(TypeName::Stored(of)) => stored_name(of),
            Err(_) => return other.to_string().to_lowercase(),
        },
    };
    name.into()
}

fn stored_name(of: Type) -> &'static str {
    match of {
        Type::SmallInt => "int2",
        Type::Integer => "int4",
        Type::BigInt => "int8",
        Type::Number(_) => "numeric",
        Type::Double => "float8",
        Type::Varchar(_) => "varchar",
        Type::Char(_) => "bpchar",
        Type::Text => "text",
        Type::Bytea => "bytea",
        Type::Boolean => "bool",
        Type::Date => "date",
        Type::Timestamp => "timestamp",
    }
}
