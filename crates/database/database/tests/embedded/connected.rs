//! The sessions that are connected are listed, with the numbers by which views name them.

use database::Database;

use crate::common::{Folder, options};

/// Rule DB99: a connection is listed while it lives; another one's number differs.
#[test]
fn a_connection_is_listed_while_it_lives() {
    let folder = Folder::absent("connected");
    let database = Database::create(&folder.0, &options()).expect("made");
    let one = database.connect("one");
    let two = database.connect("two");
    assert_ne!(one.session().number(), two.session().number());
    let names = || -> Vec<String> {
        let all = database.instance().connected(one.session());
        all.iter().map(|each| each.session.account.name().to_string()).collect()
    };
    assert_eq!(names(), ["one", "two"]);
    let gone = two.session().number();
    drop(two);
    assert_eq!(names(), ["one"]);
    let three = database.connect("three");
    let number = three.session().number();
    assert_ne!(number, gone);
    drop(three);
    drop(one);
    database.shutdown().expect("in good order");
}
