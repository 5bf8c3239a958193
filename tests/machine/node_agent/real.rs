//! The same in the kernel's own hierarchy. The kernel accepts, reports and undoes the limits, and
//! counts what a process in the cgroup writes.
//!
//! It needs a cgroup of version 2 with the controller `io` for its children, and the right to make
//! some. It also needs a block device below the temporary folder. `EVENKEEL_TEST_CGROUP` names the
//! cgroup; otherwise it is the root of the hierarchy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Files, NODE, World, end};
use crate::support::control_plane::process::Signal;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{settings, with_settings};

/// The folders that were made by this process so far.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Kubelet's folder in a real hierarchy; taken away with the value.
struct Hierarchy(PathBuf);

impl Hierarchy {
    /// Makes it, or says why there is none.
    fn make() -> Result<Self, String> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the switch of the tests, not of the service"
        )]
        let named = std::env::var_os("EVENKEEL_TEST_CGROUP").map(PathBuf::from);
        let root = named.map_or_else(mounted, Ok)?;
        let told = fs::read_to_string(root.join("cgroup.subtree_control"));
        let told = told.map_err(|error| format!("{}: {error}", root.display()))?;
        if !told.split_ascii_whitespace().any(|one| one == "io") {
            return Err(format!(
                "the children of {} have no controller io",
                root.display()
            ));
        }
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let own = root.join(format!("evenkeel-test-{process}-{number}"));
        let made = fs::create_dir(&own).and_then(|()| fs::create_dir(own.join("kubepods.slice")));
        made.map_err(|error| format!("{}: {error}", own.display()))?;
        let hierarchy = Self(own);
        for folder in [hierarchy.0.clone(), hierarchy.kubepods()] {
            let control = folder.join("cgroup.subtree_control");
            fs::write(&control, "+io")
                .map_err(|error| format!("{}: {error}", control.display()))?;
        }
        Ok(hierarchy)
    }

    fn kubepods(&self) -> PathBuf {
        self.0.join("kubepods.slice")
    }

    /// The cgroup of a Pod, as kubelet makes it.
    fn pod(&self, cgroup: &str) -> PathBuf {
        let pod = self.kubepods().join(cgroup);
        let class = pod.parent().unwrap();
        fs::create_dir_all(class).unwrap();
        fs::write(class.join("cgroup.subtree_control"), "+io").unwrap();
        fs::create_dir_all(&pod).unwrap();
        pod
    }
}

impl Drop for Hierarchy {
    fn drop(&mut self) {
        fn remove(folder: &Path) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    remove(&entry.path());
                }
            }
            let _ = fs::remove_dir(folder);
        }
        remove(&self.0);
    }
}

/// The root of the hierarchy of version 2.
fn mounted() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let found = mounts.find_map(|mut words| {
        let point = words.nth(1)?;
        (words.next()? == "cgroup2").then(|| point.into())
    });
    found.ok_or_else(|| "no cgroup hierarchy of version 2 is mounted".to_owned())
}

/// The disk of a folder, as the kernel limits it.
fn disk(folder: &Path) -> Result<String, String> {
    use std::os::unix::fs::MetadataExt as _;
    let device = fs::metadata(folder)
        .map_err(|error| error.to_string())?
        .dev();
    let number = format!(
        "{}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    let entry = Path::new("/sys/dev/block").join(&number);
    let whole = if entry.join("partition").exists() {
        entry.join("../dev")
    } else {
        entry.join("dev")
    };
    let told = fs::read_to_string(whole);
    told.map(|told| told.trim_end().to_owned())
        .map_err(|_| format!("{} is on no block device ({number})", folder.display()))
}

/// Tells whether there is a real cgroup that limits disk I/O; the reason where there is none.
fn check() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let made = disk(folder.path()).and_then(|_| Hierarchy::make());
    made.map(drop)
        .map_err(|reason| format!("no real cgroup that limits disk I/O: {reason}"))
}

