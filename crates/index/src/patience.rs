//! A pool that is full only until somebody who is pinned lets go.

use std::time::Duration;

use assay_pmem::{PmemError, outwait};

use crate::error::IndexError;

/// How long a full pool may be waited for, where others may still look at what was given back.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether what was refused is worth another try: it was refused by a full pool, and all that was given back before can be
/// had by now. What was given back waits for those who are pinned, and one of them may have been put to sleep. Who calls
/// this must not be pinned.
#[cold]
pub(crate) fn has_room_now(refused: &IndexError) -> bool {
    matches!(refused, IndexError::Pmem(PmemError::Full { .. })) && outwait(PATIENCE)
}
