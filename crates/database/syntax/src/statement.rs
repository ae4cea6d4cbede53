//! The statements that Forebay knows, and the way from a text to one of them.
//!
//! ```text
//!   text ─ lex ─▶ tokens ─ limits, types, locking ─▶ Reader ─▶ Statement
//!                                                      │ queries, expressions
//!                                                      └─▶ sqlparser's tree
//! ```
//!
//! Callers: the embedded API, the server; the dictionary for texts that it keeps.

use sqlparser::ast::{Expr, Query, With};
use stop::did_you_mean;

use crate::alter_table::AlterTable;
use crate::analyze::Analyze;
use crate::binds::Binds;
use crate::comment::Comment;
use crate::copy::Copy;
use crate::create_table::CreateTable;
use crate::dialect::Forebay;
use crate::drop::{Drop, Truncate};
use crate::error::{SYNTAX_ERROR, SyntaxError, UNDEFINED_PARAMETER};
use crate::explain::Explain;
use crate::external::CreateExternalTable;
use crate::index::{AlterIndex, CreateIndex};
use crate::insert::Insert;
use crate::lexer::{Lexed, lex};
use crate::limits;
use crate::lock_table::LockTable;
use crate::locking::Locking;
use crate::merge::Merge;
use crate::prepared::{Execute, Prepare};
use crate::reader::Reader;
use crate::rewrite::rewrite;
use crate::schema::CreateSchema;
use crate::sequence::{AlterSequence, CreateSequence};
use crate::setting::{Setting, Show};
use crate::system::{AlterSystem, Kill};
use crate::tablespace::{AlterTablespace, CreateTablespace};
use crate::transaction::{Commit, TransactionModes};
use crate::update::{Delete, Update};
use crate::view::CreateView;

/// A statement.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "each is called as its statement is; what it holds says more")]
pub enum Statement {
    /// SELECT, VALUES, TABLE.
    Query(Box<QueryStatement>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    CreateTable(Box<CreateTable>),
    CreateExternalTable(Box<CreateExternalTable>),
    CreateIndex(Box<CreateIndex>),
    CreateView(Box<CreateView>),
    CreateSequence(CreateSequence),
    CreateSchema(CreateSchema),
    CreateTablespace(CreateTablespace),
    AlterTable(Box<AlterTable>),
    AlterIndex(AlterIndex),
    AlterSequence(AlterSequence),
    AlterTablespace(AlterTablespace),
    AlterSystem(AlterSystem),
    AlterSession(Setting),
    Drop(Drop),
    Truncate(Truncate),
    Comment(Comment),
    Analyze(Analyze),
    Explain(Box<Explain>),
    /// BEGIN, START TRANSACTION.
    Begin(TransactionModes),
    Commit(Commit),
    Rollback {
        /// AND CHAIN: whether a transaction with the same modes begins behind it.
        chain: bool,
    },
    Savepoint(String),
    RollbackTo(String),
    Release(String),
    /// SET TRANSACTION: of the transaction that is open or begins with it.
    SetTransaction(TransactionModes),
    /// SET SESSION CHARACTERISTICS: of the session's transactions from now on.
    SetTransactions(TransactionModes),
    LockTable(LockTable),
    Copy(Box<Copy>),
    Show(Show),
    Set(Setting),
    Prepare(Box<Prepare>),
    Execute(Box<Execute>),
    /// DEALLOCATE; none stands for ALL.
    Deallocate(Option<String>),
    Kill(Kill),
}

/// A query as a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryStatement {
    /// The query; its own `locks` are empty.
    pub query: Box<Query>,
    /// FOR UPDATE, FOR SHARE.
    pub locking: Option<Locking>,
}

/// A statement that was read from a text.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// Its binds.
    pub binds: Binds,
}

/// Reads one statement. A semicolon may end it.
///
/// # Errors
/// The text isn't a statement, or isn't one that Forebay knows; the error says where, and what it
/// expected there.
pub fn parse(text: &str) -> Result<Parsed, SyntaxError> {
    let Read { tree: statement, binds } = read(text, statement)?;
    if matches!(statement, Statement::Prepare(_)) {
        // The binds are those of the statement that it keeps.
        return Ok(Parsed { statement, binds: Binds::default() });
    }
    if binds.count() > 0 && !statement.takes_binds() {
        let say = format!("{} has no place for binds", statement.tag());
        let error = SyntaxError::new(UNDEFINED_PARAMETER, say);
        return Err(error.with_hint("write the value into the statement"));
    }
    Ok(Parsed { statement, binds })
}

/// Reads a query that a view keeps as text.
///
/// # Errors
/// As [`parse`].
pub fn parse_query(text: &str) -> Result<Box<Query>, SyntaxError> {
    read(text, |reader| reader.query()).map(|read| read.tree)
}

/// Reads an expression that the dictionary keeps as text: a default, a condition, an index's key.
///
/// # Errors
/// As [`parse`].
pub fn parse_expression(text: &str) -> Result<Expr, SyntaxError> {
    read(text, |reader| reader.expression()).map(|read| read.tree)
}

