//! The built-in queries for disk I/O against a real Prometheus that scrapes Evenkeel's agents: alone, and beside
//! node_exporter and cAdvisor.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::fmt::Write as _;
use std::net::SocketAddr;

use evenkeel_objects::pod_name::PodName;
use evenkeel_service::metrics::{DropCause, MetricsRound};
use evenkeel_units::Resource;

use super::metrics_prometheus::{near, source, until};
use crate::support::metrics_exporter as exporter;
use crate::support::metrics_server::Prometheus;

/// The job by which the agents are known; the other paths are scraped by jobs of whatever name.
const AGENTS: (&str, &str) = ("evenkeel-agent", "agent");

/// Jobs that scrape these paths of the exporter, each as the node of its number.
fn configuration(exporter: SocketAddr, jobs: &[(&str, &str)]) -> String {
    let mut text =
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n".to_owned();
    for (job, path) in jobs {
        for number in 1..=2 {
            writeln!(
                text,
                "- {{job_name: {number}/{job}, metrics_path: /{path}/{number}, honor_labels: true, \
                 static_configs: [{{targets: ['{exporter}'], labels: {{instance: '10.0.0.{number}:1', \
                 node: node-{number}}}}}]}}"
            )
            .unwrap();
        }
    }
    text
}

fn of_node(round: &MetricsRound, number: u32) -> Option<u64> {
    let measured = round.usage.node(&format!("node-{number}"))[Resource::DiskIo];
    measured.map(|measured| measured.value.get())
}

fn of_pod(round: &MetricsRound, name: &str) -> Option<u64> {
    let row = round.usage.pod(&PodName::new("shop", name));
    row[Resource::DiskIo].map(evenkeel_units::Amount::get)
}

async fn agents_alone_measure_disk_io_and_its_pressure() {
    let (address, _exporter) = exporter::start().await;
    let prometheus = Prometheus::start(&configuration(address, &[AGENTS]));
    let round = until(&source(&prometheus, ""), &prometheus, |round| {
        for number in 1..=2 {
            let read = exporter::read_by_agent(number);
            near("disk I/O of the node", of_node(round, number), 6.0 * read)?;
            let web = of_pod(round, &format!("web-{number}"));
            near("disk I/O of the Pod", web, 3.0 * read)?;
            let pressure = round.usage.io_pressure.get(&*format!("node-{number}"));
            near("pressure", pressure.map(|it| it.value.get()), 250.0)?;
        }
        Ok(())
    })
    .await;
    assert_eq!(round.failures().count(), 0);
}

async fn beside_others_agents_speak_of_pods_and_nobody_counts_twice() {
    let (address, _exporter) = exporter::start().await;
    let jobs = [AGENTS, ("node", "node"), ("cadvisor", "cadvisor")];
    let prometheus = Prometheus::start(&configuration(address, &jobs));
    let round = until(&source(&prometheus, ""), &prometheus, |round| {
        for number in 1..=2 {
            let written = 2.0 * exporter::written(number);
            let node = of_node(round, number);
            near("disk I/O of the node", node, written * 4.0 / 3.0)?;
            let web = of_pod(round, &format!("web-{number}"));
            near(
                "of the Pod by its agent",
                web,
                3.0 * exporter::read_by_agent(number),
            )?;
            // A Pod of which the agent says nothing is cAdvisor's.
            near("of another", of_pod(round, &format!("host-{number}")), 3e5)?;
        }
        Ok(())
    })
    .await;
    for report in &round.reports {
        let mut dropped = report.dropped.iter();
        let twice = dropped.find(|(cause, _)| *cause == DropCause::Ambiguous);
        assert_eq!(twice.map(|(_, count)| count), Some(0), "{report:?}");
    }
}

/// Any scraped Pod can export series of any name.
async fn whoever_is_no_agent_is_not_heard_as_one() {
    let (address, _exporter) = exporter::start().await;
    let jobs = [("tenant", "agent"), ("cadvisor", "cadvisor")];
    let prometheus = Prometheus::start(&configuration(address, &jobs));
    let round = until(&source(&prometheus, ""), &prometheus, |round| {
        for number in 1..=2 {
            near("of the Pod", of_pod(round, &format!("web-{number}")), 3e5)?;
        }
        Ok(())
    })
    .await;
    assert_eq!(of_node(&round, 1), None);
}

crate::support::trial::suite!(
    async [crate::support::trial::Requirement::Program("prometheus")] => [
        agents_alone_measure_disk_io_and_its_pressure,
        beside_others_agents_speak_of_pods_and_nobody_counts_twice,
        whoever_is_no_agent_is_not_heard_as_one,
    ],
);
