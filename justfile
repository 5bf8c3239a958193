# What a developer and CI run, by name. `just` alone lists the recipes.

# List the recipes.
default:
    @just --list

# Format the sources.
fmt:
    cargo fmt

# Formatting and lints; a warning is an error.
lint:
    cargo fmt --check
    cargo clippy --all-targets --locked -- -D warnings
    cargo clippy --workspace --all-targets --no-default-features --locked -- -D warnings

# All tests. Those that need Prometheus, kubectl or a control plane say so when they are left out.
test:
    cargo test --locked

# The tests of what the image is built with: the service without the simulated cluster.
test-image:
    cargo test -p evenkeel --no-default-features --locked

# The tests against a real control plane; KUBEBUILDER_ASSETS names the folder with its binaries.
test-control-plane:
    cargo test --locked --test control_plane -- --nocapture
    cargo test --locked --package evenkeel-apiserver --test conformance

# The documentation, with broken links as errors.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

# Licences, banned crates and sources.
deny:
    cargo deny --locked check bans licenses sources

# Known vulnerabilities; apart, because they appear without a change here.
advisories:
    cargo deny --locked check advisories

# Build everything that `kubectl apply -k` would send.
manifests:
    for folder in deploy deploy/overlays/*/; do kubectl kustomize "$folder" > /dev/null || exit 1; done
    promtool check rules deploy/prometheus/alerts.yaml

# Write the Helm chart and the generated pages of the documentation anew.
chart:
    EVENKEEL_WRITE_DOCS=1 cargo test --locked --test cli documentation

# The figures of the README.
bench:
    cargo bench --locked

# The release profile of the workspace is for short builds, and its binaries have no line numbers.
fuzz_profile := "CARGO_PROFILE_RELEASE_OPT_LEVEL=3 CARGO_PROFILE_RELEASE_STRIP=none"

# Build all fuzz targets (needs a nightly compiler and cargo-fuzz).
fuzz-build:
    {{ fuzz_profile }} cargo +nightly fuzz build

# Run one fuzz target, for a minute unless told otherwise; `cargo fuzz list` names them.
fuzz target seconds="60":
    mkdir -p fuzz/corpus/{{ target }} fuzz/seeds/{{ target }}
    {{ fuzz_profile }} cargo +nightly fuzz run {{ target }} fuzz/corpus/{{ target }} fuzz/seeds/{{ target }} \
        tests/fixtures/admission tests/fixtures/extender tests/fixtures/kubernetes tests/fixtures/metrics \
        -- -max_total_time={{ seconds }} -rss_limit_mb=4096

# Run each fuzz target for a minute.
fuzz-all:
    for target in $(cargo +nightly fuzz list); do just fuzz "$target" || exit 1; done

# The container image.
image tag="evenkeel:dev":
    docker build --file deploy/Dockerfile --tag {{ tag }} .

# Everything that a change has to pass.
ci:
    .ci/run
