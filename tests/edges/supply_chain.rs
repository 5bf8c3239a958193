//! Third-party parts are named by their content: actions by commit and images by digest. The owner
//! of a tag may move it.

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

/// A release has passed the checks of a change, on the commit of its tag, and is built for the
/// platforms of the manifests.
#[test]
fn nothing_is_published_before_the_checks_have_passed() {
    let text = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let workflow: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    let jobs = workflow["jobs"].as_object().unwrap();
    let runs = |job: &str| jobs[job]["steps"].to_string();
    let needs = |job: &str| jobs[job]["needs"].to_string();
    for (job, recipe) in [
        ("check", "just ci"),
        ("deny", "just deny"),
        ("deny", "just advisories"),
    ] {
        assert!(runs(job).contains(recipe), "{job}: {recipe}");
        assert!(needs("build").contains(job), "{job}");
    }
    assert!(needs("publish").contains("build"));
    for (job, steps) in jobs {
        let is_allowed = ["build", "publish"].contains(&job.as_str());
        let writes = steps["permissions"].to_string().contains("write");
        assert!(is_allowed || !writes, "{job}");
    }
    for part in ["amd64", "arm64"] {
        assert!(
            jobs["build"]["strategy"].to_string().contains(part),
            "{part}"
        );
    }
    for part in [
        "SHA256SUMS",
        "attest-build-provenance",
        "attest-sbom",
        "gh release create",
    ] {
        assert!(runs("publish").contains(part), "{part}");
    }
}

/// An attacker that could replace an archive could also replace the file with its sum.
#[test]
fn the_archive_of_etcd_is_held_to_a_digest_that_stands_here() {
    let text = fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap();
    let digests = values(&text, "ETCD_SHA256: ");
    assert!(digests.len() == 1 && is_hex(digests[0], 64), "{digests:?}");
    let download = text.find("etcd-io/etcd/releases").unwrap();
    let check = text.find("$ETCD_SHA256").unwrap();
    let unpack = text.find("tar -xzf").unwrap();
    assert!(download < check && check < unpack);
}

/// The builder of the image sees only what the ignore file lets through, so a manifest that is compiled in and not
/// named there breaks the release.
#[test]
fn manifests_that_are_compiled_in_reach_the_builder_of_the_image() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let ignored = read("deploy/Dockerfile.dockerignore");
    let let_through: Vec<&str> = values(&ignored, "!");
    let sources = read("crates/manifests/src/sources.rs");
    let paths: Vec<&str> = sources
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix('"')?
                .strip_suffix("\",")
                .filter(|path| {
                    Path::new(path)
                        .extension()
                        .is_some_and(|kind| kind == "yaml")
                })
        })
        .collect();
    assert!(paths.len() > 50, "{paths:?}");
    for path in paths {
        let is_seen = let_through
            .iter()
            .any(|folder| path.starts_with(&format!("{folder}/")));
        assert!(is_seen, "{path} is not in deploy/Dockerfile.dockerignore");
    }
}
