//! Statistics, waits, buffers, files, parameters: that their numbers agree with one another.

use std::collections::{BTreeMap, BTreeSet};

use latch::LatchKind;
use os::Session;
use testbed::join;
use value::Value;
use waits::{Statistic, WaitEvent};

use crate::common::{Db, Row, database, rows};

/// VW2: every view can be read, and each value is NULL or of its column's type (see `rows`). Those
/// that have no rows here are known.
#[test]
fn every_view_can_be_read() {
    let without_rows = [
        "pg_depend",
        "pg_enum",
        "pg_inherits",
        "pg_policy",
        "pg_proc",
        "pg_publication",
        "pg_publication_namespace",
        "pg_publication_rel",
        "pg_range",
        "pg_rewrite",
        "pg_statistic_ext",
        "pg_trigger",
        "user_views",
        "v$lock",
        "v$sql",
        "v$sql_plan",
        "v$sql_plan_statistics",
        "v$transaction",
    ];
    database(move |db, session| {
        let mut found = BTreeSet::new();
        for view in views::all() {
            if rows(view, &db.engine(session)).is_empty() {
                found.insert(view.name);
            }
        }
        assert_eq!(found, BTreeSet::from(without_rows));
    });
}

/// The number in a column of the rows in which another column has this text or number.
fn value_of(rows: &[Row], name: &str) -> i64 {
    rows.iter().find(|row| row.text("name") == name).expect("listed").int("value")
}

/// VW10: what a session has counted is in the sum of all once, before and after its end.
#[test]
fn sums_are_of_all_sessions_also_ended_ones() {
    database(|db, session| {
        let name = Statistic::UserCommits.name();
        let commits = |session: &Session| value_of(&db.rows("v$sysstat", session), name);
        let before = commits(session);
        let other = db.start("other", session, |db, session| {
            for id in 0..5 {
                let row = [Value::Int(500 + id), Value::Int(1), Value::Int(1)];
                db.insert("orders", &row, session).expect("inserted");
            }
            let number = i64::from(session.number().sid);
            let own = db.rows("v$sesstat", session);
            let own = own.iter().filter(|row| row.int("sid") == number);
            let mine = db.rows("v$mystat", session);
            let pair = |row: &Row| (row.int("statistic#"), row.int("value"));
            let (own, mine): (Vec<_>, Vec<_>) =
                (own.map(pair).collect(), mine.iter().map(pair).collect());
            assert_eq!(own, mine);
            assert!(mine.contains(&(Statistic::UserCommits as i64, 5)), "{mine:?}");
        });
        join(vec![other], session);
        assert_eq!(commits(session) - before, 5);
        let totals = session.os().totals();
        for row in db.rows("v$sysstat", session) {
            let statistic = Statistic::ALL.iter().find(|of| of.name() == row.text("name"));
            let Some(statistic) = statistic else { continue };
            let value = u64::try_from(row.int("value")).expect("a count");
            assert!(value >= totals.statistic(*statistic), "{}", statistic.name());
        }
    });
}

/// The sums of a column by the text of another.
fn sums(rows: &[Row], by: &str, column: &str) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for row in rows {
        *sums.entry(row.text(by).to_owned()).or_default() += row.int(column);
    }
    sums
}

/// VW6, VW10: the histograms of an event have as many waits as its total, which isn't less than
/// what the sessions that are there have waited.
#[test]
fn waits_agree_with_their_histograms() {
    database(|db, session| {
        db.instance.checkpoint(session).expect("done");
        let of_sessions = db.rows("v$session_event", session);
        let totals = db.rows("v$system_event", session);
        let milli = sums(&db.rows("v$event_histogram", session), "event", "wait_count");
        let micro = sums(&db.rows("v$event_histogram_micro", session), "event", "wait_count");
        let again = db.rows("v$system_event", session);
        let [first, last] = [&totals, &again].map(|rows| sums(rows, "event", "total_waits"));
        assert_eq!(first, last, "nothing waits while the views are read");
        assert_eq!((&milli, &micro), (&first, &first));
        for (event, waits) in sums(&of_sessions, "event", "total_waits") {
            assert!(waits <= first[&event], "{event}");
        }
        for row in &totals {
            assert!(row.int("total_waits_fg") <= row.int("total_waits"));
            assert!(row.int("time_waited_micro_fg") <= row.int("time_waited_micro"));
            let mean = row.int("time_waited_micro") as f64 / row.int("total_waits") as f64 / 1e4;
            let Value::Double(shown) = row.get("average_wait") else { panic!("it has waits") };
            assert!((shown - mean).abs() < 1e-3, "{shown} and {mean}");
        }
        assert_eq!(db.rows("v$event_name", session).len(), WaitEvent::COUNT);
        assert_eq!(db.rows("v$latch", session).len(), LatchKind::ALL.len());
        assert_eq!(db.rows("v$statname", session).len(), Statistic::COUNT + 1);
    });
}

