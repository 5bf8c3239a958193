//! What others make is named by its content: actions by commit and images by digest, since whoever
//! owns a tag may move it.

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The first thing after `key` on each line that begins with it, list dashes aside.
fn values<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let lines = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches("- "));
    lines
        .filter_map(|line| line.strip_prefix(key)?.split_whitespace().next())
        .collect()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn actions_are_named_by_commit_and_tools_by_version() {
    let mut actions = 0;
    for file in fs::read_dir(root().join(".github/workflows")).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for action in values(&text, "uses: ") {
            let (_, commit) = action.split_once('@').unwrap();
            assert!(is_hex(commit, 40), "{}: {action}", path.display());
            actions += 1;
        }
        for tools in text.split("cargo install ").skip(1) {
            let tools = tools.lines().next().unwrap();
            let mut words = tools.split_whitespace();
            assert_eq!(
                words.next(),
                Some("--locked"),
                "{}: {tools}",
                path.display()
            );
            assert!(
                words.all(|tool| tool.contains('@')),
                "{}: {tools}",
                path.display()
            );
        }
    }
    assert!(actions > 5, "{actions}");
}

#[test]
fn the_image_is_built_from_images_named_by_digest() {
    let text = fs::read_to_string(root().join("deploy/Dockerfile")).unwrap();
    let images = values(&text, "FROM ");
    assert_eq!(images.len(), 2);
    for image in images {
        let (_, digest) = image.split_once("@sha256:").unwrap();
        assert!(is_hex(digest, 64), "{image}");
    }
}
