//! The version of the Headlamp plugin.

use serde_json::Value;

use super::super::text;

/// The plugin is released with the program.
#[test]
fn the_plugin_has_the_version_of_the_program() {
    for file in ["package.json", "package-lock.json"] {
        let path = format!("deploy/headlamp-plugin/{file}");
        let made: Value = serde_json::from_str(&text(&path)).unwrap();
        assert_eq!(made["version"], env!("CARGO_PKG_VERSION"), "{path}");
    }
}
