//! Payloads of redo and undo: an example of each change, byte for byte, and invalid bytes.
//!
//! The golden text has a line for each change of each layer: the numbers of both, the name, and the
//! payload in hexadecimal digits. It changes only with the format's version (F6, F9). Print the
//! present text with `cargo test -p format --test payloads -- --nocapture`.

use std::fmt::Write;

use format::changes::heap::{HeapFormat, LoadedRows, Loader, MapFormat, MapNote, Step};
use format::changes::index::{
    Content, ContentHead, ContentSlot, Cut, EntryPositionHead, LeafBack, LeafChange, LeafKind,
    ManyBack, NewEntry, StoredBlock, StoredRow,
};
use format::changes::itl::{Before, BeforeEntry, Cleanout, ItlChange, ItlChangeHead, ItlOwn};
use format::changes::space::{Count, EntrySlot, EntrySlotState, ExtentRun};
use format::changes::undo::{Begun, RecordNumber, Reset, SlotState, Spare};
use format::changes::{LAYERS, heap, index, space, undo};
use format::{
    DbaLe, DirectoryEntry, Extent, FreeBlock, ItlEntry, PayloadFault, ScnLe, SegmentHeader,
    TransactionTable, TxnIdLe, U16Le, U32Le, UndoAddressLe, UndoRecord,
};
use ids::{Dba, Scn, TxnId, UndoAddress};
use proptest::prelude::*;

const GOLDEN: &str = include_str!("golden/payloads_v5.txt");

const BLOCK: Dba = Dba::new(0x0102, 0x0304_0506);
const NEXT: Dba = Dba::new(0x0708, 0x090A_0B0C);
const TRANSACTION: TxnId = TxnId { segment: 0x1112, slot: 0x1314, sequence: 0x1516_1718 };
const UNDO: UndoAddress = UndoAddress { block: Dba::new(0x2122, 0x2324_2526), record: 0x2728 };
const ENDED: Scn = Scn::new(0x3132_3334_3536_3738);

/// Bytes that count up, so that they show their position in a part of a payload.
fn counted<const N: usize>(first: u8) -> [u8; N] {
    std::array::from_fn(|at| first.wrapping_add(at as u8))
}

fn space_examples() -> Vec<(u8, Vec<u8>)> {
    let header: [u8; size_of::<SegmentHeader>()] = counted(0x40);
    let extent: [u8; Extent::BYTES] = counted(0xA0);
    let entry: [u8; DirectoryEntry::BYTES] = counted(0x60);
    let count = Count { count: U32Le::new(0x0102_0304) };
    let run = ExtentRun { first: U32Le::new(0x0506_0708), count: U32Le::new(0x090A_0B0C) };
    let place = EntrySlot { number: U32Le::new(0x0D0E_0F10) };
    let state = EntrySlotState { number: U32Le::new(0x1112_1314), state: 3 };
    let free = FreeBlock { object: U32Le::new(7), reserved: [0; 4], next: DbaLe::new(NEXT) };
    vec![
        (space::FORMAT, [&header[..], &extent].concat()),
        (space::ADD_EXTENT, extent.to_vec()),
        (space::HAND_OUT, count.bytes().to_vec()),
        (space::TAKE, run.bytes().to_vec()),
        (space::ENTER, [place.bytes(), &entry].concat()),
        (space::GROW, count.bytes().to_vec()),
        (space::FORMAT_DIRECTORY, vec![]),
        (space::SET_STATE, state.bytes().to_vec()),
        (space::LEAVE, place.bytes().to_vec()),
        (space::BEGIN_DROP, vec![]),
        (space::LOSE_EXTENTS, count.bytes().to_vec()),
        (space::GIVE_BACK, [run.bytes(), run.bytes()].concat()),
        (space::FREE, free.bytes().to_vec()),
        (space::SET_FREE, DbaLe::new(BLOCK).bytes().to_vec()),
    ]
}

