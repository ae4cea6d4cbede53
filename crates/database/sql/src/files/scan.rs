//! From bytes to records: the text format of PostgreSQL, and CSV.
//!
//! ```text
//!   text   a\tb\\tc\t\N⏎          fields a, "b<tab>c", NULL; a backslash before an end of line
//!                                 puts that into the field; `\.` alone ends the data
//!   CSV    a,"b ""x"", c",⏎       fields a, "b "x", c", NULL; an end of line within quotes too
//! ```
//!
//! Lines end with `\n` or `\r\n`; the last one needs no end.
//!
//! Invariant: a record is read from its beginning each time more bytes come, so the caller needs
//! no state between two tries.
//!
//! Callers: `reader`.
//! Sources: PostgreSQL's `copyfromparse.c`, for what is taken; RFC 4180.

use super::form::{Form, Quotes};

/// What came of looking for a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scanned {
    /// A record of these bytes, in which this many lines end.
    Record { bytes: usize, lines: u64 },
    /// The record doesn't end in these bytes.
    More,
    /// No record comes any more.
    End,
}

/// The record has no end: a quote isn't closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unclosed;

/// The fields of a record.
#[derive(Clone, Default, Debug)]
pub(super) struct Record {
    /// The fields' bytes; there may be delimiters between them.
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// Where the field under way begins in the bytes.
    begin: usize,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    begin: usize,
    end: usize,
    is_null: bool,
}

impl Record {
    /// How many fields it has.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The bytes of a field; none for NULL.
    pub(super) fn get(&self, number: usize) -> Option<&[u8]> {
        let Field { begin, end, is_null } = self.fields[number];
        (!is_null).then(|| &self.bytes[begin..end])
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
        self.begin = 0;
    }

    /// Ends the field under way with the bytes.
    fn end_field(&mut self, is_null: bool) {
        self.fields.push(Field { begin: self.begin, end: self.bytes.len(), is_null });
        self.begin = self.bytes.len();
    }

    /// Ends the field under way before a delimiter. So many bytes before that one are copied later,
    /// together with it.
    fn end_before(&mut self, to_come: usize, is_null: bool) {
        let end = self.bytes.len() + to_come;
        self.fields.push(Field { begin: self.begin, end, is_null });
        self.begin = end + 1;
    }

    /// Takes back the `\r` before an end of line.
    fn without_return(&mut self) {
        if self.bytes.len() > self.begin && self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
    }
}

/// Looks for a record at the beginning of `input`, behind which nothing comes if `is_last`.
pub(super) fn scan(
    form: &Form,
    input: &[u8],
    is_last: bool,
    into: &mut Record,
) -> Result<Scanned, Unclosed> {
    into.clear();
    if input.is_empty() {
        return Ok(if is_last { Scanned::End } else { Scanned::More });
    }
    match form.quotes {
        None => Ok(scan_text(form, input, is_last, into)),
        Some(quotes) => scan_csv(form, quotes, input, is_last, into),
    }
}

fn scan_text(form: &Form, input: &[u8], is_last: bool, into: &mut Record) -> Scanned {
    let null = form.null.as_bytes();
    let (mut at, mut raw, mut lines) = (0, 0, 0);
    // Up to here a backslash has taken signs for its own: an end of line begins behind it. What
    // comes behind it is copied at once, up to the next backslash or the end of the line.
    let mut taken = 0;
    loop {
        at += bytes_before_sign(&input[at..], form.delimiter);
        let Some(&sign) = input.get(at) else {
            if !is_last {
                return Scanned::More;
            }
            into.bytes.extend_from_slice(&input[taken..]);
            into.end_field(input[raw..] == *null);
            return ended(input, at, lines, into);
        };
        at += 1;
        if sign == form.delimiter {
            into.end_before(at - 1 - taken, input[raw..at - 1] == *null);
            raw = at;
        } else if sign == b'\n' {
            let has_return = at >= taken.max(raw) + 2 && input[at - 2] == b'\r';
            let end = if has_return { at - 2 } else { at - 1 };
            into.bytes.extend_from_slice(&input[taken..end]);
            into.end_field(input[raw..end] == *null);
            return ended(&input[..end], at, lines + 1, into);
        } else {
            // The longest escape has three signs behind the backslash.
            if !is_last && input.len() - at < 3 {
                return Scanned::More;
            }
            lines += u64::from(input.get(at) == Some(&b'\n'));
            into.bytes.extend_from_slice(&input[taken..at - 1]);
            at += unescape(&input[at..], &mut into.bytes);
            taken = at;
        }
    }
}

