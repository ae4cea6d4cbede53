//! Statements about the instance: ALTER SYSTEM and KILL.
//!
//! ```text
//!   ALTER SYSTEM SET name = value ... [SCOPE = {MEMORY | SPFILE | BOTH}]
//!   ALTER SYSTEM {RESET name [SCOPE = ...] | CHECKPOINT | SWITCH LOGFILE | FLUSH BUFFER_CACHE
//!                 | FLUSH SHARED_POOL | KILL SESSION 'n[,m]' [IMMEDIATE] | CANCEL SQL 'n[,m]'}
//!   KILL [SESSION | QUERY] n
//! ```
//!
//! Callers: `statement`.
//! Sources: Oracle's documentation, "ALTER SYSTEM".

use crate::error::{INVALID_PARAMETER, SyntaxError};
use crate::reader::Reader;
use crate::setting::{ParameterValue, parameter, values};

/// ALTER SYSTEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AlterSystem {
    /// SET and RESET.
    Set {
        /// The parameters and their values.
        parameters: Vec<ParameterValue>,
        /// SCOPE.
        scope: Scope,
    },
    /// CHECKPOINT: all changes until now are written into the data files.
    Checkpoint,
    /// SWITCH LOGFILE: redo goes on in the next log group.
    SwitchLogfile,
    /// FLUSH BUFFER_CACHE: the cache is emptied.
    FlushBufferCache,
    /// FLUSH SHARED_POOL: plans are forgotten.
    FlushSharedPool,
    /// KILL SESSION, CANCEL SQL.
    Kill(Kill),
}

/// For how long a parameter of the instance is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// MEMORY: until the instance stops.
    Memory,
    /// SPFILE: from its next start on.
    File,
    /// BOTH.
    #[default]
    Both,
}

/// Ends a session, or its statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kill {
    /// The session's number, `v$session.sid`.
    pub session: u64,
    /// `v$session.serial#`, if it is written: a session that came later isn't meant.
    pub serial: Option<u64>,
    /// Whether the session ends, or only the statement that it runs.
    pub ends_session: bool,
}

impl AlterSystem {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<AlterSystem, SyntaxError> {
        reader.expect("system")?;
        reader.refuse(
            "archive, suspend, resume, quiesce, unquiesce, register, enable, disable, \
             disconnect, check",
        )?;
        match () {
            () if reader.take("set") => AlterSystem::read_set(reader),
            () if reader.take("reset") => {
                let parameters = vec![ParameterValue { name: parameter(reader)?, value: None }];
                let scope = Scope::read(reader)?;
                Ok(AlterSystem::Set { parameters, scope })
            }
            () if reader.take("checkpoint") => {
                let _ = reader.take("global") || reader.take("local");
                Ok(AlterSystem::Checkpoint)
            }
            () if reader.take("switch logfile") => Ok(AlterSystem::SwitchLogfile),
            () if reader.take("flush buffer_cache") => Ok(AlterSystem::FlushBufferCache),
            () if reader.take("flush shared_pool") => Ok(AlterSystem::FlushSharedPool),
            () if reader.take("kill session") => {
                let kill = Kill::read_numbers(reader, true)?;
                let _ = reader.take("immediate") || reader.take("noreplay");
                Ok(AlterSystem::Kill(kill))
            }
            () if reader.take("cancel sql") => {
                Kill::read_numbers(reader, false).map(AlterSystem::Kill)
            }
            () => Err(reader.wrong()),
        }
    }

    fn read_set(reader: &mut Reader<'_>) -> Result<AlterSystem, SyntaxError> {
        let mut parameters = Vec::new();
        loop {
            let name = parameter(reader)?;
            if !reader.take_mark("=") {
                reader.expect("to")?;
            }
            parameters.push(ParameterValue { name, value: values(reader)? });
            reader.refuse("comment, deferred, sid")?;
            if !reader.sees_name_but(&["scope"]) {
                break;
            }
        }
        let scope = Scope::read(reader)?;
        reader.refuse("comment, deferred, sid")?;
        Ok(AlterSystem::Set { parameters, scope })
    }
}

