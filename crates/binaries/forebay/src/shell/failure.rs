//! A failure as a person reads it, with its place under the statement.
//!
//! ```text
//!   ERROR 42601: syntax error at or near "fro", line 2 column 5; expected FROM
//!   LINE 2: ... a, b, c fro t
//!                       ^
//!   HINT: ...
//! ```
//!
//! Callers: `shell`.
//! Sources: PostgreSQL's psql, for the form.

use syntax::Place;

use super::backend::Failure;
use super::width::{broken, visible, width};

/// The columns that a line of the statement may take.
const COLUMNS: usize = 80;
/// What stands for what is left out.
const MORE: &str = "...";

/// The failure of this statement, in lines. `origin` says where the statement stands, of a script;
/// `limit` is how many columns a line may have, on a terminal.
pub(crate) fn text(
    failure: &Failure,
    statement: &str,
    origin: Option<&str>,
    limit: Option<usize>,
) -> String {
    let origin = origin.map(|origin| format!("{origin}: ")).unwrap_or_default();
    let state = match failure.sqlstate.as_str() {
        "" => String::new(),
        state => format!(" {state}"),
    };
    let message = format!("{origin}ERROR{state}: {}", visible(&failure.message));
    let mut text = within(&message, limit);
    if let Some(position) = failure.position {
        text += &place(statement, position);
    }
    for (name, more) in [("DETAIL", &failure.detail), ("HINT", &failure.hint)] {
        if let Some(more) = more {
            text += &within(&format!("{name}: {}", visible(more)), limit);
        }
    }
    text
}

/// A line of text, broken at blanks where it would be wider than the terminal.
fn within(line: &str, limit: Option<usize>) -> String {
    let Some(limit) = limit else { return format!("{line}\n") };
    broken(line, limit).iter().map(|piece| format!("{}\n", piece.trim_end())).collect()
}

/// The line of the statement with a mark under the place.
fn place(statement: &str, position: usize) -> String {
    let place = Place::of(statement, position);
    let Some(line) = statement.split('\n').nth(place.line - 1) else { return String::new() };
    let at = line.char_indices().nth(place.column - 1).map_or(line.len(), |(at, _)| at);
    let label = format!("LINE {}: ", place.line);
    let (before, behind) = (visible(&line[..at]), visible(&line[at..]));
    let room = COLUMNS - 1 - width(&label).min(COLUMNS / 2);
    let Window { text, mark } = Window::around(&before, &behind, room);
    let blanks = " ".repeat(width(&label) + mark);
    format!("{label}{}\n{blanks}^\n", text.trim_end())
}

/// The part of a line that is shown.
struct Window {
    text: String,
    /// How many columns stand before the place.
    mark: usize,
}

impl Window {
    /// So many columns around a place, more of what stands before it.
    fn around(before: &str, behind: &str, room: usize) -> Window {
        let (left, right) = (width(before), width(behind));
        if left + right <= room {
            return Window { text: format!("{before}{behind}"), mark: left };
        }
        let room_left = (room * 2 / 3).max(room.saturating_sub(right)).min(left);
        let before = match left <= room_left {
            true => before.to_owned(),
            false => format!("{MORE}{}", last_columns(before, room_left.saturating_sub(3))),
        };
        let mark = width(&before);
        let room_right = room.saturating_sub(mark);
        let behind = match right <= room_right {
            true => behind.to_owned(),
            false => format!("{}{MORE}", first_columns(behind, room_right.saturating_sub(3))),
        };
        Window { text: format!("{before}{behind}"), mark }
    }
}

/// The beginning of a text, of so many columns at most.
fn first_columns(text: &str, columns: usize) -> &str {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| width(&text[..*end]) <= columns).last();
    &text[..end.unwrap_or(0)]
}

/// The end of a text, of so many columns at most.
fn last_columns(text: &str, columns: usize) -> &str {
    let starts = text.char_indices().rev().map(|(at, _)| at);
    let start = starts.take_while(|start| width(&text[*start..]) <= columns).last();
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(position: usize) -> Failure {
        Failure {
            sqlstate: "42601".into(),
            message: "it is wrong".into(),
            hint: Some("do it right".into()),
            position: Some(position),
            ..Failure::default()
        }
    }

    #[test]
    fn the_place_is_marked_under_the_line() {
        let expected =
            "ERROR 42601: it is wrong\nLINE 2:  a fro t\n           ^\nHINT: do it right\n";
        assert_eq!(text(&failure(10), "select\n a fro t", None, None), expected);
        let found = text(&failure(8), "日本, x", None, None);
        assert!(found.contains("LINE 1: 日本, x\n              ^\n"), "{found}");
        let found = text(&failure(99), "select", Some("a.sql:3"), None);
        assert!(found.starts_with("a.sql:3: ERROR"), "{found}");
        assert!(found.contains("LINE 1: select\n              ^\n"), "{found}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}HERE{}", "a ".repeat(200), " b".repeat(200));
        for at in [0, 10, 400, 500, 800] {
            let found = text(&failure(at), &line, None, None);
            let lines: Vec<&str> = found.lines().collect();
            assert!(lines.iter().all(|line| width(line) <= COLUMNS), "{found}");
            let mark = lines[2].find('^').expect("a mark");
            let marked = lines[1].chars().nth(mark);
            assert!(marked.is_none() || marked == line[at..].chars().next(), "{at} {found}");
        }
    }

    #[test]
    fn without_a_place_and_a_state_there_is_the_message() {
        let failure = Failure::of_shell("no such file");
        assert_eq!(text(&failure, "x", None, None), "ERROR: no such file\n");
    }

    #[test]
    fn a_long_message_is_broken_at_a_blank_on_a_terminal_alone() {
        let failure = Failure { message: "words ".repeat(30), ..failure(0) };
        let of = |limit| text(&failure, "select", None, limit);
        let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of(None).lines().count(), 4);
        assert!(of(Some(40)).lines().all(|line| width(line) <= 40), "{}", of(Some(40)));
        assert_eq!(words(of(Some(40))), words(of(None)));
    }
}
