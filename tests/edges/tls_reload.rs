//! Certificates change while the server serves, and no client notices but by the certificate.

#![allow(clippy::unwrap_used)] // the helpers of tests are tests too

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_certificates::authority::ClientCertificate;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::rotation::next;
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::signer_secret::SignerSecret;
use evenkeel_certificates::subject_alt_names::Names;
use evenkeel_service::server::tls::{
    Authority, CertificateFiles, CertificateStore, FileWatch, ServerFiles,
};
use evenkeel_service::server::{Drain, ListenerMetrics, Shutdown};
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::support::server_client::{Connection, Http, Trust};
use crate::support::server_fixture as fixture;
use crate::support::server_fixture::{Options, Running, bundle, change, until};

const LOOK: Duration = Duration::from_millis(5);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A Secret as the kubelet mounts it: files that are symlinks into `..data`, which is a symlink
/// to a directory with a time in its name.
struct Mount {
    folder: TempDir,
    swaps: usize,
}

impl Mount {
    fn new(bundle: &Bundle) -> Self {
        let mut mount = Self {
            folder: tempfile::tempdir().unwrap(),
            swaps: 0,
        };
        mount.swap(bundle);
        for file in bundle.encode().keys() {
            symlink(format!("..data/{file}"), mount.path().join(file)).unwrap();
        }
        mount
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A swap as the kubelet does it: a new directory, a new symlink to it, renamed over the old
    /// one, and the old directory removed.
    fn swap(&mut self, bundle: &Bundle) {
        self.swaps += 1;
        let old = fs::read_link(self.path().join("..data"));
        let stamp = format!("..2026_03_01_12_00_{:02}.{}", self.swaps, self.swaps);
        let data = self.path().join(&stamp);
        fs::create_dir(&data).unwrap();
        for (file, contents) in bundle.encode() {
            fs::write(data.join(file), contents).unwrap();
        }
        let temporary = self.path().join("..data_tmp");
        symlink(&stamp, &temporary).unwrap();
        fs::rename(&temporary, self.path().join("..data")).unwrap();
        if let Ok(old) = old {
            fs::remove_dir_all(self.path().join(old)).unwrap();
        }
    }

    fn files(&self) -> CertificateFiles {
        let file = |name| self.path().join(name);
        CertificateFiles {
            server: Some(ServerFiles {
                certificate: file("tls.crt"),
                key: file("tls.key"),
            }),
            authorities: [(Authority::Scheduler, file("scheduler-ca.crt"))].into(),
        }
    }
}

/// A server that watches the files of a mount. What keeps the watch running is dropped with it.
struct Watched {
    server: Running,
    watch: JoinHandle<()>,
    drain: Drain,
}

async fn serve_files(files: CertificateFiles, bundle: Bundle) -> Watched {
    let mut watch = FileWatch::new(files, LOOK);
    let initial = watch.load().await.unwrap().expect("the first look");
    let metrics = ListenerMetrics::default();
    let store = Arc::new(CertificateStore::new(initial, metrics.clone()).unwrap());
    let server = Running::start_with(store, metrics, bundle, Options::default());
    let drain = Drain::new(Options::default().drain);
    let shutdown: Shutdown = drain.observer();
    let store = Arc::clone(&server.store);
    Watched {
        server,
        watch: tokio::spawn(async move { watch.run(&store, shutdown).await }),
        drain,
    }
}

fn leaf(bundle: &Bundle) -> Vec<u8> {
    CertificateDer::from_pem_slice(bundle.server_certificate().as_bytes())
        .unwrap()
        .to_vec()
}

/// Another certificate of the same authority.
fn reissued(bundle: &Bundle, address: u8) -> Bundle {
    let names = fixture::names().with_address([10, 0, 0, address].into());
    next(
        evenkeel_clock::now(),
        bundle,
        &names,
        &Validity::default().into(),
    )
    .unwrap()
    .expect("other names need another certificate")
}

async fn shown(server: &Running, trust: &Trust) -> Vec<u8> {
    Connection::open(server.address, trust, Http::One)
        .await
        .expect("a handshake")
        .certificate
}

/// Clients that call until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// For each protocol two clients that keep their connection and one that never does.
    fn start(server: &Running, trust: &Trust) -> Self {
        let mut load = Self {
            stop: Arc::default(),
            answered: Arc::default(),
            clients: Vec::new(),
        };
        for http in Http::BOTH {
            for keeps in [true, true, false] {
                let client = call_on(
                    (server.address, trust.clone(), http),
                    keeps,
                    (Arc::clone(&load.stop), Arc::clone(&load.answered)),
                );
                load.clients.push(tokio::spawn(client));
            }
        }
        load
    }

    /// Waits for a number of answers more.
    async fn go_on(&self, answers: usize) {
        let goal = self.answered.load(Ordering::Relaxed) + answers;
        until("answers", || self.answered.load(Ordering::Relaxed) >= goal).await;
    }

    /// Ends the clients, each of which fails where a handshake or a request of it did.
    async fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("no handshake and no request fails");
        }
    }
}

