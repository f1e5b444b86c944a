"""Every rule, one noun a file."""

from assay.advise.rule import Rule
from assay.advise.rules import (
    bottleneck,
    commit,
    database,
    depth,
    dram,
    filesystem,
    flush,
    index,
    log,
    mapping,
    modules,
    node,
    page,
    scan,
    stripe,
)

RULES: tuple[Rule, ...] = (
    log.RULE,
    flush.RULE,
    commit.RULE,
    scan.RULE,
    depth.RULE,
    page.RULE,
    modules.RULE,
    mapping.RULE,
    filesystem.RULE,
    stripe.RULE,
    node.RULE,
    dram.RULE,
    index.RULE,
    database.RULE,
    bottleneck.RULE,
)
