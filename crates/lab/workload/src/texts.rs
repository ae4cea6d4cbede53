//! The SQL of all loads: every statement that they run, once, as an application would write it.
//!
//! A session prepares what it runs, and gives values for `$1`, `$2` and so on. What is read back
//! is named in each text, in the order in which it is read.
//!
//! Callers: the loads; `sql_client`.

/// Begins a transaction at read committed.
pub(crate) const BEGIN: &str = "begin";
/// Begins one that sees one moment.
pub(crate) const BEGIN_SERIALIZABLE: &str = "begin isolation level serializable";
/// Ends it.
pub(crate) const COMMIT: &str = "commit";
/// Takes it back.
pub(crate) const ROLLBACK: &str = "rollback";

/// Debit-credit.
pub(crate) mod debit_credit {
    /// A table whose rows have numbers: how it is made, and filled with the rows of a range.
    pub(crate) struct Numbered {
        pub(crate) create: &'static str,
        pub(crate) fill: &'static str,
    }

    pub(crate) const BRANCH: Numbered = Numbered {
        create: "create table branch (number bigint primary key, balance bigint not null, \
                 filler char(84) not null)",
        fill: "insert into branch (number, balance, filler) \
               select n, 0, repeat('.', 84) from generate_series($1::bigint, $2::bigint) as g(n)",
    };
    pub(crate) const TELLER: Numbered = Numbered {
        create: "create table teller (number bigint primary key, balance bigint not null, \
                 filler char(84) not null)",
        fill: "insert into teller (number, balance, filler) \
               select n, 0, repeat('.', 84) from generate_series($1::bigint, $2::bigint) as g(n)",
    };
    pub(crate) const ACCOUNT: Numbered = Numbered {
        create: "create table account (number bigint primary key, balance bigint not null, \
                 filler char(84) not null)",
        fill: "insert into account (number, balance, filler) \
               select n, 0, repeat('.', 84) from generate_series($1::bigint, $2::bigint) as g(n)",
    };
    pub(crate) const STOCK: Numbered = Numbered {
        create: "create table stock (number bigint primary key, quantity bigint not null, \
                 filler char(84) not null)",
        fill: "insert into stock (number, quantity, filler) \
               select n, 0, repeat('.', 84) from generate_series($1::bigint, $2::bigint) as g(n)",
    };
    /// Statistics of all tables.
    pub(crate) const ANALYZE: &str = "analyze";
    pub(crate) const CREATE_HISTORY: &str = "create table history ( \
         session bigint not null, number bigint not null, account bigint not null, \
         teller bigint not null, branch bigint not null, amount bigint not null)";

    pub(crate) const PAY_ACCOUNT: &str =
        "update account set balance = balance + $1 where number = $2";
    pub(crate) const PAY_TELLER: &str =
        "update teller set balance = balance + $1 where number = $2";
    pub(crate) const PAY_BRANCH: &str =
        "update branch set balance = balance + $1 where number = $2";
    pub(crate) const ADD_HISTORY: &str = "insert into history \
         (session, number, account, teller, branch, amount) \
         values ($1, $2, $3, $4, $5, $6)";
    /// From `$1` on, up to `$2` without it: one more and one fewer in turn.
    pub(crate) const MASS_UPDATE: &str = "update stock \
         set quantity = quantity + case when (number - $1) % 2 = 0 then 1 else -1 end \
         where number >= $1 and number < $2";
}

/// TPC-B.
pub(crate) mod tpcb {
    pub(crate) const PAY_ACCOUNT: &str =
        "update accounts set abalance = abalance + $1 where aid = $2";
    pub(crate) const BALANCE: &str = "select abalance from accounts where aid = $1";
    pub(crate) const PAY_TELLER: &str =
        "update tellers set tbalance = tbalance + $1 where tid = $2";
    pub(crate) const PAY_BRANCH: &str =
        "update branches set bbalance = bbalance + $1 where bid = $2";
    pub(crate) const ADD_HISTORY: &str =
        "insert into history (tid, bid, aid, delta, mtime) values ($1, $2, $3, $4, $5)";
}

/// Rows in bulk.
pub(crate) mod bulk {
    /// Of the table that lookups are made in.
    pub(crate) const LOOKUP: &str = "select amount, note from item where id = $1";
}

