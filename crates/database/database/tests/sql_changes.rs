//! Statements that change and lock rows, as an application runs them.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "as an application it has threads of its own")]

mod sql_common;

use database::{Connection, SqlState, Value};
use sql_common::{Small, refused, rows, rows_with, run, run_with, value};

/// Accounts 1 to 10, with a balance of `id * 100`.
fn accounts(small: &Small) -> Connection<'static> {
    let mut connection = small.connect("app");
    run(
        &mut connection,
        "create table account (id bigint primary key, owner text unique, \
         balance number(12,2) not null default 0, kind char(4) default 'base')",
    );
    let text = "insert into account select g, 'owner ' || g, g * 100, 'base' \
                from generate_series(1, 10) g";
    assert_eq!(run(&mut connection, text), 10);
    connection
}

#[test]
fn inserted_rows_have_defaults_identities_and_what_is_given() {
    let small = Small::new("sql-insert");
    let mut connection = small.connect("app");
    run(
        &mut connection,
        "create table task (id bigint generated always as identity primary key, what text \
         not null, rank integer default 5, made timestamp default now())",
    );
    assert_eq!(run(&mut connection, "insert into task (what) values ('sweep'), ('wash')"), 2);
    let returned =
        "insert into task (what, rank) values ($1, default) returning id, rank, upper(what)";
    let found = rows_with(&mut connection, returned, &[Value::Text("dust")]);
    assert_eq!(found, ["3|5|DUST"]);
    let always = "insert into task (id, what) values (9, 'x')";
    assert_eq!(refused(&mut connection, always), SqlState::GENERATED_ALWAYS);
    let null = "insert into task (what) values (null)";
    assert_eq!(refused(&mut connection, null), SqlState::NOT_NULL_VIOLATION);
    // A value of the sequence is lost with the statement, and none comes twice.
    let last = "insert into task (what) values ('last') returning id";
    let id: i64 = value(&mut connection, last).parse().expect("a number");
    assert!(id > 3);
    assert_eq!(value(&mut connection, "select count(*) from task where made is null"), "0");
    run(&mut connection, "create table one (a integer default 7, b text)");
    assert_eq!(run(&mut connection, "insert into one default values"), 1);
    assert_eq!(rows(&mut connection, "select a, b from one"), ["7|NULL"]);
}

/// A statement doesn't see its own rows, so it comes to an end.
#[test]
fn a_statement_does_not_see_what_it_does() {
    let small = Small::new("sql-own-changes");
    let mut connection = accounts(&small);
    run(&mut connection, "create table n (v bigint)");
    run(&mut connection, "insert into n select g from generate_series(1, 3000) g");
    for expected in [3_000, 6_000] {
        assert_eq!(run(&mut connection, "insert into n select v + 1 from n"), expected);
    }
    assert_eq!(run(&mut connection, "update n set v = v + 1"), 12_000);
    let counted = "insert into n select (select count(*) from n) from generate_series(1, 3)";
    run(&mut connection, counted);
    assert_eq!(value(&mut connection, "select count(*) from n where v = 12000"), "3");
    // Rows move ahead of the range that is being read.
    run(&mut connection, "create index n_v on n (v)");
    let all: u64 =
        value(&mut connection, "select count(*) from n where v > 0").parse().expect("it");
    assert_eq!(run(&mut connection, "update n set v = v + 100 where v > 0"), all);
}

/// Keys are checked when the statement has ended.
#[test]
fn keys_may_move_over_one_another() {
    let small = Small::new("sql-late-keys");
    let mut connection = accounts(&small);
    assert_eq!(run(&mut connection, "update account set id = id + 1"), 10);
    assert_eq!(run(&mut connection, "update account set id = 13 - id"), 10);
    assert_eq!(value(&mut connection, "select min(id) || ' ' || max(id) from account"), "2 11");
    let same = "update account set owner = 'one' where id < 5";
    assert_eq!(refused(&mut connection, same), SqlState::UNIQUE_VIOLATION);
    assert_eq!(value(&mut connection, "select count(*) from account where owner = 'one'"), "0");
}

