//! The statements that a session of order entry has prepared.
//!
//! Callers: the transactions; `run`, which prepares them.

use database::Prepared;
use stop::Stop;

use crate::sql_client::SqlClient;
use crate::texts::order_entry as texts;

/// A statement for each thing that a transaction does.
pub(super) struct Statements {
    pub(super) acknowledge: Prepared,
    pub(super) savepoint: Prepared,
    pub(super) rollback_to: Prepared,
    pub(super) tax: Prepared,
    pub(super) discount: Prepared,
    pub(super) next_order: Prepared,
    pub(super) add_order: Prepared,
    pub(super) add_new_order: Prepared,
    pub(super) price: Prepared,
    pub(super) take: Prepared,
    pub(super) add_line: Prepared,
    pub(super) customers_of_name: Prepared,
    pub(super) pay_customer: Prepared,
    pub(super) note_payment: Prepared,
    pub(super) pay_district: Prepared,
    pub(super) pay_warehouse: Prepared,
    pub(super) add_history: Prepared,
    pub(super) customer: Prepared,
    pub(super) last_order: Prepared,
    pub(super) lines: Prepared,
    pub(super) oldest_new: Prepared,
    pub(super) no_longer_new: Prepared,
    pub(super) carry: Prepared,
    pub(super) amount: Prepared,
    pub(super) deliver: Prepared,
    pub(super) bill: Prepared,
    pub(super) next_order_number: Prepared,
    pub(super) low: Prepared,
}

impl Statements {
    pub(super) fn prepare(sql: &mut SqlClient<'_, '_>) -> Result<Statements, Stop> {
        Ok(Statements {
            acknowledge: sql.prepare(texts::ACKNOWLEDGE)?,
            savepoint: sql.prepare(texts::SAVEPOINT)?,
            rollback_to: sql.prepare(texts::ROLLBACK_TO)?,
            tax: sql.prepare(texts::TAX)?,
            discount: sql.prepare(texts::DISCOUNT)?,
            next_order: sql.prepare(texts::NEXT_ORDER)?,
            add_order: sql.prepare(texts::ADD_ORDER)?,
            add_new_order: sql.prepare(texts::ADD_NEW_ORDER)?,
            price: sql.prepare(texts::PRICE)?,
            take: sql.prepare(texts::TAKE)?,
            add_line: sql.prepare(texts::ADD_LINE)?,
            customers_of_name: sql.prepare(texts::CUSTOMERS_OF_NAME)?,
            pay_customer: sql.prepare(texts::PAY_CUSTOMER)?,
            note_payment: sql.prepare(texts::NOTE_PAYMENT)?,
            pay_district: sql.prepare(texts::PAY_DISTRICT)?,
            pay_warehouse: sql.prepare(texts::PAY_WAREHOUSE)?,
            add_history: sql.prepare(texts::ADD_HISTORY)?,
            customer: sql.prepare(texts::CUSTOMER)?,
            last_order: sql.prepare(texts::LAST_ORDER)?,
            lines: sql.prepare(texts::LINES)?,
            oldest_new: sql.prepare(texts::OLDEST_NEW)?,
            no_longer_new: sql.prepare(texts::NO_LONGER_NEW)?,
            carry: sql.prepare(texts::CARRY)?,
            amount: sql.prepare(texts::AMOUNT)?,
            deliver: sql.prepare(texts::DELIVER)?,
            bill: sql.prepare(texts::BILL)?,
            next_order_number: sql.prepare(texts::NEXT_ORDER_NUMBER)?,
            low: sql.prepare(texts::LOW)?,
        })
    }
}
