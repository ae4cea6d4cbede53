//! A heap of short rows, each a number and bytes that are all the same: what most tests here work
//! on. Typed tables keep their rows in heaps as this one; `heap` has rows of all lengths.

use access::{Changed, EachRow, Heap, HeapInserter, RowAddress};
use instance::{Instance, Transaction};
use os::Session;
use space::{Holds, Segment};
use stop::{RefusalKind, Stop};
use txn::View;
use waits::WaitEvent;

const FILLER_BYTES: usize = 100;

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Row {
    pub(crate) number: i64,
    /// The byte that follows the number, again and again.
    pub(crate) filler: u8,
}

impl Row {
    fn bytes(self) -> Vec<u8> {
        let mut bytes = self.number.to_le_bytes().to_vec();
        bytes.resize(8 + FILLER_BYTES, self.filler);
        bytes
    }

    fn of(bytes: &[u8]) -> Row {
        let (number, filler) = bytes.split_at(8);
        let row = Row {
            number: i64::from_le_bytes(number.try_into().expect("eight bytes")),
            filler: filler[0],
        };
        assert_eq!(row.bytes(), bytes, "the row isn't whole");
        row
    }
}

/// A heap of such rows.
#[derive(Clone)]
pub(crate) struct Rows {
    segment: Segment,
    heap: Heap,
}

impl Rows {
    /// Makes one in the system tablespace; it is durable when this returns.
    pub(crate) fn create(instance: &Instance, name: &str, session: &Session) -> Result<Rows, Stop> {
        Rows::create_within(instance, ("system", name), session)
    }

    /// The same in the tablespace of this name.
    pub(crate) fn create_within(
        instance: &Instance,
        (tablespace, name): (&str, &str),
        session: &Session,
    ) -> Result<Rows, Stop> {
        let segment = instance.space().create_within(tablespace, name, Holds::Table, session)?;
        let redo = instance.redo();
        redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)?;
        Ok(Rows::of(segment, instance, session))
    }

    /// The heap of this name.
    pub(crate) fn open(instance: &Instance, name: &str, session: &Session) -> Result<Rows, Stop> {
        let found = instance.space().find(name, session)?;
        let Some(segment) = found.filter(|segment| segment.holds == Holds::Table) else {
            return Err(Stop::refuse(RefusalKind::NotFound, format!("there is no heap {name}")));
        };
        Ok(Rows::of(segment, instance, session))
    }

    fn of(segment: Segment, instance: &Instance, session: &Session) -> Rows {
        let heap = Heap::new(&segment, instance.space(), instance.transactions(), session);
        Rows { segment, heap }
    }

    pub(crate) fn segment(&self) -> &Segment {
        &self.segment
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Inserts a row that `fill` makes of zeros.
    pub(crate) fn insert(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        fill: impl FnOnce(&mut Row),
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let mut row = Row::default();
        fill(&mut row);
        self.heap.insert(transaction, inserter, &row.bytes(), session)
    }

    /// Changes a row, or locks it if nothing changes. Waits while another transaction has it. False
    /// if there is none.
    pub(crate) fn update(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        mut change: impl FnMut(&mut Row),
        session: &Session,
    ) -> Result<bool, Stop> {
        let mut change = |old: &[u8], new: &mut Vec<u8>| {
            let mut row = Row::of(old);
            change(&mut row);
            new.extend_from_slice(&row.bytes());
        };
        // Rows of one length stay where they are.
        let inserter = &mut HeapInserter::default();
        match self.heap.update(transaction, inserter, address, None, &mut change, session)? {
            Changed::Yes | Changed::Already => Ok(true),
            Changed::NotThere => Ok(false),
            Changed::Held => unreachable!("it is waited for"),
            Changed::Since | Changed::TooNew => {
                Err(Stop::refuse(RefusalKind::Serialization, "the row was changed since"))
            }
        }
    }

    /// Looks at a row as it is now, or as `transaction` sees it. None if there is none.
    pub(crate) fn fetch<T>(
        &self,
        transaction: Option<&Transaction>,
        address: RowAddress,
        mut look: impl FnMut(Row) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        self.seen(transaction, session, |view| {
            self.heap.fetch(view, address, &mut |bytes| look(Row::of(bytes)), session)
        })
    }

    /// Looks at every row as it is now, in the order of the blocks.
    pub(crate) fn scan(
        &self,
        look: impl FnMut(RowAddress, Row),
        session: &Session,
    ) -> Result<(), Stop> {
        self.scan_within(None, look, session)
    }

    /// The same as `transaction` sees the rows.
    pub(crate) fn scan_within(
        &self,
        transaction: Option<&Transaction>,
        mut look: impl FnMut(RowAddress, Row),
        session: &Session,
    ) -> Result<(), Stop> {
        self.seen(transaction, session, |view| {
            let mut visit = EachRow::new(|address, bytes: &[u8]| look(address, Row::of(bytes)));
            self.heap.visit(view, &mut visit, session)
        })
    }

    /// What `look` finds with a view whose snapshot is kept meanwhile.
    fn seen<T>(
        &self,
        transaction: Option<&Transaction>,
        session: &Session,
        look: impl FnOnce(View) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let transactions = self.heap.transactions();
        let snapshot = transactions.snapshot(transaction, session)?;
        look(transactions.view_of(&snapshot, transaction))
    }
}
