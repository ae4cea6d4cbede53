//! Whether an instance can have the settings, as far as that is known before anything is loaded
//! (LB33).
//!
//! Callers: `session`, in either world.

use experiment::Level;
use os::Session;
use stop::Stop;

use crate::alternate::with_room;
use crate::{Design, Form, Setting};

/// Refuses what an opening, or the first block of a setting, would refuse behind the loading. The
/// refusal names the setting, unless the form alone has it.
pub(crate) fn check(
    form: &Form,
    settings: &[Setting],
    design: Design,
    session: &Session,
) -> Result<(), Stop> {
    let creation = &form.creation;
    form.parameters.check_beforehand(creation, session)?;
    let led_by = |stop: Stop, lead: &str| stop.map_refusal(|refusal| refusal.led_by(lead));
    for (index, setting) in settings.iter().enumerate() {
        if settings[..index].contains(setting) {
            continue;
        }
        let parameters = setting.over(&form.parameters)?;
        let lead = format!("setting {} ({setting}): ", Level::of(index));
        parameters.check_beforehand(creation, session).map_err(|stop| led_by(stop, &lead))?;
    }
    if design == Design::Alternate {
        // Of caches that one setting has and another hasn't it has the sum.
        let lead = "one instance with room for all settings (by restarts each has its own): ";
        let all = with_room(form, settings)?;
        all.check_beforehand(creation, session).map_err(|stop| led_by(stop, lead))?;
    }
    Ok(())
}