/// Order entry.
pub(crate) mod order_entry {
    /// The tables, each behind those that it refers to.
    pub(crate) const CREATE_TABLES: [&str; 10] = [
        "create table warehouse (
            w_id integer,
            w_ytd numeric(12,2) not null,
            w_tax numeric(4,4) not null,
            w_name varchar(10) not null,
            w_address varchar(80) not null,
            primary key (w_id))",
        "create table district (
            d_w_id integer,
            d_id integer,
            d_next_o_id integer not null,
            d_ytd numeric(12,2) not null,
            d_tax numeric(4,4) not null,
            d_name varchar(10) not null,
            d_address varchar(80) not null,
            primary key (d_w_id, d_id),
            foreign key (d_w_id) references warehouse)",
        "create table customer (
            c_w_id integer,
            c_d_id integer,
            c_id integer,
            c_balance numeric(12,2) not null,
            c_ytd_payment numeric(12,2) not null,
            c_payment_cnt integer not null,
            c_delivery_cnt integer not null,
            c_credit_lim numeric(12,2) not null,
            c_discount numeric(4,4) not null,
            c_since timestamp not null,
            c_credit varchar(2) not null,
            c_first varchar(16) not null,
            c_middle varchar(2) not null,
            c_last varchar(16) not null,
            c_address varchar(80) not null,
            c_phone varchar(16) not null,
            c_data varchar(500) not null,
            primary key (c_w_id, c_d_id, c_id),
            foreign key (c_w_id, c_d_id) references district,
            check (c_credit in ('GC', 'BC')))",
        "create table history (
            h_id bigint generated always as identity,
            h_c_w_id integer not null,
            h_c_d_id integer not null,
            h_c_id integer not null,
            h_w_id integer not null,
            h_d_id integer not null,
            h_date timestamp not null,
            h_amount numeric(12,2) not null,
            h_data varchar(24) not null,
            primary key (h_id),
            foreign key (h_c_w_id, h_c_d_id, h_c_id) references customer,
            foreign key (h_w_id, h_d_id) references district)",
        "create table orders (
            o_w_id integer,
            o_d_id integer,
            o_id integer,
            o_c_id integer not null,
            o_entry_d timestamp not null,
            o_carrier_id integer,
            o_ol_cnt integer not null,
            o_all_local integer not null,
            primary key (o_w_id, o_d_id, o_id),
            check (o_carrier_id between 1 and 10))",
        "create table new_order (
            no_w_id integer,
            no_d_id integer,
            no_o_id integer,
            primary key (no_w_id, no_d_id, no_o_id),
            foreign key (no_w_id, no_d_id, no_o_id) references orders)",
        "create table item (
            i_id integer,
            i_im_id integer not null,
            i_price numeric(12,2) not null,
            i_name varchar(24) not null,
            i_data varchar(50) not null,
            primary key (i_id))",
        "create table stock (
            s_w_id integer,
            s_i_id integer,
            s_quantity integer not null,
            s_ytd integer not null,
            s_order_cnt integer not null,
            s_remote_cnt integer not null,
            s_dist varchar(240) not null,
            s_data varchar(50) not null,
            primary key (s_w_id, s_i_id),
            foreign key (s_w_id) references warehouse,
            foreign key (s_i_id) references item,
            check (s_quantity between 10 and 100))",
        "create table order_line (
            ol_w_id integer,
            ol_d_id integer,
            ol_o_id integer,
            ol_number integer,
            ol_i_id integer not null,
            ol_supply_w_id integer not null,
            ol_delivery_d timestamp,
            ol_quantity integer not null,
            ol_amount numeric(12,2) not null,
            ol_dist_info varchar(24) not null,
            primary key (ol_w_id, ol_d_id, ol_o_id, ol_number),
            foreign key (ol_w_id, ol_d_id, ol_o_id) references orders,
            foreign key (ol_supply_w_id, ol_i_id) references stock,
            check (ol_quantity between 1 and 10))",
        "create table acknowledged (
            a_session integer,
            a_commits integer not null,
            primary key (a_session))",
    ];

    /// What comes behind the rows. Orders refer to customers from then on: the foreign key finds
    /// the index that begins with its columns, and needs none of its own. At the end there are
    /// statistics of all tables.
    pub(crate) const FINISH: [&str; 4] = [
        "create index orders_by_customer on orders (o_w_id, o_d_id, o_c_id, o_id desc)",
        "alter table orders add foreign key (o_w_id, o_d_id, o_c_id) references customer",
        "create index customer_by_name on customer (c_w_id, c_d_id, c_last, c_first)",
        "analyze",
    ];

    pub(crate) const ADD_WAREHOUSE: &str =
        "insert into warehouse (w_id, w_ytd, w_tax, w_name, w_address) values ($1, $2, $3, $4, $5)";
    pub(crate) const ADD_DISTRICT: &str = "insert into district \
         (d_w_id, d_id, d_next_o_id, d_ytd, d_tax, d_name, d_address) \
         values ($1, $2, $3, $4, $5, $6, $7)";
    pub(crate) const ADD_CUSTOMER: &str = "insert into customer \
         (c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, \
          c_credit_lim, c_discount, c_since, c_credit, c_first, c_middle, c_last, c_address, \
          c_phone, c_data) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    pub(crate) const ADD_HISTORY: &str = "insert into history \
         (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    pub(crate) const ADD_ITEM: &str =
        "insert into item (i_id, i_im_id, i_price, i_name, i_data) values ($1, $2, $3, $4, $5)";
    pub(crate) const ADD_STOCK: &str = "insert into stock \
         (s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_dist, s_data) \
         values ($1, $2, $3, 0, 0, 0, $4, $5)";
    pub(crate) const ADD_ORDER: &str = "insert into orders \
         (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    pub(crate) const ADD_NEW_ORDER: &str =
        "insert into new_order (no_w_id, no_d_id, no_o_id) values ($1, $2, $3)";
    pub(crate) const ADD_LINE: &str = "insert into order_line \
         (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
          ol_quantity, ol_amount, ol_dist_info) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    /// From `$1` to `$2`.
    pub(crate) const ADD_SESSIONS: &str = "insert into acknowledged (a_session, a_commits) \
         select n, 0 from generate_series($1::bigint, $2::bigint) as g(n)";
    pub(crate) const ACKNOWLEDGE: &str =
        "update acknowledged set a_commits = a_commits + 1 where a_session = $1";

    /// New order. The price of goods is changed by nobody.
    pub(crate) const SAVEPOINT: &str = "savepoint begun";
    pub(crate) const ROLLBACK_TO: &str = "rollback to savepoint begun";
    pub(crate) const TAX: &str = "select w_tax from warehouse where w_id = $1";
    pub(crate) const DISCOUNT: &str = "select c_discount, c_last, c_credit from customer \
         where c_w_id = $1 and c_d_id = $2 and c_id = $3";
    pub(crate) const NEXT_ORDER: &str = "update district set d_next_o_id = d_next_o_id + 1 \
         where d_w_id = $1 and d_id = $2 returning d_next_o_id - 1";
    pub(crate) const PRICE: &str = "select i_price, i_name, i_data from item where i_id = $1";
    /// `$3` pieces, ordered from elsewhere by `$4`, 0 or 1; the text of the district that begins
    /// at character `$5`.
    pub(crate) const TAKE: &str = "update stock \
         set s_quantity = case when s_quantity - $3 >= 10 then s_quantity - $3 \
                               else s_quantity - $3 + 91 end, \
             s_ytd = s_ytd + $3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $4 \
         where s_w_id = $1 and s_i_id = $2 \
         returning substr(s_dist, $5, 24)";

    /// Payment.
    pub(crate) const CUSTOMERS_OF_NAME: &str = "select c_id from customer \
         where c_w_id = $1 and c_d_id = $2 and c_last = $3 order by c_first";
    pub(crate) const PAY_CUSTOMER: &str = "update customer \
         set c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
             c_payment_cnt = c_payment_cnt + 1 \
         where c_w_id = $1 and c_d_id = $2 and c_id = $3 returning c_credit";
    /// Of a customer with bad credit.
    pub(crate) const NOTE_PAYMENT: &str = "update customer \
         set c_data = substr($4 || c_data, 1, 500) \
         where c_w_id = $1 and c_d_id = $2 and c_id = $3";
    pub(crate) const PAY_DISTRICT: &str = "update district set d_ytd = d_ytd + $3 \
         where d_w_id = $1 and d_id = $2 returning d_name";
    pub(crate) const PAY_WAREHOUSE: &str =
        "update warehouse set w_ytd = w_ytd + $2 where w_id = $1 returning w_name";

    /// Order status.
    pub(crate) const CUSTOMER: &str = "select c_balance, c_first, c_middle, c_last from customer \
         where c_w_id = $1 and c_d_id = $2 and c_id = $3";
    pub(crate) const LAST_ORDER: &str = "select o_id, o_entry_d, o_carrier_id from orders \
         where o_w_id = $1 and o_d_id = $2 and o_c_id = $3 order by o_id desc limit 1";
    pub(crate) const LINES: &str = "select ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, \
             ol_delivery_d \
         from order_line where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";

    /// Delivery.
    pub(crate) const OLDEST_NEW: &str = "select no_o_id from new_order \
         where no_w_id = $1 and no_d_id = $2 order by no_o_id limit 1";
    pub(crate) const NO_LONGER_NEW: &str =
        "delete from new_order where no_w_id = $1 and no_d_id = $2 and no_o_id = $3";
    pub(crate) const CARRY: &str = "update orders set o_carrier_id = $4 \
         where o_w_id = $1 and o_d_id = $2 and o_id = $3 returning o_c_id";
    pub(crate) const AMOUNT: &str = "select sum(ol_amount) from order_line \
         where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";
    pub(crate) const DELIVER: &str = "update order_line set ol_delivery_d = $4 \
         where ol_w_id = $1 and ol_d_id = $2 and ol_o_id = $3";
    pub(crate) const BILL: &str = "update customer \
         set c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 \
         where c_w_id = $1 and c_d_id = $2 and c_id = $3";

    /// Stock level.
    pub(crate) const NEXT_ORDER_NUMBER: &str =
        "select d_next_o_id from district where d_w_id = $1 and d_id = $2";
    /// Of the orders from `$3` on, up to `$4` without it, the goods of which fewer than `$5` are
    /// left.
    pub(crate) const LOW: &str = "select count(distinct s_i_id) \
         from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id \
         where ol_w_id = $1 and ol_d_id = $2 and ol_o_id >= $3 and ol_o_id < $4 \
             and s_quantity < $5";
}
