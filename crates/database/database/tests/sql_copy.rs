//! COPY: rows of files and of clients, in both directions.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the files of a user, beside the database")]

mod sql_common;

use database::{Connection, CopySource, Session, SqlState};
use sql_common::{Folder, Small, refused, rows, run, value};

const TABLE: &str = "create table note (id bigint primary key, part varchar(5) default 'none', \
                     day date, pay number(9, 2))";

fn with_notes(small: &Small) -> Connection<'static> {
    let mut connection = small.connect("app");
    run(&mut connection, TABLE);
    connection
}

fn copy_in(connection: &mut Connection<'_>, text: &str, bytes: &str) -> u64 {
    let copied = connection.copy_in(text, &mut bytes.as_bytes());
    copied.unwrap_or_else(|stop| panic!("{text}: {stop}")).rows()
}

fn out(connection: &mut Connection<'_>, text: &str) -> String {
    let mut bytes = Vec::new();
    connection.copy_out(text, &mut bytes).unwrap_or_else(|stop| panic!("{text}: {stop}"));
    String::from_utf8(bytes).expect("UTF-8")
}

/// What a refused COPY says.
fn said(connection: &mut Connection<'_>, text: &str, bytes: &str) -> String {
    connection.copy_in(text, &mut bytes.as_bytes()).expect_err(text).to_string()
}

#[test]
fn both_formats_are_read_and_written() {
    let small = Small::new("sql-copy-formats");
    let mut connection = with_notes(&small);
    let bytes = "1\ta\\tb\t2026-11-27\t1.50\n2\t\\N\t\\N\t\\N\n";
    assert_eq!(copy_in(&mut connection, "copy note from stdin", bytes), 2);
    assert_eq!(out(&mut connection, "copy note to stdout"), bytes.replace("1.50", "1.5"));
    let bytes = "id;part\n3;\"x;y\"\n4;\n5;\"\"\n";
    let text = "copy note (id, part) from stdin with (format csv, header, delimiter ';')";
    assert_eq!(copy_in(&mut connection, text, bytes), 3);
    let text = "copy (select id, part from note where id > 2 order by id) to stdout \
                (format csv, header, delimiter ';')";
    assert_eq!(out(&mut connection, text), bytes);
    let text = "copy note (id) from stdin where id > 10";
    assert_eq!(copy_in(&mut connection, text, "9\n11\n"), 1);
    assert_eq!(value(&mut connection, "select part from note where id = 11"), "none");
}

/// SQ81, SQ82.
#[test]
fn a_refused_copy_names_the_place_and_leaves_nothing() {
    let small = Small::new("sql-copy-refused");
    let mut connection = with_notes(&small);
    let text = "copy note (id, part) from stdin csv";
    let found = said(&mut connection, text, "1,a\n2,b\nx,c\n");
    assert!(found.contains("STDIN, line 3, column id"), "{found}");
    let found = said(&mut connection, text, "1,a\n2,\"two\nlines\"\n3,\"much too long\"\n");
    assert!(found.contains("STDIN, line 2, column part"), "{found}");
    let found = said(&mut connection, text, "1,a\n2\n");
    assert!(found.contains("STDIN, line 2, column part"), "{found}");
    let found = said(&mut connection, text, "1,a,b\n");
    assert!(found.contains("STDIN, line 1: the line has 3 values"), "{found}");
    let found = said(&mut connection, text, "1,a\n2,\"b\n");
    assert!(found.contains("line 2: a quote isn't closed"), "{found}");
    let found = said(&mut connection, text, "1,a\n1,b\n");
    assert!(found.contains("STDIN was read up to line 2"), "{found}");
    let found = said(&mut connection, "copy note (nothing) from stdin", "");
    assert!(found.contains("has no column nothing"), "{found}");
    assert_eq!(value(&mut connection, "select count(*) from note"), "0");
    // Within a transaction it leaves what was there.
    run(&mut connection, "begin");
    assert_eq!(copy_in(&mut connection, text, "7,a\n"), 1);
    let _ = said(&mut connection, text, "8,a\n7,a\n");
    run(&mut connection, "commit");
    assert_eq!(rows(&mut connection, "select id from note"), ["7"]);
}

#[test]
fn a_client_ends_a_copy_by_an_error() {
    struct Broken(u32);
    impl CopySource for Broken {
        fn read(&mut self, into: &mut Vec<u8>, _: &Session) -> Result<(), String> {
            self.0 += 1;
            into.extend_from_slice(format!("{}\n", self.0).as_bytes());
            if self.0 < 3 { Ok(()) } else { Err("the cable broke".to_string()) }
        }
    }
    let small = Small::new("sql-copy-client");
    let mut connection = with_notes(&small);
    let refused_with = connection.copy_in("copy note (id) from stdin", &mut Broken(0));
    let stop = refused_with.expect_err("broken off");
    assert!(stop.to_string().contains("the cable broke"), "{stop}");
    assert_eq!(stop.state(), SqlState::QUERY_CANCELED);
    assert_eq!(value(&mut connection, "select count(*) from note"), "0");
    // Without a client there is nothing to read from.
    let alone = refused(&mut connection, "copy note from stdin");
    assert_eq!(alone, SqlState::FEATURE_NOT_SUPPORTED);
}

/// Many rows into a new table go by the direct path; files may be packed.
#[test]
fn files_are_read_and_written() {
    let small = Small::new("sql-copy-files");
    let folder = Folder::new("sql-copy-files-out");
    let mut connection = with_notes(&small);
    let fill =
        "insert into note (id, part) select n, 'p' || n % 7 from generate_series(1, 30000) n";
    run(&mut connection, fill);
    for (name, options) in [("a.txt", ""), ("a.csv", "csv header"), ("a.gz", "compression gzip")] {
        let path = folder.0.join(name);
        let path = path.display();
        assert_eq!(run(&mut connection, &format!("copy note to '{path}' {options}")), 30_000);
        run(&mut connection, "create table other as select * from note where id < 0");
        let options = if name == "a.gz" { "" } else { options };
        assert_eq!(run(&mut connection, &format!("copy other from '{path}' {options}")), 30_000);
        let same = "select count(*) from note join other using (id, part)";
        assert_eq!(value(&mut connection, same), "30000", "{name}");
        run(&mut connection, "drop table other");
        let again = refused(&mut connection, &format!("copy note to '{path}'"));
        assert_eq!(again, SqlState::DUPLICATE_FILE, "{name}");
    }
    let missing = format!("copy note from '{}'", folder.0.join("missing").display());
    assert_eq!(refused(&mut connection, &missing), SqlState::UNDEFINED_FILE);
    let path = folder.0.join("half.csv");
    let half = format!("copy (select 1 / (5 - id) from note) to '{}' csv", path.display());
    assert_eq!(refused(&mut connection, &half), SqlState::DIVISION_BY_ZERO);
    assert!(!path.exists(), "what is refused leaves no file");
}
