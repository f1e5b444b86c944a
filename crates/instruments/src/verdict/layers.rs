//! Layers beneath a target that answer by themselves.

use assay_record::{LayerDoes, LayerEffect};

use super::observation::ClassObservation;

/// The first block device that answers by itself, and by what means. A drive's own cache is a part of the drive; a file
/// system in memory has a reason of its own.
pub(super) fn serving(class: &ClassObservation, concerns: impl Fn(&LayerEffect) -> bool) -> Option<(&str, &str)> {
    let layers = class.layers.iter().filter(|layer| !matches!(layer.kind.as_str(), "disk" | "file-system" | "cache"));
    let mut found = layers.flat_map(|layer| layer.effects.iter().map(move |effect| (layer, effect)));
    let serves = |effect: &LayerEffect| effect.does == LayerDoes::Serves && concerns(effect);
    found.find(|(_, effect)| serves(effect)).map(|(layer, effect)| (layer.name.as_str(), effect.by.as_str()))
}
