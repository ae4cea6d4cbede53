//! Sessions, what they wait for, and which statement they run.

use instance::Transaction;
use os::Session;
use stop::RefusalKind;
use testbed::{join, pause};
use value::Value;
use views::View;
use waits::Nanos;

use crate::common::{Db, Row, database, named, rows};

/// A customer of this number, with a name of its own.
fn customer(name: &str) -> [Value<'_>; 5] {
    [Value::Int(100), Value::Text(name), Value::Null, Value::Int(1), Value::Null]
}

fn own<'r>(rows: &'r [Row], session: &Session) -> &'r Row {
    let sid = session.number().sid;
    rows.iter().find(|row| row.int("sid") == i64::from(sid)).expect("it is listed itself")
}

/// VW11: a session that waits for another's row is shown with it, in `v$session`, `v$lock` and
/// `v$transaction` alike.
#[test]
fn a_blocked_session_is_shown_with_its_blocker() {
    database(|db, session| {
        let mut transaction = Transaction::new();
        db.insert_with("customer", &customer("one"), &mut transaction, session).expect("inserted");
        let other = db.start("blocked", session, |db, session| {
            let twice = db.insert("customer", &customer("two"), session).expect_err("twice");
            assert_eq!(twice.refusal(), Some(RefusalKind::UniqueViolation));
        });
        pause(Nanos::from_secs(3), session);
        let sid = i64::from(session.number().sid);
        let blocked = db.row("v$session", "program", "blocked", session);
        assert_eq!(blocked.int("blocking_session"), sid);
        assert_eq!(blocked.text("event"), "enq: TX - row lock contention");
        assert_eq!((blocked.text("state"), blocked.text("status")), ("WAITING", "ACTIVE"));
        assert_eq!((blocked.text("type"), blocked.text("wait_class")), ("USER", "Application"));
        assert!(blocked.int("seconds_in_wait") >= 2 && blocked.int("wait_time_micro") > 2_000_000);
        assert!(blocked.int("row_wait_block#") > 0);
        // A row's key: it waits for the entry of the primary key that the other has made.
        assert_eq!(object_named(db, blocked.int("row_wait_obj#"), session).0, "INDEX");
        let all = db.rows("v$session", session);
        let me = own(&all, session);
        assert_eq!((me.text("state"), me.text_or_null("event")), ("WAITED UNKNOWN TIME", None));
        assert!(me.get("blocking_session").is_null());
        locks_agree(db, &blocked, me, session);

        db.instance.commit(transaction, session).expect("committed");
        join(vec![other], session);
        assert!(db.rows_with("v$session", "program", "blocked", session).is_empty());
        assert!(db.rows("v$lock", session).is_empty());
        assert!(db.rows("v$transaction", session).is_empty());
    });
}

/// The kind and the name of the object of this number, as `dba_objects` has them.
fn object_named(db: &Db, object: i64, session: &Session) -> (String, String) {
    let objects = db.rows("dba_objects", session);
    let found = objects.iter().find(|row| row.int("object_id") == object);
    let found = found.expect("dba_objects has every object that is locked");
    (found.text("object_type").to_string(), found.text("object_name").to_string())
}

fn locks_agree(db: &Db, blocked: &Row, me: &Row, session: &Session) {
    let locks = db.rows("v$lock", session);
    let of = |who: &Row, kind: &str, mode: &str| -> Row {
        let mut found = locks.iter().filter(|lock| {
            let is_of = lock.int("sid") == who.int("sid") && lock.text("type") == kind;
            is_of && lock.int(mode) > 0
        });
        found.next().expect("it is listed").clone()
    };
    let (mine, wanted) = (of(me, "TX", "lmode"), of(blocked, "TX", "request"));
    let ids = |lock: &Row| (lock.int("id1"), lock.int("id2"));
    assert_eq!(ids(&mine), ids(&wanted));
    assert_eq!((mine.int("lmode"), mine.int("block")), (6, 1));
    assert_eq!((wanted.int("lmode"), wanted.int("request")), (0, 4));
    assert!(wanted.int("ctime") >= 2 && wanted.int("ctime") <= mine.int("ctime"));
    let tables = [me, blocked].map(|who| of(who, "TM", "lmode").int("id1"));
    assert_eq!(tables[0], tables[1], "both change one table");
    let table = object_named(db, tables[0], session);
    assert_eq!((table.0.as_str(), table.1.as_str()), ("TABLE", "customer"));

    let transactions = db.rows("v$transaction", session);
    let transaction = own(&transactions, session);
    assert_eq!(Some(transaction.text("addr")), me.text_or_null("taddr"));
    assert_eq!(transaction.text("status"), "ACTIVE");
    assert!(transaction.int("used_urec") > 1, "a row and its keys");
    let slot = transaction.int("xidusn") << 16 | transaction.int("xidslot");
    assert_eq!(ids(&mine), (slot, transaction.int("xidsqn")));
}