fn undo_examples() -> Vec<(u8, Vec<u8>)> {
    let table: [u8; size_of::<TransactionTable>()] = counted(0x40);
    let (block, next) = (DbaLe::new(BLOCK), DbaLe::new(NEXT));
    let begun = Begun { slot: U16Le::new(0x0102), sequence: U32Le::new(0x0304_0506) };
    let state = SlotState { slot: U16Le::new(0x0102), state: 2 };
    let transaction = TxnIdLe::new(TRANSACTION);
    let reset = Reset { transaction, previous: block, next };
    let record = UndoRecord {
        address: block,
        previous: UndoAddressLe::NONE,
        transaction,
        ordinal: U32Le::ZERO,
        length: U16Le::new(11),
        layer: 3,
        opcode: 3,
    };
    let spare = Spare { first: next, count: U16Le::new(0x0708) };
    let number = RecordNumber { number: U16Le::new(0x090A) };
    vec![
        (undo::FORMAT_TABLE, table.to_vec()),
        (undo::SET_NEXT_SEGMENT, next.bytes().to_vec()),
        (undo::BEGIN, begun.bytes().to_vec()),
        (undo::SET_CURRENT, block.bytes().to_vec()),
        (undo::END, state.bytes().to_vec()),
        (undo::RESET, reset.bytes().to_vec()),
        (undo::SET_NEXT, next.bytes().to_vec()),
        (undo::PUSH, [record.bytes(), ScnLe::new(ENDED).bytes(), b"abc"].concat()),
        (undo::POP, vec![]),
        (undo::SET_SPARE, spare.bytes().to_vec()),
        (undo::TAKE_SPARE, vec![]),
        (undo::MARK_APPLIED, number.bytes().to_vec()),
    ]
}

/// The ITL entry of a change; the former content of the transaction's own entry; and that of
/// another's.
fn interests() -> [Vec<u8>; 3] {
    let head = ItlChangeHead {
        number: 2,
        cleanouts: 1,
        transaction: TxnIdLe::new(TRANSACTION),
        undo: UndoAddressLe::new(UNDO),
        freed: U16Le::new(0x4142),
        locks: U16Le::new(0x4344),
    };
    let cleanout = Cleanout { number: 1, inexact: 1, ended: ScnLe::new(ENDED) };
    let own = ItlOwn { undo: head.undo, freed: head.freed, locks: head.locks };
    let own = Before { number: 2, entry: BeforeEntry::Own(&own) };
    let whole = ItlEntry { ended: ScnLe::new(ENDED), ..ItlEntry::NONE };
    let whole = Before { number: 2, entry: BeforeEntry::Whole(&whole) };
    [[head.bytes(), cleanout.bytes()].concat(), own.bytes().to_vec(), whole.bytes().to_vec()]
}

fn heap_examples() -> Vec<(u8, Vec<u8>)> {
    let format = HeapFormat {
        object: U32Le::new(0x0102_0304),
        itl_count: 2,
        map: DbaLe::new(BLOCK),
        entry: U16Le::new(0x0506),
    };
    let map = MapFormat { object: U32Le::new(0x0102_0304), first: U32Le::new(0x0506_0708) };
    let note = MapNote { entry: U16Le::new(0x0102), count: U16Le::new(0x0304), class: 0x80 };
    let (slot, lock, flags) = (0x5152, 3, 1);
    let mut steps = Vec::new();
    for step in [
        Step::Put { slot, flags, lock, bytes: b"put" },
        Step::Drop { slot },
        Step::Stub { slot, lock },
        Step::Splice { slot, lock, offset: 0x5354, removed: 0x5556, with: b"with" },
        Step::Lock { slot, lock },
        Step::Replace { slot, flags, lock, bytes: b"" },
        Step::Trim { slots: slot },
        Step::Clear { slots: slot },
    ] {
        step.write(&mut steps);
    }
    let (transaction, undo) = (TxnIdLe::new(TRANSACTION), UndoAddressLe::new(UNDO));
    let mut load = [format.bytes(), Loader { transaction, undo }.bytes()].concat();
    LoadedRows::write(flags, b"first", &mut load);
    LoadedRows::write(flags, b"", &mut load);
    let [interest, own, whole] = interests();
    vec![
        (heap::FORMAT, format.bytes().to_vec()),
        (heap::CHANGE, [interest, steps.clone()].concat()),
        (heap::BACK, [own, steps.clone()].concat()),
        (heap::FORMAT_MAP, map.bytes().to_vec()),
        (heap::NOTE, note.bytes().to_vec()),
        (heap::LOAD, load),
        (heap::BACK_APPLIED, [whole, steps].concat()),
    ]
}

