//! Calls of functions.
//!
//! Callers: `expression`.

use catalog::ObjectId;
use expression::{Aggregate, CastTo, Expression, Kind, Typed, build};
use ids::ObjectNo;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments,
};
use stop::{SqlState, did_you_mean};
use value::{Type, Value};

use super::Binder;
use crate::logical::{HostCall, asked, host_call_of};
use crate::names::{Name, PUBLIC, parts_of};
use crate::refuse::{At, Bind, Placed, Refused};
use crate::schema::Found;
use crate::system::CatalogQuestion;

/// The schemas in which functions are found.
const SCHEMAS: [&str; 3] = ["pg_catalog", "sys", PUBLIC];

/// The function whose arguments may be given by their names, which are these.
const MAKE_INTERVAL: &str = "make_interval";
const SPAN_PARTS: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];

impl Binder<'_> {
    /// A call of a function or of an aggregate.
    pub(super) fn call(&mut self, call: &Function) -> Bind<Typed> {
        let name = function_name(call)?;
        if call.over.is_some() {
            let instead = "it isn't there yet; group in a subquery and join it";
            return Err(Refused::unsupported(At::of(&call.name), "a window function", instead));
        }
        if Aggregate::is_name(&name) {
            return self.aggregate(&name, call);
        }
        if let Some(value) = self.series_value(call, &name)? {
            return Ok(value);
        }
        if call.filter.is_some() || !call.within_group.is_empty() {
            let message = format!("FILTER and WITHIN GROUP are for aggregates, and {name} is none");
            return Err(Refused::new(SqlState::WRONG_OBJECT_TYPE, At::of(&call.name), message));
        }
        let arguments = match &call.args {
            FunctionArguments::List(list) if name == MAKE_INTERVAL => self.parts_of_span(list)?,
            _ => self.arguments(call)?,
        };
        self.named(&name, arguments).at(&call.name)
    }

    /// The arguments of a function, not of an aggregate.
    fn arguments(&mut self, call: &Function) -> Bind<Vec<Typed>> {
        match &call.args {
            FunctionArguments::None => Ok(Vec::new()),
            FunctionArguments::Subquery(query) => Ok(vec![self.scalar(query)?]),
            FunctionArguments::List(list) => {
                if let Some(DuplicateTreatment::Distinct) = list.duplicate_treatment {
                    let message = "DISTINCT is for the arguments of aggregates";
                    return Err(Refused::new(SqlState::WRONG_OBJECT_TYPE, At::NOWHERE, message));
                }
                self.arguments_in_place(list)
            }
        }
    }

    fn arguments_in_place(&mut self, list: &FunctionArgumentList) -> Bind<Vec<Typed>> {
        plain_arguments(list)?.into_iter().map(|one| self.expression(one)).collect()
    }

    /// The arguments of `make_interval`, all of which may be left out or given by their names.
    fn parts_of_span(&mut self, list: &FunctionArgumentList) -> Bind<Vec<Typed>> {
        let mut parts = vec![Typed::value(Value::Int(0)); SPAN_PARTS.len()];
        for (number, argument) in list.args.iter().enumerate() {
            let (place, expr) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => (Some(number), expr),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => {
                    (SPAN_PARTS.iter().position(|part| *part == name.value), expr)
                }
                _ => return self.arguments_in_place(list),
            };
            let value = self.expression(expr)?;
            let Some(part) = place.and_then(|place| parts.get_mut(place)) else {
                let message = format!("{MAKE_INTERVAL} has no such argument");
                let refused = Refused::new(SqlState::UNDEFINED_FUNCTION, At::of(expr), message);
                return Err(refused.hint(format!("it has {}", SPAN_PARTS.join(", "))));
            };
            *part = value;
        }
        Ok(parts)
    }

    /// A function by its name.
    fn named(&mut self, name: &str, arguments: Vec<Typed>) -> Bind<Typed> {
        let text = |text: &str| Ok(Typed::value(Value::Text(text)));
        match (name, arguments.len()) {
            ("nextval", 1) => {
                let object = self.sequence_named(&arguments[0])?;
                Ok(self.sequence_value(object, true))
            }
            ("currval", 1) => {
                let object = self.sequence_named(&arguments[0])?;
                Ok(self.sequence_value(object, false))
            }
            ("setval", 2 | 3) => self.set_sequence(arguments),
            ("pg_get_serial_sequence", 2) => self.serial_sequence(&arguments),
            ("lastval", 0) => Ok(self.host_call(HostCall::LastValue, Vec::new())),
            ("current_setting", 1) => {
                let mut arguments = arguments;
                let name = arguments.remove(0).implicit(Kind::Text)?;
                Ok(self.host_call(HostCall::Setting, vec![name.expression]))
            }
            ("pg_backend_pid" | "sid" | "session_number", 0) => {
                Ok(self.host_call(HostCall::SessionNumber, Vec::new()))
            }
            ("decode", 3..) => {
                let more = (arguments.len() - 1) / 2 - 1;
                self.count_copies(&arguments[..1], more, "decode")?;
                Ok(build::call(name, arguments)?)
            }
            ("version", 0) => text(VERSION),
            ("current_database" | "current_catalog", 0) => text("forebay"),
            ("current_schema", 0) => text(PUBLIC),
            (name, count) => match (CatalogQuestion::of(name, count), type_called(name)) {
                (Some(question), _) => self.catalog_call(question, arguments),
                (None, Some(of)) if let [value] = &arguments[..] => {
                    Ok(value.clone().cast(CastTo::Type(of))?)
                }
                (None, _) => Ok(build::call(name, arguments)?),
            },
        }
    }

    /// The next value of a sequence, or the last one that the session was given.
    pub(super) fn sequence_value(&mut self, object: ObjectNo, is_next: bool) -> Typed {
        self.objects.insert(ObjectId::Sequence(object));
        let call =
            if is_next { HostCall::NextValue(object) } else { HostCall::CurrentValue(object) };
        self.host_call(call, Vec::new())
    }

    /// `setval(name, value [, is_given])`.
    fn set_sequence(&mut self, arguments: Vec<Typed>) -> Bind<Typed> {
        let object = self.sequence_named(&arguments[0])?;
        self.objects.insert(ObjectId::Sequence(object));
        let mut given = Vec::with_capacity(2);
        for (argument, kind) in arguments.into_iter().skip(1).zip([Kind::Whole, Kind::Boolean]) {
            given.push(argument.implicit(kind)?.expression);
        }
        Ok(self.host_call(HostCall::SetValue(object), given))
    }

    pub(super) fn host_call(&mut self, call: HostCall, arguments: Vec<Expression>) -> Typed {
        let frame = self.frame();
        frame.calls.push(call);
        asked(call, frame.calls.len() - 1, arguments)
    }

    /// `pg_get_serial_sequence(table, column)`: the sequence that numbers a column; NULL if none
    /// does.
    fn serial_sequence(&mut self, arguments: &[Typed]) -> Bind<Typed> {
        let names = (self.constant_name(&arguments[0]), self.constant_name(&arguments[1]));
        let (Some(Value::Text(table)), Some(Value::Text(column))) = names else {
            let instead = "write the names as texts: pg_get_serial_sequence('table', 'column')";
            let what = "the sequence of a column by a computed name";
            return Err(Refused::unsupported(At::NOWHERE, what, instead));
        };
        let name = Name::plain(name_within(table));
        let Some(Found::Table(found)) = self.schema.find(&name)? else {
            let message = format!("there is no table {name}");
            return Err(Refused::new(SqlState::UNDEFINED_TABLE, At::NOWHERE, message));
        };
        self.note_table(found.object());
        let mut columns = found.definition.columns.iter().filter(|of| !of.is_dropped());
        let Some(of) = columns.find(|of| of.name == column) else {
            let message = format!("table {name} has no column {column}");
            return Err(Refused::new(SqlState::UNDEFINED_COLUMN, At::NOWHERE, message));
        };
        let Some(sequence) = of.default.sequence() else {
            return Ok(Typed::value(Value::Null));
        };
        self.objects.insert(ObjectId::Sequence(sequence));
        Ok(self.host_call(HostCall::SequenceName(sequence), Vec::new()))
    }

    /// The question to the connection that an expression of this frame is.
    fn call_of(&self, expression: &Expression) -> Option<HostCall> {
        let Expression::Subquery(subquery) = expression else { return None };
        self.frames.last()?.calls.get(host_call_of(subquery.number)?).copied()
    }

    /// The constant by which an object is named, perhaps with a cast to `regclass`.
    fn constant_name<'t>(&self, argument: &'t Typed) -> Option<Value<'t>> {
        const OID: HostCall = HostCall::Catalog(CatalogQuestion::RelationOid);
        match &argument.expression {
            Expression::Subquery(subquery) => {
                let is_oid = self.call_of(&argument.expression) == Some(OID);
                subquery.arguments.first().filter(|_| is_oid)?.constant()
            }
            expression => expression.constant(),
        }
    }

    /// The sequence that a text names: it is looked for when the statement is bound.
    fn sequence_named(&self, argument: &Typed) -> Bind<ObjectNo> {
        if let Some(HostCall::SequenceName(object)) = self.call_of(&argument.expression) {
            return Ok(object);
        }
        let Some(Value::Text(written)) = self.constant_name(argument) else {
            let instead = "write the sequence's name as a text: nextval('name')";
            return Err(Refused::unsupported(
                At::NOWHERE,
                "a sequence by a computed name",
                instead,
            ));
        };
        let name = name_within(written);
        match self.schema.sequence(&name)? {
            Some(object) => Ok(object),
            None => {
                let names = self.schema.names();
                let meant = did_you_mean(&name, names.iter().map(String::as_str));
                let message = format!("there is no sequence {name}{meant}");
                Err(Refused::new(SqlState::UNDEFINED_TABLE, At::NOWHERE, message))
            }
        }
    }
}

