//! The memory of sorts.

use database::{ColumnSpec, Database, ErrorKind, IndexSpec, Options, TableSpec, Type, Value};
use waits::Statistic;

use crate::common::{Folder, options};

fn with_area(bytes: u64) -> Options {
    let mut options = options();
    options.parameters.sort_area_size = bytes;
    options
}

/// An index of 5,000 rows with keys of 200 bytes: what the sort of their keys has written to disk.
#[test]
fn an_index_build_sorts_in_memory_as_far_as_sort_area_size_goes() {
    let scratch = Folder::absent("sort-area");
    let database = Database::create(&scratch.0, &with_area(512 << 10)).expect("created");
    let mut connection = database.connect("app");
    let spec = TableSpec::new("t").column(ColumnSpec::new("text", Type::Text));
    let table = connection.create_table(&spec).expect("made");
    let mut tx = connection.begin();
    for number in 0..5_000 {
        let text = format!("{:0>200}", number * 7919 % 5_000);
        tx.insert(&table, &[Value::Text(&text)]).expect("inserted");
    }
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
    for (number, (area, on_disk)) in [(512 << 10, 1), (16 << 20, 0)].into_iter().enumerate() {
        let database = Database::open(&scratch.0, &with_area(area)).expect("opened");
        let mut connection = database.connect("app");
        let index = IndexSpec::new(&format!("by_text_{number}"), "t", ["text"]);
        if number > 0 {
            connection.drop_index("by_text_0").expect("dropped");
        }
        connection.create_index(&index).expect("made");
        let counted = connection.session().account().totals().statistic(Statistic::SortsDisk);
        assert_eq!(counted, on_disk, "with {area} bytes");
        drop(connection);
        database.shutdown().expect("in good order");
    }
}

#[test]
fn a_sort_area_that_is_too_small_or_too_large_is_refused_with_its_limits() {
    let scratch = Folder::absent("sort-area-limits");
    for bytes in [0, (512 << 10) - 1, (2 << 30) + 1] {
        let refused = Database::create(&scratch.0, &with_area(bytes)).err().expect("refused");
        assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
        let said = refused.to_string();
        let limits = format!("sort_area_size is {bytes}: choose 512k to 2g");
        assert!(said.contains(&limits), "{said}");
    }
}
