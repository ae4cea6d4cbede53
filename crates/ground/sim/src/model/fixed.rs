//! A device on which all requests take the same time.
//!
//! W servers, first come first served: N requests at once take `ceil(N / W)` service times. With
//! Poisson arrivals and one server it is the queue M/D/1. For programs with known answers.
//!
//! Callers: `disk`.

use super::error::ModelError;
use super::reader::Reader;
use super::servers::Servers;
use super::units::ns_of_us;

/// The parameters of a file of `kind = "fixed"`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FixedParameters {
    pub(super) service_us: f64,
    servers: u64,
}

impl FixedParameters {
    pub(super) fn from_reader(reader: &mut Reader) -> Result<FixedParameters, ModelError> {
        Ok(FixedParameters {
            service_us: reader.number("service_us", 0.001..=1e9)?,
            servers: reader.whole("servers", 1..=65_536)?,
        })
    }

    pub(super) fn limit_per_s(&self) -> f64 {
        self.servers as f64 * 1e6 / self.service_us
    }
}

/// The state: when each server is free.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    service_ns: u64,
    servers: Servers,
}

impl Fixed {
    pub(super) fn new(parameters: &FixedParameters) -> Fixed {
        Fixed {
            service_ns: ns_of_us(parameters.service_us),
            servers: Servers::new(parameters.servers),
        }
    }

    pub(super) fn complete_at(&mut self, now: u64) -> u64 {
        self.servers.serve(now, self.service_ns)
    }
}
