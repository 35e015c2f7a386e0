//! TLS: who may be trusted, and how a handshake's failure is told.

use std::io;
use std::sync::Arc;

use rhumb_url::Url;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{Failure, SetupError};

/// Sessions that are remembered, so that a host's next turn needs no full
/// handshake.
const REMEMBERED_SESSIONS: usize = 1024;

pub(crate) fn connector(verify: bool) -> Result<TlsConnector, SetupError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Tls(error.to_string()))?;
    let mut config = if verify {
        let roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::in_memory_sessions(REMEMBERED_SESSIONS);
    Ok(TlsConnector::from(Arc::new(config)))
}

pub(crate) async fn handshake(
    connector: &TlsConnector,
    url: &Url,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, Failure> {
    let name = url.name().trim_matches(['[', ']']);
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| Failure::Tls(format!("`{name}` is not a name a certificate can have")))?;
    connector.connect(name, stream).await.map_err(failure)
}

/// rustls hides its reasons in an I/O error; one without a reason inside is
/// the network's.
fn failure(error: io::Error) -> Failure {
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        Some(reason) => Failure::Tls(reason.to_string()),
        None => Failure::Connect(format!("during the TLS handshake: {error}")),
    }
}

/// Takes every certificate; the signature must still be the certificate's.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