impl Scope {
    /// SCOPE = ..., if it is there.
    fn read(reader: &mut Reader<'_>) -> Result<Scope, SyntaxError> {
        if !reader.take("scope") {
            return Ok(Scope::default());
        }
        reader.expect_mark("=")?;
        match () {
            () if reader.take("memory") => Ok(Scope::Memory),
            () if reader.take("spfile") => Ok(Scope::File),
            () if reader.take("both") => Ok(Scope::Both),
            () => Err(reader.wrong()),
        }
    }
}

impl Kill {
    /// KILL as a statement.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Kill, SyntaxError> {
        reader.expect("kill")?;
        let ends_session = !reader.take("query");
        if ends_session {
            let _ = reader.take("session") || reader.take("connection");
        }
        Kill::read_numbers(reader, ends_session)
    }

    /// A session's number, or `'number,serial'`.
    fn read_numbers(reader: &mut Reader<'_>, ends_session: bool) -> Result<Kill, SyntaxError> {
        let place = reader.place();
        let Some(text) = reader.take_string("a session's number") else {
            let session = reader.whole("a session's number")?;
            return Ok(Kill { session, serial: None, ends_session });
        };
        let mut numbers = text.split(',').map(|part| part.trim().parse::<u64>());
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(session)), None, _) => Ok(Kill { session, serial: None, ends_session }),
            (Some(Ok(session)), Some(Ok(serial)), None) => {
                Ok(Kill { session, serial: Some(serial), ends_session })
            }
            _ => {
                let say = format!("{} names no session", crate::error::shown(&text));
                Err(SyntaxError::new(INVALID_PARAMETER, say)
                    .with_hint("write 'sid' or 'sid,serial#' of v$session")
                    .with_position(place))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn system(text: &str) -> AlterSystem {
        match statement(&format!("ALTER SYSTEM {text}")) {
            Statement::AlterSystem(system) => system,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn oracles_words_are_understood() {
        assert_eq!(system("checkpoint"), AlterSystem::Checkpoint);
        assert_eq!(system("SWITCH LOGFILE"), AlterSystem::SwitchLogfile);
        assert_eq!(system("flush buffer_cache"), AlterSystem::FlushBufferCache);
        let kill = Kill { session: 7, serial: Some(3), ends_session: true };
        assert_eq!(system("kill session '7, 3' immediate"), AlterSystem::Kill(kill));
        let kill = Kill { session: 7, serial: None, ends_session: false };
        assert_eq!(system("cancel sql '7'"), AlterSystem::Kill(kill));
        assert_eq!(statement("kill query 7"), Statement::Kill(kill));
        let kill = Kill { ends_session: true, ..kill };
        assert_eq!(statement("kill 7"), Statement::Kill(kill));
    }

    #[test]
    fn parameters_of_the_instance_are_set() {
        let AlterSystem::Set { parameters, scope } =
            system("set DB_Cache_Size = 100m commit_wait = nowait scope = memory")
        else {
            panic!()
        };
        assert_eq!((parameters.len(), scope), (2, Scope::Memory));
        assert_eq!(parameters[0].name, "db_cache_size");
        assert_eq!(parameters[0].value.as_deref(), Some("100M"));
        let AlterSystem::Set { parameters, scope } = system("reset x") else { panic!() };
        assert_eq!((parameters[0].value.clone(), scope), (None, Scope::Both));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("alter system").contains("expected SET, RESET, CHECKPOINT"));
        assert!(refused("alter system kill session 'x'").contains("v$session"));
        assert!(refused("alter system set x = 1 scope = disk").contains("expected MEMORY"));
        assert!(refused("alter system archive log all").contains("ARCHIVE isn't supported"));
    }
}
