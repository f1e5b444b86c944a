//! Looking at a whole tree: whether its parts fit together, and how full it is. Nobody changes it meanwhile.

use assay_buffer::{PageId, Worker};

use super::{Tree, chain};
use crate::{
    TreeError,
    node::{Value, View},
};

/// What a tree consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Entries.
    pub entries: u64,
    /// Levels, the leaves' included.
    pub levels: u16,
    /// Pages of inner nodes.
    pub inner_pages: u64,
    /// Pages of leaves.
    pub leaf_pages: u64,
    /// Pages of values that do not lie in leaves.
    pub value_pages: u64,
    /// Bytes of leaves in use for slots, keys, values and fences.
    pub leaf_bytes_used: u64,
}

impl Facts {
    /// All of its pages.
    pub fn pages(&self) -> u64 {
        self.inner_pages + self.leaf_pages + self.value_pages
    }
}

/// A node as it was read.
struct Node {
    page: PageId,
    level: u16,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    prefix: usize,
    keys: Vec<Vec<u8>>,
    children: Vec<PageId>,
    values: Vec<u64>,
    used: u64,
    true_heads: bool,
}

impl Tree {
    /// Goes through all pages.
    ///
    /// # Errors
    /// [`TreeError::Damaged`] with the first thing that does not fit; or where a page cannot be read.
    pub fn check(&self, worker: &Worker<'_>) -> Result<Facts, TreeError> {
        let mut facts = Facts::default();
        let root = self.read_node(worker, self.root)?;
        facts.levels = root.level + 1;
        self.check_node(worker, &root, &[], None, &mut facts)?;
        Ok(facts)
    }

    fn read_node(&self, worker: &Worker<'_>, page: PageId) -> Result<Node, TreeError> {
        let node = worker.retry(|| {
            worker.look(page)?.read(|bytes| {
                let view = View(bytes);
                let (level, count) = (view.level(), view.count());
                let inner = level > 0;
                let pages = |slot| match view.value(slot) {
                    Value::Here(_) => 0,
                    Value::Elsewhere { bytes, .. } => chain::pages(self.page_bytes, bytes),
                };
                Node {
                    page,
                    level,
                    lower: view.lower().to_vec(),
                    upper: view.upper().map(<[u8]>::to_vec),
                    prefix: view.prefix_bytes(),
                    keys: (0..count).map(|slot| view.key(slot)).collect(),
                    children: (0..=count).filter(|_| inner).map(|slot| view.child(slot)).collect(),
                    values: (0..count).filter(|_| !inner).map(pages).collect(),
                    used: view.used_bytes() as u64,
                    true_heads: view.has_true_heads(),
                }
            })
        })?;
        Ok(node)
    }

    fn check_node(
        &self,
        worker: &Worker<'_>,
        node: &Node,
        lower: &[u8],
        upper: Option<&[u8]>,
        facts: &mut Facts,
    ) -> Result<(), TreeError> {
        let wrong = |what: String| Err(TreeError::Damaged { page: node.page, what });
        if node.lower != lower || node.upper.as_deref() != upper {
            return wrong(format!("its fences are not those of its parent: {:?} to {:?}", node.lower, node.upper));
        }
        let most = upper.map_or(0, |upper| crate::node::shared(lower, upper));
        if node.prefix > most {
            return wrong(format!("its prefix has {} bytes where its fences share {most}", node.prefix));
        }
        if !node.true_heads {
            return wrong("its heads are not those of its keys".to_owned());
        }
        if let Some(pair) = node.keys.windows(2).find(|pair| pair[0] >= pair[1]) {
            return wrong(format!("its keys do not ascend: {pair:?}"));
        }
        let inside = |key: &Vec<u8>| key.as_slice() >= lower && upper.is_none_or(|upper| key.as_slice() < upper);
        if let Some(key) = node.keys.iter().find(|key| !inside(key)) {
            return wrong(format!("the key {key:?} lies outside of its fences"));
        }
        if node.level == 0 {
            facts.leaf_pages += 1;
            facts.entries += node.keys.len() as u64;
            facts.value_pages += node.values.iter().sum::<u64>();
            facts.leaf_bytes_used += node.used;
            return Ok(());
        }
        facts.inner_pages += 1;
        let mut low = lower;
        for (index, &child) in node.children.iter().enumerate() {
            let high = node.keys.get(index).map(Vec::as_slice).or(upper);
            let below = self.read_node(worker, child)?;
            if below.level + 1 != node.level {
                return wrong(format!("its child {child} is at level {}, it at {}", below.level, node.level));
            }
            self.check_node(worker, &below, low, high, facts)?;
            low = high.unwrap_or_default();
        }
        Ok(())
    }
}
