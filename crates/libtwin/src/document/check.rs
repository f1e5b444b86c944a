//! What the types of a twin's file cannot say.

use super::{Device, Nand, Twin, UnderLoad};
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
            Device::Nand(nand) => nand.complete(),
            Device::CloudInstance(instance) => instance.drive.complete(),
            Device::OptaneSsd(drive) if drive.units.value < 1.0 => {
                Err(Error::field("units", drive.units.value, "a drive has at least one unit"))
            }
            _ => Ok(()),
        }
    }
}

impl Nand {
    /// What only some drives need is there where it is needed.
    fn complete(&self) -> Result<(), Error> {
        let (flush, collection) = (&self.flush, &self.collection);
        let goes_out = flush.drain_bytes_per_s.is_some() && flush.blocking_share.is_some();
        if flush.power_loss_protection.value <= 0.5 && !goes_out {
            let fix = "a buffer that is not protected needs drain_bytes_per_s and blocking_share";
            return Err(Error::field("flush", "neither", fix));
        }
        if collection.over_provisioning.is_none() && collection.write_amplification.is_none() {
            return Err(Error::field("collection", "nothing", "give over_provisioning or write_amplification"));
        }
        Ok(())
    }
}
