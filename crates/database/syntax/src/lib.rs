//! From the text of SQL to statements.
//!
//! ```text
//!   text ─ scan ─▶ pieces ─ lexer ─▶ tokens ─ limits ─ rewrite ─ locking ─▶ reader ─▶ Statement
//!            │                                                              │
//!            └─ split ─▶ where statements end                               └─ sqlparser:
//!                                                                  queries and expressions
//! ```
//!
//! [`parse`] reads one statement, [`split`] finds the statements of a text. A [`Statement`] is one
//! of those that Forebay has, with all that it says; the queries and expressions in it are the
//! trees of `sqlparser` ([`tree`]), so that there is one tree and not two. This room knows no
//! tables, no functions and no instance.
//!
//! | module | what it has |
//! |---|---|
//! | `scan`, `lexer`, `escapes` | characters to pieces, pieces to tokens |
//! | `split` | [`split`], [`is_complete`]: the statements of a text |
//! | `words` | reserved words, keywords for completion, [`quote_ident`] |
//! | `binds` | [`Binds`]: `$1`, `?` and `:name` |
//! | `types` | [`type_of`]: names of types of PostgreSQL and Oracle |
//! | `names` | [`Name`]: an object and its schema |
//! | `limits`, `dialect` | how deep and how long a statement may be; what the parser is told |
//! | `rewrite` | tokens that the parser would read wrongly |
//! | `locking` | [`Locking`]: FOR UPDATE with its waits |
//! | `reader` | reads tokens; says what was expected where a statement is wrong |
//! | `statement` | [`parse`], [`Statement`] |
//! | `insert`, `assignment`, `update`, `merge` | statements that change rows |
//! | `create_table`, `columns`, `alter_table`, `external`, `file_options` | tables |
//! | `index`, `view`, `sequence`, `schema`, `tablespace`, `drop`, `comment` | other objects |
//! | `transaction`, `lock_table`, `setting`, `prepared` | a session's own statements |
//! | `system`, `analyze`, `explain`, `copy` | what DBAs and loaders use |
//! | `replace` | [`replace_names`]: a text with other names |
//! | `sql_id` | [`SqlId`]: a statement's name, as in Oracle |
//! | `error` | [`SyntaxError`]: what is wrong, where, what to do |
//!
//! Rules SY1 to SY10 are in the README. Callers: `sql`, the shell.

#![forbid(unsafe_code)]

mod alter_table;
mod analyze;
mod assignment;
mod binds;
mod columns;
mod comment;
mod copy;
mod create_table;
mod dialect;
mod drop;
mod error;
mod escapes;
mod explain;
mod external;
mod file_options;
mod index;
mod insert;
mod lexer;
mod limits;
mod lock_table;
mod locking;
mod merge;
mod names;
mod prepared;
mod reader;
mod replace;
mod rewrite;
mod scan;
mod schema;
mod sequence;
mod setting;
mod split;
mod sql_id;
mod statement;
mod system;
mod tablespace;
#[cfg(test)]
mod testing;
mod transaction;
mod types;
mod update;
mod view;
mod words;

pub use alter_table::{AlterTable, TableAction};
pub use analyze::{Analyze, AnalyzeHow, AnalyzeTable};
pub use assignment::{Assignment, Given};
pub use binds::{BINDS_MAX, Binds, bind_number};
pub use columns::{ColumnDefinition, Constraint, ConstraintRule, Identity, OnDelete};
pub use comment::{Comment, CommentOn};
pub use copy::{Copy, CopyEnd, CopyWhat};
pub use create_table::{CreateTable, Including, Like, TableContent};
pub use dialect::symmetric_bound;
pub use drop::{Drop, DropKind, Truncate};
pub use error::{
    INVALID_ESCAPE, INVALID_PARAMETER, NOT_SUPPORTED, Place, SYNTAX_ERROR, SyntaxError,
    TOO_COMPLEX, UNDEFINED_PARAMETER,
};
pub use explain::{Explain, ExplainFormat};
pub use external::{CreateExternalTable, ExternalFiles, RejectLimit};
pub use file_options::{Compression, FileFormat, FileOptions};
pub use index::{AlterIndex, CreateIndex, IndexKey, KeyOf};
pub use insert::{ConflictAction, ConflictTarget, Insert, InsertSource, OnConflict, Overriding};
pub use lexer::{TEXT_BYTES_MAX, TOKENS_MAX, start_of};
pub use limits::{BRACKETS_MAX, TREE_DEPTH_MAX};
pub use lock_table::{LockMode, LockTable};
pub use locking::{LockWait, Locking, RowLock};
pub use merge::{Merge, MergeAction, MergeClause, MergeRows};
pub use names::{Name, is_bytewise};
pub use prepared::{Execute, Prepare};
pub use reader::{RECURSION_MAX, Written};
pub use replace::{Mention, replace_names};
pub use schema::CreateSchema;
pub use sequence::{
    AlterSequence, Bound, CreateSequence, Restart, SequenceChange, SequenceOptions,
};
pub use setting::{ParameterValue, Setting, Show};
pub use split::{Part, Parts, is_complete, split};
pub use sql_id::SqlId;
pub use statement::{Parsed, QueryStatement, Statement, parse, parse_expression, parse_query};
pub use system::{AlterSystem, Kill, Scope};
pub use tablespace::{AlterTablespace, Autoextend, CreateTablespace, DataFile};
pub use transaction::{Commit, Isolation, TransactionModes};
pub use types::{TypeName, type_of};
pub use update::{Delete, Update};
pub use view::CreateView;
pub use words::{is_reserved, keywords, quote_ident, quote_text};

/// The trees of queries and expressions.
pub use sqlparser::ast as tree;