/// VW4: the processes, the connected sessions and the one that asks are listed, each of them once,
/// with its process; another thread of the program isn't.
#[test]
fn sessions_are_listed_with_their_processes() {
    database(|db, session| {
        let alone = os::ThreadSpec::foreground("alone");
        let alone = session.spawn(alone, |session: &Session| pause(Nanos::from_secs(5), session));
        let connected = db.start("connected", session, |_, session| {
            pause(Nanos::from_secs(5), session);
        });
        pause(Nanos::from_secs(2), session);
        let sessions = db.rows("v$session", session);
        let of = |kind: &str| -> Vec<&str> {
            let users = sessions.iter().filter(|row| row.text("type") == kind);
            users.map(|row| row.text("program")).collect()
        };
        assert_eq!(of("USER"), ["main", "connected"]);
        assert!(of("BACKGROUND").iter().any(|name| name.contains("lgwr")), "{sessions:?}");
        let processes = db.rows("v$process", session);
        for one in &sessions {
            let same = processes.iter().filter(|row| row.text("addr") == one.text("paddr"));
            let is_background = one.text("type") == "BACKGROUND";
            let [process] = &same.collect::<Vec<_>>()[..] else { panic!("one process") };
            assert_eq!(process.text("program"), one.text("program"));
            assert_eq!(process.get("background").is_null(), !is_background);
            assert_eq!(one.get("username").is_null(), is_background);
        }
        let sids = |view: &str| -> Vec<i64> {
            db.rows(view, session).iter().map(|row| row.int("sid")).collect()
        };
        assert_eq!(sids("v$session"), sids("v$session_wait"));
        let idle = db.row("v$session", "program", "connected", session);
        assert!(idle.int("seconds_in_wait") >= 1);
        join(vec![alone.expect("started"), connected], session);
    });
}

/// VW9: the number of a session that has ended may be given again, but not with its serial number.
#[test]
fn a_later_session_has_another_number() {
    database(|db, session| {
        let mut numbers = Vec::new();
        for _ in 0..5 {
            let one = db.start("one", session, |_, session| pause(Nanos::from_secs(2), session));
            pause(Nanos::from_secs(1), session);
            let row = db.row("v$session", "program", "one", session);
            let number = (row.int("sid"), row.int("serial#"));
            assert!(!numbers.contains(&number), "{number:?} after {numbers:?}");
            numbers.push(number);
            join(vec![one], session);
        }
    });
}

/// VW12: the statement that runs is shown, of nested ones the inner one; time in statements is
/// filed when the outermost one ends.
#[test]
fn the_statement_that_runs_is_shown() {
    const SQL_ID: u64 = 9_093_421_488_918_569_282;
    database(|db, session| {
        let shown = || {
            let rows = db.rows("v$session", session);
            let me = own(&rows, session);
            (me.text_or_null("sql_id").map(str::to_owned), me.text("status").to_owned())
        };
        let db_time = || db.row("v$sys_time_model", "stat_name", "DB time", session).int("value");
        assert_eq!(shown(), (None, "INACTIVE".to_owned()));
        let before = db_time();
        let outer = session.begin_statement(SQL_ID, session.now());
        assert_eq!(shown(), (Some("7wckkp93ya8a2".to_owned()), "ACTIVE".to_owned()));
        let inner = session.begin_statement(1, session.now());
        assert_eq!(shown().0.as_deref(), Some("0000000000001"));
        pause(Nanos::from_secs(1), session);
        session.end_statement(inner, session.now());
        assert_eq!(shown().0.as_deref(), Some("7wckkp93ya8a2"));
        assert_eq!(db_time(), before);
        session.end_statement(outer, session.now());
        assert_eq!(shown().0, None);
        let spent = db_time() - before;
        assert!((1_000_000..1_100_000).contains(&spent), "{spent}");
    });
}

/// Whether a view may read blocks: it tells sizes of what is on disk.
fn reads_blocks(view: &View) -> bool {
    view.name.ends_with("_segments") || view.name.ends_with("_extents")
}

/// VW1: a reader waits for nothing, unless the view is about what is on disk.
#[test]
fn a_reader_does_not_wait() {
    database(|db, session| {
        let mut transaction = Transaction::new();
        db.insert_with("customer", &customer("one"), &mut transaction, session).expect("inserted");
        let blocked = db.start("blocked", session, |db, session| {
            let _ = db.insert("customer", &customer("two"), session).expect_err("twice");
        });
        pause(Nanos::from_secs(1), session);
        for view in views::all().filter(|view| !reads_blocks(view)) {
            let before = session.account().waited();
            rows(view, &db.engine(session));
            assert_eq!(session.account().waited(), before, "a reader of {} waited", view.name);
        }
        db.instance.commit(transaction, session).expect("committed");
        join(vec![blocked], session);
    });
}

/// VW1: what is done with a row is done under no latch: it may take any, and wait.
#[test]
fn rows_are_given_under_no_latch() {
    database(|db, session| {
        let mut id = 1_000;
        for view in views::all() {
            let mut left = 2;
            let mut give = |_: &[Value<'_>]| {
                if left > 0 {
                    (left, id) = (left - 1, id + 1);
                    let row = [Value::Int(id), Value::Int(1), Value::Int(1)];
                    db.insert("orders", &row, session)?;
                    pause(Nanos::from_millis(1), session);
                }
                Ok(())
            };
            view.read(&db.engine(session), &mut give).expect("read");
        }
    });
}

/// An error of whoever takes the rows ends the reading of every view, and is what it gives.
#[test]
fn an_error_ends_the_reading() {
    database(|db, session| {
        for view in views::all() {
            if rows(view, &db.engine(session)).is_empty() {
                continue;
            }
            let mut given = 0;
            let mut give = |_: &[Value<'_>]| {
                given += 1;
                let nothing = db.catalog.relation("nothing", session);
                nothing.map(drop)
            };
            let stop = view.read(&db.engine(session), &mut give).expect_err("refused");
            assert_eq!((stop.refusal(), given), (Some(RefusalKind::NotFound), 1), "{}", view.name);
        }
        assert!(named("v$session").column("sid").is_some());
    });
}