/// How many bytes come before the next delimiter, backslash or end of line. Eight are looked at
/// together: most fields are short, and where they end can't be foretold.
fn bytes_before_sign(input: &[u8], delimiter: u8) -> usize {
    let mut at = 0;
    while let Some(bytes) = input[at..].first_chunk() {
        let word = u64::from_le_bytes(*bytes);
        let [end, escape, delimiter] = [b'\n', b'\\', delimiter].map(|sign| bytes_like(word, sign));
        let signs = end | escape | delimiter;
        if signs != 0 {
            return at + (signs.trailing_zeros() / u8::BITS) as usize;
        }
        at += size_of::<u64>();
    }
    let is_sign = |byte: &u8| *byte == b'\n' || *byte == b'\\' || *byte == delimiter;
    at + input[at..].iter().position(is_sign).unwrap_or(input.len() - at)
}

/// The highest bits of the bytes of a word that are this one. Bits above the lowest of them may be
/// wrong.
#[inline]
fn bytes_like(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let differs = word ^ (ONES * u64::from(byte));
    differs.wrapping_sub(ONES) & !differs & (ONES << 7)
}

/// The end of a record of the text format, whose line this is.
fn ended(line: &[u8], bytes: usize, lines: u64, record: &Record) -> Scanned {
    match line == b"\\." && record.len() == 1 {
        true => Scanned::End,
        false => Scanned::Record { bytes, lines },
    }
}

/// Adds what stands behind a backslash. Returns how many bytes it takes.
fn unescape(input: &[u8], out: &mut Vec<u8>) -> usize {
    let digits = |of: &[u8], most: usize, radix: u32| {
        let is_one = |byte: &&u8| char::from(**byte).is_digit(radix);
        let count = of.iter().take(most).take_while(is_one).count();
        let value = of[..count].iter().fold(0, |value: u32, byte| {
            value * radix + char::from(*byte).to_digit(radix).expect("it is a digit")
        });
        // As in PostgreSQL the upper bits of `\777` are lost.
        (count, (value & 0xff) as u8)
    };
    let Some(&sign) = input.first() else {
        out.push(b'\\');
        return 0;
    };
    let (taken, byte) = match sign {
        b'b' => (1, 8),
        b'f' => (1, 12),
        b'n' => (1, b'\n'),
        b'r' => (1, b'\r'),
        b't' => (1, b'\t'),
        b'v' => (1, 11),
        b'0'..=b'7' => digits(input, 3, 8),
        b'x' => match digits(&input[1..], 2, 16) {
            (0, _) => (1, b'x'),
            (count, byte) => (1 + count, byte),
        },
        other => (1, other),
    };
    out.push(byte);
    taken
}

fn scan_csv(
    form: &Form,
    quotes: Quotes,
    input: &[u8],
    is_last: bool,
    into: &mut Record,
) -> Result<Scanned, Unclosed> {
    let Quotes { quote, escape } = quotes;
    let null = form.null.as_bytes();
    let (mut at, mut lines) = (0, 0);
    let (mut is_within, mut was_quoted) = (false, false);
    let is_null =
        |into: &Record, was_quoted: bool| !was_quoted && into.bytes[into.begin..] == *null;
    while let Some(&byte) = input.get(at) {
        at += 1;
        if is_within {
            let next = input.get(at).copied();
            if byte == escape {
                match next {
                    None if !is_last => return Ok(Scanned::More),
                    Some(next) if next == quote || next == escape => {
                        into.bytes.push(next);
                        at += 1;
                        continue;
                    }
                    _ => {}
                }
            }
            if byte == quote {
                is_within = false;
                continue;
            }
            lines += u64::from(byte == b'\n');
            into.bytes.push(byte);
        } else if byte == quote {
            (is_within, was_quoted) = (true, true);
        } else if byte == form.delimiter {
            into.end_field(is_null(into, was_quoted));
            was_quoted = false;
        } else if byte == b'\n' {
            if at >= 2 && input[at - 2] == b'\r' {
                into.without_return();
            }
            into.end_field(is_null(into, was_quoted));
            return Ok(Scanned::Record { bytes: at, lines: lines + 1 });
        } else {
            into.bytes.push(byte);
        }
    }
    match (is_last, is_within) {
        (false, _) => Ok(Scanned::More),
        (true, true) => Err(Unclosed),
        (true, false) => {
            into.end_field(is_null(into, was_quoted));
            Ok(Scanned::Record { bytes: at, lines })
        }
    }
}

#[cfg(test)]
mod tests {
    use syntax::{FileFormat, FileOptions};

    use super::*;

    fn csv() -> Form {
        let options = FileOptions { format: Some(FileFormat::Csv), ..FileOptions::default() };
        Form::of(&options).expect("a form")
    }

