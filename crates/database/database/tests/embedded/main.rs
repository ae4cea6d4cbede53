//! The embedded API as an application uses it: on real files, or on those of a simulated machine.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "as an application it has files of its own, and removes them"
)]

mod bad_growth;
mod bad_places;
mod bad_undo;
mod cancelled;
mod cascades;
mod charged;
mod closures;
mod committing;
mod common;
mod connected;
mod counted;
mod crowded;
mod cut_again;
mod cut_off;
mod damage;
mod definitions;
mod descriptors;
mod emptied;
mod ends;
mod equality;
mod explained;
mod first_opening;
mod full;
mod handed_around;
mod handles;
mod headers;
mod hints;
mod late_keys;
mod life;
mod limits;
mod load;
mod load_cuts;
mod lock_wait;
mod locking;
mod made_names;
mod misuse;
mod named;
mod older;
mod owners;
mod references;
mod referring;
mod room;
mod savepoints;
mod serializable;
mod simulated;
mod sorting;
mod specs;
mod tablespaces;
mod threads;
mod undo;
mod unique;
mod versions;