async fn call_on(
    (address, trust, http): (std::net::SocketAddr, Trust, Http),
    keeps: bool,
    (stop, answered): (Arc<AtomicBool>, Arc<AtomicUsize>),
) {
    let mut open = None;
    while !stop.load(Ordering::Relaxed) {
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => Connection::open(address, &trust, http).await.unwrap(),
        };
        let answer = connection.post("/mutate", "{}").await.unwrap();
        assert_eq!(answer.text(), "2 bytes");
        assert!(!answer.closes());
        answered.fetch_add(1, Ordering::Relaxed);
        if keeps {
            open = Some(connection);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kubelet_swaps_the_secret_twice_under_load() {
    let first = bundle();
    let mut mount = Mount::new(&first);
    let Watched {
        server,
        drain: _running,
        ..
    } = serve_files(mount.files(), first.clone()).await;
    let trust = Trust::only(first.ca_bundle());
    let load = Load::start(&server, &trust);
    load.go_on(50).await;
    assert_eq!(shown(&server, &trust).await, leaf(&first));
    for swap in 1..=2 {
        let renewed = reissued(&first, swap);
        mount.swap(&renewed);
        let reloads = u64::from(swap);
        server
            .metric_reaches("evenkeel_tls_certificate_reloads_total", reloads)
            .await;
        assert_eq!(shown(&server, &trust).await, leaf(&renewed), "swap {swap}");
        load.go_on(50).await;
    }
    load.finish().await;
    let failed = "evenkeel_tls_handshake_failures_total";
    let page = evenkeel_service::telemetry::encode(&server.registry).unwrap();
    let counted: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with(failed))
        .collect();
    assert!(!counted.is_empty());
    for line in counted {
        assert!(line.ends_with(" 0"), "a handshake failed: {line}");
    }
}

#[tokio::test]
async fn a_half_written_pair_keeps_the_old_one_until_it_is_whole() {
    let first = bundle();
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, contents: &str| fs::write(folder.path().join(file), contents).unwrap();
    write("tls.crt", &first.server_certificate());
    write("tls.key", &first.server_key());
    let files = CertificateFiles {
        server: Some(ServerFiles {
            certificate: folder.path().join("tls.crt"),
            key: folder.path().join("tls.key"),
        }),
        ..CertificateFiles::default()
    };
    let Watched {
        server,
        drain: _running,
        ..
    } = serve_files(files, first.clone()).await;
    let trust = Trust::only(first.ca_bundle());
    let renewed = reissued(&first, 1);
    let whole = renewed.server_certificate();
    let failures = |reason: &str| {
        format!("evenkeel_tls_certificate_reload_failures_total{{reason=\"{reason}\"}}")
    };
    for (contents, reason) in [
        (&whole[..whole.len() / 2], "InvalidPem"),
        ("", "NoCertificate"),
        (whole.as_str(), "KeyMismatch"),
    ] {
        write("tls.crt", contents);
        server.metric_reaches(&failures(reason), 1).await;
        assert_eq!(shown(&server, &trust).await, leaf(&first), "{reason}");
    }
    fs::remove_file(folder.path().join("tls.crt")).unwrap();
    server.metric_reaches(&failures("FileUnreadable"), 1).await;
    assert_eq!(shown(&server, &trust).await, leaf(&first));
    write("tls.crt", &whole);
    write("tls.key", &renewed.server_key());
    server
        .metric_reaches("evenkeel_tls_certificate_reloads_total", 1)
        .await;
    assert_eq!(shown(&server, &trust).await, leaf(&renewed));
}

#[tokio::test]
async fn files_that_cannot_be_served_with_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mount = Mount::new(&bundle());
    let mut files = mount.files();
    files.authorities = [(Authority::Scheduler, folder.path().join("none"))].into();
    let error = FileWatch::new(files, LOOK).load().await.unwrap_err();
    assert_eq!(error.reason(), "FileUnreadable");
    assert!(error.to_string().contains("none"), "{error}");
}

