//! Loading an empty tree with entries in order: each page is written once, full but for a tenth.

use assay_buffer::{PageId, Worker, Writing};

use super::{Tree, chain};
use crate::{
    TreeError,
    node::{Builder, NodeMut, Value, View, separator},
};

/// A value to load.
enum Held {
    Here(Vec<u8>),
    Elsewhere { bytes: u32, first: PageId },
}

impl Held {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Here(bytes) => Value::Here(bytes),
            Self::Elsewhere { bytes, first } => Value::Elsewhere { bytes: *bytes, first: *first },
        }
    }
}

/// A level in the making.
#[derive(Default)]
struct Level {
    /// Separators with the child below each; the children's level is complete up to here.
    children: Vec<(Vec<u8>, PageId)>,
    bytes: usize,
    lower: Vec<u8>,
}

/// A load under way.
struct Load<'a> {
    tree: Tree,
    worker: &'a Worker<'a>,
    writing: &'a Writing<'a>,
    leaf: Vec<(Vec<u8>, Held)>,
    leaf_bytes: usize,
    lower: Vec<u8>,
    levels: Vec<Level>,
    /// Pages and chains that were made, to be given back if it fails.
    made: Vec<PageId>,
    chains: Vec<PageId>,
}

impl Tree {
    /// Fills an empty tree with entries whose keys ascend; returns how many there were.
    ///
    /// # Errors
    /// [`TreeError::NotEmpty`], [`TreeError::NotAscending`], or as [`Tree::insert`]: the tree is empty as before.
    pub fn load<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, TreeError> {
        let empty =
            worker.retry(|| worker.look(self.root)?.read(|page| View(page).level() == 0 && View(page).count() == 0));
        if !empty? {
            return Err(TreeError::NotEmpty);
        }
        let mut load = Load {
            tree: *self,
            worker,
            writing,
            leaf: Vec::new(),
            leaf_bytes: 0,
            lower: Vec::new(),
            levels: Vec::new(),
            made: Vec::new(),
            chains: Vec::new(),
        };
        let loaded = load.all(entries);
        if loaded.is_err() {
            load.give_back()?;
        }
        loaded
    }
}

impl Load<'_> {
    fn all<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, TreeError> {
        let mut count = 0;
        for (key, value) in entries {
            let (key, value) = (key.as_ref(), value.as_ref());
            self.tree.check_key(key)?;
            self.tree.check_value(value.len())?;
            if self.leaf.last().is_some_and(|(last, _)| last.as_slice() >= key) {
                return Err(TreeError::NotAscending { position: count });
            }
            let held = if self.tree.is_small(key.len(), value.len()) {
                Held::Here(value.to_vec())
            } else {
                let first = chain::write(self.worker, self.writing, value)?;
                self.chains.push(first);
                Held::Elsewhere { bytes: value.len() as u32, first }
            };
            let bytes = NodeMut::leaf_entry_bytes(key.len(), held.value());
            // Fences are as long as keys at most; the prefix that they save is not counted on.
            if self.leaf_bytes + bytes + self.lower.len() + key.len() > self.tree.room() / 10 * 9
                && !self.leaf.is_empty()
            {
                let last = &self.leaf[self.leaf.len() - 1].0;
                let between = separator(last, key).to_vec();
                self.end_leaf(between)?;
            }
            self.leaf_bytes += bytes;
            self.leaf.push((key.to_vec(), held));
            count += 1;
        }
        self.end()?;
        Ok(count)
    }

    fn leaf_builder(&self, upper: Option<&[u8]>) -> Builder {
        let mut builder = Builder::new(self.tree.page_bytes, 0, &self.lower, upper);
        self.leaf.iter().for_each(|(key, held)| builder.push(key, held.value()));
        builder
    }

    fn end_leaf(&mut self, between: Vec<u8>) -> Result<(), TreeError> {
        let page = self.make(|load| (load.leaf_builder(Some(&between)), 0))?;
        self.leaf.clear();
        self.leaf_bytes = 0;
        self.lower.clone_from(&between);
        self.add_child(0, between, page)
    }

    /// Makes a page of a node.
    fn make(&mut self, build: impl Fn(&Self) -> (Builder, PageId)) -> Result<PageId, TreeError> {
        let page = self.worker.retry(|| {
            let mut page = self.worker.allocate(self.writing)?;
            let (builder, upper) = build(self);
            builder.finish(upper, page.bytes_mut());
            Ok(page.page())
        })?;
        self.made.push(page);
        Ok(page)
    }

    /// Adds a child below a separator to the level above `below`.
    fn add_child(&mut self, below: usize, between: Vec<u8>, page: PageId) -> Result<(), TreeError> {
        if self.levels.len() == below {
            self.levels.push(Level::default());
        }
        let bytes = 16 + between.len();
        let level = &self.levels[below];
        if level.bytes + bytes + level.lower.len() + between.len() > self.tree.room() / 10 * 9
            && level.children.len() > 1
        {
            // The last separator goes up; its child ends this node.
            let (up, _) = self.levels[below].children.last().expect("more than one").clone();
            let node = self.make(|load| load.inner_builder(below, Some(&up)))?;
            let level = &mut self.levels[below];
            level.children.clear();
            level.bytes = 0;
            level.lower.clone_from(&up);
            self.add_child(below + 1, up, node)?;
        }
        let level = &mut self.levels[below];
        level.bytes += bytes;
        level.children.push((between, page));
        Ok(())
    }

    /// The node of a level so far; with an upper fence, the last child is the upper child.
    fn inner_builder(&self, below: usize, upper: Option<&[u8]>) -> (Builder, PageId) {
        let level = &self.levels[below];
        let mut builder = Builder::new(self.tree.page_bytes, below as u16 + 1, &level.lower, upper);
        let (last, children) = level.children.split_last().expect("a level that ends has children");
        children.iter().for_each(|(between, page)| builder.push_child(between, *page));
        (builder, last.1)
    }

    /// What is left of each level becomes its last node; the topmost is the root.
    fn end(&mut self) -> Result<(), TreeError> {
        if self.levels.is_empty() {
            return self.put_root(|load| (load.leaf_builder(None), 0));
        }
        let mut last = self.make(|load| (load.leaf_builder(None), 0))?;
        for below in 0..self.levels.len() {
            self.levels[below].children.push((Vec::new(), last));
            if below + 1 == self.levels.len() {
                return self.put_root(|load| load.inner_builder(below, None));
            }
            last = self.make(|load| load.inner_builder(below, None))?;
        }
        Ok(())
    }

    fn put_root(&self, build: impl Fn(&Self) -> (Builder, PageId)) -> Result<(), TreeError> {
        let empty = self.worker.retry(|| {
            let mut root = self.worker.look(self.tree.root)?.lock(self.writing)?;
            let view = View(root.view());
            if view.level() > 0 || view.count() > 0 {
                return Ok(false);
            }
            let (builder, upper) = build(self);
            builder.finish(upper, root.bytes_mut());
            Ok(true)
        })?;
        if empty { Ok(()) } else { Err(TreeError::NotEmpty) }
    }

    fn give_back(&mut self) -> Result<(), TreeError> {
        for first in std::mem::take(&mut self.chains) {
            chain::free(self.worker, self.writing, first)?;
        }
        for page in std::mem::take(&mut self.made) {
            self.worker.retry(|| {
                self.worker.look(page)?.lock(self.writing)?.free();
                Ok(())
            })?;
        }
        Ok(())
    }
}
