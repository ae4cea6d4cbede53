//! The parameters of a disk: the files that come with the program, the reading of a text, and the
//! figures that follow from the parameters alone.
//!
//! Invariant: parameters are always valid. `parse` is the only way to make them, and it refuses
//! values with which a model could not run, naming the key.
//!
//! Callers: the simulated world, the pacer, the lab.

use super::error::ModelError;
use super::exponential::ExponentialParameters;
use super::fixed::FixedParameters;
use super::measured::MeasuredParameters;
use super::nvme::NvmeParameters;
use super::reader::Reader;
use super::rotating::RotatingParameters;

/// The files that come with the program, by the name that asks for them.
const BUILTIN: [(&str, &str); 6] = [
    ("disk-7200", include_str!("../../models/disk-7200.toml")),
    ("nvme", include_str!("../../models/nvme.toml")),
    ("nvme-consumer", include_str!("../../models/nvme-consumer.toml")),
    ("array", include_str!("../../models/array.toml")),
    ("fixed", include_str!("../../models/fixed.toml")),
    ("exponential", include_str!("../../models/exponential.toml")),
];

/// A description of a disk, valid by construction.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskParameters {
    name: String,
    source: String,
    pub(super) kind: Kind,
}

/// The kinds of disk, each with its own parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Rotating(RotatingParameters),
    Nvme(NvmeParameters),
    Fixed(FixedParameters),
    Exponential(ExponentialParameters),
    Measured(Box<MeasuredParameters>),
}

impl DiskParameters {
    /// Reads a description; see the files in `models/` for the keys of each kind.
    pub fn parse(text: &str) -> Result<DiskParameters, ModelError> {
        let mut reader = Reader::new("disk model", text)?;
        let name = reader.text("name")?;
        let source = reader.text("source")?;
        let kind = reader.text("kind")?;
        let kind = match kind.as_str() {
            "rotating" => Kind::Rotating(RotatingParameters::from_reader(&mut reader)?),
            "nvme" => Kind::Nvme(NvmeParameters::from_reader(&mut reader)?),
            "fixed" => Kind::Fixed(FixedParameters::from_reader(&mut reader)?),
            "exponential" => Kind::Exponential(ExponentialParameters::from_reader(&mut reader)?),
            "measured" => Kind::Measured(Box::new(MeasuredParameters::from_reader(&mut reader)?)),
            _ => {
                let known = vec!["rotating", "nvme", "fixed", "exponential", "measured"];
                return Err(ModelError::UnknownKind { kind, known });
            }
        };
        reader.finish()?;
        Ok(DiskParameters { name, source, kind })
    }

    /// A description that comes with the program.
    pub fn builtin(name: &str) -> Result<DiskParameters, ModelError> {
        match BUILTIN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => DiskParameters::parse(text),
            None => Err(ModelError::UnknownName {
                subject: "disk model",
                name: name.to_owned(),
                known: DiskParameters::builtin_names().collect(),
            }),
        }
    }

    /// The names that [`DiskParameters::builtin`] knows.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// The name that the file gives itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The origin of the file's figures, in a sentence; reports print it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The capacity in bytes; kinds without an address space have none.
    pub fn capacity_bytes(&self) -> u64 {
        match &self.kind {
            Kind::Rotating(rotating) => rotating.geometry.capacity_bytes,
            Kind::Nvme(nvme) => nvme.capacity_bytes,
            Kind::Fixed(_) | Kind::Exponential(_) | Kind::Measured(_) => u64::MAX,
        }
    }

    /// The mean time of a read of `length` bytes at a random place on the idle disk, from the
    /// parameters alone. None where there is no closed form: a read over several NVMe channels.
    pub fn expected_read_mean_us(&self, length: u64) -> Option<f64> {
        match &self.kind {
            Kind::Rotating(rotating) => Some(rotating.random_read_mean_us(length)),
            Kind::Nvme(nvme) => nvme.read_mean_us(length),
            Kind::Fixed(fixed) => Some(fixed.service_us),
            Kind::Exponential(exponential) => Some(exponential.mean_us),
            Kind::Measured(measured) => Some(measured.read.mean_us(length)),
        }
    }

    /// The time within which a share `p` (0 < p < 1) of such reads lies. None where there is no
    /// closed form: a rotating disk, or a read over several NVMe channels.
    pub fn expected_read_quantile_us(&self, length: u64, p: f64) -> Option<f64> {
        match &self.kind {
            Kind::Rotating(_) => None,
            Kind::Nvme(nvme) => nvme.read_quantile_us(length, p),
            Kind::Fixed(fixed) => Some(fixed.service_us),
            Kind::Exponential(exponential) => Some(exponential.quantile_us(p)),
            Kind::Measured(measured) => Some(measured.read.quantile_us(length, p)),
        }
    }

    /// The number of reads of `length` bytes per second that the disk serves when it always has
    /// enough of them. None where the parameters alone don't tell: a rotating disk, or long NVMe
    /// reads.
    pub fn expected_read_limit_per_s(&self, length: u64) -> Option<f64> {
        match &self.kind {
            Kind::Rotating(_) => None,
            Kind::Nvme(nvme) => nvme.read_mean_us(length).map(|_| nvme.read_limit_per_s(length)),
            Kind::Fixed(fixed) => Some(fixed.limit_per_s()),
            Kind::Exponential(exponential) => Some(1e6 / exponential.mean_us),
            Kind::Measured(measured) => Some(measured.read.limit_per_s(length)),
        }
    }
}
