//! Forms of rows for programs and documents: csv, json, markdown, unaligned.
//!
//! Callers: `render`.
//! Sources: RFC 4180; RFC 8259; GitHub's Markdown, "Tables".

use serde_json::Value;

use super::backend::Column;
use super::display::Display;
use super::render::{Ended, Out, Rows, put};

/// Comma-separated values. NULL is nothing, and an empty text is `""`.
pub(crate) fn csv(
    columns: &[Column],
    rows: &mut Rows<'_>,
    display: &Display,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    if !display.no_header {
        let names: Vec<String> = columns.iter().map(|column| csv_value(&column.name)).collect();
        put(out, &(names.join(",") + "\n"))?;
    }
    each(rows, out, |row| {
        let value = |value: &Option<String>| value.as_deref().map_or_else(String::new, csv_value);
        let values: Vec<String> = row.iter().map(value).collect();
        values.join(",") + "\n"
    })
}

fn csv_value(value: &str) -> String {
    let is_plain = !value.is_empty() && !value.contains([',', '"', '\n', '\r']);
    match is_plain {
        true => value.into(),
        false => format!("\"{}\"", value.replace('"', "\"\"")),
    }
}

/// An array of objects, a line each. Numbers and truth values are JSON's where JSON has them.
pub(crate) fn json(
    columns: &[Column],
    rows: &mut Rows<'_>,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    put(out, "[")?;
    let mut is_first = true;
    let count = each(rows, out, |row| {
        let value = |(column, value): (&Column, &Option<String>)| match value {
            Some(value) => json_value(column, value),
            None => "null".into(),
        };
        let values = columns.iter().zip(row).map(value);
        let pairs: Vec<String> =
            names.iter().zip(values).map(|(name, value)| format!("{name}: {value}")).collect();
        let between = if is_first { "\n" } else { ",\n" };
        is_first = false;
        format!("{between}{{{}}}", pairs.join(", "))
    })?;
    put(out, if count == 0 { "]\n" } else { "\n]\n" })?;
    Ok(count)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn json_value(column: &Column, value: &str) -> String {
    if column.right_aligned && serde_json::from_str::<Value>(value).is_ok_and(|it| it.is_number()) {
        return value.into();
    }
    match (column.kind.as_str(), value) {
        ("boolean", "t" | "true") => "true".into(),
        ("boolean", "f" | "false") => "false".into(),
        _ => quoted(value),
    }
}

/// A table of Markdown. A blank line ends it, so that the next one isn't a part of it.
pub(crate) fn markdown(
    columns: &[Column],
    rows: &mut Rows<'_>,
    display: &Display,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    if !display.no_header {
        let names = columns.iter().map(|column| markdown_cell(&column.name)).collect();
        let rule = |column: &Column| match column.right_aligned {
            true => "---:".to_string(),
            false => "---".to_string(),
        };
        put(out, &(line(names) + &line(columns.iter().map(rule).collect())))?;
    }
    let count = each(rows, out, |row| {
        let cell = |value: &Option<String>| markdown_cell(value.as_deref().unwrap_or("NULL"));
        line(row.iter().map(cell).collect())
    })?;
    if !display.no_header {
        put(out, "\n")?;
    }
    Ok(count)
}

/// A text that is shown as it is: no letter of it is one of Markdown's.
fn markdown_cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' | '\r' => cell.push_str("<br>"),
            '\\' | '|' | '`' | '*' | '[' | '<' | '&' => cell.extend(['\\', c]),
            c => cell.push(c),
        }
    }
    cell
}

/// Values with `|` between them. NULL is nothing.
pub(crate) fn unaligned(
    columns: &[Column],
    rows: &mut Rows<'_>,
    display: &Display,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    if !display.no_header {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        put(out, &(names.join("|") + "\n"))?;
    }
    each(rows, out, |row| {
        let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("")).collect();
        values.join("|") + "\n"
    })
}

/// Gives a text for each row to `out`, and their number.
fn each(
    rows: &mut Rows<'_>,
    out: &mut Out<'_>,
    mut text: impl FnMut(&[Option<String>]) -> String,
) -> Result<u64, Ended> {
    let mut count = 0;
    for row in rows {
        put(out, &text(&row?))?;
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::super::display::Format;
    use super::super::render::testing::{columns, shown};
    use super::*;

    fn text(format: Format, names: &[&str], rows: &[&[&str]]) -> String {
        shown(names, rows, &Display { format, ..Display::default() }, Some(10))
    }

    #[test]
    fn csv_quotes_what_it_must() {
        let rows: [&[&str]; 2] = [&["1", "a,\"b\"\nc"], &["NULL", ""]];
        let expected = "n,\"a,b\"\n1,\"a,\"\"b\"\"\nc\"\n,\"\"\n";
        assert_eq!(text(Format::Csv, &["n#", "a,b"], &rows), expected);
    }

    #[test]
    fn json_can_be_read_again() {
        let rows: [&[&str]; 2] = [&["1.50", "a\"\n"], &["NaN", "NULL"]];
        let text = text(Format::Json, &["n#", "t"], &rows);
        let expected = "[\n{\"n\": 1.50, \"t\": \"a\\\"\\n\"},\n{\"n\": \"NaN\", \"t\": null}\n]\n";
        assert_eq!(text, expected);
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read[1]["t"], Value::Null);
        let none =
            shown(&["n"], &[], &Display { format: Format::Json, ..Display::default() }, None);
        assert_eq!(none, "[]\n");
        let mut column = columns(&["b"]).remove(0);
        column.kind = "boolean".into();
        assert_eq!(json_value(&column, "t"), "true");
    }

    #[test]
    fn markdown_has_a_rule_and_no_bars_in_its_cells() {
        let rows: [&[&str]; 1] = [&["1", "a|b\nc"]];
        let expected = "| n | t |\n| ---: | --- |\n| 1 | a\\|b<br>c |\n\n";
        assert_eq!(text(Format::Markdown, &["n#", "t"], &rows), expected);
        assert_eq!(markdown_cell("<b> *x* a_b\r\n&lt;"), "\\<b> \\*x\\* a_b<br>\\&lt;");
    }

    #[test]
    fn unaligned_has_values_and_nothing_else() {
        let rows: [&[&str]; 1] = [&["1", "NULL", "x y"]];
        assert_eq!(text(Format::Unaligned, &["n#", "a", "b"], &rows), "n|a|b\n1||x y\n");
    }
}
