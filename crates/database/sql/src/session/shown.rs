//! SHOW and SET.
//!
//! Callers: `dispatch`.

use expression::{Kind, Rows};
use instance::Parameters;
use stop::{SqlState, Stop};
use syntax::{Setting, Show};
use value::Value;

use super::settings::Settings;
use super::{Columns, Outcome};
use crate::engine::Frame;
use crate::refuse::refuse;

impl Frame<'_> {
    /// SHOW: a setting of the session, or a parameter of the instance; or several of both.
    pub(super) fn show(&mut self, show: &Show, into: &mut Rows) -> Result<Outcome, Stop> {
        let columns = match show {
            Show::One(name) => {
                let found = self.with_host(|host, _| host.connected.setting(name))?;
                let value = found.ok_or_else(|| unknown(name))?;
                into.set_width(1);
                into.push([Value::Text(&value)]);
                Columns::own(&[(name.as_str(), Kind::Text)])
            }
            Show::All => self.list_like("", into)?,
            Show::Like(part) => {
                let columns = self.list_like(part, into)?;
                if into.is_empty() {
                    return Err(unknown(part));
                }
                columns
            }
        };
        let rows = into.len() as u64;
        Ok(Outcome { rows, columns, ..Outcome::done("SHOW") })
    }

    /// Lists the parameters and settings whose names have this part, and their values.
    fn list_like(&self, part: &str, into: &mut Rows) -> Result<Columns, Stop> {
        into.set_width(2);
        let parameters = self.instance.parameters(self.session);
        let all = Parameters::list().into_iter().map(|info| info.name);
        for name in all.filter(|name| name.contains(part) && !Settings::has(name)) {
            let value = parameters.get(name)?;
            into.push([Value::Text(name), Value::Text(&value)]);
        }
        let settings = self.state.own.settings.all();
        for (name, value) in settings.filter(|(name, _)| name.contains(part)) {
            into.push([Value::Text(name), Value::Text(value)]);
        }
        Ok(Columns::own(&[("name", Kind::Text), ("setting", Kind::Text)]))
    }

    /// SET, RESET, ALTER SESSION SET.
    pub(super) fn set(&mut self, setting: &Setting, tag: &'static str) -> Result<Outcome, Stop> {
        if setting.is_local && self.transaction.is_none() {
            let notice = "SET LOCAL has no effect outside of a transaction";
            return Ok(Outcome::done(tag).with_notice(notice));
        }
        let before = self.state.own.settings.clone();
        if let Err(stop) = self.set_each(setting) {
            // What is refused changes nothing: those that came before the wrong one neither.
            self.state.own.settings = before;
            return Err(stop);
        }
        Ok(Outcome::done(tag))
    }

    fn set_each(&mut self, setting: &Setting) -> Result<(), Stop> {
        for one in &setting.parameters {
            let is_of_instance = !Settings::has(&one.name)
                && Parameters::list().iter().any(|info| info.name == one.name);
            if is_of_instance {
                let message = format!(
                    "{} is a parameter of the instance; write ALTER SYSTEM SET {0} = ...",
                    one.name
                );
                return Err(refuse(SqlState::CANT_CHANGE_RUNTIME_PARAM, message));
            }
            self.state.own.settings.set(&one.name, one.value.as_deref(), setting.is_local)?;
            // The open transaction has its own, which it was given when it began.
            if ["lock_timeout", "all"].contains(&one.name.as_str())
                && let Some(open) = self.transaction.as_mut()
            {
                open.set_lock_wait(self.state.own.lock_wait());
            }
        }
        Ok(())
    }
}

#[cold]
fn unknown(name: &str) -> Stop {
    let message = format!("there is no setting and no parameter {name}; SHOW ALL lists them");
    refuse(SqlState::UNDEFINED_OBJECT, message)
}
