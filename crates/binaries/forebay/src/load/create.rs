//! `forebay load create`: a database with the tables of a load, filled.

use std::cell::RefCell;
use std::path::PathBuf;

use clap::Args;
use database::{Database, Options, Parameters};
use instance::LogGroupSpec;
use os::{Disk, Session};
use serde_json::json;
use stop::{RefusalKind, Stop};
use workload::Scale;
use workload::order_entry::{self, Scale as OrderEntryScale};

use super::filling::Filling;
use crate::number::within;
use crate::output::{CommandResult, Failure, json_page, print};
use crate::progress::Progress;
use crate::settings::Settings;

/// The most megabytes of rows.
const MEGABYTES_MAX: u64 = 1 << 20;

#[derive(Args)]
pub(crate) struct Create {
    /// Where; the directory must be empty or not there.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// How large the rows are together: a number of megabytes, or a size as 2g.
    #[arg(long, value_name = "SIZE", default_value = "64", conflicts_with = "order_entry")]
    #[arg(value_parser = megabytes, allow_negative_numbers = true)]
    megabytes: u64,
    /// The nine tables of order entry instead, of this many warehouses.
    #[arg(long, value_name = "WAREHOUSES")]
    #[arg(value_parser = within(1..=10_000_u32), allow_negative_numbers = true)]
    order_entry: Option<u32>,
    /// Customers of each of a warehouse's ten districts.
    #[arg(long, default_value_t = 3_000, requires = "order_entry")]
    #[arg(value_parser = within(10..=3_000_u32), allow_negative_numbers = true)]
    customers: u32,
    /// Items, and stock of each in every warehouse.
    #[arg(long, default_value_t = 100_000, requires = "order_entry")]
    #[arg(value_parser = within(10..=100_000_u32), allow_negative_numbers = true)]
    items: u32,
    /// A redo log group, with its members; given at least twice, else there are log_groups with
    /// log_members each.
    #[arg(long = "log-group", value_name = "SIZE:PATH[,PATH...]")]
    log_groups: Vec<String>,
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

/// A number of megabytes; one with a unit is a size, rounded up to megabytes.
fn megabytes(text: &str) -> Result<u64, String> {
    let is_bare = text.trim().ends_with(|letter: char| letter.is_ascii_digit());
    let size = instance::parse_size(text)
        .ok_or_else(|| "give a number of megabytes, or a size such as 64mb or 2g".to_string())?;
    let megabytes = if is_bare { size } else { size.div_ceil(1 << 20) };
    match (1..=MEGABYTES_MAX).contains(&megabytes) {
        true => Ok(megabytes),
        false => Err(format!("choose 1 to {MEGABYTES_MAX} megabytes")),
    }
}

impl Create {
    pub(super) fn carry_out(&self, disk: &Disk, session: &Session) -> CommandResult {
        let filling = self.filling();
        let options = self.options(filling)?;
        let fill = |database: &Database| match fill(database, filling, session)? {
            // A database that isn't where it was to be wasn't made.
            true => database.instance().check_directory(session),
            false => Err(Stop::refuse(RefusalKind::WrongState, "stopped")),
        };
        let database = Database::create_filled(disk, &self.directory, &options, fill, session)?;
        let made = "the database was created, and is whole";
        database.shutdown_by(session).map_err(|stop| stop.saying(made))?;
        let (directory, rows) = (self.directory.display().to_string(), filling.rows());
        let text = match self.json {
            true => json_page(&json!({ "directory": directory, "rows": rows })),
            false => format!("{directory}: {rows} rows\n"),
        };
        print(&text).map(|()| String::new()).map_err(|failure| failure.saying(made))
    }

    fn options(&self, filling: Filling) -> Result<Options, Failure> {
        let mut creation = filling.creation();
        let mut parameters = Parameters::default();
        self.settings.apply(Some(&mut creation), &mut parameters)?;
        creation.spread_data();
        for text in &self.log_groups {
            creation.log_files.push(LogGroupSpec::read(text).ok_or_else(|| {
                Failure::usage(format!("--log-group takes SIZE:PATH[,PATH...], not '{text}'"))
            })?);
        }
        Ok(Options { creation, parameters, ..Options::default() })
    }

    fn filling(&self) -> Filling {
        match self.order_entry {
            None => Filling::DebitCredit(Scale::of_mib(self.megabytes)),
            Some(warehouses) => Filling::OrderEntry(OrderEntryScale {
                warehouses: warehouses.max(1).into(),
                customers: self.customers.max(10).into(),
                items: self.items.max(10).into(),
            }),
        }
    }
}

/// Makes the tables and fills them; false if it was interrupted.
fn fill(database: &Database, filling: Filling, session: &Session) -> Result<bool, Stop> {
    let progress = RefCell::new(Progress::new());
    let go_on = |done: u64| {
        let all = filling.rows();
        let percent = done * 100 / all.max(1);
        progress.borrow_mut().show(|| format!("{done} of about {all} rows, {percent} %"), session);
        !os::linux::interrupted()
    };
    let mut connection = database.connect_with(session);
    let is_filled = match filling {
        Filling::DebitCredit(scale) => {
            workload::load(&mut connection, scale, |done, _| go_on(done))
        }
        Filling::OrderEntry(scale) => order_entry::load(&mut connection, scale, 1, &mut { go_on }),
    };
    progress.borrow_mut().end();
    is_filled
}
