//! Rows of files: bytes become records, records become values of columns.
//!
//! ```text
//!   Input ─ pieces ─▶ buffer ─ scan ─▶ Record ─ read_text, by column ─▶ Rows
//!                        │                └ wrong ─▶ Rejects, or the statement is refused
//!                        └ header lines are passed over, in each file
//! ```
//!
//! Invariants
//!   * each column of a line is read, whichever a query wants: what is rejected doesn't depend on
//!     the query
//!   * what is wrong is said with the file, the line's number and the column (rule SQ81)
//!
//! Callers: `copy_in`, `external`; by way of `VirtualReader` the row source of virtual tables.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use catalog::ExternalColumn;
use expression::{Arena, Evaluation, Rows, read_text};
use latch::Shared64;
use rowsource::BATCH_BYTES_MAX;
use stop::{SqlState, Stop};
use value::{Timestamp, Type, Value};

use super::form::Form;
use super::input::Input;
use super::rejects::{RejectRule, Rejects};
use super::scan::{Record, Scanned, Unclosed, scan};
use crate::refuse::refuse;
use crate::schema::{VirtualContext, VirtualReader};

/// The most bytes of a record.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// What a file of rows is.
pub(crate) struct Layout {
    pub(super) columns: Vec<FileColumn>,
    pub(super) form: Form,
    /// The files, one behind the other; none: the client.
    pub(super) files: Vec<PathBuf>,
    pub(super) rejects: RejectRule,
    /// The line that was read last, from 1. It is 0 before the first one, and once a refusal says
    /// its line by itself.
    pub(super) line: Shared64,
    /// Whether the client was asked for bytes: 0 or 1.
    pub(super) asked: Shared64,
}

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileColumn {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) not_null: bool,
}

impl Layout {
    /// The columns, as the dictionary has them.
    pub(crate) fn into_columns(self) -> impl Iterator<Item = ExternalColumn> {
        self.columns.into_iter().map(|FileColumn { name, kind, .. }| ExternalColumn { name, kind })
    }

    /// Refuses to read what the client sends a second time: it is gone.
    fn check_first(&self, of: &VirtualContext<'_>) -> Result<(), Stop> {
        if self.asked.load(of.session) == 0 {
            self.asked.store(1, of.session);
            return Ok(());
        }
        let message = "COPY FROM STDIN has to begin again, for a table has changed meanwhile, and \
                       what it has read is gone: send it again";
        Err(refuse(SqlState::SERIALIZATION_FAILURE, message))
    }

    /// The name of a file in messages.
    pub(super) fn file_name(&self, place: usize) -> String {
        match self.files.get(place) {
            Some(path) => path.display().to_string(),
            None => "STDIN".to_string(),
        }
    }
}

/// Reads the rows of files.
pub(super) struct FileReader {
    layout: Arc<Layout>,
    /// The columns that are given; none: all.
    wanted: Option<Vec<usize>>,
    /// The place of the file that is open, or is opened next.
    place: usize,
    input: Option<Input>,
    buffer: Vec<u8>,
    /// Where the next record begins in it.
    at: usize,
    /// Whether no more bytes come behind the buffer.
    is_last: bool,
    /// How many header lines are still to be passed over.
    header: u64,
    /// The number of the next line of the file.
    line: u64,
    /// What the layout is told of the lines.
    last_line: u64,
    record: Record,
    rejects: Rejects,
    arena: Arena,
    dice: Cell<u64>,
}

impl FileReader {
    /// Reads these columns.
    pub(super) fn new(layout: &Arc<Layout>, wanted: &[usize]) -> FileReader {
        FileReader {
            layout: Arc::clone(layout),
            wanted: (!wanted.iter().copied().eq(0..layout.columns.len())).then(|| wanted.to_vec()),
            place: 0,
            input: None,
            buffer: Vec::new(),
            at: 0,
            is_last: false,
            header: 0,
            line: 1,
            last_line: 0,
            record: Record::default(),
            rejects: Rejects::default(),
            arena: Arena::new(),
            dice: Cell::new(0),
        }
    }

    /// Opens the next file. Returns false if there is none.
    fn open(&mut self, of: &VirtualContext<'_>) -> Result<bool, Stop> {
        let Layout { files, form, .. } = &*self.layout;
        let input = match files.get(self.place) {
            Some(path) => Input::open(path, form.compression, of)?,
            None if files.is_empty() && self.place == 0 => {
                self.layout.check_first(of)?;
                Input::Client
            }
            None => return Ok(false),
        };
        self.input = Some(input);
        self.buffer.clear();
        (self.at, self.is_last) = (0, false);
        (self.header, self.line) = (form.header_lines, 1);
        Ok(true)
    }

    /// Looks for the next record, in whichever file it is. Returns where it was in the buffer; none
    /// if there is no record any more.
    fn next_record(&mut self, of: &VirtualContext<'_>) -> Result<Option<Taken>, Stop> {
        loop {
            if self.input.is_none() && !self.open(of)? {
                return Ok(None);
            }
            let rest = &self.buffer[self.at..];
            match scan(&self.layout.form, rest, self.is_last, &mut self.record) {
                Err(Unclosed) => {
                    let lead = self.lead(self.line, None);
                    let message = format!("{lead}: a quote isn't closed before the file ends");
                    return Err(refuse(SqlState::BAD_COPY_FILE_FORMAT, message));
                }
                Ok(Scanned::More) => self.fill(of)?,
                Ok(Scanned::End) => {
                    self.input = None;
                    self.place += 1;
                }
                Ok(Scanned::Record { bytes, lines }) => {
                    let taken = Taken { line: self.line, from: self.at, to: self.at + bytes };
                    self.at += bytes;
                    self.line += lines;
                    if self.header > 0 {
                        self.header -= 1;
                        continue;
                    }
                    return Ok(Some(taken));
                }
            }
        }
    }