fn index_examples() -> Vec<(u8, Vec<u8>)> {
    let (block, object) = (StoredBlock::new(BLOCK), U32Le::new(0x0102_0304));
    let row = StoredRow { block, slot: U16Le::new(0x0D0E) };
    let old_row = StoredRow { slot: U16Le::new(0x0F10), ..row };
    let head = ContentHead { object, level: 0, flags: 1, next: block, itl_count: 1 };
    let slot = |flags, bytes: &[u8]| {
        let head = ContentSlot { flags, lock: 0, length: U16Le::new(bytes.len() as u16) };
        [head.bytes(), bytes].concat()
    };
    let content = [
        head.bytes().to_vec(),
        ItlEntry::NONE.bytes().to_vec(),
        slot(0, b""),
        slot(1, b"fence"),
        slot(1, &[b"key", row.bytes()].concat()),
    ];
    let without_row = [EntryPositionHead { with_row: 0 }.bytes(), b"key"].concat();
    let with_row = [EntryPositionHead { with_row: 1 }.bytes(), b"key", row.bytes()].concat();
    let cut = Cut { count: U16Le::new(0x1112), next: block };
    let change = LeafChange { kind: LeafKind::Insert.number(), purges: 1, row };
    let back = |kind: LeafKind| LeafBack {
        kind: kind.number(),
        was_locked: 1,
        object,
        root: block,
        row,
        old_row,
    };
    let [interest, own, whole] = interests();
    let back = |before: &[u8], kind| [before, back(kind).bytes(), b"key"].concat();
    let new = |row, key: &[u8]| {
        let entry = NewEntry { row, length: U16Le::new(key.len() as u16) };
        [entry.bytes(), key].concat()
    };
    let entries = [new(row, b"key"), new(old_row, b""), new(row, b"other")].concat();
    let many = ManyBack { object, root: block };
    let many = |before: &[u8]| [before, many.bytes(), &entries].concat();
    vec![
        (index::WRITE, content.concat()),
        (index::CUT, [cut.bytes(), &with_row].concat()),
        (index::ADD_CHILD, [block.bytes(), &without_row].concat()),
        (index::CHANGE, [&interest[..], change.bytes(), b"key"].concat()),
        (index::BACK, back(&own, LeafKind::Replace)),
        (index::BACK_FOR_GOOD, back(&own, LeafKind::Delete)),
        (index::REMOVE_CHILD, with_row),
        (index::INSERT_MANY, [&interest[..], &entries].concat()),
        (index::BACK_MANY, many(&own)),
        (index::BACK_MANY_FOR_GOOD, many(&own)),
        (index::BACK_APPLIED, back(&whole, LeafKind::Insert)),
        (index::BACK_MANY_APPLIED, many(&whole)),
    ]
}

fn examples() -> Vec<(u8, u8, Vec<u8>)> {
    let layers = [space_examples(), undo_examples(), heap_examples(), index_examples()];
    let numbered = LAYERS.iter().map(|layer| layer.layer).zip(layers);
    numbered.flat_map(|(layer, all)| all.into_iter().map(move |(op, it)| (layer, op, it))).collect()
}

/// There is one example of each change of each layer, in the order of their numbers, and each is
/// equal to the golden text.
#[test]
fn the_payload_of_each_change_is_stored_byte_for_byte_as_in_its_golden_text() {
    let mut text = String::new();
    let mut examples = examples().into_iter();
    for layer in LAYERS {
        for change in layer.all {
            let (number, opcode, payload) = examples.next().expect("each change has an example");
            assert_eq!((number, opcode), (layer.layer, change.opcode), "{}", change.name);
            let digits = payload.iter().fold(String::new(), |mut digits, byte| {
                _ = write!(digits, "{byte:02x}");
                digits
            });
            let line = format!("{number} {opcode} {} {digits}", change.name);
            _ = writeln!(text, "{}", line.trim_end());
        }
    }
    assert_eq!(examples.next(), None);
    println!("{text}");
    assert!(text == GOLDEN, "a payload isn't stored as it was: that needs a new version (F6)");
}

