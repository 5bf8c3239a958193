//! A real Prometheus in a folder of its own, killed when dropped.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// The running server.
pub(crate) struct Prometheus {
    /// Its address.
    pub url: evenkeel_http_client::Uri,
    process: Child,
    folder: TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already, which is all that is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Prometheus {
    /// Starts `prometheus` from the PATH with this configuration.
    pub(crate) fn start(configuration: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), configuration)
    }

    /// Starts one that scrapes nothing and knows the samples of a text in OpenMetrics' format, with times.
    pub(crate) fn with_past(samples: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("past");
        std::fs::write(&file, samples).unwrap();
        let filled = Command::new("promtool")
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .args([&file, &folder.path().join("data")])
            .output()
            .unwrap();
        assert!(
            filled.status.success(),
            "{}",
            String::from_utf8_lossy(&filled.stderr)
        );
        Self::start_in(folder, "scrape_configs: []\n")
    }

    fn start_in(folder: TempDir, configuration: &str) -> Self {
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, configuration).unwrap();
        let port = free_port();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let started = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            // The given samples may be old.
            .arg("--storage.tsdb.retention.time=100y")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Self {
            url: format!("http://127.0.0.1:{port}").parse().unwrap(),
            process: started.unwrap(),
            folder,
        }
    }

    /// The first value of an instant query at a Unix time.
    pub(crate) fn query(&self, promql: &str, at: i64) -> f64 {
        let asked = Command::new("promtool")
            .args(["query", "instant", "--time", &at.to_string()])
            .args([&self.url.to_string(), promql])
            .output()
            .unwrap();
        let told = String::from_utf8(asked.stdout).unwrap();
        let value = told.split("=> ").nth(1).expect(&told);
        let (value, _) = value.split_once(' ').expect(&told);
        value.parse().expect(&told)
    }

    /// The log so far, for failures.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