/// The name of an object of users' that a text says, with its quotes and its schema or without.
fn name_within(written: &str) -> String {
    let name = written.strip_prefix("public.").unwrap_or(written);
    match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => name.to_lowercase(),
    }
}

/// What `version()` says. Programs of PostgreSQL's look for its name and a number.
const VERSION: &str =
    concat!("PostgreSQL 15.0 compatible (Forebay ", env!("CARGO_PKG_VERSION"), ")");

/// The type whose name may be called as a function, which is a CAST: `date(x)`.
fn type_called(name: &str) -> Option<Type> {
    Some(match name {
        "int2" => Type::SmallInt,
        "int4" => Type::Integer,
        "int8" => Type::BigInt,
        "float4" | "float8" => Type::Double,
        "text" => Type::Text,
        "bool" => Type::Boolean,
        "bytea" => Type::Bytea,
        "date" => Type::Date,
        _ => return None,
    })
}

/// The name of a function, without its schema.
fn function_name(call: &Function) -> Bind<String> {
    let mut parts = parts_of(&call.name)?;
    let name = parts.pop().unwrap_or_default();
    match parts.last() {
        Some(schema) if !SCHEMAS.contains(&schema.as_str()) => {
            let message = format!("there is no schema {schema} with functions");
            Err(Refused::new(SqlState::INVALID_SCHEMA_NAME, At::of(&call.name), message))
        }
        _ => Ok(name),
    }
}

/// The arguments of a call, each an expression.
pub(super) fn plain_arguments(list: &FunctionArgumentList) -> Bind<Vec<&Expr>> {
    fn plain(argument: &FunctionArg) -> Bind<&Expr> {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)) => {
                let what = "all columns of a table as an argument";
                let instead = "name the columns; count(t.*) counts the rows of t";
                Err(Refused::unsupported(At::NOWHERE, what, instead))
            }
            FunctionArg::Unnamed(_) => {
                let message = "* stands for all columns in count(*) only";
                Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message))
            }
            FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                let instead = "give arguments by their places";
                Err(Refused::unsupported(At::NOWHERE, "an argument by its name", instead))
            }
        }
    }
    list.args.iter().map(plain).collect()
}
