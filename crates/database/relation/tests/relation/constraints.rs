//! Constraints, one session: what is refused, with which words, and what other rows become.

use std::cell::Cell;
use std::sync::Arc;

use ids::ObjectNo;
use instance::Instance;
use os::Session;
use relation::{
    CheckCompiler, CheckExpression, NoExpressions, Predicate, Relation, Relations, RowChange,
    Selection, TableDefinition, Truth, Work,
};
use stop::{RefusalKind, Stop};
use value::{RowView, Value};

use crate::common::{Client, Known, database, machine, named, rows, with_instance};
use crate::shop::{check_all, column, delete, insert, int, set, tables};

/// Runs with some customers, orders, items and notes.
fn with_shop(test: fn(&mut Client<'_>)) {
    let base = database(tables, |instance, known, session| {
        let mut client = Client::new(instance, known, session);
        for id in 1..=9 {
            insert(&mut client, "customers", &[int(id), Value::Text("somebody")]).expect("new");
        }
        for id in 1..=20 {
            // Customer 9 has none.
            let customer = if id % 5 == 0 { Value::Null } else { int(id % 8 + 1) };
            insert(&mut client, "orders", &[int(id), customer, int(id)]).expect("new");
            for number in 0..3 {
                insert(&mut client, "items", &[int(id * 10 + number), int(id)]).expect("new");
            }
            insert(&mut client, "notes", &[int(id), int(id)]).expect("new");
        }
        client.commit();
    });
    with_instance(machine(1, base), move |instance, session| {
        let known = Known::of(instance, &tables(), session);
        let mut client = Client::new(instance, &known, session);
        test(&mut client);
        client.commit();
        check_all(&known, session);
    });
}

fn all(client: &Client<'_>, table: &str, number: usize) -> Vec<Option<i64>> {
    let relation = client.known.named(table);
    column(&relation, (number, client.view()), client.session)
}

#[test]
fn a_check_refuses_what_is_false_and_lets_unknown_pass() {
    with_shop(|client| {
        let refused = insert(client, "orders", &[int(30), int(1), int(0)]).expect_err("false");
        assert_eq!(refused.refusal(), Some(RefusalKind::CheckViolation));
        let say = "a row of table orders breaks check amount_is_positive: amount = 0; give other \
                   values";
        assert_eq!(refused.to_string(), say);
        assert_eq!(named(&refused), ["23514", "orders", "", "amount_is_positive"]);
        insert(client, "orders", &[int(30), int(1), Value::Null]).expect("unknown");
        let refused = set(client, ("orders", 30), (2, int(-1))).expect_err("false");
        assert_eq!(refused.refusal(), Some(RefusalKind::CheckViolation));
        let refused = set(client, ("orders", 30), (0, Value::Null)).expect_err("NULL");
        assert_eq!(refused.refusal(), Some(RefusalKind::NotNullViolation));
        assert_eq!(
            refused.to_string(),
            "column id of table orders may not be NULL; give it a value"
        );
        assert_eq!(named(&refused), ["23502", "orders", "id", ""]);
        assert_eq!(set(client, ("orders", 30), (2, int(1))).expect("true"), 1);
    });
}

/// Plays SQL: it knows expressions `id < n`.
struct Below(i64);

impl CheckCompiler for Below {
    fn compile(
        &self,
        check: &CheckExpression,
        _: &TableDefinition,
    ) -> Result<Box<dyn Predicate>, Stop> {
        let most = check.text.strip_prefix("id < ").expect("one of these");
        Ok(Box::new(Below(most.parse().expect("a number"))))
    }
}

impl Predicate for Below {
    fn truth(&self, row: &[Value<'_>]) -> Result<Truth, Stop> {
        Ok(match row[0] {
            Value::Int(id) if id < self.0 => Truth::True,
            Value::Int(_) => Truth::False,
            _ => Truth::Unknown,
        })
    }
}

#[test]
fn a_check_that_is_an_expression_is_asked_by_a_program_that_knows_it_and_else_refuses() {
    with_shop(|client| {
        let (instance, session) = (client.instance, client.session);
        let mut definition = TableDefinition::clone(client.known.named("items").definition());
        let (name, text) = ("low".to_string(), "id < 500".to_string());
        definition.expressions.push(CheckExpression { name, text, columns: vec![0] });
        let definition = Arc::new(definition);
        let open = |compiler: &dyn CheckCompiler| {
            let (space, transactions) = (instance.space(), instance.transactions());
            let definition = Arc::clone(&definition);
            Relation::open_with(definition, compiler, space, transactions, session).expect("opened")
        };
        let items = open(&Below(0));
        items.insert(&mut client.work(), &[int(499), int(1)]).expect("true");
        let refused = items.insert(&mut client.work(), &[int(500), int(1)]).expect_err("false");
        assert_eq!(refused.refusal(), Some(RefusalKind::CheckViolation));
        let say = "a row of table items breaks check low: id = 500; give other values";
        assert_eq!(refused.to_string(), say);
        // The last rows break it, and those before go back with them.
        let before = all(client, "items", 0);
        let mut change = |row: &RowView<'_>, change: &mut RowChange<'_>| {
            change.set(0, int(row.get_i64(0).expect("not NULL") + 300))
        };
        let refused = items.update_where(&mut client.work(), Selection::All, None, &mut change);
        let refused = refused.expect_err("false for some");
        assert_eq!(refused.refusal(), Some(RefusalKind::CheckViolation));
        assert_eq!(all(client, "items", 0), before);
        let mut change = |_: &RowView<'_>, change: &mut RowChange<'_>| change.set(1, int(2));
        let changed = items.update_where(&mut client.work(), Selection::All, None, &mut change);
        assert_eq!(changed.expect("true for all"), before.len() as u64);
        let ignorant = open(&NoExpressions);
        assert_eq!(rows(&ignorant, client.view(), session).len(), before.len());
        let refused = ignorant.insert(&mut client.work(), &[int(3), int(1)]).expect_err("unknown");
        assert_eq!(refused.refusal(), Some(RefusalKind::WrongState));
        assert!(refused.to_string().contains("its check low is an expression"), "{refused}");
    });
}

#[test]
fn a_row_refers_to_one_that_is_there_or_to_none() {
    with_shop(|client| {
        let refused = insert(client, "orders", &[int(30), int(10), int(1)]).expect_err("nobody");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        let say = "a row of table orders would refer to no row of table customers, as orders_fk \
                   asks: customer = 10 refers to id = 10; insert that row first, or give another \
                   value";
        assert_eq!(refused.to_string(), say);
        assert_eq!(named(&refused), ["23503", "orders", "", "orders_fk"]);
        assert!(!all(client, "orders", 0).contains(&Some(30)));
        insert(client, "orders", &[int(30), Value::Null, int(1)]).expect("refers to none");
        let refused = set(client, ("orders", 30), (1, int(10))).expect_err("nobody");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        assert_eq!(set(client, ("orders", 30), (1, int(9))).expect("there"), 1);
        // Values of another type than the key's that no key can have.
        let half = Value::Number("1.5".parse().expect("a number"));
        let refused = insert(client, "notes", &[int(30), half]).expect_err("no such order");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
    });
}

#[test]
fn a_row_that_is_referred_to_stays_and_keeps_its_key() {
    with_shop(|client| {
        let refused = delete(client, "customers", 3).expect_err("it has orders");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        let say = "a row of table customers can't go or change its key: rows of table orders \
                   refer to it, which orders_fk protects: id = 3; delete or change those rows \
                   first";
        assert_eq!(refused.to_string(), say);
        assert_eq!(named(&refused), ["23503", "orders", "", "orders_fk"]);
        let refused = set(client, ("customers", 3), (0, int(33))).expect_err("it has orders");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        assert_eq!(set(client, ("customers", 3), (1, Value::Null)).expect("another column"), 1);
        assert_eq!(set(client, ("customers", 3), (0, int(3))).expect("the same key"), 1);
        assert_eq!(set(client, ("customers", 9), (0, int(99))).expect("no orders"), 1);
        assert_eq!(delete(client, "customers", 99).expect("no orders"), 1);
        assert_eq!(all(client, "customers", 0).len(), 8);
    });
}

#[test]
fn rows_go_or_refer_to_none_with_the_row_that_they_refer_to() {
    with_shop(|client| {
        assert_eq!(delete(client, "orders", 7).expect("with its items"), 1);
        assert_eq!(all(client, "items", 0).len(), 57);
        assert!(!all(client, "items", 1).contains(&Some(7)));
        let notes = all(client, "notes", 1);
        assert_eq!((notes.len(), notes.iter().filter(|of| of.is_none()).count()), (20, 1));
        let orders = client.known.named("orders");
        let many = orders.delete_where(&mut client.work(), Selection::All, None).expect("all");
        assert_eq!(many, 19);
        assert_eq!((all(client, "items", 0).len(), all(client, "notes", 0).len()), (0, 20));
        client.rollback();
        assert_eq!((all(client, "items", 0).len(), all(client, "orders", 0).len()), (60, 20));
    });
}

#[test]
fn rows_of_one_statement_may_refer_to_each_other_and_a_long_chain_goes_with_its_head() {
    with_shop(|client| {
        let tree = client.known.named("tree");
        insert(client, "tree", &[int(0), int(0)]).expect("refers to itself");
        let refused = insert(client, "tree", &[int(1), int(2)]).expect_err("2 isn't there");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        // Each refers to the next, and the last to the first of all.
        let rows: Vec<[Value<'_>; 2]> =
            (1..=400).map(|id| [int(id), int(if id == 400 { 0 } else { id + 1 })]).collect();
        let rows = rows.iter().map(|row| &row[..]);
        assert_eq!(
            tree.insert_many(&mut client.work(), tree.layout().columns(), rows, |_| ())
                .expect("all"),
            400
        );
        assert_eq!(delete(client, "tree", 200).expect("with those before it"), 1);
        assert_eq!(all(client, "tree", 0).len(), 201);
        let mut up = |row: &RowView<'_>, change: &mut RowChange<'_>| {
            let above = row.get_i64(1).expect("not NULL");
            change.set(1, int(if above == 0 { 0 } else { above + 1 }))
        };
        // 399 refers to 401 then.
        let refused = tree.update_where(&mut client.work(), Selection::All, None, &mut up);
        let refused = refused.expect_err("it isn't there");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        assert_eq!(delete(client, "tree", 0).expect("with all the others"), 1);
        assert_eq!(all(client, "tree", 0).len(), 0);
    });
}

/// Relations of which one gets another definition the next few times that it is asked for, before
/// the asking session has locked it.
struct Changing<'a> {
    known: &'a Known,
    instance: &'a Instance,
    changes: ObjectNo,
    times: Cell<u32>,
}

impl Relations for Changing<'_> {
    fn relation(&self, object: ObjectNo, session: &Session) -> Result<Arc<Relation>, Stop> {
        let now = self.known.relation(object, session)?;
        if object != self.changes || self.times.get() == 0 {
            return Ok(now);
        }
        self.times.set(self.times.get() - 1);
        let (space, transactions) = (self.instance.space(), self.instance.transactions());
        let before = Relation::open(Arc::clone(now.definition()), space, transactions, session)?;
        before.set_stale(session);
        Ok(Arc::new(before))
    }
}

/// CREATE INDEX locks a parent in a mode that goes with that of a statement which looks for a row
/// of it. So its definition may change again each time that the statement asks for it.
#[test]
fn a_parent_is_looked_at_however_often_its_definition_changes_before() {
    with_shop(|client| {
        let changes = client.known.named("customers").definition().object;
        for times in 0..5 {
            let (known, instance) = (client.known, client.instance);
            let changing = Changing { known, instance, changes, times: Cell::new(times) };
            let orders = known.named("orders");
            let mut work = Work { relations: &changing, ..client.work() };
            let row = [int(30 + i64::from(times)), int(1), int(1)];
            orders.insert(&mut work, &row).expect("its customer is there");
            assert_eq!(changing.times.get(), 0, "it was asked for until it didn't change");
        }
    });
}
