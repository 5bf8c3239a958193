use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;
use serde_json::{Value, json};

use super::*;
use crate::controller::fake_api::FakeApi;
use crate::server::ListenerMetrics;
use crate::server::tls::ServerCertificate;

const PATH: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

fn bundle() -> Bundle {
    let names = Names::new(["localhost".to_owned()], []).unwrap();
    Bundle::generate(clock::now(), &names, &Validity::default()).unwrap()
}

fn store(bundle: &Bundle) -> Arc<CertificateStore> {
    let server = ServerCertificate::from_pem(
        bundle.server_certificate().as_bytes(),
        bundle.server_key().as_bytes(),
    );
    let initial = CertificateUpdate {
        server: Some(server.unwrap()),
        authorities: None,
    };
    Arc::new(CertificateStore::new(initial, ListenerMetrics::default()).unwrap())
}

fn told(ca: &str, header: &str) -> Value {
    json!({"data": {
        "requestheader-client-ca-file": ca,
        "requestheader-allowed-names": "[\"front-proxy\"]",
        "requestheader-username-headers": format!("[\"{header}\"]"),
    }})
}

fn user(headers: &CallerHeaders, header: &str) -> Option<String> {
    headers.names()?.caller(&[(header, "somebody")])?.username
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_tells_is_followed_without_a_restart() {
    let (api, bundle) = (FakeApi::default(), bundle());
    let store = store(&bundle);
    let knows = || store.current().authorities.contains(Authority::FrontProxy);
    let generation = || store.current().generation;
    let headers = CallerHeaders::default();
    let mut proxy = FrontProxy::new(api.client(), headers.clone());
    proxy.look(&store).await;
    assert!(
        !knows() && headers.names().is_none(),
        "there is no ConfigMap"
    );
    let ca = bundle.scheduler_ca_bundle();
    api.set(PATH, told(&ca, "X-Remote-User"));
    proxy.look(&store).await;
    assert!(knows());
    assert_eq!(user(&headers, "x-remote-user").as_deref(), Some("somebody"));
    let before = generation();
    proxy.look(&store).await;
    assert_eq!(generation(), before, "nothing has changed");
    api.set(PATH, told(&ca, "X-Other-User"));
    proxy.look(&store).await;
    assert_eq!(user(&headers, "x-remote-user"), None);
    assert_eq!(user(&headers, "x-other-user").as_deref(), Some("somebody"));
    // An unusable ConfigMap leaves the previous settings in place.
    api.set(PATH, told("no certificate", "X-Remote-User"));
    proxy.look(&store).await;
    assert_eq!(user(&headers, "x-other-user").as_deref(), Some("somebody"));
    // A front proxy that is switched off identifies no caller any more.
    api.set(PATH, json!({"data": {}}));
    proxy.look(&store).await;
    assert!(headers.names().is_none());
}
