//! What CPU is charged for in a simulated world: the one declared list.
//!
//! On Linux an operation simply takes the CPU that it takes. In the simulator real code runs in no
//! time at all and *charges* for what it stands for. The figures are measured on a machine at hand
//! by `cargo xtask calibrate`; a machine model scales them and says from which source.

/// What is declared of one cost.
#[derive(Clone, Copy, Debug)]
pub struct CostInfo {
    /// Its name in a cost file.
    pub name: &'static str,
    /// What one unit of it is.
    pub unit: &'static str,
    /// What a unit costs, in ns, on the machine on which the defaults were measured.
    pub default_ns: u32,
    /// What it stands for.
    pub meaning: &'static str,
}

macro_rules! costs {
    ($($cost:ident $name:literal ($unit:literal) $default:literal $meaning:literal;)*) => {
        /// Something that costs CPU.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Cost {
            $(#[doc = concat!("`", $name, "`, per ", $unit, ": ", $meaning)] $cost,)*
        }

        impl Cost {
            /// Every cost, in the order of the list.
            pub const ALL: &'static [Cost] = &[$(Cost::$cost,)*];

            /// What is declared of this cost.
            pub const fn info(self) -> &'static CostInfo {
                const INFO: &[CostInfo] = &[$(CostInfo {
                    name: $name,
                    unit: $unit,
                    default_ns: $default,
                    meaning: $meaning,
                },)*];
                &INFO[self as usize]
            }
        }
    };
}

costs! {
    LatchGet "latch_get" ("get") 20
        "a latch is taken at the first try and let go";
    Relax "relax" ("turn") 40
        "one turn of a spin";
    Park "park" ("wait") 1500
        "a thread goes to sleep on a word: system call and switch away";
    Wake "wake" ("wake") 1000
        "a sleeping thread is woken: system call and inter-processor interrupt";
    IoSync "io_sync" ("request") 3000
        "one read, write or sync by a blocking system call";
    IoSubmit "io_submit" ("request") 1500
        "one request handed to a ring, its share of the system call included";
    IoReap "io_reap" ("completion") 500
        "one completion taken from a ring";
    ThreadSpawn "thread_spawn" ("thread") 15000
        "a thread is made";
    ChecksumKib "checksum_kib" ("KiB") 60
        "CRC32C over one KiB";
    CopyKib "copy_kib" ("KiB") 40
        "one KiB copied from cache to cache";
}

impl Cost {
    /// How many costs there are.
    pub const COUNT: usize = Cost::ALL.len();

    /// The cost called `name` in a cost file.
    pub fn from_name(name: &str) -> Option<Cost> {
        Cost::ALL.iter().copied().find(|cost| cost.info().name == name)
    }

    /// What each cost is by default, in ns per unit, in the order of the list.
    pub fn defaults() -> [u32; Cost::COUNT] {
        std::array::from_fn(|index| Cost::ALL[index].info().default_ns)
    }
}
