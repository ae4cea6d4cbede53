//! `docs/VIEWS.md`, generated from the declarations.

use std::fmt::Write;

use crate::list::all;
use crate::view::{Schema, View};

/// The reference of the views, as Markdown.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Views\n\n\
         Generated from the declarations in `crates/database/views/src` by `cargo xtask docs`.\n\
         Don't edit.\n\n\
         Views into the instance, of the dictionary, and those that clients of PostgreSQL ask. \
         Each is\nqueried as a table: `select sid, event from v$session_wait`. Names of \
         `information_schema` have to be\nsaid with the schema. A view shows what is true as its \
         rows are read, and no session waits for it.\n",
    );
    for (title, schema) in [
        ("Instance and dictionary", Schema::PgCatalog),
        ("`information_schema`", Schema::InformationSchema),
    ] {
        let of = |is_postgresql: bool| {
            let is_it = move |view: &&View| {
                view.schema == schema && view.name.starts_with("pg_") == is_postgresql
            };
            all().filter(is_it).filter(|view| is_described(view))
        };
        section(&mut out, title, of(false));
        if schema == Schema::PgCatalog {
            section(&mut out, "PostgreSQL's catalogue", of(true));
        }
    }
    out
}

/// Whether a view has a description of its own: of the three views of one kind one has.
fn is_described(view: &View) -> bool {
    let behind = |prefix: &str| view.name.strip_prefix(prefix);
    match behind("user_").or_else(|| behind("all_")) {
        Some(kind) => !all().any(|other| other.name == format!("dba_{kind}")),
        None => true,
    }
}

fn section<'v>(out: &mut String, title: &str, views: impl Iterator<Item = &'v View>) {
    write!(out, "\n## {title}\n").expect("writing to a string can't fail");
    for view in views {
        describe(out, view).expect("writing to a string can't fail");
    }
}

fn describe(out: &mut String, view: &View) -> std::fmt::Result {
    write!(out, "\n### `{}`\n\n", view.name)?;
    writeln!(out, "Has {}.", view.meaning)?;
    if let Some(kind) = view.name.strip_prefix("dba_") {
        let others = ["all_", "user_"].map(|prefix| format!("{prefix}{kind}"));
        for other in others.iter().filter(|other| all().any(|view| view.name == other.as_str())) {
            writeln!(out, "`{other}` is the same{}.", difference(other, view))?;
        }
    }
    out.push_str("\n| column | type | says |\n|---|---|---|\n");
    for column in view.columns {
        let (name, kind) = (column.name, column.kind.to_string().to_lowercase());
        writeln!(out, "| `{name}` | {kind} | {} |", column.meaning)?;
    }
    Ok(())
}

/// How the other view of a kind differs from that of `dba_`.
fn difference(name: &str, dba: &View) -> String {
    let columns = crate::view(name).map_or(dba.columns.len(), |other| other.columns.len());
    let lacked = &dba.columns[..dba.columns.len() - columns];
    let lacked: Vec<String> = lacked.iter().map(|column| format!("`{}`", column.name)).collect();
    match (name.starts_with("user_"), lacked.is_empty()) {
        (true, false) => format!(" without {}, for what users have made", lacked.join(" and ")),
        (true, true) => " for what users have made".to_string(),
        (false, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every view and every column is in the document, and every row of a table has as many columns
    /// as its head.
    #[test]
    fn every_view_is_in_the_document() {
        let text = markdown();
        for view in all() {
            assert!(text.contains(&format!("`{}`", view.name)), "{}", view.name);
            for column in view.columns {
                assert!(text.contains(&format!("| `{}` |", column.name)), "{}", column.name);
            }
        }
        let rows = text.lines().filter(|line| line.starts_with('|'));
        for row in rows {
            assert_eq!(row.matches('|').count(), 4, "{row}");
        }
    }
}
