//! Figures of a measured source, and the sources that need no memory.
#![forbid(unsafe_code)]

mod common;

use common::{Given, TestWorld, WIDTH, all, column, constant, machine, rows, run_clean, shown};
use expression::{Expression, Operator};
use rowsource::{Append, Filter, Measured, Project, Sort, Source, Values, World};
use testbed::Dice;
use value::Value;

/// A measured source counts starts and rows, and takes over time, gets, memory and space of what is
/// below it.
#[test]
fn a_measured_source_has_its_figures() {
    run_clean(1, |simulated, session| {
        let given = rows(&mut Dice(1), 2_000, 9, 400);
        let mut world = TestWorld::new(0, simulated, session);
        let sort = Sort::new(Measured::new(Given::new(WIDTH, &given), 3), vec![]);
        let mut measured = Measured::new(sort, 5);
        for _ in 0..2 {
            assert_eq!(all(&mut measured, &mut world).expect("no fault").len(), 2_000);
        }
        measured.close(&mut world);
        let (above, below) = (*world.figures(5), *world.figures(3));
        assert_eq!((above.starts, above.rows), (2, 4_000));
        assert_eq!((below.starts, below.rows), (2, 4_000));
        assert!(above.elapsed > below.elapsed && above.elapsed.0 > 0);
        assert!(above.counts.consistent_gets >= below.counts.consistent_gets);
        assert!(
            above.temp_bytes > 2 * 2_000 * 400 && above.memory_bytes_max >= 256 << 10,
            "{above:?}"
        );
        assert_eq!((below.temp_bytes, below.memory_bytes_max), (0, 0));
    });
}

/// Expressions are evaluated for each row, in its order; what fails is refused.
#[test]
fn projections_and_filters_evaluate_row_by_row() {
    testbed::run(machine(1), |simulated, session| {
        let given = rows(&mut Dice(1), 1_500, 9, 0);
        let mut world = TestWorld::new(0, simulated, session);
        let arithmetic = |operator, right| Expression::Arithmetic {
            operator,
            left: Box::new(column(2)),
            right: Box::new(constant(right)),
        };
        let twice = vec![arithmetic(Operator::Multiply, 2), column(1)];
        let odd = Expression::Compare {
            comparison: expression::Comparison::Equal,
            left: Box::new(arithmetic(Operator::Modulo, 2)),
            right: Box::new(constant(1)),
        };
        let filter = Filter::new(Given::new(WIDTH, &given), odd);
        let mut source = Project::new(filter, twice);
        let found = all(&mut source, &mut world).expect("no fault");
        let expected = given.iter().enumerate().filter(|(place, _)| place % 2 == 1);
        let expected = expected.map(|(place, row)| {
            shown(&vec![Value::Int(2 * place as i64).to_owned(), row[1].clone()])
        });
        assert!(found.iter().map(shown).eq(expected));
        let by_zero = vec![arithmetic(Operator::Divide, 0)];
        let mut source = Project::new(Given::new(WIDTH, &given), by_zero);
        let refused = all(&mut source, &mut world).expect_err("a division by zero");
        assert!(refused.to_string().contains("division by zero"), "{refused}");
        source.close(&mut world);
    });
}

/// One input comes after the other, and is started when its rows are wanted; a row without columns
/// is a row.
#[test]
fn inputs_and_listed_rows_come_one_after_the_other() {
    testbed::run(machine(1), |simulated, session| {
        let mut world = TestWorld::new(0, simulated, session);
        let listed = |from: i64, to: i64| {
            Values::new(1, (from..to).map(|int| vec![constant(int)]).collect())
        };
        let mut source = Append::new(vec![listed(0, 3), listed(3, 3), listed(3, 2_000)]);
        for _ in 0..2 {
            let found = all(&mut source, &mut world).expect("no fault");
            let expected = (0..2_000).map(|int| shown(&vec![Value::Int(int).to_owned()]));
            assert!(found.iter().map(shown).eq(expected));
        }
        source.close(&mut world);
        let mut one = Values::new(0, vec![Vec::<Expression>::new()].into());
        assert_eq!(all(&mut one, &mut world).expect("no fault"), vec![common::Row::new()]);
    });
}
