//! The document of the disk formats, generated from the declarations (F5).
//!
//! Callers: `cargo xtask`, which writes it to `docs/FORMAT.md` and tests that it is fresh.

use std::fmt::Write;

use ids::BlockSize;

use crate::changes::{self, Change, Changes, heap, index, itl, space, undo};
use crate::layout::Layout;
use crate::{
    BlockHeader, BlockKind, ChangeVector, Control, DataFileEntry, DataHead, DataSlot, DbaLe,
    Directory, DirectoryEntry, Extent, ExtentMap, FORMAT, FileHeader, FreeBlock, FreeMap, ItlEntry,
    LogGroupEntry, LogHeader, LogMemberEntry, PROMISE, PieceAddress, RecordOffset, RedoBlock,
    RedoRecord, ScnLe, SegmentHeader, SortBlock, SortRecord, TablespaceEntry, TransactionSlot,
    TransactionTable, TxnIdLe, UndoAddressLe, UndoBlock, UndoRecord,
};

/// Every layout, in the order of the document.
pub(crate) const LAYOUTS: &[Layout] = &[
    BlockHeader::LAYOUT,
    DbaLe::LAYOUT,
    ScnLe::LAYOUT,
    TxnIdLe::LAYOUT,
    UndoAddressLe::LAYOUT,
    Control::LAYOUT,
    TablespaceEntry::LAYOUT,
    DataFileEntry::LAYOUT,
    LogGroupEntry::LAYOUT,
    LogMemberEntry::LAYOUT,
    LogHeader::LAYOUT,
    RedoBlock::LAYOUT,
    RedoRecord::LAYOUT,
    ChangeVector::LAYOUT,
    FileHeader::LAYOUT,
    ExtentMap::LAYOUT,
    Directory::LAYOUT,
    DirectoryEntry::LAYOUT,
    SegmentHeader::LAYOUT,
    FreeBlock::LAYOUT,
    Extent::LAYOUT,
    TransactionTable::LAYOUT,
    TransactionSlot::LAYOUT,
    UndoBlock::LAYOUT,
    RecordOffset::LAYOUT,
    UndoRecord::LAYOUT,
    DataHead::LAYOUT,
    ItlEntry::LAYOUT,
    DataSlot::LAYOUT,
    PieceAddress::LAYOUT,
    FreeMap::LAYOUT,
    SortBlock::LAYOUT,
    SortRecord::LAYOUT,
    space::Count::LAYOUT,
    space::ExtentRun::LAYOUT,
    space::EntrySlot::LAYOUT,
    space::EntrySlotState::LAYOUT,
    undo::Begun::LAYOUT,
    undo::SlotState::LAYOUT,
    undo::Reset::LAYOUT,
    undo::Spare::LAYOUT,
    undo::RecordNumber::LAYOUT,
    itl::ItlChangeHead::LAYOUT,
    itl::Cleanout::LAYOUT,
    itl::ItlBack::LAYOUT,
    itl::ItlOwn::LAYOUT,
    heap::HeapFormat::LAYOUT,
    heap::Loader::LAYOUT,
    heap::LoadedRow::LAYOUT,
    heap::MapFormat::LAYOUT,
    heap::MapNote::LAYOUT,
    heap::StepSlot::LAYOUT,
    heap::StepLock::LAYOUT,
    heap::StepRow::LAYOUT,
    heap::StepSplice::LAYOUT,
    index::StoredBlock::LAYOUT,
    index::StoredRow::LAYOUT,
    index::ContentHead::LAYOUT,
    index::ContentSlot::LAYOUT,
    index::Cut::LAYOUT,
    index::EntryPositionHead::LAYOUT,
    index::LeafChange::LAYOUT,
    index::LeafBack::LAYOUT,
    index::NewEntry::LAYOUT,
    index::ManyBack::LAYOUT,
];

/// The whole of `docs/FORMAT.md`.
pub fn markdown() -> String {
    let mut text = introduction();
    for layout in LAYOUTS {
        text.push_str(&table_of(layout));
    }
    changes::LAYERS.iter().for_each(|layer| text.push_str(&table_of_changes(layer)));
    text.push_str(&table_of_kinds());
    text
}

fn introduction() -> String {
    let sizes = BlockSize::ALL.map(|size| size.to_string()).join(", ");
    format!(
        "# The format on disk\n\n\
         Generated from the declarations in `crates/ground/format`; do not edit.\n\n\
         This is format {FORMAT}. {PROMISE}\n\n\
         All numbers are unsigned, little-endian and of fixed width: `U16Le`, `U32Le` and `U64Le` \
         have 16, 32 and 64 bits, `u8` is a byte. Offsets and sizes are in bytes. Reserved bytes \
         are written as zero. A block is refused where those of its `BlockHeader` are not; of \
         those in bodies most are looked at by the check of a whole database, those in payloads \
         by nothing.\n\n\
         Every file consists of blocks of one size, one of {sizes}. Every block starts with a \
         `BlockHeader`; its body, which its kind describes, is the rest.\n"
    )
}

