//! Sequences of identity columns: the next value is beyond the values of all rows.
//!
//! Only columns that are GENERATED ALWAYS and sequences that don't cycle are checked: in others a
//! row may have any number. The row of a sequence has the value after those taken into memory, and
//! it is committed before any of these is given (rule catalog/DC7). So a sequence that is behind
//! its rows is older than they are.
//!
//! Callers: `closed`, `live`.

use access::RowAddress;
use ids::ObjectNo;
use relation::{Default, TableDefinition};
use stop::Stop;
use value::{RowView, Value};

use crate::Kind;
use crate::dictionary::{Dictionary, SequenceSeen};
use crate::heap::{at_one_moment, rows};
use crate::pairs::KnownSegments;
use crate::source::Check;

/// Compares every such sequence with the rows of its table.
pub(crate) fn check(
    check: &mut Check<'_, '_, '_>,
    ground: KnownSegments<'_>,
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

fn find(sequences: &[SequenceSeen], sequence: ObjectNo) -> Option<&SequenceSeen> {
    sequences.iter().find(|(definition, _)| definition.object == sequence)
}

fn whole(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        Value::Number(number) => number.to_i64(),
        _ => None,
    }
}

/// The row that is furthest ahead of the sequence, with the fault; none if none is ahead.
fn behind(
    check: &mut Check<'_, '_, '_>,
    ground: KnownSegments<'_>,
    table: &TableDefinition,
    place: usize,
    sequence: Option<&SequenceSeen>,
) -> Result<Option<(RowAddress, String)>, Stop> {
    let Some((sequence, Some(next))) = sequence else { return Ok(None) };
    let Some(heap) = ground.table(table.segment) else { return Ok(None) };
    if sequence.cycles {
        return Ok(None);
    }
    // Larger means later in the order in which the sequence gives numbers.
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