#[tokio::test]
async fn the_watch_ends_when_the_service_drains() {
    let first = bundle();
    let mount = Mount::new(&first);
    let Watched { watch, drain, .. } = serve_files(mount.files(), first).await;
    drop(drain);
    tokio::time::timeout(fixture::PATIENCE, watch)
        .await
        .expect("the watch ends")
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_the_bundle_of_half_a_year_ago_is_served_for_eleven_years() {
    let validity = Validity::default();
    let names: Names = fixture::names();
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut bundle = Bundle::generate(start, &names, &validity).unwrap();
    let metrics = ListenerMetrics::default();
    let store = Arc::new(CertificateStore::new(change(&bundle), metrics.clone()).unwrap());
    let options = Options::default();
    let server = Running::start_with(store, metrics, bundle.clone(), options);
    let mut published = vec![(start, bundle.ca_bundle())];
    let mut authorities = 1;
    for day in (0..11 * 365).step_by(9) {
        let now = start + DAY * day;
        if let Some(due) = next(now, &bundle, &names, &validity.into()).unwrap() {
            server.store.replace(change(&due));
            published.push((now, due.ca_bundle()));
            authorities += usize::from(!bundle.ca_bundle().contains(&due.ca_bundle()));
            bundle = due;
        }
        // The caBundle that a client learnt half a year ago; at first, the initial one.
        let (_, known) = published
            .iter()
            .rev()
            .find(|(at, _)| *at + validity.overlap() <= now)
            .unwrap_or(&published[0]);
        let trust = Trust::only(known.as_str()).at(now);
        let certificate = shown(&server, &trust).await;
        assert_eq!(certificate, leaf(&bundle), "day {day}");
    }
    assert!(authorities > 1, "the authority was replaced");
}

/// The extender's status for a caller with `certificate`, and the server's certificate.
async fn called(server: &Running, trust: Trust, certificate: &ClientCertificate) -> (u16, Vec<u8>) {
    let trust = trust.showing(certificate.clone());
    let opened = Connection::open(server.address, &trust, Http::One).await;
    let mut connection = opened.expect("a handshake");
    let answer = connection.post("/scheduler/filter", "{}").await.unwrap();
    (answer.status.as_u16(), connection.certificate)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kube_scheduler_has_a_thread_of_its_own_and_no_other_client_gets_there() {
    let server = Running::start(Options::default());
    let now = evenkeel_clock::now();
    let of = |bundle: &Bundle| {
        let certificate = bundle.issue_scheduler_client(now, SignedDuration::from_hours(1));
        let trust = Trust::only(server.bundle.ca_bundle());
        trust.showing(certificate.unwrap())
    };
    let strangers = [
        Trust::only(server.bundle.ca_bundle()),
        of(&fixture::bundle()),
    ];
    let [anonymous, other] = strangers;
    for (trust, is_scheduler) in [
        (of(&server.bundle), true),
        (anonymous, false),
        (other, false),
    ] {
        let opened = Connection::open(server.address, &trust, Http::One).await;
        let mut connection = opened.expect("a handshake");
        for _ in 0..3 {
            let answer = connection.post("/thread", "{}").await.unwrap();
            let thread = String::from_utf8_lossy(&answer.body).into_owned();
            assert_eq!(thread == "kube-scheduler", is_scheduler, "{thread}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_rotation_of_all_keys_clients_of_both_generations_are_served() {
    const HOUR: SignedDuration = SignedDuration::from_hours(1);
    // The server's own clock stands, as far as client certificates go.
    let start = evenkeel_clock::now();
    let validity = Validity::default();
    let names = fixture::names();
    let first = Bundle::generate(start, &names, &validity).unwrap();
    let store = CertificateStore::new(change(&first), ListenerMetrics::default()).unwrap();
    let options = Options::default();
    let server = Running::start_with(
        Arc::new(store),
        ListenerMetrics::default(),
        first.clone(),
        options,
    );
    let mut kept = SignerSecret::from(first.clone());
    kept.request = Some("24h".parse().unwrap());
    let old_caller = first.issue_scheduler_client(start, HOUR * 48).unwrap();
    let (mut new_caller, mut both) = (None, String::new());
    for hour in 0..=25 {
        let now = start + SignedDuration::from_secs(2) + HOUR * hour;
        while let Some(due) = kept.next(now, &names, &validity).unwrap() {
            server.store.replace(change(&due.bundle));
            kept = due;
        }
        let bundle = &kept.bundle;
        if hour == 0 {
            both = bundle.ca_bundle();
            assert!(both.starts_with(&first.ca_bundle()) && both != first.ca_bundle());
            new_caller = Some(bundle.issue_scheduler_client(start, HOUR * 48).unwrap());
        }
        let new_caller = new_caller.as_ref().unwrap();
        // A client with the new caBundle is served all the time, with either certificate of its own
        // until the old generation leaves.
        let (status, shown) = called(&server, Trust::only(&*both).at(now), new_caller).await;
        assert_eq!((status, &shown), (200, &leaf(bundle)), "hour {hour}");
        let (status, _) = called(&server, Trust::only(&*both).at(now), &old_caller).await;
        assert_eq!(status, if hour < 24 { 200 } else { 403 }, "hour {hour}");
        // A client without it is served for half of the overlap.
        let late = Trust::only(first.ca_bundle()).at(now);
        let reached = Connection::open(server.address, &late, Http::One).await;
        assert_eq!(reached.is_ok(), hour < 12, "hour {hour}");
        // A later client trusts the bundle that is published by then.
        let fresh = Trust::only(bundle.ca_bundle()).at(now);
        assert_eq!(
            called(&server, fresh, new_caller).await.0,
            200,
            "hour {hour}"
        );
    }
    let (old, new) = (first.encode(), kept.bundle.encode());
    for file in ["ca.key", "scheduler-ca.key", "tls.key"] {
        assert_ne!(old[file], new[file], "{file}");
    }
    assert_eq!(kept.bundle.authorities().len(), 1);
}
