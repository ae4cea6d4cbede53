//! From rows to bytes: what `scan` reads back.
//!
//! Callers: `copy_out`.

use expression::write_text;
use value::Value;

use super::form::{Form, Quotes};

/// Adds the line of a row.
pub(super) fn add_row<'v>(
    form: &Form,
    values: impl IntoIterator<Item = Value<'v>>,
    out: &mut Vec<u8>,
) {
    let mut text = String::new();
    for (number, value) in values.into_iter().enumerate() {
        if number > 0 {
            out.push(form.delimiter);
        }
        if value == Value::Null {
            out.extend_from_slice(form.null.as_bytes());
            continue;
        }
        text.clear();
        write_text(value, &mut text).expect("a text takes whatever is written");
        add_field(form, &text, out);
    }
    out.push(b'\n');
}

/// The line behind which a client has no more data.
const LAST: &str = "\\.";

/// Adds a field that isn't NULL.
pub(super) fn add_field(form: &Form, text: &str, out: &mut Vec<u8>) {
    match form.quotes {
        None => add_escaped(form.delimiter, text, out),
        Some(Quotes { quote, escape }) => {
            let is_sign = |byte: u8| [quote, form.delimiter, b'\n', b'\r'].contains(&byte);
            // Without quotes, a line of its own that is \. would end data that a client sends.
            if text != form.null && text != LAST && !text.bytes().any(is_sign) {
                out.extend_from_slice(text.as_bytes());
                return;
            }
            out.push(quote);
            for byte in text.bytes() {
                if byte == quote || byte == escape {
                    out.push(escape);
                }
                out.push(byte);
            }
            out.push(quote);
        }
    }
}

fn add_escaped(delimiter: u8, text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        let sign = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            other if other == delimiter => other,
            other => {
                out.push(other);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', sign]);
    }
}

#[cfg(test)]
mod tests {
    use syntax::{FileFormat, FileOptions};

    use super::super::scan::{Record, Scanned, scan};
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let texts = ["", "a", "\\N", "\\.", "a\tb", "a,\"b\"", "two\nlines\r", "-", "ä\\"];
        let csv = FileOptions { format: Some(FileFormat::Csv), ..FileOptions::default() };
        for options in [
            FileOptions::default(),
            FileOptions { delimiter: Some('|'), null: Some("-".into()), ..FileOptions::default() },
            csv.clone(),
            FileOptions { escape: Some('\\'), null: Some("-".into()), ..csv },
        ] {
            let form = Form::of(&options).expect("a form");
            for text in texts {
                if form.quotes.is_none() && form.null == "-" && text == "-" {
                    // As in PostgreSQL, the text format can't tell it from NULL.
                    continue;
                }
                let mut out = Vec::new();
                let row = [Value::Text(text), Value::Null, Value::Text(text)];
                add_row(&form, row, &mut out);
                let mut record = Record::default();
                let found = scan(&form, &out, true, &mut record).expect("it has an end");
                assert!(matches!(found, Scanned::Record { bytes, .. } if bytes == out.len()));
                let read = [0, 1, 2].map(|number| record.get(number));
                let written = [Some(text.as_bytes()), None, Some(text.as_bytes())];
                assert_eq!((read, record.len()), (written, 3), "{options:?}: {text:?}");
            }
        }
        let form = Form::of(&FileOptions::default()).expect("a form");
        let mut out = Vec::new();
        add_row(&form, [Value::Text("\\.")], &mut out);
        assert_eq!(out, b"\\\\.\n");
        let csv = FileOptions { format: Some(FileFormat::Csv), ..FileOptions::default() };
        let form = Form::of(&csv).expect("a form");
        let mut out = Vec::new();
        add_row(&form, [Value::Text("\\.")], &mut out);
        assert_eq!(out, b"\"\\.\"\n");
    }
}