/// Buffers are shown with the block that lives there, and whether it is dirty.
#[test]
fn buffers_are_shown_with_their_blocks() {
    database(|db, session| {
        let segment = db.row("user_objects", "object_name", "customer", session);
        let segment = segment.int("data_object_id");
        let heap = || {
            let mut rows = db.rows_with("v$bh", "kind", "heap", session);
            rows.retain(|row| row.int("objd") == segment);
            rows
        };
        db.instance.checkpoint(session).expect("done");
        let all = db.rows("v$bh", session);
        assert!(all.len() as u64 <= db.instance.cache().buffers_max().into());
        let blocks: Vec<_> = all
            .iter()
            .filter(|row| row.text("status") == "xcur")
            .map(|row| (row.int("file#"), row.int("block#")))
            .collect();
        assert_eq!(BTreeSet::from_iter(&blocks).len(), blocks.len(), "a block is in one buffer");
        assert!(!heap().is_empty() && heap().iter().all(|row| row.text("dirty") == "N"));
        let row = [Value::Int(77), Value::Text("new"), Value::Null, Value::Int(1), Value::Null];
        db.insert("customer", &row, session).expect("inserted");
        let dirty = heap().into_iter().find(|row| row.text("dirty") == "Y").expect("one is dirty");
        assert_eq!((dirty.int("class#"), dirty.int("block_size")), (1, 2048));
        let datafile = db.rows("v$datafile", session);
        let file = datafile.iter().find(|row| row.int("file#") == dirty.int("file#"));
        let file = file.expect("its file is listed");
        assert!(dirty.int("block#") < file.int("blocks"));
        assert_eq!(dirty.int("ts#"), file.int("ts#"));
    });
}

/// Logs, files and tablespaces are listed with their sizes, and files with what was done to them.
#[test]
fn files_are_shown_with_their_sizes() {
    database(|db, session| {
        db.instance.checkpoint(session).expect("done");
        let logs = db.rows("v$log", session);
        let current = logs.iter().filter(|row| row.text("status") == "CURRENT").count();
        assert_eq!((logs.len(), current), (3, 1));
        let members: i64 = logs.iter().map(|row| row.int("members")).sum();
        assert_eq!(db.rows("v$logfile", session).len() as i64, members);

        let tablespaces = db.rows("v$tablespace", session);
        let names = |rows: &[Row], column: &str| -> BTreeSet<String> {
            rows.iter().map(|row| row.text(column).to_owned()).collect()
        };
        let dba = db.rows("dba_tablespaces", session);
        assert_eq!(names(&tablespaces, "name"), names(&dba, "tablespace_name"));
        assert!(names(&tablespaces, "name").contains("system"));
        let files = db.rows("v$datafile", session);
        let statistics = db.rows("v$filestat", session);
        assert_eq!(
            (files.len(), statistics.len()),
            (db.rows("dba_data_files", session).len(), files.len())
        );
        for file in &files {
            assert_eq!(file.int("bytes"), file.int("blocks") * file.int("block_size"));
            assert!(tablespaces.iter().any(|row| row.int("ts#") == file.int("ts#")));
        }
        assert!(statistics.iter().all(|row| row.int("phywrts") > 0), "{statistics:?}");
        assert!(statistics.iter().all(|row| row.int("phyblkwrt") >= row.int("phywrts")));
        let recovery = db.rows("v$instance_recovery", session);
        assert_eq!((recovery.len(), recovery[0].int("recovery_estimated_ios")), (1, 0));
    });
}

/// A parameter is shown as it is now, and `pg_settings` has what clients of PostgreSQL ask as well.
#[test]
fn parameters_are_shown_as_they_are() {
    database(|db, session| {
        let shown = |db: &Db| db.row("v$parameter", "name", "fast_start_mttr_target", session);
        db.instance.set_parameter("fast_start_mttr_target", "123", session).expect("changed");
        let row = shown(db);
        assert_eq!((row.text("value"), row.text("isdefault")), ("123", "FALSE"));
        assert_eq!(row.text("issys_modifiable"), "IMMEDIATE");
        let setting = db.row("pg_settings", "name", "fast_start_mttr_target", session);
        assert_eq!((setting.text("setting"), setting.text("context")), ("123", "superuser"));
        let cache = db.row("v$parameter", "name", "db_cache_size", session);
        assert_eq!((cache.text("value"), cache.int("type")), ("409600", 6));
        let block = db.row("v$parameter", "name", "db_block_size", session);
        assert_eq!((block.text("value"), block.text("display_value")), ("2048", "2k"));
        let encoding = db.row("pg_settings", "name", "server_encoding", session);
        assert_eq!(encoding.text("setting"), "UTF8");
    });
}

/// The views list themselves (VW3).
#[test]
fn the_views_list_themselves() {
    database(|db, session| {
        let dict = db.rows("dict", session);
        let listed: BTreeSet<_> =
            dict.iter().map(|row| (row.text("table_schema"), row.text("table_name"))).collect();
        let all = views::all().map(|view| (view.schema.name(), view.name)).collect();
        assert_eq!(listed, all);
        let columns = views::all().map(|view| view.columns.len()).sum::<usize>();
        assert_eq!(db.rows("dict_columns", session).len(), columns);
        assert_eq!(db.rows("dual", session)[0].text("dummy"), "X");
        assert!(db.rows("v$version", session)[0].text("banner").starts_with("Forebay "));
    });
}