    /// Gets more bytes behind those of the buffer that weren't taken.
    fn fill(&mut self, of: &VirtualContext<'_>) -> Result<(), Stop> {
        of.instance.halt().check_call(of.session)?;
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.len() > RECORD_BYTES_MAX {
            let lead = self.lead(self.line, None);
            let message = format!(
                "{lead}: the line is longer than {RECORD_BYTES_MAX} bytes; is a quote not closed?"
            );
            return Err(refuse(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        // A record that goes on is looked at anew from its beginning. So there is to be twice as
        // much of it: else a long one would be looked at for each of many small pieces.
        let enough = 2 * self.buffer.len();
        let input = self.input.as_mut().expect("a file is open");
        loop {
            self.is_last = !input.read(&mut self.buffer, of)?;
            if self.is_last || self.buffer.len() >= enough {
                return Ok(());
            }
            of.instance.halt().check_call(of.session)?;
        }
    }

    /// Adds the row of the record. If it is refused, nothing of it is left in `into`.
    fn add(&mut self, line: u64, into: &mut Rows) -> Result<(), Stop> {
        self.arena.reset();
        let FileReader { layout, record, wanted, arena, dice, .. } = &*self;
        let (columns, fields) = (&layout.columns, record.len());
        let refused = |column: Option<&FileColumn>, stop: Stop| {
            let lead = self.lead(line, column.map(|column| column.name.as_str()));
            stop.map_refusal(|refusal| refusal.led_by(&format!("{lead}: ")))
        };
        let bad = |say: &str| refuse(SqlState::BAD_COPY_FILE_FORMAT, say);
        if fields > columns.len() {
            let say = format!("the line has {fields} values, and {} are wanted", columns.len());
            return Err(refused(None, bad(&say)));
        }
        if fields < columns.len() && !layout.form.missing_is_null {
            return Err(refused(Some(&columns[fields]), bad("the line has no value for it")));
        }
        let with = evaluation(arena, dice);
        let read = |number: usize| {
            let column = &columns[number];
            let field = (number < fields).then(|| record.get(number)).flatten();
            value_of(field, column, &with).map_err(|stop| refused(Some(column), stop))
        };
        if let Some(wanted) = wanted {
            let values = (0..columns.len()).map(read).collect::<Result<Vec<_>, Stop>>()?;
            into.push(wanted.iter().map(|place| values[*place]));
            return Ok(());
        }
        into.begin_row();
        for number in 0..columns.len() {
            match read(number) {
                Ok(value) => into.push_value(value),
                Err(stop) => {
                    into.drop_row();
                    return Err(stop);
                }
            }
        }
        Ok(())
    }

    /// Appends rows until there are `most`. Returns false if none come behind them.
    fn next_rows(
        &mut self,
        of: &VirtualContext<'_>,
        most: usize,
        into: &mut Rows,
    ) -> Result<bool, Stop> {
        while into.len() < most && into.bytes_used() < BATCH_BYTES_MAX {
            let Some(Taken { line, from, to }) = self.next_record(of)? else {
                self.rejects.end(of)?;
                return Ok(false);
            };
            self.last_line = line;
            if let Err(wrong) = self.add(line, into) {
                self.last_line = 0;
                let layout = Arc::clone(&self.layout);
                self.rejects.take(&layout.rejects, &self.buffer[from..to], wrong, of)?;
            }
        }
        Ok(true)
    }

    /// What messages about a line begin with.
    fn lead(&self, line: u64, column: Option<&str>) -> String {
        let file = self.layout.file_name(self.place);
        match column {
            Some(column) => format!("{file}, line {line}, column {column}"),
            None => format!("{file}, line {line}"),
        }
    }
}

/// A record in the buffer.
#[derive(Clone, Copy)]
struct Taken {
    line: u64,
    from: usize,
    to: usize,
}

fn evaluation<'a>(arena: &'a Arena, dice: &'a Cell<u64>) -> Evaluation<'a> {
    Evaluation { slots: &[], arena, moment: Timestamp::MIN, user: "", dice, subqueries: None }
}

/// The value of a field.
fn value_of<'a>(
    field: Option<&'a [u8]>,
    column: &FileColumn,
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Stop> {
    let Some(bytes) = field else {
        return match column.not_null {
            true => Err(refuse(SqlState::NOT_NULL_VIOLATION, "it is NOT NULL, and has no value")),
            false => Ok(Value::Null),
        };
    };
    let text = std::str::from_utf8(bytes).map_err(|_| {
        refuse(SqlState::CHARACTER_NOT_IN_REPERTOIRE, "its bytes are no text in UTF-8")
    })?;
    read_text(text, column.kind, &column.name, with)
}

impl VirtualReader for FileReader {
    fn next(
        &mut self,
        of: &VirtualContext<'_>,
        most: usize,
        into: &mut Rows,
    ) -> Result<bool, Stop> {
        let goes_on = self.next_rows(of, most, into);
        // Who is told of it asks behind this call.
        self.layout.line.store(self.last_line, of.session);
        goes_on
    }

    fn close(&mut self, of: &VirtualContext<'_>) {
        // A reader that was closed before its end says nothing of the file of rejected lines.
        let _ = self.rejects.end(of);
        self.input = None;
        self.buffer = Vec::new();
    }
}
