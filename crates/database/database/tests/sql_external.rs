//! External tables: rows of files, packed or not, with lines that are no rows.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "the files of a user, beside the database")]

mod sql_common;

use database::SqlState;
use sql_common::{Folder, Small, refused, rows, run, value};

const LINES: &str = "id|name\n1|one\n2|\nx|three\n|four\n5|five|more\n6|six\n";

#[test]
fn rows_of_files_are_joined_and_lines_that_are_no_rows_are_kept() {
    let small = Small::new("sql-external");
    let folder = Folder::new("sql-external-files");
    std::fs::write(folder.0.join("w.dat"), LINES).expect("written");
    let mut connection = small.connect("app");
    let create = |limit: &str| {
        format!(
            "create external table w (id int not null, name varchar(9)) location 'w.dat' \
             directory '{}' format csv delimiter '|' header reject file 'w.bad' {limit}",
            folder.0.display()
        )
    };
    run(&mut connection, &create("reject limit 3"));
    assert_eq!(rows(&mut connection, "select id from w order by id"), ["1", "2", "6"]);
    let bad = std::fs::read_to_string(folder.0.join("w.bad")).expect("it is there");
    assert_eq!(bad, "x|three\n|four\n5|five|more\n");
    assert_eq!(value(&mut connection, "select count(*) from w where name is null"), "1");
    let joined = "select a.name from w a join w b on a.id = b.id + 4";
    assert_eq!(rows(&mut connection, joined), ["six"]);
    run(&mut connection, "create table copied as select * from w");
    assert_eq!(value(&mut connection, "select sum(id) from copied"), "9");
    assert_eq!(refused(&mut connection, &create("")), SqlState::DUPLICATE_OBJECT);

    // A definition that is made anew is the one that counts, also for a text that was planned.
    run(&mut connection, "drop table w");
    run(&mut connection, &create("reject limit 2"));
    let text = "select id from w order by id";
    assert_eq!(refused(&mut connection, text), SqlState::BAD_COPY_FILE_FORMAT);
    let stop = connection.execute(text, &[]).expect_err("one line too many").to_string();
    assert!(stop.contains("w.dat, line 6"), "{stop}");
}

#[test]
fn files_are_read_one_behind_the_other_packed_or_not() {
    let small = Small::new("sql-external-packed");
    let folder = Folder::new("sql-external-packed-files");
    let mut connection = small.connect("app");
    let path = |name: &str| folder.0.join(name).display().to_string();
    for (name, from, options) in [("a", 1, ""), ("b", 101, "compression gzip")] {
        let query = format!("select n, 'x' from generate_series({from}, {from} + 99) as g(n)");
        run(&mut connection, &format!("copy ({query}) to '{}' {options}", path(name)));
    }
    let create = format!(
        "create table w (n bigint, t varchar(3), more int) organization external ( \
         type oracle_loader access parameters (records delimited by newline fields terminated by \
         '\t' missing field values are null) location ('{}', '{}'))",
        path("a"),
        path("b")
    );
    run(&mut connection, &create);
    let found = rows(&mut connection, "select count(*), min(n), max(n), count(more) from w");
    assert_eq!(found, ["200|1|200|0"]);

    let packed = std::fs::read(folder.0.join("b")).expect("it is there");
    std::fs::write(folder.0.join("b"), &packed[..packed.len() / 2]).expect("written");
    assert_eq!(refused(&mut connection, "select max(n) from w"), SqlState::DATA_CORRUPTED);
    std::fs::remove_file(folder.0.join("b")).expect("removed");
    assert_eq!(refused(&mut connection, "select max(n) from w"), SqlState::UNDEFINED_FILE);
}
