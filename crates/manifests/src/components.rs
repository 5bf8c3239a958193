//! The components of an installation, named like their overlays.

#[derive(Debug, PartialEq, Eq)]
pub struct Component {
    /// Also of its folder and overlay.
    pub name: &'static str,
    /// For `--help` and the chart's values.
    pub about: &'static str,
}

impl Component {
    /// In the chart's values, in camel case.
    pub(crate) fn flag(&self) -> String {
        let mut name = String::new();
        for (at, word) in self.name.split('-').enumerate() {
            let (first, rest) = word.split_at(usize::from(at > 0));
            name.push_str(&first.to_uppercase());
            name.push_str(rest);
        }
        name
    }
}

/// In the order of application: a component stands after those that it changes.
pub const COMPONENTS: [Component; 18] = [
    Component {
        name: "prometheus-operator",
        about: "A ServiceMonitor, and a PodMonitor for node-agent",
    },
    Component {
        name: "cert-manager",
        about: "Certificates from cert-manager 1.18 or newer instead of the signer's",
    },
    Component {
        name: "narrowed-webhook",
        about: "The API server calls the webhook for opted-in namespaces only",
    },
    Component {
        name: "second-scheduler",
        about: "A kube-scheduler for opted-in Pods, for managed clusters",
    },
    Component {
        name: "open-metrics",
        about: "Metrics in plain HTTP, without a token",
    },
    Component {
        name: "external-metrics",
        about: "The expected load of each target as an External metric",
    },
    Component {
        name: "metrics-provider",
        about: "Series of workloads, now and in the past, over the API server and gRPC",
    },
    Component {
        name: "metrics-provider-plaintext",
        about: "metrics-provider, and gRPC without TLS and tokens for Kapacity's jobs",
    },
    Component {
        name: "custom-kinds",
        about: "Rights to scale Argo Rollouts and OpenKruise CloneSets",
    },
    Component {
        name: "overload-taints",
        about: "Taints on overloaded nodes",
    },
    Component {
        name: "score-labels",
        about: "Placement on any cluster: scores on node labels that the stock scheduler follows",
    },
    Component {
        name: "scale-in-balance",
        about: "Pod deletion costs that keep nodes even when a workload scales in",
    },
    Component {
        name: "replica-profiles",
        about: "Pods with a ReplicaProfile leave traffic and come back",
    },
    Component {
        name: "in-place-tuning",
        about: "Resizes of running Pods with evenkeel.dev/tuning: on",
    },
    Component {
        name: "node-agent",
        about: "An agent on each node that limits and measures disk I/O (cgroup driver systemd)",
    },
    Component {
        name: "node-agent-cgroupfs",
        about: "node-agent for nodes with the cgroup driver cgroupfs",
    },
    Component {
        name: "external-checks",
        about: "Stability checks of type External",
    },
    Component {
        name: "external-algorithms",
        about: "Jobs of external algorithms that write portraits",
    },
];
