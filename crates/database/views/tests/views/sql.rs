//! The statements in memory, as SQL tells them.

use stop::Stop;
use views::{Engine, OperationWork, PlanOperation, SqlCache, SqlStatement, SqlWork};
use waits::Nanos;

use crate::common::{database, named, rows};

/// One statement with a plan of two operations, of which the second was measured.
struct Fake;

const SQL_ID: u64 = 9_093_421_488_918_569_282;

impl SqlCache for Fake {
    fn statements(
        &self,
        look: &mut dyn FnMut(&SqlStatement<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let text = format!("select '{}'", "ä".repeat(2_000));
        look(&SqlStatement {
            sql_id: SQL_ID,
            child: 0,
            text: &text,
            plan_hash: 77,
            command: "SELECT",
            parse_calls: 3,
            users_executing: 0,
            memory: 4_000,
            first_load_us: 1_700_000_000_000_000,
            last_active_us: 1_700_000_001_000_000,
            work: SqlWork {
                executions: 4,
                rows: 8,
                gets: 70,
                reads: 6,
                elapsed: Nanos::from_millis(5),
                ..SqlWork::default()
            },
        })
    }

    fn operations(
        &self,
        look: &mut dyn FnMut(&PlanOperation<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let first = PlanOperation {
            sql_id: SQL_ID,
            child: 0,
            plan_hash: 77,
            id: 0,
            parent: None,
            position: 1,
            depth: 0,
            operation: "SELECT STATEMENT",
            object: None,
            cardinality: 8.0,
            cost: 1.5,
            access_predicates: None,
            filter_predicates: None,
            work: None,
        };
        look(&first)?;
        let work = OperationWork { executions: 4, starts: 4, rows: 8, ..OperationWork::default() };
        look(&PlanOperation {
            id: 1,
            parent: Some(0),
            depth: 1,
            operation: "TABLE ACCESS",
            object: Some("customer"),
            work: Some(work),
            ..first
        })
    }
}

/// Statements, plans and what was measured of these are shown as SQL tells them; without SQL there
/// are none.
#[test]
fn statements_are_shown_as_sql_tells_them() {
    database(|db, session| {
        assert!(db.rows("v$sql", session).is_empty());
        let engine = Engine { sql: Some(&Fake), ..db.engine(session) };
        let statements = rows(named("v$sql"), &engine);
        let [statement] = &statements[..] else { panic!("one is told") };
        assert_eq!(statement.text("sql_id"), "7wckkp93ya8a2");
        assert_eq!(statement.int("hash_value"), (SQL_ID & 0xffff_ffff) as i64);
        assert_eq!(statement.text("sql_text").chars().count(), 1_000);
        assert_eq!(statement.text("sql_fulltext").chars().count(), 2_009);
        let numbers = ["executions", "rows_processed", "elapsed_time", "parse_calls"];
        assert_eq!(numbers.map(|column| statement.int(column)), [4, 8, 5_000, 3]);
        assert_eq!((statement.int("buffer_gets"), statement.int("disk_reads")), (70, 6));
        let plan = rows(named("v$sql_plan"), &engine);
        let operations: Vec<&str> = plan.iter().map(|row| row.text("operation")).collect();
        assert_eq!(operations, ["SELECT STATEMENT", "TABLE ACCESS"]);
        assert!(plan[0].get("parent_id").is_null());
        assert_eq!((plan[1].int("parent_id"), plan[1].text("object_name")), (0, "customer"));
        let measured = rows(named("v$sql_plan_statistics"), &engine);
        let [operation] = &measured[..] else { panic!("one was measured") };
        assert_eq!((operation.int("operation_id"), operation.int("output_rows")), (1, 8));
    });
}
