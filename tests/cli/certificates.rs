//! `certs`: made, shown, and handed out.

use serde_json::Value;

use super::{PROXY, evenkeel, evenkeel_with_input};

/// Certificates in a directory that goes with the guard.
pub(crate) fn generated() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("certificates");
    let path = path.to_str().expect("text").to_owned();
    let called = evenkeel(&["certs", "generate", "--dir", &path, "--ip", "10.96.0.20"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    (directory, path)
}

fn certificates(shown: &Value) -> &[Value] {
    shown["certificates"].as_array().expect("a list")
}

#[test]
fn keys_are_for_their_owner_and_nothing_is_overwritten() {
    let (_guard, dir) = generated();
    for (file, others) in [("tls.key", 0), ("ca.key", 0), ("tls.crt", 0o044)] {
        let path = std::path::Path::new(&dir).join(file);
        let permissions = std::fs::metadata(path).expect("it is there").permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
        assert_eq!(mode & 0o077, others, "{file}");
    }
    evenkeel(&["certs", "generate", "--dir", &dir]).is_refused(2, &["already exists"]);
}

#[test]
fn what_was_generated_is_shown_and_handed_to_the_scheduler() {
    let (_guard, dir) = generated();
    let made = evenkeel(&["certs", "show", "--dir", &dir, "-o", "json"]).json();
    let [authority, serving, scheduler_authority] = certificates(&made) else {
        panic!("{made}");
    };
    assert_eq!(serving["foundIn"], "tls.crt");
    assert_eq!(serving["issuer"], authority["subject"]);
    let names = serving["names"].to_string();
    for name in [
        "evenkeel.evenkeel-system.svc",
        "evenkeel-extender",
        "10.96.0.20",
    ] {
        assert!(names.contains(name), "{names}");
    }

    let arguments = [
        "certs",
        "scheduler-config",
        "--dir",
        &dir,
        "--extender-ip",
        "10.96.0.20",
    ];
    let config = evenkeel(&arguments);
    assert_eq!(config.code, 0, "{}", config.stderr);
    assert!(
        config
            .stdout
            .contains("urlPrefix: https://10.96.0.20/scheduler")
    );
    let shown = evenkeel_with_input(&["certs", "show", "-f", "-", "-o", "json"], &config.stdout);
    let shown = shown.json();
    let [ca, client] = certificates(&shown) else {
        panic!("{shown}");
    };
    assert_eq!(ca["foundIn"], "extenders[0].tlsConfig.caData");
    assert_eq!(ca["sha256"], authority["sha256"]);
    assert_eq!(client["foundIn"], "extenders[0].tlsConfig.certData");
    assert_eq!(client["issuer"], scheduler_authority["subject"]);

    let secret = evenkeel(&["certs", "scheduler-client", "--dir", &dir]);
    let table = evenkeel_with_input(&["certs", "show", "-f", "-"], &secret.stdout);
    assert!(
        table.stdout.contains("CN=system:kube-scheduler"),
        "{}",
        table.stdout
    );
}

#[test]
fn certificates_that_cannot_be_had_say_why() {
    let directory = tempfile::tempdir().expect("a directory");
    let dir = directory.path().to_str().expect("text");
    for (arguments, code, parts) in [
        (
            &["certs", "show", "--dir", dir][..],
            2,
            &["cannot read", "ca.crt"][..],
        ),
        (
            &["certs", "show", "-f", PROXY],
            2,
            &["holds no certificate"],
        ),
        (
            &["certs", "show", "--kubeconfig", "nowhere"],
            2,
            &["evenkeel-system/evenkeel-certificates", "nowhere"],
        ),
        (
            &["certs", "rotate", "--kubeconfig", "nowhere"],
            2,
            &["the kubeconfig nowhere cannot be read"],
        ),
        (
            &["certs", "rotate", "--scheduler-has-new-file"],
            2,
            &["--finish"],
        ),
        (
            &["certs", "generate", "--dir", dir, "--valid-for", "1m"],
            2,
            &["--valid-for", "an hour"],
        ),
        (
            &["certs", "generate", "--dir", dir, "--dns", "no name"],
            2,
            &["no name", "DNS"],
        ),
        (
            &[
                "certs",
                "scheduler-config",
                "--dir",
                dir,
                "--valid-for",
                "0s",
            ],
            2,
            &["above zero"],
        ),
    ] {
        evenkeel(arguments).is_refused(code, parts);
    }
}
