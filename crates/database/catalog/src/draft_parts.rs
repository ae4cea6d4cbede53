//! DEFAULTs and CHECKs of a draft.
//!
//! What is an expression stays a text: SQL has bound it before, and says which columns it reads.
//!
//! Callers: `draft`; `alter` and `set_type`, which look at a default again.

use ids::ObjectNo;
use relation::{CheckExpression, Condition, Default, NamedCondition};
use stop::{Refusal, RefusalKind, Stop};
use value::{Misfit, OwnedValue, Type};

use crate::draft::Draft;
use crate::spec::{ColumnSpec, ConstraintSpec, DefaultSpec};
use crate::{SequenceOptions, bytes, names, texts};

/// The least and the greatest number of a type of whole numbers.
pub(crate) struct WholeBounds {
    pub(crate) least: i64,
    pub(crate) most: i64,
}

impl WholeBounds {
    pub(crate) fn of(kind: Type) -> WholeBounds {
        let (least, most) = match kind {
            Type::SmallInt => (i16::MIN.into(), i16::MAX.into()),
            Type::Integer => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN, i64::MAX),
        };
        WholeBounds { least, most }
    }
}

impl SequenceOptions {
    /// The same for values of a type of whole numbers: the sequence ends where the type does, on
    /// the side to which it counts.
    fn within(self, WholeBounds { least, most }: &WholeBounds) -> SequenceOptions {
        match self.increment.unwrap_or(1) > 0 {
            true => SequenceOptions { max: self.max.or(Some(*most)), ..self },
            false => SequenceOptions { min: self.min.or(Some(*least)), ..self },
        }
    }

    /// The options of a sequence whose values are of a type of whole numbers. Refused if they give
    /// it an end that isn't one of the type's.
    pub fn of_type(self, kind: Type) -> Result<SequenceOptions, Stop> {
        let bounds = WholeBounds::of(kind);
        let options = self.within(&bounds);
        let WholeBounds { least, most } = bounds;
        let mut ends = [options.min, options.max].into_iter().flatten();
        match ends.find(|end| !(least..=most).contains(end)) {
            None => Ok(options),
            Some(end) => {
                let message = format!(
                    "a sequence of {kind} can't end with {end}: its values are from {least} to \
                     {most}"
                );
                Err(Stop::refuse(RefusalKind::Invalid, message))
            }
        }
    }
}

impl Draft<'_> {
    /// The default of a column.
    pub(crate) fn default_of(&mut self, spec: &ColumnSpec) -> Result<Default, Stop> {
        match &spec.default {
            DefaultSpec::Constant(value) => self.constant(spec, value).map(Default::Constant),
            DefaultSpec::Identity { always, options } => self.identity(spec, *always, options),
            DefaultSpec::Expression { text, present } => {
                texts::check(&format!("the default of column {}", spec.name), text)?;
                self.constant(spec, present)?;
                Ok(Default::Expression(text.clone()))
            }
        }
    }

    fn constant(&self, spec: &ColumnSpec, value: &OwnedValue) -> Result<OwnedValue, Stop> {
        let fitted = spec.kind.fit(&spec.name, value.get());
        let fitted = fitted.map_err(|misfit| self.cannot_default(misfit))?;
        Ok(fitted.to_owned())
    }

    /// The refusal of a default that its column can't hold, with the state of what is wrong.
    fn cannot_default(&self, misfit: Misfit) -> Stop {
        let name = &self.table.name;
        let lead = format!("cannot define table {name}: its default: ");
        Refusal::from(misfit).led_by(&lead).table(name).into()
    }

    fn identity(
        &mut self,
        spec: &ColumnSpec,
        always: bool,
        options: &SequenceOptions,
    ) -> Result<Default, Stop> {
        if !spec.kind.is_integer() {
            let what = format!(
                "its identity column {} is {}; it has to be SMALLINT, INTEGER or BIGINT",
                spec.name, spec.kind
            );
            return Err(self.refuse(&what));
        }
        let bounds = WholeBounds::of(spec.kind);
        let options = options.clone().within(&bounds);
        let WholeBounds { least, most } = bounds;
        let stem = format!("{}_{}_seq", self.table.name, spec.name);
        let is_taken = |name: &str| {
            let mine = self.sequences.iter().any(|own| own.name == name);
            mine || name == self.table.name || self.dictionary.has_name(name)
        };
        let name = names::free(&stem, is_taken);
        let number = ObjectNo::new(self.first_sequence + self.sequences.len() as u32);
        let sequence = options.define(number, &name)?;
        if sequence.min < least || sequence.max > most {
            let what = format!(
                "the numbers of its identity column {} are from {} to {}, and {} has those from \
                 {least} to {most}; give it a MINVALUE and a MAXVALUE within",
                spec.name, sequence.min, sequence.max, spec.kind
            );
            return Err(self.refuse(&what));
        }
        self.generated.add_sequence(&name, stem);
        self.sequences.push(sequence);
        Ok(Default::Identity { sequence: number, always })
    }

    /// Adds a CHECK that is a condition.
    pub(crate) fn add_check(
        &mut self,
        spec: &ConstraintSpec,
        condition: &Condition,
    ) -> Result<(), Stop> {
        bytes::of_condition(condition).map_err(|what| self.refuse(&what))?;
        let condition = self.typed(condition)?;
        let name = self.name_for(spec, &self.check_kind(&condition.columns()));
        self.table.checks.push(NamedCondition { name, condition });
        Ok(())
    }

    /// What the name of a CHECK of these columns ends with, if it is made up.
    fn check_kind(&self, places: &[usize]) -> String {
        match places {
            [place] => format!("{}_check", self.table.columns[*place].name),
            _ => "check".into(),
        }
    }

    /// A condition for the types of the table's columns. Refused if it can't be asked of them.
    pub(crate) fn typed(&self, condition: &Condition) -> Result<Condition, Stop> {
        let columns = &self.table.columns;
        let kind = |column: usize| {
            let of = columns.get(column).filter(|column| !column.is_dropped());
            of.map(|column| column.kind)
        };
        let typed = condition.for_types(&kind);
        typed.map_err(|what| self.refuse(&format!("of its CHECK {what}")))
    }

    /// Adds a CHECK that is an expression, which reads these columns.
    pub(crate) fn add_expression(
        &mut self,
        spec: &ConstraintSpec,
        text: &str,
        columns: &[String],
    ) -> Result<(), Stop> {
        let mut places = Vec::new();
        for column in columns {
            places.push(self.column(column)?);
        }
        places.sort_unstable();
        places.dedup();
        let name = self.name_for(spec, &self.check_kind(&places));
        texts::check(&format!("check {name}"), text)?;
        let text = text.to_string();
        self.table.expressions.push(CheckExpression { name, text, columns: places });
        Ok(())
    }
}
