//! What the types of a twin's file cannot say.

use super::{Device, Twin, UnderLoad};
use crate::{Error, VERSION};

impl Twin {
    /// Checks version and parameters.
    ///
    /// # Errors
    /// [`Error`] that names the first thing found wrong.
    pub fn validate(&self) -> Result<(), Error> {
        if self.version != VERSION {
            return Err(Error::Version { seen: self.version, wanted: VERSION });
        }
        match &self.device {
            Device::Nand(nand) if nand.dies.value < 1.0 => {
                Err(Error::field("dies", nand.dies.value, "a flash drive has at least one die"))
            }
            Device::Nand(nand) if nand.under_load.as_ref().is_some_and(|load| load.fault().is_some()) => {
                let fault = nand.under_load.as_ref().and_then(UnderLoad::fault).unwrap_or_default();
                Err(Error::field("under_load", "a fault", fault))
            }
            Device::OptaneSsd(drive) if drive.units.value < 1.0 => {
                Err(Error::field("units", drive.units.value, "a drive has at least one unit"))
            }
            _ => Ok(()),
        }
    }
}
