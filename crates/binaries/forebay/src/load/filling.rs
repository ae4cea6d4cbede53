//! What `forebay load create` fills a database with, and the sizes that follow from it.
//!
//! Callers: `create`; `settings`, which says what is chosen here.

use database::Creation;
use workload::Scale;
use workload::order_entry::Scale as OrderEntryScale;

const MIB: u64 = 1 << 20;

/// What a database is filled with.
#[derive(Clone, Copy)]
pub(crate) enum Filling {
    DebitCredit(Scale),
    OrderEntry(OrderEntryScale),
}

impl Filling {
    pub(crate) fn rows(self) -> u64 {
        match self {
            Filling::DebitCredit(scale) => scale.rows(),
            Filling::OrderEntry(scale) => scale.rows(),
        }
    }

    /// Bytes of rows, about.
    fn bytes(self) -> u64 {
        match self {
            Filling::DebitCredit(scale) => scale.bytes(),
            Filling::OrderEntry(scale) => scale.rows() * 200,
        }
    }

    /// How a database is made that has room for the rows, and for what a load adds.
    pub(crate) fn creation(self) -> Creation {
        let data_bytes = self.bytes() * 3 / 2 + 32 * MIB;
        Creation {
            data_bytes,
            // Orders and history become more.
            data_bytes_max: (30 << 30).max(2 * data_bytes),
            log_file_bytes: 16 * MIB,
            ..Creation::default()
        }
    }
}

/// The value that `forebay load create` chooses for a parameter instead of its default, in words.
pub(crate) fn chosen_by_load_create(parameter: &str) -> Option<&'static str> {
    Some(match parameter {
        "data_bytes" => "one and a half times what the rows take, and 32m more",
        "data_bytes_max" => "30g, or twice data_bytes where that is more",
        "log_file_bytes" => "16m",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_filling_chooses_instead_of_a_default_is_said() {
        let creation = Filling::DebitCredit(Scale::of_mib(64)).creation();
        for info in Creation::list() {
            let is_default = creation.get(info.name).expect("it is listed") == info.default;
            assert_eq!(chosen_by_load_create(info.name).is_none(), is_default, "{}", info.name);
        }
    }

    #[test]
    fn data_files_have_room_for_what_is_filled_and_for_as_much_again() {
        let order_entry = |warehouses| {
            let scale = OrderEntryScale { warehouses, customers: 3_000, items: 100_000 };
            Filling::OrderEntry(scale)
        };
        let debit_credit = |mib| Filling::DebitCredit(Scale::of_mib(mib));
        for filling in [
            debit_credit(1),
            debit_credit(20_000),
            debit_credit(1 << 20),
            order_entry(300),
            order_entry(10_000),
        ] {
            let mut creation = filling.creation();
            creation.spread_data();
            let first = (creation.data_bytes, creation.data_bytes_max);
            let others = creation.data_files.iter().map(|file| (file.bytes, file.bytes_max));
            let all: Vec<(u64, u64)> = [first].into_iter().chain(others).collect();
            assert!(all.iter().all(|(bytes, most)| bytes <= most && *most <= 32 << 30), "{all:?}");
            let sum = |of: fn(&(u64, u64)) -> u64| all.iter().map(of).sum::<u64>();
            assert!(sum(|file| file.0) >= filling.bytes() * 3 / 2, "{all:?}");
            assert!(sum(|file| file.1) >= filling.bytes() * 3, "{all:?}");
        }
    }
}
