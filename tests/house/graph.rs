//! Which file names what of which other: paths resolved to the file that defines them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::names::{Names, Source};

/// Hops that a name is followed through re-exports; more is a circle of them.
const MOST_HOPS: usize = 8;

/// Arrows between the files of the workspace.
pub(crate) struct Graph {
    /// Path and module of each file.
    pub(crate) files: Vec<(String, Names)>,
    /// From a file to the files that it names, with the names.
    pub(crate) arrows: BTreeMap<usize, BTreeMap<usize, BTreeSet<String>>>,
}

/// The files by the module that each is.
struct Modules<'a> {
    sources: &'a [Source],
    by_module: HashMap<&'a [String], usize>,
}

impl Graph {
    pub(crate) fn new(sources: &[Source]) -> Self {
        let by_module = sources.iter().enumerate();
        let modules = Modules {
            sources,
            by_module: by_module
                .map(|(at, source)| (source.module.as_slice(), at))
                .collect(),
        };
        let mut arrows: BTreeMap<usize, BTreeMap<usize, BTreeSet<String>>> = BTreeMap::new();
        for (from, source) in sources.iter().enumerate() {
            for path in &source.named {
                let found = modules.definition(from, path);
                if let Some((to, name)) = found.filter(|(to, _)| *to != from) {
                    arrows
                        .entry(from)
                        .or_default()
                        .entry(to)
                        .or_default()
                        .insert(name);
                }
            }
        }
        Self {
            files: sources
                .iter()
                .map(|source| (source.path.clone(), source.module.clone()))
                .collect(),
            arrows,
        }
    }
}

impl Modules<'_> {
    /// The file that defines what `path` means in the file `from`, and the name there. A path to a
    /// module itself is no arrow: what is taken from it is named elsewhere.
    fn definition(&self, from: usize, path: &[String]) -> Option<(usize, String)> {
        let mut path = self.absolute(from, path)?;
        for _ in 0..MOST_HOPS {
            let (file, rest) = self.file(&path)?;
            let name = rest.first()?;
            let handed_on = &self.sources[file].handed_on;
            let next = handed_on.iter().find(|(handed, _)| handed == name);
            let through = |inner: &Names, whole: bool| {
                let mut target = self.absolute(file, inner)?;
                if whole {
                    target.pop();
                    target.extend(rest.iter().cloned());
                } else {
                    target.extend(rest[1..].iter().cloned());
                }
                Some(target)
            };
            let next = match next {
                Some((_, inner)) => through(inner, false),
                None => None,
            };
            match next {
                Some(target) if self.file(&target).is_some() => path = target,
                _ => return Some((file, name.clone())),
            }
        }
        None
    }

    /// `path` from a crate's name on; `None` for what is of no crate here.
    fn absolute(&self, from: usize, path: &[String]) -> Option<Names> {
        let source = &self.sources[from];
        let first = path.first()?;
        let mut base: Names = match first.as_str() {
            "crate" => source.module[..1].to_vec(),
            "self" => source.module.clone(),
            "super" => source.module[..source.module.len().checked_sub(1)?].to_vec(),
            name => {
                let is_crate = self.by_module.contains_key([name.to_owned()].as_slice())
                    && name != source.module[0];
                if is_crate {
                    return Some(path.to_vec());
                }
                let mut child = source.module.clone();
                child.push(name.to_owned());
                if self.by_module.contains_key(child.as_slice()) {
                    source.module.clone()
                } else {
                    // A name that a `use` of this file brought in.
                    let brought = source.brought_in.get(name).filter(|to| *to != path)?;
                    let mut whole = brought.clone();
                    whole.extend(path[1..].iter().cloned());
                    let again = brought.first() == Some(first);
                    return if again {
                        None
                    } else {
                        self.absolute(from, &whole)
                    };
                }
            }
        };
        let rest = match first.as_str() {
            "crate" | "self" => &path[1..],
            "super" => {
                let more = path[1..].iter().take_while(|part| *part == "super").count();
                base.truncate(base.len().checked_sub(more)?);
                &path[1 + more..]
            }
            _ => path,
        };
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The file of the longest beginning of `path` that is a module, and the rest.
    fn file<'p>(&self, path: &'p [String]) -> Option<(usize, &'p [String])> {
        (1..=path.len()).rev().find_map(|length| {
            let file = self.by_module.get(&path[..length])?;
            Some((*file, &path[length..]))
        })
    }
}