    fn text() -> Form {
        Form::of(&FileOptions::default()).expect("a form")
    }

    /// All records; a NULL is `<null>`. Bytes come in pieces of this many.
    fn records(form: &Form, input: &[u8], piece: usize) -> Result<Vec<Vec<String>>, Unclosed> {
        let (mut all, mut from, mut to) = (Vec::new(), 0, 0);
        let mut record = Record::default();
        loop {
            let is_last = to == input.len();
            match scan(form, &input[from..to], is_last, &mut record)? {
                Scanned::More => {
                    assert!(!is_last, "all has come");
                    to = (to + piece).min(input.len());
                }
                Scanned::End => return Ok(all),
                Scanned::Record { bytes, .. } => {
                    from += bytes;
                    let field = |number| match record.get(number) {
                        Some(bytes) => String::from_utf8(bytes.to_vec()).expect("UTF-8"),
                        None => "<null>".to_string(),
                    };
                    all.push((0..record.len()).map(field).collect());
                }
            }
        }
    }

    /// What comes is the same, however the bytes are cut.
    fn check(form: &Form, input: &str, expected: &[&[&str]]) {
        for piece in [1, 2, 3, 7, 1_000] {
            let found = records(form, input.as_bytes(), piece).expect("it has an end");
            assert_eq!(found, expected, "{input:?} in pieces of {piece}");
        }
    }

    #[test]
    fn the_text_format_has_escapes_by_a_backslash() {
        check(&text(), "a\tb\n\\N\t\n", &[&["a", "b"], &["<null>", ""]]);
        check(&text(), "a\\tb\\\\\\n\\x41\\102\\q\r\nlast", &[&["a\tb\\\nABq"], &["last"]]);
        check(&text(), "a\\\nb\tc\n", &[&["a\nb", "c"]]);
        check(&text(), "\\\\N\n\\.\nbehind\n", &[&["\\N"]]);
        check(&text(), "a\\r\nb\\\r\nc\r\n", &[&["a\r"], &["b\r"], &["c"]]);
        check(&text(), "\n", &[&[""]]);
        check(&text(), "", &[]);
    }

    #[test]
    fn fields_of_any_length_end_at_their_delimiters() {
        for length in 0..30 {
            let field = &"0123456789abcdefghijklmnopqrst"[..length];
            let input = format!("{field}\t\\N\t{field}\n\t{field}\r\n{field}\\t{field}");
            let escaped = format!("{field}\t{field}");
            let lines: [&[&str]; 3] = [&[field, "<null>", field], &["", field], &[&escaped]];
            check(&text(), &input, &lines);
        }
    }

    #[test]
    fn a_sign_is_found_wherever_it_stands() {
        for sign in [b'\n', b'\\', b'|'] {
            for before in 0..20 {
                // These bytes are one more, or one less, than a sign.
                for other in [0, sign - 1, sign + 1, sign ^ 0x80, 0xff] {
                    let mut input = vec![other; before];
                    assert_eq!(bytes_before_sign(&input, b'|'), before, "{input:?}");
                    input.extend([sign, sign + 1, sign, other, b'|']);
                    assert_eq!(bytes_before_sign(&input, b'|'), before, "{input:?}");
                    input.extend([sign; 8]);
                    assert_eq!(bytes_before_sign(&input, b'|'), before, "{input:?}");
                }
            }
        }
    }

    #[test]
    fn csv_has_quotes() {
        check(&csv(), "a,\"b \"\"x\"\", c\",\n", &[&["a", "b \"x\", c", "<null>"]]);
        check(&csv(), "\"\",x\r\n\"two\nlines\",y", &[&["", "x"], &["two\nlines", "y"]]);
        check(&csv(), "a\"b,c\"d\n", &[&["ab,cd"]]);
        let escaped = FileOptions {
            format: Some(FileFormat::Csv),
            escape: Some('\\'),
            null: Some("-".into()),
            ..FileOptions::default()
        };
        let escaped = Form::of(&escaped).expect("a form");
        check(&escaped, "\"a\\\"b\\\\\",-,\"-\",", &[&["a\"b\\", "<null>", "-", ""]]);
    }

    #[test]
    fn a_quote_that_is_not_closed_is_refused() {
        assert_eq!(records(&csv(), b"a,\"b\nc", 3), Err(Unclosed));
    }

    #[test]
    fn lines_are_counted_within_records() {
        let mut record = Record::default();
        let found = scan(&csv(), b"\"a\nb\"\nc", true, &mut record);
        assert_eq!(found, Ok(Scanned::Record { bytes: 6, lines: 2 }));
    }
}
