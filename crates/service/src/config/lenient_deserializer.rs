//! Reads the layered tree into the file's types, going on after a mistake. serde stops at the first
//! bad field; that field is removed and the rest read again, so that one run reports them all.

use evenkeel_objects::serde_message::reworded;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use super::error::ConfigProblem;
use super::file::ConfigFile;
use super::layers::ConfigLayers;

/// The most mistakes that are listed. A file with more of them is of some other kind.
const MOST: usize = 20;

/// The file without what could not be read, and what that was.
pub(crate) fn read(layered: &ConfigLayers) -> (ConfigFile, Vec<ConfigProblem>) {
    let mut tree = layered.tree.clone();
    let mut problems = Vec::new();
    while problems.len() < MOST {
        let error = match serde_path_to_error::deserialize(&Value::Object(tree.clone())) {
            Ok(file) => return (file, problems),
            Err(error) => error,
        };
        let path = error.path().to_string();
        problems.push(ConfigProblem {
            origin: layered.origin(&path),
            message: reworded(&error.inner().to_string()),
            path,
        });
        if !remove(&mut tree, error.path()) {
            break;
        }
    }
    (ConfigFile::default(), problems)
}

/// Takes out what stands at `path`, or the nearest mapping's field around it.
fn remove(tree: &mut Map<String, Value>, path: &Path) -> bool {
    let mut keys: Vec<&str> = path
        .iter()
        .map_while(|segment| match segment {
            Segment::Map { key } => Some(key.as_str()),
            Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect();
    let Some(last) = keys.pop() else { return false };
    let mut branch = tree;
    for key in keys {
        match branch.get_mut(key) {
            Some(Value::Object(fields)) => branch = fields,
            _ => return false,
        }
    }
    branch.remove(last).is_some()
}
