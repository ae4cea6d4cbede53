//! Tables of PostgreSQL's catalogue that its clients join, and that have no rows here.

use crate::view::{View, double, int, none, text, truth};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "pg_proc",
        "no rows: there are no functions that users have made",
        &[
            int("oid", "its oid"),
            text("proname", "its name"),
            int("pronamespace", "its schema"),
            int("proowner", "its owner"),
            int("prolang", "its language"),
            text("prokind", "f function, p procedure, a aggregate"),
            truth("prosecdef", "whether it runs as its owner"),
            truth("proisstrict", "whether a NULL makes its result NULL"),
            truth("proretset", "whether it returns rows"),
            text("provolatile", "i, s or v: how stable its result is"),
            int("pronargs", "the number of its arguments"),
            int("pronargdefaults", "of these, those with a default"),
            int("prorettype", "the type of its result"),
            text("proargtypes", "the types of its arguments"),
            text("proallargtypes", "those of results included"),
            text("proargmodes", "which are results"),
            text("proargnames", "the names of its arguments"),
            text("prosrc", "its text"),
            text("proacl", "who may call it"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_inherits",
        "no rows: no table inherits from another, and none has partitions",
        &[
            int("inhrelid", "the child"),
            int("inhparent", "the parent"),
            int("inhseqno", "the place among the parents"),
            truth("inhdetachpending", "whether it is being detached"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_trigger",
        "no rows: there are no triggers",
        &[
            int("oid", "its oid"),
            int("tgrelid", "the table"),
            int("tgparentid", "the trigger of the parent"),
            text("tgname", "its name"),
            int("tgfoid", "the function that it calls"),
            int("tgtype", "when it is called"),
            text("tgenabled", "whether it is called"),
            truth("tgisinternal", "whether a constraint has made it"),
            int("tgconstrrelid", "the table that a constraint refers to"),
            int("tgconstrindid", "the index of a constraint"),
            int("tgconstraint", "the constraint"),
            truth("tgdeferrable", "whether it can be deferred"),
            truth("tginitdeferred", "whether it is deferred"),
            int("tgnargs", "the number of arguments"),
            text("tgattr", "the columns"),
            text("tgqual", "the condition"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_policy",
        "no rows: there is no security by rows",
        &[
            int("oid", "its oid"),
            text("polname", "its name"),
            int("polrelid", "the table"),
            text("polcmd", "the kind of statement"),
            truth("polpermissive", "whether it allows or restricts"),
            text("polroles", "the users"),
            text("polqual", "the condition for reads"),
            text("polwithcheck", "the condition for changes"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_statistic_ext",
        "no rows: there are no statistics over several columns",
        &[
            int("oid", "its oid"),
            int("stxrelid", "the table"),
            text("stxname", "its name"),
            int("stxnamespace", "its schema"),
            int("stxowner", "its owner"),
            int("stxstattarget", "how much is sampled"),
            text("stxkeys", "the columns"),
            text("stxkind", "the kinds of statistics"),
            text("stxexprs", "the expressions"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_publication",
        "no rows: nothing is published",
        &[
            int("oid", "its oid"),
            text("pubname", "its name"),
            int("pubowner", "its owner"),
            truth("puballtables", "whether it has all tables"),
            truth("pubinsert", "whether it has inserts"),
            truth("pubupdate", "whether it has updates"),
            truth("pubdelete", "whether it has deletes"),
            truth("pubtruncate", "whether it has truncates"),
            truth("pubviaroot", "whether partitions count as their table"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_publication_rel",
        "no rows: nothing is published",
        &[
            int("oid", "its oid"),
            int("prpubid", "the publication"),
            int("prrelid", "the table"),
            text("prqual", "the condition"),
            text("prattrs", "the columns"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_publication_namespace",
        "no rows: nothing is published",
        &[int("oid", "its oid"), int("pnpubid", "the publication"), int("pnnspid", "the schema")],
        none,
    )
    .expecting(0),
    View::new(
        "pg_enum",
        "no rows: there are no enumerated types",
        &[
            int("oid", "its oid"),
            int("enumtypid", "the type"),
            double("enumsortorder", "its place"),
            text("enumlabel", "its name"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_range",
        "no rows: there are no types of ranges",
        &[
            int("rngtypid", "the type"),
            int("rngsubtype", "the type of its bounds"),
            int("rngmultitypid", "the type of several"),
            int("rngcollation", "the collation"),
            int("rngsubopc", "the order"),
            text("rngcanonical", "the function that makes it canonical"),
            text("rngsubdiff", "the function for distances"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_rewrite",
        "no rows: there are no rules",
        &[
            int("oid", "its oid"),
            text("rulename", "its name"),
            int("ev_class", "the table"),
            text("ev_type", "the kind of statement"),
            text("ev_enabled", "whether it is used"),
            truth("is_instead", "whether it replaces the statement"),
            text("ev_qual", "the condition"),
            text("ev_action", "what is done"),
        ],
        none,
    )
    .expecting(0),
    View::new(
        "pg_depend",
        "no rows: what depends on what isn't told here",
        &[
            int("classid", "the catalogue of the object"),
            int("objid", "the object"),
            int("objsubid", "its column"),
            int("refclassid", "the catalogue of what it needs"),
            int("refobjid", "what it needs"),
            int("refobjsubid", "the column of that"),
            text("deptype", "how it depends"),
        ],
        none,
    )
    .expecting(0),
];
