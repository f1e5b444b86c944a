//! Parameters of block families.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Parameter, UnderLoad};

/// The part of a flash drive that is written as one bit per cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcCache {
    /// Bytes that fit when the drive is empty.
    pub empty_bytes: Parameter,
    /// Bytes that always fit.
    pub full_bytes: Parameter,
    /// Bytes per second at which an idle drive folds it away.
    pub fold_bytes_per_s: Parameter,
}

/// Garbage collection in steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GarbageCollection {
    /// Spare share of the flash beyond the user's capacity; not asked where the amplification was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<Parameter>,
    /// Write amplification of random writes in steady state where it was seen; from over-provisioning otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<Parameter>,
    /// Bytes that the drive erases together. Where it is said, the drive is followed page by page, if it has no more than 16
    /// million of them: needed where what is written chooses its places by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_bytes: Option<Parameter>,
    /// Placement handles by which a host tells the drive what belongs together (NVMe's Flexible Data Placement); 1 where it
    /// has none. Only a drive that is followed page by page minds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_handles: Option<Parameter>,
}

/// What a flush does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlushModel {
    /// The write buffer survives a loss of power: 1 or 0.
    pub power_loss_protection: Parameter,
    /// Time of a flush with nothing dirty, ns.
    pub base_ns: Parameter,
    /// Bytes per second at which dirty bytes go out during a flush; not asked of a protected buffer, which need not go out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_bytes_per_s: Option<Parameter>,
    /// Share of the flush in which the drive serves nothing else; none where the buffer is protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking_share: Option<Parameter>,
}

/// A flash drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nand {
    /// Delay of a read outside of the queues: firmware and link, ns.
    pub read_delay_ns: Parameter,
    /// Independent dies.
    pub dies: Parameter,
    /// Time to sense a page, ns.
    pub read_ns: Parameter,
    /// Bytes of a page.
    pub page_bytes: Parameter,
    /// Time to program a page, ns.
    pub program_ns: Parameter,
    /// Time to erase a block, ns. No equation asks for it: it goes into files for other simulators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase_ns: Option<Parameter>,
    /// Bytes per second of a die's way to the controller.
    pub channel_bytes_per_s: Parameter,
    /// Dies over which 4 KiB units that follow one another are spread, so that a larger read asks several at once; 1
    /// where a read of up to a page asks one die.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_dies: Option<Parameter>,
    /// Delay of a read that is spread over several dies, beyond that of any read, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_delay_ns: Option<Parameter>,
    /// How far pages differ in the time they take to sense (the bits of a cell): half the range over the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_range: Option<Parameter>,
    /// Bytes that the drive maps as one: a random write of less rewrites the rest; 4 KiB where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping_bytes: Option<Parameter>,
    /// Delay of a sequential read that the drive read ahead, ns; as of a random read where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential_delay_ns: Option<Parameter>,
    /// Reads per second of the controller.
    pub read_iops: Parameter,
    /// Writes per second of the controller into its buffer.
    pub write_iops: Parameter,
    /// Operations per second of 70 % reads and 30 % writes, random, 4 KiB, in steady state, where somebody measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed_iops: Option<Parameter>,
    /// The link's, or the drive's, sequential reads.
    pub read_bytes_per_s: Parameter,
    /// Sequential writes into the buffer (and into the SLC cache where there is one).
    pub write_bytes_per_s: Parameter,
    /// Sequential writes once the SLC cache is full; as above where there is none.
    pub sustained_bytes_per_s: Parameter,
    /// Write buffer, bytes.
    pub buffer_bytes: Parameter,
    /// Latency of a write into the buffer, ns.
    pub write_latency_ns: Parameter,
    /// The SLC cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcCache>,
    /// Garbage collection.
    pub collection: GarbageCollection,
    /// Flush.
    pub flush: FlushModel,
    /// Longest that a read waits behind a program or erase, where the drive suspends them, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend_ns: Option<Parameter>,
    /// Latencies beside random writes where somebody measured them: they take the place of what programs and their pauses
    /// would make of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_load: Option<UnderLoad>,
}

/// A drive of 3D XPoint: reads and writes in place, no garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptaneSsd {
    /// Delay outside of the queues, ns.
    pub delay_ns: Parameter,
    /// Independent units of the medium.
    pub units: Parameter,
    /// Time of a unit for a read, ns.
    pub read_ns: Parameter,
    /// Time of a unit for a write, ns.
    pub write_ns: Parameter,
    /// Reads per second of the controller.
    pub read_iops: Parameter,
    /// Writes per second of the controller.
    pub write_iops: Parameter,
    /// Sequential reads.
    pub read_bytes_per_s: Parameter,
    /// Sequential writes.
    pub write_bytes_per_s: Parameter,
    /// Time that a request takes of the link beyond its bytes, ns; none where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_ns: Option<Parameter>,
    /// Flush.
    pub flush: FlushModel,
}

/// A rotating disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Mean seek over the whole disk, ns.
    pub seek_ns: Parameter,
    /// Track to track seek, ns.
    pub track_seek_ns: Parameter,
    /// Revolutions per minute.
    pub revolutions_per_minute: Parameter,
    /// Outer tracks, bytes per second.
    pub outer_bytes_per_s: Parameter,
    /// Inner tracks, bytes per second.
    pub inner_bytes_per_s: Parameter,
    /// Write buffer, bytes; 0 where writes go through.
    pub buffer_bytes: Parameter,
}

/// A bucket of tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Tokens per second (operations or bytes).
    pub rate_per_s: Parameter,
    /// Tokens per second while credit lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_per_s: Option<Parameter>,
    /// Tokens that a full bucket holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit: Option<Parameter>,
}

/// A network volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudVolume {
    /// Mean latency of a read, ns.
    pub read_latency_ns: Parameter,
    /// Mean latency of a write, ns.
    pub write_latency_ns: Parameter,
    /// sigma of the logarithm of latency.
    pub latency_sigma: Parameter,
    /// Operations; one counts for every `unit_bytes` begun.
    pub operations: Bucket,
    /// Bytes.
    pub bytes: Bucket,
    /// Bytes that one operation of the bucket covers.
    pub unit_bytes: Parameter,
    /// Limit of the instance, operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_operations: Option<Bucket>,
    /// Limit of the instance, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_bytes: Option<Bucket>,
}

/// Local drives of an instance, as the vendor limits them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudInstance {
    /// The drive beneath.
    pub drive: Nand,
    /// How many drives.
    pub drives: Parameter,
    /// Virtual CPUs of the instance, which drive them where no host is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<Parameter>,
    /// Reads per second of the instance, 4 KiB.
    pub read_iops: Parameter,
    /// Writes per second of the instance, 4 KiB.
    pub write_iops: Parameter,
}