/// The example of each change is accepted. Without its last byte it is refused, unless its last
/// part has variable length.
#[test]
fn each_payload_is_accepted_whole_and_never_read_beyond_its_end() {
    for (layer, opcode, payload) in examples() {
        let changes = LAYERS.iter().find(|each| each.layer == layer).expect("it has the layer");
        assert_eq!(changes.check(opcode, &payload), Ok(()), "{layer} {opcode}");
        let mut refused = 0;
        for end in 0..payload.len() {
            refused += u32::from(changes.check(opcode, &payload[..end]).is_err());
        }
        assert!(refused > 0 || payload.is_empty(), "{layer} {opcode} is never too short");
    }
}

#[test]
fn what_is_wrong_with_a_payload_is_said() {
    let check = space::CHANGES.check(99, &[]);
    assert_eq!(check, Err(PayloadFault::UnknownChange(99)));
    let check = |opcode, payload| {
        let fault = space::CHANGES.check(opcode, payload).expect_err("it isn't one");
        fault.to_string()
    };
    assert_eq!(check(space::TAKE, &[0; 7]), "its payload ends within ExtentRun");
    assert_eq!(check(space::TAKE, &[0; 9]), "1 bytes follow the last part of its payload");
    let step = heap::CHANGES.check(heap::CHANGE, &[&[0; 22][..], &[77]].concat());
    let said = step.expect_err("there is no such step").to_string();
    assert_eq!(said, "its payload has 77 as the kind of a step, which can't be");
}

/// Reads everything that `check` has accepted, as the layers do.
fn read_all(layer: u8, opcode: u8, payload: &[u8]) {
    if layer == heap::CHANGES.layer {
        let steps = match opcode {
            heap::CHANGE => ItlChange::read(payload).map(|(_, rest)| rest),
            heap::BACK | heap::BACK_APPLIED => Before::read(payload).map(|(_, rest)| rest),
            _ => return,
        };
        let mut steps = steps.expect("accepted");
        while !steps.is_empty() {
            (_, steps) = Step::read(steps).expect("accepted");
        }
    }
    if (layer, opcode) == (index::CHANGES.layer, index::WRITE) {
        let mut slots = Content::read(payload).expect("accepted").slots;
        while !slots.is_empty() {
            (_, _, slots) = Content::slot(slots).expect("accepted");
        }
    }
    if layer == index::CHANGES.layer {
        let entries = match opcode {
            index::INSERT_MANY => ItlChange::read(payload).map(|(_, rest)| rest),
            index::BACK_MANY | index::BACK_MANY_FOR_GOOD | index::BACK_MANY_APPLIED => {
                let back = Before::read(payload).and_then(|(_, rest)| ManyBack::read(rest));
                back.map(|(_, rest)| rest)
            }
            _ => return,
        };
        let mut entries = entries.expect("accepted");
        assert!(!entries.is_empty());
        while !entries.is_empty() {
            (_, _, entries) = NewEntry::read_keyed(entries).expect("accepted");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// `check` accepts or refuses any bytes, and accepted bytes can be read.
    #[test]
    fn any_bytes_are_a_payload_or_are_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        opcode in any::<u8>(),
    ) {
        for layer in LAYERS {
            for opcode in layer.all.iter().map(|change| change.opcode).chain([opcode]) {
                if layer.check(opcode, &bytes).is_ok() {
                    read_all(layer.layer, opcode, &bytes);
                }
            }
        }
    }

    /// The same holds for payloads that are nearly valid: an example with some bytes replaced and
    /// the end cut off.
    #[test]
    fn a_damaged_payload_is_a_payload_or_is_refused(
        which in any::<prop::sample::Index>(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
    ) {
        let all = examples();
        let (layer, opcode, mut payload) = all[which.index(all.len())].clone();
        for (at, byte) in damage {
            if !payload.is_empty() {
                let at = at.index(payload.len());
                payload[at] = byte;
            }
        }
        payload.truncate(end.index(payload.len() + 1));
        let changes = LAYERS.iter().find(|each| each.layer == layer).expect("it has the layer");
        if changes.check(opcode, &payload).is_ok() {
            read_all(layer, opcode, &payload);
        }
    }
}
