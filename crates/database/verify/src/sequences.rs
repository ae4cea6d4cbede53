//! Sequences of identity columns: what they give next is beyond what rows have.
//!
//! Only a column that is GENERATED ALWAYS is looked at, and only a sequence that doesn't cycle: in
//! others a row may have any number. A sequence's row says what comes behind the values that were
//! taken into memory, and that is committed before any of them is given (rule catalog/DC7). So a
//! sequence that is behind its rows is older than they are.
//!
//! Callers: `closed`, `live`.

use access::RowAddress;
use ids::ObjectNo;
use relation::{Default, TableDefinition};
use stop::Stop;
use value::{RowView, Value};

use crate::Kind;
use crate::dictionary::{Counting, Dictionary};
use crate::heap::{at_one_moment, rows};
use crate::pairs::Ground;
use crate::source::Check;

/// Holds every such sequence against the rows of its table.
pub(crate) fn check(
    check: &mut Check<'_, '_, '_>,
    ground: Ground<'_>,
    dictionary: &Dictionary,
) -> Result<(), Stop> {
    for table in &dictionary.tables {
        for (place, column) in table.columns.iter().enumerate() {
            let Default::Identity { sequence, always: true } = column.default else { continue };
            let found = at_one_moment(check, |check| {
                let sequences = match check.source.is_live() {
                    true => &dictionary.sequences_now(check)?,
                    false => &dictionary.sequences,
                };
                behind(check, ground, table, place, find(sequences, sequence))
            })?;
            if let Some((row, what)) = found.flatten() {
                check.find(Kind::Sequence, row.block, what);
            }
        }
    }
    Ok(())
}

fn find(sequences: &[Counting], sequence: ObjectNo) -> Option<&Counting> {
    sequences.iter().find(|(definition, _)| definition.object == sequence)
}

fn whole(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        Value::Number(number) => number.to_i64(),
        _ => None,
    }
}

/// The row that is furthest ahead of the sequence, and what is wrong with that.
fn behind(
    check: &mut Check<'_, '_, '_>,
    ground: Ground<'_>,
    table: &TableDefinition,
    place: usize,
    sequence: Option<&Counting>,
) -> Result<Option<(RowAddress, String)>, Stop> {
    let Some((sequence, Some(next))) = sequence else { return Ok(None) };
    let Some(heap) = ground.table(table.segment) else { return Ok(None) };
    if sequence.cycles {
        return Ok(None);
    }
    // A number's place in the order in which the sequence gives it.
    let order = |number: i64| i128::from(number) * i128::from(sequence.increment.signum());
    let (layout, mut furthest) = (table.layout(), None::<(i64, RowAddress)>);
    let mut visit = |at: RowAddress, bytes: &[u8]| {
        let row = RowView::new(&layout, bytes);
        let Some(number) = row.ok().and_then(|row| whole(row.get(place).ok()?)) else { return };
        if furthest.is_none_or(|(most, _)| order(number) > order(most)) {
            furthest = Some((number, at));
        }
    };
    rows(check, heap, &mut visit)?;
    let furthest = furthest.filter(|(number, _)| order(*number) >= order(*next));
    Ok(furthest.map(|(number, row)| {
        let (name, column) = (&sequence.name, &table.columns[place].name);
        let what = format!(
            "slot {}, of {}, has {number} in column {column}, and {name}, which numbers it, gives \
             {next} next",
            row.slot, table.name
        );
        (row, what)
    }))
}
