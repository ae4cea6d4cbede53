//! Scripts that follow from a seed: mostly sound statements, some that are spoiled, some extremes.
//!
//! ```text
//!   tables, rows, indexes ─▶ acts: a query │ a change │ a definition │ a word of the session
//!                                          │ an extreme │ one of these, spoiled
//! ```
//!
//! Invariant: a seed and a number of acts decide a script (rule FZ1).
//!
//! Callers: the example `play`; tests.

mod changes;
mod definitions;
mod extremes;
mod functions;
mod kinds;
mod queries;
mod terms;
mod writer;

use crate::mutate::mutated;
use crate::script::{Act, How, Script};
use writer::Writer;

/// Texts that are spoiled beside those that were written: forms that the generator doesn't have.
const FORMS: &[&str] = &[
    "select distinct on (c0) c0, c1 from t1 order by c0, c1 desc nulls last",
    "select substring('abc' from 2 for 1), overlay('abc' placing 'x' from 2)",
    "select trim(both 'a' from 'a'), extract(year from now()), position('b' in 'abc')",
    "select * from (t1 a cross join t2 b) natural join t1 c",
    "select count(distinct c0) filter (where c0 > 1) from t1 group by c1 having count(*) > 1",
    "insert into t1 values (default), (1) on conflict (c0) do update set c0 = excluded.c0",
    "merge into t1 a using (select 1 as n) s on a.c0 = s.n when matched then delete",
    "create table if not exists t1 (c0 int primary key, c1 text default 'a' not null)",
    "create unique index on t1 (c0 desc, c1)",
    "update t1 set (c0, c1) = (select 1, 'a') where c0 = any (select 1) returning c0",
    "with a as (select 1 as n), b (m) as materialized (select n from a) select * from a, b",
    "select E'a\\nb', $$x'y$$, U&'\\0041', X'1F', N'n', 1e5, .5, interval '1' hour",
    "prepare p as select $1::int + $2",
    "execute p (1, 2)",
    "copy t1 to stdout",
    "alter table t1 rename to t9",
    "create sequence if not exists s1 start with 5 increment by 3 minvalue 1 maxvalue 100 cycle",
    "select nextval('s1'), s1.currval from dual",
    "lock table t1 in exclusive mode nowait",
    "select a.*, (select max(b.c0) from t2 b where b.c0 = a.c0) from t1 a for update of a",
    "fetch first 3 rows only",
    "comment on column t1.c0 is null",
    "set transaction read only",
    "show transaction isolation level",
    "select rownum, rowid, level from t1",
    "select row_number() over (partition by c0 order by c1) from t1",
    "select array(select 1), array[1, 2], c0 = any ('{1,2}') from t1",
    "select json '{}', c0 collate \"C\", c0 at time zone 'utc' from t1",
];

/// The script of a seed, with so many acts behind those that make its tables.
pub fn script_of(seed: u64, acts: usize) -> Script {
    let mut writer = Writer::new(seed);
    let mut script = beginning(&mut writer);
    let mut texts: Vec<String> = FORMS.iter().map(ToString::to_string).collect();
    for _ in 0..acts {
        let act = act(&mut writer, &texts);
        if act.text.len() < 2_000 {
            texts.push(act.text.clone());
        }
        script.push(act);
    }
    script
}

/// Tables with rows, and indexes.
fn beginning(writer: &mut Writer) -> Script {
    let mut script = vec![Act::text("create sequence s0")];
    for _ in 0..3 {
        writer.begin(false);
        script.push(Act::text(writer.create_table()));
    }
    for _ in 0..4 {
        writer.begin(false);
        script.push(Act::text(writer.create_index()));
    }
    for _ in 0..10 {
        writer.begin(false);
        script.push(Act::text(writer.change()));
    }
    script
}

fn act(writer: &mut Writer, texts: &[String]) -> Act {
    let has_parameters = writer.one_in(6);
    writer.begin(has_parameters);
    let mut text = match writer.below(100) {
        0..=39 => {
            let kinds = writer.kinds(4);
            writer.query(&kinds)
        }
        40..=61 => writer.change(),
        62..=71 => writer.definition(),
        72..=75 => writer.saying(),
        76..=79 => writer.explained(),
        80..=85 => writer.extreme(),
        _ => {
            let place = writer.below(texts.len());
            mutated(&texts[place], texts, &mut writer.dice)
        }
    };
    if writer.one_in(12) {
        text = mutated(&text, texts, &mut writer.dice);
    }
    let how = match writer.parameters.take() {
        Some(values) => How::With(values),
        None if writer.one_in(10) => How::Open,
        None => How::Text,
    };
    Act { how, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_a_script() {
        for seed in 0..20 {
            let script = script_of(seed, 60);
            assert_eq!(script, script_of(seed, 60), "{seed}");
            assert_eq!(script.len(), 78);
        }
        assert_ne!(script_of(1, 60), script_of(2, 60));
    }

    #[test]
    fn every_sort_of_statement_and_way_to_run_it_comes_up() {
        let all: Vec<Act> = (0..30).flat_map(|seed| script_of(seed, 100)).collect();
        for word in [
            "select ",
            "with ",
            "insert ",
            "update ",
            "delete ",
            "merge ",
            "create table ",
            "create unique index ",
            "create or replace view ",
            "alter table ",
            "drop ",
            "explain ",
            "begin",
            "truncate ",
        ] {
            assert!(all.iter().any(|act| act.text.starts_with(word)), "{word}");
        }
        for part in [
            " full join ",
            " group by ",
            " having ",
            " lateral ",
            " exists (",
            " any (",
            " limit ",
            " on conflict ",
            " returning ",
            "distinct ",
            "case when ",
            " string_agg(",
            "$3",
        ] {
            assert!(all.iter().any(|act| act.text.contains(part)), "{part}");
        }
        assert!(all.iter().any(|act| act.how == How::Open));
        assert!(all.iter().any(|act| matches!(&act.how, How::With(values) if values.len() > 2)));
        assert!(all.iter().any(|act| act.text.len() > 10_000));
    }
}