fn table_of(layout: &Layout) -> String {
    let mut text = format!("\n## {}\n\n{}\n\n", layout.name, layout.about.trim());
    text.push_str("| offset | bytes | field | stored as | meaning |\n");
    text.push_str("|-------:|------:|-------|-----------|---------|\n");
    for field in layout.fields {
        row(
            &mut text,
            &[
                &field.offset.to_string(),
                &field.bytes.to_string(),
                &format!("`{}`", field.name),
                &format!("`{}`", field.stored_as),
                field.about.trim(),
            ],
        );
    }
    let _ = writeln!(text, "\n{} bytes in all.", layout.bytes);
    text
}

/// The changes of a layer, with the parts of their payloads.
fn table_of_changes(layer: &Changes) -> String {
    let about = layer.about.trim();
    let mut text = format!("\n## Changes of layer {}: {}\n\n{about}\n\n", layer.layer, layer.name);
    text.push_str("| opcode | change | of a block | payload | meaning |\n");
    text.push_str("|-------:|--------|------------|---------|---------|\n");
    for Change { opcode, name, block, about, parts } in layer.all {
        let parts: Vec<&str> = parts.iter().map(|part| part.name).collect();
        let payload = if parts.is_empty() { "nothing".to_string() } else { parts.join(", ") };
        row(&mut text, &[&opcode.to_string(), &format!("`{name}`"), block, &payload, about.trim()]);
    }
    text
}

fn table_of_kinds() -> String {
    let mut text = String::from("\n## Kinds of blocks\n\n| kind | name | meaning |\n");
    text.push_str("|-----:|------|---------|\n");
    row(&mut text, &["0", "none", "Never valid: an unwritten block is not a block."]);
    for (kind, about) in BlockKind::ALL {
        row(&mut text, &[&kind.number().to_string(), kind.name(), about.trim()]);
    }
    text
}

fn row(text: &mut String, cells: &[&str]) {
    text.push_str("| ");
    text.push_str(&cells.join(" | "));
    text.push_str(" |\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the header, written by hand, which also checks the layout itself.
    #[test]
    fn the_document_places_every_field_of_the_header() {
        let table = table_of(&BlockHeader::LAYOUT);
        for (offset, bytes, field, stored_as) in [
            (0, 4, "checksum", "U32Le"),
            (4, 1, "kind", "u8"),
            (5, 1, "format", "u8"),
            (6, 2, "reserved", "[u8; 2]"),
            (8, 8, "address", "DbaLe"),
            (16, 8, "changed", "ScnLe"),
            (24, 4, "sequence", "U32Le"),
            (28, 4, "reserved2", "[u8; 4]"),
        ] {
            let row = format!("| {offset} | {bytes} | `{field}` | `{stored_as}` | ");
            assert_eq!(table.matches(&row).count(), 1, "{row}");
        }
        assert!(table.contains("\n32 bytes in all.\n"));
        assert!(markdown().contains(&table));
    }

    #[test]
    fn the_document_explains_every_type_and_kind_that_it_uses() {
        let text = markdown();
        for stored_as in LAYOUTS.iter().flat_map(|layout| layout.fields).map(|f| f.stored_as) {
            let explained_as = stored_as.trim_start_matches('[').split(';').next().unwrap_or("");
            let is_number = text.contains(&format!("`{explained_as}` "))
                || text.contains(&format!("`{explained_as}`,"));
            let is_layout = text.contains(&format!("\n## {explained_as}\n"));
            assert!(is_number || is_layout, "{stored_as} is not explained");
        }
        for (kind, _) in BlockKind::ALL {
            assert!(text.contains(&format!("| {} | {kind} | ", kind.number())));
        }
        assert!(text.contains(PROMISE));
    }

    #[test]
    fn the_document_is_well_formed() {
        let text = markdown();
        assert!(text.starts_with("# ") && text.ends_with("|\n"));
        assert!(!text.contains("\n\n\n") && !text.contains("  "));
        let cells = |line: &str| line.matches('|').count();
        for (line, next) in text.lines().zip(text.lines().skip(1)) {
            let both_rows = line.starts_with('|') && next.starts_with('|');
            assert!(!both_rows || cells(line) == cells(next), "{line}\n{next}");
        }
    }
}