/// Runs the test in a hierarchy of its own.
fn with_hierarchy(test: impl AsyncFnOnce(&World<'_>, &Hierarchy, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path()).unwrap();
    let hierarchy = Hierarchy::make().unwrap();
    let record = folder.path().join("limits.json").display().to_string();
    let kubelet = folder.path().display().to_string();
    let files = Files {
        folder: folder.path().to_owned(),
        kubepods: hierarchy.kubepods(),
        arguments: ["--record", &record, "--kubelet", &kubelet]
            .map(str::to_owned)
            .into(),
    };
    with_settings(settings(), async |server, client| {
        let world = World::new(server, client, files).await;
        test(&world, &hierarchy, &disk).await;
    });
}

/// The line of a disk in `io.max`, without limits of operations.
fn limit(pod: &Path, disk: &str) -> Option<String> {
    let text = fs::read_to_string(pod.join("io.max")).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{disk} ")));
    line.map(|line| line.split(" riops=").next().unwrap().to_owned())
}

async fn becomes(pod: &Path, disk: &str, expected: Option<&str>) {
    eventually(&format!("io.max of {disk} is {expected:?}"), async || {
        let stands = limit(pod, disk);
        holds(stands.as_deref() == expected, || format!("{stands:?}"))
    })
    .await;
}

fn the_kernel_takes_the_limit_tells_it_and_gives_it_back() {
    with_hierarchy(async |world, hierarchy, disk| {
        let web = hierarchy.pod(&world.pod("shop", "web", NODE, "10MiB/s").await);
        let limited = format!("{disk} rbps=10485760 wbps=10485760");
        let mut agent = world.start();
        becomes(&web, disk, Some(&limited)).await;
        world.annotate("web", Some("write=5MiB/s")).await;
        let written = format!("{disk} rbps=max wbps=5242880");
        becomes(&web, disk, Some(&written)).await;
        // Killed, and another begins on what it left.
        agent.signal(Signal::KILL);
        agent.wait().await;
        assert_eq!(limit(&web, disk), Some(written));
        let agent = world.start();
        world.annotate("web", None).await;
        becomes(&web, disk, None).await;
        world.annotate("web", Some("10MiB/s")).await;
        becomes(&web, disk, Some(&limited)).await;
        end(agent).await;
        assert_eq!(limit(&web, disk), None);
    });
}

fn limits_of_operations_are_anothers_and_stay() {
    with_hierarchy(async |world, hierarchy, disk| {
        let web = hierarchy.pod(&world.pod("shop", "web", NODE, "10MiB/s").await);
        fs::write(web.join("io.max"), format!("{disk} wiops=1234")).unwrap();
        let agent = world.start();
        let limited = format!("{disk} rbps=10485760 wbps=10485760");
        becomes(&web, disk, Some(&limited)).await;
        end(agent).await;
        let text = fs::read_to_string(web.join("io.max")).unwrap();
        let expected = format!("{disk} rbps=max wbps=max riops=max wiops=1234\n");
        assert_eq!(text, expected);
    });
}

/// Written through to the disk by a process that is a container's.
fn what_a_container_writes_is_shown() {
    with_hierarchy(async |world, hierarchy, _| {
        let web = hierarchy.pod(&world.pod("shop", "web", NODE, "100MiB/s").await);
        let container = web.join("container");
        fs::create_dir(&container).unwrap();
        let agent = world.start();
        let file = world.files.folder.join("written");
        let script = "echo $$ > \"$0/cgroup.procs\" && exec dd if=/dev/zero of=\"$1\" bs=1M count=4 conv=fsync";
        let status = Command::new("sh")
            .args(["-c", script])
            .args([&container, &file])
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        eventually("what was written is shown", async || {
            let page = world.page().await;
            let name = "evenkeel_pod_disk_written_bytes_total{namespace=\"shop\",pod=\"web\"";
            let bytes = page.lines().filter(|line| line.starts_with(name));
            let bytes = bytes.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
            let bytes: u64 = bytes.sum();
            holds(bytes >= 4 << 20, || format!("{bytes} bytes"))
        })
        .await;
        end(agent).await;
    });
}

crate::support::trial::suite!(
    [crate::support::trial::Requirement::Condition(check)] => [
        the_kernel_takes_the_limit_tells_it_and_gives_it_back,
        limits_of_operations_are_anothers_and_stay,
        what_a_container_writes_is_shown,
    ],
);