#[test]
fn updates_compute_each_value_once_and_give_rows_back_as_they_are_held() {
    let small = Small::new("sql-update");
    let mut connection = accounts(&small);
    let by_key = "update account set balance = balance - $2 where id = $1";
    let binds = [Value::Int(3), Value::Number("0.5".parse().expect("a number"))];
    assert_eq!(run_with(&mut connection, by_key, &binds), 1);
    assert_eq!(run_with(&mut connection, by_key, &[Value::Int(99), Value::Int(1)]), 0);
    let given = "update account set balance = balance + 0.499, kind = 'x' where id = 3 \
                 returning id, balance, kind, owner";
    // The column holds two digits, and no trailing blanks are shown.
    assert_eq!(rows(&mut connection, given), ["3|300|x|owner 3"]);
    run(&mut connection, "create sequence s");
    let numbered = "update account set balance = nextval('s') where id <= 4 returning balance";
    assert_eq!(rows(&mut connection, numbered).len(), 4);
    assert_eq!(value(&mut connection, "select currval('s')"), "4");
    run(&mut connection, "create table bonus (account bigint, amount bigint)");
    run(&mut connection, "insert into bonus values (1, 10), (1, 20), (2, 5), (77, 1)");
    let joined = "update account a set balance = b.amount from bonus b where b.account = a.id";
    assert_eq!(run(&mut connection, joined), 2);
    let sub = "update account set balance = (select sum(amount) from bonus where account = id) \
               where id in (select account from bonus)";
    assert_eq!(run(&mut connection, sub), 2);
    let found = rows(&mut connection, "select balance from account where id <= 2 order by id");
    assert_eq!(found, ["30", "5"]);
    let several = "update account set (balance, owner) = (select 1, 'me') where id = 1";
    assert_eq!(run(&mut connection, several), 1);
    assert_eq!(value(&mut connection, "select owner from account where id = 1"), "me");
}

#[test]
fn deletes_give_back_what_was_there() {
    let small = Small::new("sql-delete");
    let mut connection = accounts(&small);
    let by_key = "delete from account where id = $1 returning owner, balance";
    assert_eq!(rows_with(&mut connection, by_key, &[Value::Int(4)]), ["owner 4|400"]);
    assert!(rows_with(&mut connection, by_key, &[Value::Int(4)]).is_empty());
    run(&mut connection, "create table gone (id bigint)");
    run(&mut connection, "insert into gone values (1), (1), (2), (50)");
    let joined = "delete from account using gone where gone.id = account.id";
    assert_eq!(run(&mut connection, joined), 2);
    assert_eq!(run(&mut connection, "delete from account where balance > 500"), 5);
    assert_eq!(value(&mut connection, "select count(*) from account"), "2");
}

#[test]
fn on_conflict_does_what_it_says_about_each_row_that_is_there() {
    let small = Small::new("sql-conflict");
    let mut connection = accounts(&small);
    let nothing = "insert into account (id) values (5), (11), (11), (6) on conflict do nothing";
    assert_eq!(run(&mut connection, nothing), 1);
    let update = "insert into account as a (id, owner, balance) \
                  values (5, 'five', 1), (12, 'new', 2) on conflict (id) \
                  do update set owner = excluded.owner, \
                  balance = a.balance + excluded.balance where a.balance < 1000 \
                  returning id, owner, balance";
    assert_eq!(rows(&mut connection, update), ["5|five|501", "12|new|2"]);
    let filtered = "insert into account as a (id, balance) values (10, 5) on conflict (id) \
                    do update set balance = 0 where a.balance < 1000";
    assert_eq!(run(&mut connection, filtered), 0);
    // The row that the statement has made, or has changed, isn't changed again.
    let twice = "insert into account (id, balance) values (20, 1), (20, 2) on conflict (id) \
                 do update set balance = excluded.balance";
    assert_eq!(refused(&mut connection, twice), SqlState::CARDINALITY_VIOLATION);
    let again = "insert into account (id, balance) values (7, 1), (7, 2) on conflict (id) \
                 do update set balance = excluded.balance";
    assert_eq!(refused(&mut connection, again), SqlState::CARDINALITY_VIOLATION);
    assert_eq!(value(&mut connection, "select balance from account where id = 7"), "700");
    // Another unique key is refused as always.
    let other = "insert into account (id, owner) values (30, 'owner 1') on conflict (id) \
                 do update set owner = 'x'";
    assert_eq!(refused(&mut connection, other), SqlState::UNIQUE_VIOLATION);
}

