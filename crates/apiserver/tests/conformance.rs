//! The behaviour of a Kubernetes API server, tested on the server in memory and, if
//! `KUBEBUILDER_ASSETS` names the folder with their programs, on a real kube-apiserver with its
//! etcd. If both agree, a test that passes on one passes on the other.

use std::process::ExitCode;

use libtest_mimic::Arguments;

use crate::support::control_plane;
use crate::support::trial::Requirement;

#[allow(dead_code)] // test programs of other packages use the rest
mod support {
    pub(crate) mod client;
    pub(crate) mod control_plane;
    pub(crate) mod http;
    pub(crate) mod tally;
    pub(crate) mod trial;
    pub(crate) mod webhook;
}

mod cases {
    pub(crate) mod custom;
    pub(crate) mod endings;
    pub(crate) mod lists;
    pub(crate) mod objects;
    pub(crate) mod patches;
    pub(crate) mod pods;
    pub(crate) mod refusals;
    pub(crate) mod webhooks;
}

/// Tests of the server in memory alone.
mod own {
    pub(crate) mod examples;
    pub(crate) mod kubectl;
    pub(crate) mod server;
}

const REAL: [Requirement; 1] = [Requirement::Condition(control_plane::check)];

/// Makes two tests of each case.
macro_rules! conformance {
    ($($module:ident::$case:ident),* $(,)?) => {
        const CASES: usize = [$(stringify!($case)),*].len();

        mod in_memory {
            use crate::support::tally::Tally;

            static TALLY: Tally = Tally::new("the server in memory", super::CASES);
            $(
                fn $case() {
                    let _case = TALLY.begin();
                    crate::support::client::with_embedded(async |client| {
                        crate::cases::$module::$case(client).await;
                    });
                }
            )*

            crate::support::trial::suite!([] => [$($case),*]);
        }

        mod real {
            use crate::support::tally::Tally;

            static TALLY: Tally = Tally::new("a real control plane", super::CASES);
            $(
                fn $case() {
                    let _case = TALLY.begin();
                    crate::support::client::with_real(async |client| {
                        crate::cases::$module::$case(client).await;
                    });
                }
            )*

            crate::support::trial::suite!(super::REAL => [$($case),*]);
        }
    };
}

conformance! {
    objects::pods_are_completed,
    objects::workloads_are_completed,
    objects::names_are_generated,
    objects::generations_count_what_is_desired,
    objects::status_has_a_path_of_its_own,
    objects::dry_runs_leave_nothing,
    objects::events_have_two_groups,
    objects::scale_is_read_and_written,
    objects::accounts_give_tokens_for_audiences,
    lists::pages_agree_with_each_other,
    lists::selectors_select,
    lists::watches_see_objects_come_and_go,
    lists::reflectors_follow,
    lists::tables_have_the_columns_of_kubectl,
    lists::rows_come_with_metadata,
    patches::every_kind_of_patch_does_its_work,
    patches::strategic_patches_know_the_keys,
    patches::versions_are_respected,
    patches::managers_own_what_they_apply,
    patches::every_write_has_its_manager,
    patches::scaling_has_its_manager,
    refusals::are_worded_alike,
    refusals::changes_of_running_pods_are_refused,
    pods::are_bound_once,
    pods::are_evicted_within_budgets,
    pods::are_resized,
    endings::finalizers_hold,
    endings::dependents_follow_their_owner,
    endings::orphans_stay,
    endings::collections_are_deleted_by_label,
    endings::namespaces_take_everything_along,
    custom::resources_follow_their_definition,
    webhooks::answers_have_their_effects,
    webhooks::are_called_again_when_a_later_one_changed_the_object,
    webhooks::are_found_through_their_service,
    webhooks::see_other_versions_unless_they_want_exact_matches,
}

fn main() -> ExitCode {
    let suites = [
        in_memory::suite(),
        real::suite(),
        own::examples::suite(),
        own::kubectl::suite(),
        own::server::suite(),
    ];
    let trials = suites.into_iter().flatten().collect();
    let ended = support::trial::run(&Arguments::from_args(), trials);
    control_plane::stop_shared();
    ended
}
