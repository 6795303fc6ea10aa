//! Certificates: the right one is accepted, every other one is an error that the owner of the site can act on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;

use super::*;

/// An authority that nobody but these tests knows.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A site on loopback with a certificate for `name`; it answers everything with `<a/>`.
fn start(
    authority: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    is_expired: bool,
) -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if is_expired {
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    }
    let certificate = params.signed_by(&key, authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::Stream::new(&mut connection, &mut socket);
            // A client that does not like the certificate goes away here.
            if stream.read(&mut [0; 4_096]).is_ok() {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<a/>");
            }
        }
    });
    address
}

/// Lets a child fetch `url`, trusting only the certificates in `store` beside the ones that come with the program.
fn fetch_in_child(url: &str, store: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "fetching::secure::a_child_with_its_own_certificates",
            "--nocapture",
        ])
        .env("SSL_CERT_FILE", store)
        .env_remove("SSL_CERT_DIR")
        .env("SITEBELL_TEST_SECURE", url)
        .output()
        .unwrap()
}

/// The other half of the tests here: does nothing unless started by them.
#[tokio::test]
async fn a_child_with_its_own_certificates() {
    let Ok(target) = std::env::var("SITEBELL_TEST_SECURE") else {
        return;
    };
    let names = Names::new([("secure.example", &["127.0.0.1"])]);
    let fetcher = Fetcher::with_lookup(settings(), names).unwrap();
    match fetcher.get(document(target.parse().unwrap())).await {
        Ok(fetched) => println!("body: {}", text(fetched).await),
        Err(error) => println!("error: {error}"),
    }
}

#[test]
fn only_a_certificate_that_someone_trusted_vouches_for_is_accepted() {
    let authority = authority();
    let good = start(&authority, "secure.example", false);
    let expired = start(&authority, "secure.example", true);
    let folder = tempfile::tempdir().unwrap();
    let (store, no_store) = (
        folder.path().join("authorities.pem"),
        folder.path().join("missing.pem"),
    );
    std::fs::write(&store, authority.pem()).unwrap();
    let told = "could not connect to secure.example securely: its certificate";
    let cases = [
        (good, "secure.example", &store, "body: <a/>".to_owned()),
        (
            good,
            "secure.example",
            &no_store,
            format!("error: {told} was not issued by an authority that browsers trust"),
        ),
        (
            good,
            "127.0.0.1",
            &store,
            "its certificate is for another name".to_owned(),
        ),
        (
            expired,
            "secure.example",
            &store,
            format!("error: {told} has expired"),
        ),
    ];
    for (address, host, store, expected) in cases {
        let output = fetch_in_child(&format!("https://{host}:{}/", address.port()), store);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains(&expected), "{expected}: {shown}");
    }
}