#[test]
fn merge_changes_each_row_once() {
    let small = Small::new("sql-merge");
    let mut connection = accounts(&small);
    run(&mut connection, "create table news (id bigint, amount bigint)");
    run(&mut connection, "insert into news values (1, 5), (2, 0), (40, 7), (41, null)");
    let merge = "merge into account a using news n on n.id = a.id \
                 when matched and n.amount = 0 then delete \
                 when matched then update set balance = a.balance + n.amount \
                 when not matched and n.amount is null then do nothing \
                 when not matched then insert (id, balance) values (n.id, n.amount)";
    assert_eq!(run(&mut connection, merge), 3);
    let found = rows(&mut connection, "select id, balance from account where id in (1, 2, 40, 41)");
    assert_eq!(found, ["1|105", "40|7"]);
    run(&mut connection, "insert into news values (1, 6)");
    let twice = "merge into account a using news n on n.id = a.id \
                 when matched then update set balance = n.amount";
    assert_eq!(refused(&mut connection, twice), SqlState::CARDINALITY_VIOLATION);
}

/// A row that the statement has changed into itself is one that it has changed, also one in pieces.
#[test]
fn merge_changes_no_row_twice_that_stays_as_it_is() {
    let small = Small::new("sql-merge-same");
    let mut connection = small.connect("app");
    run(&mut connection, "create table t (id bigint primary key, body text)");
    run(&mut connection, "insert into t values (1, 'short'), (2, repeat('long', 10000))");
    run(&mut connection, "create table s (id bigint)");
    for id in [1, 2] {
        run(&mut connection, "delete from s");
        run(&mut connection, &format!("insert into s values ({id}), ({id})"));
        let twice =
            "merge into t using s on s.id = t.id when matched then update set body = t.body";
        assert_eq!(refused(&mut connection, twice), SqlState::CARDINALITY_VIOLATION, "{id}");
    }
}

/// RETURNING gives each row once, also many of them, and nothing if the statement is refused.
#[test]
fn many_rows_are_given_back_once() {
    let small = Small::new("sql-returning");
    let mut connection = small.connect("app");
    run(&mut connection, "create table n (id bigint primary key, pad text)");
    let many = "insert into n select g, rpad('x', 200, 'y') from generate_series(1, 20000) g \
                returning id";
    let found = rows(&mut connection, many);
    assert_eq!(found.len(), 20_000);
    let mut ids: Vec<i64> = found.iter().map(|id| id.parse().expect("a number")).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(1..=20_000));
    let refused_late = "update n set id = 1 / (20000 - id) returning id";
    assert_eq!(refused(&mut connection, refused_late), SqlState::DIVISION_BY_ZERO);
    assert_eq!(value(&mut connection, "select count(*) from n where id > 0"), "20000");
}

/// Consumers of a queue take different jobs, in order, and none waits.
#[test]
fn skip_locked_passes_by_what_others_have() {
    let small = Small::new("sql-queue");
    let (mut one, mut other) = (accounts(&small), small.connect("other"));
    let take = "select id from account order by id for update skip locked limit 2";
    let take = &take.replace(" for update skip locked limit 2", " limit 2 for update skip locked");
    run(&mut one, "begin");
    run(&mut other, "begin");
    assert_eq!(rows(&mut one, take), ["1", "2"]);
    assert_eq!(rows(&mut other, take), ["3", "4"]);
    let nowait = "select id from account where id = 1 for update nowait";
    assert_eq!(refused(&mut other, nowait), SqlState::LOCK_NOT_AVAILABLE);
    run(&mut one, "update account set balance = 0 where id = 1");
    run(&mut one, "commit");
    assert_eq!(rows(&mut other, nowait), ["1"]);
    let of = "select a.id from account a, account b where a.id = 5 and b.id = 6 for update of a";
    assert_eq!(rows(&mut other, of), ["5"]);
    run(&mut one, "begin");
    assert_eq!(rows(&mut one, "select id from account where id = 6 for update nowait"), ["6"]);
    run(&mut one, "rollback");
    run(&mut other, "rollback");
}

