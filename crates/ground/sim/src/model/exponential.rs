//! One server with exponentially distributed service times.
//!
//! `service = -mean · ln(U)`. With Poisson arrivals of rate λ it is the queue M/M/1, whose mean
//! time in the system is `mean / (1 - λ·mean)`. For programs with known answers.
//!
//! Callers: `disk`. Source: Kleinrock, "Queueing systems", volume 1, 1975.

use super::error::ModelError;
use super::reader::Reader;
use super::servers::Servers;
use super::units::{RandomDraws, ns_of_us};

/// The parameters of a file of `kind = "exponential"`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExponentialParameters {
    pub(super) mean_us: f64,
}

impl ExponentialParameters {
    pub(super) fn from_reader(reader: &mut Reader) -> Result<ExponentialParameters, ModelError> {
        Ok(ExponentialParameters { mean_us: reader.number("mean_us", 0.001..=1e9)? })
    }

    pub(super) fn quantile_us(&self, p: f64) -> f64 {
        -self.mean_us * libm::log(1.0 - p)
    }
}

/// The state: when the server is free, and its random numbers.
#[derive(Clone, Debug)]
pub(super) struct Exponential {
    mean_us: f64,
    server: Servers,
    luck: RandomDraws,
}

impl Exponential {
    pub(super) fn new(parameters: &ExponentialParameters, seed: u64) -> Exponential {
        Exponential {
            mean_us: parameters.mean_us,
            server: Servers::new(1),
            luck: RandomDraws::new(seed),
        }
    }

    pub(super) fn complete_at(&mut self, now: u64) -> u64 {
        let service_us = -self.mean_us * libm::log(self.luck.uniform());
        self.server.serve(now, ns_of_us(service_us))
    }
}