/// A tree, and the binds in it.
pub(crate) struct Read<T> {
    pub(crate) tree: T,
    pub(crate) binds: Binds,
}

/// Reads a whole text as one thing.
pub(crate) fn read<T>(
    text: &str,
    one: impl FnOnce(&mut Reader<'_>) -> Result<T, SyntaxError>,
) -> Result<Read<T>, SyntaxError> {
    read_placed(text, one).map_err(|error| error.counted(text))
}

fn read_placed<T>(
    text: &str,
    one: impl FnOnce(&mut Reader<'_>) -> Result<T, SyntaxError>,
) -> Result<Read<T>, SyntaxError> {
    let Lexed { mut tokens, binds, asks_append } = lex(text)?;
    limits::check(&tokens)?;
    rewrite(&mut tokens);
    let locking = Locking::take_out(text, &mut tokens)?;
    let dialect = Forebay::new(tokens.len());
    let mut reader = Reader::new(text, tokens, locking, &dialect);
    reader.asks_append = asks_append;
    let tree = one(&mut reader)?;
    reader.end()?;
    match reader.locking {
        Some(left) => Err(SyntaxError::unsupported("FOR UPDATE here", text, left.position)),
        None => Ok(Read { tree, binds }),
    }
}

/// The words that statements begin with.
const BEGINNINGS: &str = "select values table with insert update delete merge create alter drop \
    truncate comment analyze explain begin start commit end rollback abort savepoint release lock \
    copy show set reset prepare execute deallocate kill";

/// Words that begin statements of PostgreSQL and Oracle that Forebay hasn't.
const UNKNOWN_HERE: &str = "audit call checkpoint close cluster declare discard do fetch flashback \
    grant import listen load move noaudit notify purge reassign refresh reindex revoke security \
    unlisten vacuum";

/// A statement, without what may stand behind it.
pub(crate) fn statement(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
    if reader.is_at_end() {
        return Err(SyntaxError::new(SYNTAX_ERROR, "the text has no statement").with_position(0));
    }
    let first = reader.word().unwrap_or_default().to_owned();
    match first.as_str() {
        "create" => create(reader),
        "alter" => alter(reader),
        "drop" => Drop::read(reader).map(Statement::Drop),
        "truncate" => Truncate::read(reader).map(Statement::Truncate),
        "comment" => Comment::read(reader).map(Statement::Comment),
        "analyze" | "analyse" => Analyze::read(reader).map(Statement::Analyze),
        "explain" => Explain::read(reader).map(|it| Statement::Explain(Box::new(it))),
        "lock" => LockTable::read(reader).map(Statement::LockTable),
        "copy" => Copy::read(reader).map(|it| Statement::Copy(Box::new(it))),
        "show" => Show::read(reader).map(Statement::Show),
        "set" | "reset" => Setting::read(reader),
        "prepare" => Prepare::read(reader).map(|it| Statement::Prepare(Box::new(it))),
        "execute" => Execute::read(reader).map(|it| Statement::Execute(Box::new(it))),
        "deallocate" => Prepare::read_deallocate(reader).map(Statement::Deallocate),
        "kill" => Kill::read(reader).map(Statement::Kill),
        "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release" => {
            TransactionModes::read_statement(reader)
        }
        "select" | "values" | "table" | "with" | "insert" | "update" | "delete" | "merge" => {
            data_statement(reader)
        }
        _ if reader.sees_open() => data_statement(reader),
        _ => Err(no_statement(reader, &first)),
    }
}

fn no_statement(reader: &Reader<'_>, first: &str) -> SyntaxError {
    if UNKNOWN_HERE.split_whitespace().any(|word| word == first) {
        return reader.unsupported(&first.to_uppercase());
    }
    let error = reader.wrong_for("a statement");
    match did_you_mean(first, BEGINNINGS.split_whitespace()).strip_prefix("; ") {
        Some(meant) => error.with_hint(meant),
        None => error,
    }
}

/// A query, or a statement that changes rows.
pub(crate) fn data_statement(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
    let with = match reader.sees("with") {
        true => Some(reader.with_clause()?),
        false => None,
    };
    match reader.word() {
        Some("insert") => Insert::read(reader, with).map(|it| Statement::Insert(Box::new(it))),
        Some("update") => Update::read(reader, with).map(|it| Statement::Update(Box::new(it))),
        Some("delete") => Delete::read(reader, with).map(|it| Statement::Delete(Box::new(it))),
        Some("merge") => Merge::read(reader, with).map(|it| Statement::Merge(Box::new(it))),
        Some("with") => Err(reader.wrong_for("SELECT, INSERT, UPDATE, DELETE or MERGE")),
        _ => QueryStatement::read(reader, with).map(|it| Statement::Query(Box::new(it))),
    }
}

impl QueryStatement {
    fn read(reader: &mut Reader<'_>, with: Option<With>) -> Result<QueryStatement, SyntaxError> {
        let mut query = reader.query()?;
        if with.is_some() {
            query.with = with;
        }
        Ok(QueryStatement { query, locking: reader.locking.take() })
    }
}

fn create(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
    reader.expect("create")?;
    let replaces = reader.take("or replace");
    if replaces || reader.sees("view") || reader.sees("materialized view") {
        return CreateView::read(reader, replaces).map(|it| Statement::CreateView(Box::new(it)));
    }
    reader.refuse(
        "temporary, temp, unlogged, global, private, undo, bigfile, bitmap, function, \
         procedure, trigger, role, user, database, extension, type, domain, directory, synonym, \
         public, materialized, force, aggregate, operator, policy, rule, publication, \
         subscription, statistics, profile",
    )?;
    match () {
        () if reader.sees("table") => {
            let table = CreateTable::read(reader)?;
            match reader.sees("organization") {
                true => CreateExternalTable::of_oracle(reader, table)
                    .map(|it| Statement::CreateExternalTable(Box::new(it))),
                false => Ok(Statement::CreateTable(Box::new(table))),
            }
        }
        () if reader.sees("external table") => {
            CreateExternalTable::read(reader).map(|it| Statement::CreateExternalTable(Box::new(it)))
        }
        () if reader.sees("index") || reader.sees("unique") => {
            CreateIndex::read(reader).map(|it| Statement::CreateIndex(Box::new(it)))
        }
        () if reader.sees("sequence") => {
            CreateSequence::read(reader).map(Statement::CreateSequence)
        }
        () if reader.sees("schema") => CreateSchema::read(reader).map(Statement::CreateSchema),
        () if reader.sees("tablespace") => {
            CreateTablespace::read(reader).map(Statement::CreateTablespace)
        }
        () => Err(reader.wrong()),
    }
}

fn alter(reader: &mut Reader<'_>) -> Result<Statement, SyntaxError> {
    reader.expect("alter")?;
    reader.refuse(
        "database, user, role, function, procedure, trigger, type, domain, view, materialized, \
         schema, rollback",
    )?;
    match () {
        () if reader.sees("table") => {
            AlterTable::read(reader).map(|it| Statement::AlterTable(Box::new(it)))
        }
        () if reader.sees("index") => AlterIndex::read(reader).map(Statement::AlterIndex),
        () if reader.sees("sequence") => AlterSequence::read(reader).map(Statement::AlterSequence),
        () if reader.sees("tablespace") => {
            AlterTablespace::read(reader).map(Statement::AlterTablespace)
        }
        () if reader.sees("system") => AlterSystem::read(reader).map(Statement::AlterSystem),
        () if reader.sees("session") => {
            Setting::read_alter_session(reader).map(Statement::AlterSession)
        }
        () => Err(reader.wrong()),
    }
}

impl Statement {
    /// Whether values can be given with its execution.
    pub fn takes_binds(&self) -> bool {
        match self {
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Execute(_) => true,
            Statement::Explain(explain) => explain.statement.takes_binds(),
            _ => false,
        }
    }

    /// The statement's name, as a client shows it when the statement is done.
    pub fn tag(&self) -> &'static str {
        match self {
            Statement::Query(_) => "SELECT",
            Statement::Insert(_) => "INSERT",
            Statement::Update(_) => "UPDATE",
            Statement::Delete(_) => "DELETE",
            Statement::Merge(_) => "MERGE",
            Statement::CreateTable(_) => "CREATE TABLE",
            Statement::CreateExternalTable(_) => "CREATE EXTERNAL TABLE",
            Statement::CreateIndex(_) => "CREATE INDEX",
            Statement::CreateView(_) => "CREATE VIEW",
            Statement::CreateSequence(_) => "CREATE SEQUENCE",
            Statement::CreateSchema(_) => "CREATE SCHEMA",
            Statement::CreateTablespace(_) => "CREATE TABLESPACE",
            Statement::AlterTable(_) => "ALTER TABLE",
            Statement::AlterIndex(_) => "ALTER INDEX",
            Statement::AlterSequence(_) => "ALTER SEQUENCE",
            Statement::AlterTablespace(_) => "ALTER TABLESPACE",
            Statement::AlterSystem(_) => "ALTER SYSTEM",
            Statement::AlterSession(_) => "ALTER SESSION",
            Statement::Drop(drop) => drop.kind.tag(),
            Statement::Truncate(_) => "TRUNCATE TABLE",
            Statement::Comment(_) => "COMMENT",
            Statement::Analyze(_) => "ANALYZE",
            Statement::Explain(_) => "EXPLAIN",
            Statement::Begin(_) => "BEGIN",
            Statement::Commit(_) => "COMMIT",
            Statement::Rollback { .. } | Statement::RollbackTo(_) => "ROLLBACK",
            Statement::Savepoint(_) => "SAVEPOINT",
            Statement::Release(_) => "RELEASE",
            Statement::SetTransaction(_) | Statement::SetTransactions(_) | Statement::Set(_) => {
                "SET"
            }
            Statement::LockTable(_) => "LOCK TABLE",
            Statement::Copy(_) => "COPY",
            Statement::Show(_) => "SHOW",
            Statement::Prepare(_) => "PREPARE",
            Statement::Execute(_) => "EXECUTE",
            Statement::Deallocate(_) => "DEALLOCATE",
            Statement::Kill(_) => "KILL",
        }
    }
}