/// A lost update isn't possible: each of two sessions adds to what the other has committed.
#[test]
fn concurrent_updates_lose_nothing() {
    let small = Small::new("sql-concurrent");
    let mut connection = accounts(&small);
    std::thread::scope(|scope| {
        for name in ["one", "two", "three"] {
            let small = &small;
            scope.spawn(move || {
                let mut own = small.connect(name);
                for _ in 0..200 {
                    run(&mut own, "update account set balance = balance + 1 where id <= 3");
                    run(&mut own, "update account set balance = balance + 1 where id = 4");
                }
            });
        }
    });
    let found = rows(&mut connection, "select balance - id * 100 from account where id <= 4");
    assert_eq!(found, ["600"; 4]);
}

/// The direct path gives what the usual way gives.
#[test]
fn a_load_is_an_insert() {
    let small = Small::new("sql-append");
    let mut connection = small.connect("app");
    run(&mut connection, "create table n (id bigint primary key, v bigint check (v >= 0))");
    let all = "insert /*+ append */ into n select g, g % 7 from generate_series(1, 30000) g";
    assert_eq!(run(&mut connection, all), 30_000);
    assert_eq!(value(&mut connection, "select sum(v) from n where id <= 7"), "21");
    let more = "insert /*+ append */ into n select id + 30000, v from n";
    assert_eq!(run(&mut connection, more), 30_000);
    let same = "insert /*+ append */ into n select g, 1 from generate_series(60000, 60100) g";
    assert_eq!(refused(&mut connection, same), SqlState::UNIQUE_VIOLATION);
    let wrong = "insert /*+ append */ into n select g, -1 from generate_series(70000, 70100) g";
    assert_eq!(refused(&mut connection, wrong), SqlState::CHECK_VIOLATION);
    assert_eq!(value(&mut connection, "select count(*) from n"), "60000");
    run(&mut connection, "create table copy as select id, v from n where v = 3");
    let counted = value(&mut connection, "select count(*) from copy");
    assert_eq!(value(&mut connection, "select count(*) from n where v = 3"), counted);
}

/// What a statement of a transaction is refused leaves the others.
#[test]
fn a_refused_statement_leaves_nothing_and_its_transaction_goes_on() {
    let small = Small::new("sql-refused");
    let (mut connection, mut other) = (accounts(&small), small.connect("other"));
    run(&mut connection, "begin");
    run(&mut connection, "update account set balance = 1 where id = 1");
    let half = "update account set balance = 100 / (id - 5) where id > 1";
    assert_eq!(refused(&mut connection, half), SqlState::DIVISION_BY_ZERO);
    assert_eq!(value(&mut connection, "select sum(balance) from account where id < 4"), "501");
    assert_eq!(value(&mut other, "select balance from account where id = 1"), "100");
    run(&mut connection, "commit");
    assert_eq!(value(&mut other, "select balance from account where id = 1"), "1");
}

/// A change that leaves the row as it was is a change: the row isn't to be met again.
#[test]
fn a_row_that_was_changed_into_itself_is_not_changed_again() {
    let small = Small::new("sql-itself");
    let mut connection = accounts(&small);
    let merge = "merge into account a using (values (5, 0), (5, 7)) s(id, more) on s.id = a.id \
                 when matched then update set balance = a.balance + s.more";
    assert_eq!(refused(&mut connection, merge), SqlState::CARDINALITY_VIOLATION);
    let upsert = "insert into account as a (id, balance) values (5, 0), (5, 7) \
                  on conflict (id) do update set balance = a.balance + excluded.balance";
    assert_eq!(refused(&mut connection, upsert), SqlState::CARDINALITY_VIOLATION);
}
