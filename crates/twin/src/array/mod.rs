//! Arrays of equal members: RAID and pages interleaved by the program.

use crate::{
    Target, TwinError,
    analytic::{self, DeviceAnswer, DeviceLoad},
    document::StripeKind,
};

/// `count` members with `chunk_bytes` of data side by side.
///
/// # Errors
/// Where a load asks what the members cannot do, or the layout has no model.
pub fn answer(
    member: &Target,
    count: u32,
    _chunk_bytes: u64,
    _layout: StripeKind,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    if count == 1 {
        return analytic::answer(member, loads, answers);
    }
    Err(TwinError::NoModel { name: member.twin().name.clone(), family: "stripe" })
}
