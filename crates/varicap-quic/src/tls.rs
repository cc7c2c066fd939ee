//! TLS 1.3 as it is, with keys made from the seed of a connection.

use std::sync::Arc;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use ring::agreement::{EphemeralPrivateKey, PublicKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring as provider;
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, NamedGroup, SignatureScheme};
use varicap_units::Stream;

use crate::random;

/// The TLS configurations of both sides.
pub(crate) struct Tls {
    pub client: Arc<QuicClientConfig>,
    pub server: Arc<QuicServerConfig>,
}

impl Tls {
    /// With a key and a certificate from `stream`.
    pub(crate) fn new(stream: &mut Stream) -> Result<Tls, String> {
        let seed: [u8; 32] = random::bytes(stream);
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|error| error.to_string())?;
        let certificate = CertificateDer::from(certificate_of(&pair));
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from([PKCS8_OF_ED25519, &seed].concat()));
        let provider = Arc::new(CryptoProvider {
            cipher_suites: vec![provider::cipher_suite::TLS13_AES_128_GCM_SHA256],
            kx_groups: vec![&SeededX25519],
            secure_random: &Seeded,
            ..provider::default_provider()
        });
        let text = |error: Error| error.to_string();
        let verifier = Pinned { certificate: certificate.clone(), provider: provider.clone() };
        let mut client = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(text)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        client.resumption = Resumption::disabled();
        let mut server = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(text)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .map_err(text)?;
        server.send_tls13_tickets = 0;
        // Tools know how to decode this protocol behind TLS, and it carries streams of bytes.
        client.alpn_protocols = vec![ALPN.to_vec()];
        server.alpn_protocols = vec![ALPN.to_vec()];
        let client = QuicClientConfig::try_from(client).map_err(|error| error.to_string())?;
        let server = QuicServerConfig::try_from(server).map_err(|error| error.to_string())?;
        Ok(Tls { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// The application protocol: HTTP/0.9 over QUIC, as the interoperability tests of QUIC name it.
const ALPN: &[u8] = b"hq-interop";

/// The PKCS #8 prefix of an Ed25519 key, before its 32 bytes. Source: RFC 8410 §7.
const PKCS8_OF_ED25519: &[u8] =
    &[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The random bytes of the side that is being called.
#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        if random::fill_from_current(bytes) { Ok(()) } else { Err(GetRandomFailed) }
    }
}

/// Key exchange by X25519 with private keys of the side that is being called.
#[derive(Debug)]
struct SeededX25519;

impl SupportedKxGroup for SeededX25519 {
    #[expect(deprecated, reason = "there is no other way to give ring a private key")]
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = [0; 32];
        Seeded.fill(&mut bytes)?;
        let drawn = ring::test::rand::FixedSliceRandom { bytes: &bytes };
        let private = EphemeralPrivateKey::generate(&X25519, &drawn).map_err(|_| GetRandomFailed)?;
        let public = private.compute_public_key().map_err(|_| GetRandomFailed)?;
        Ok(Box::new(Exchange { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// A key exchange under way.
struct Exchange {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&X25519, peer);
        let agreed = agree_ephemeral(self.private, &peer, |secret| SharedSecret::from(secret));
        agreed.map_err(|_| Error::General("the keys of X25519 do not agree".to_owned()))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// Accepts the one certificate, and checks that the server has its key.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        found: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *found == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General("another certificate".to_owned()))
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// An element of DER: a tag, a length, and the parts.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let length = contents.len();
    debug_assert!(length < 1 << 16, "a certificate of {length} B");
    let mut element = vec![tag];
    match length {
        0..128 => element.push(length as u8),
        128..256 => element.extend([0x81, length as u8]),
        _ => element.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    element.extend(contents);
    element
}

/// A certificate of `pair` that it has signed itself. Source: RFC 5280 §4.1, RFC 8410 §3.
fn certificate_of(pair: &Ed25519KeyPair) -> Vec<u8> {
    const SEQUENCE: u8 = 0x30;
    const SET: u8 = 0x31;
    const BIT_STRING: u8 = 0x03;
    let algorithm = der(SEQUENCE, &[&[0x06, 0x03, 0x2b, 0x65, 0x70]]);
    let common_name = der(SEQUENCE, &[&[0x06, 0x03, 0x55, 0x04, 0x03], &der(0x0c, &[b"varicap"])]);
    let name = der(SEQUENCE, &[&der(SET, &[&common_name])]);
    let validity = der(SEQUENCE, &[&der(0x17, &[b"700101000000Z"]), &der(0x18, &[b"99991231235959Z"])]);
    let key = der(SEQUENCE, &[&algorithm, &der(BIT_STRING, &[&[0], pair.public_key().as_ref()])]);
    let version = der(0xa0, &[&der(0x02, &[&[2]])]);
    let serial = der(0x02, &[&[1]]);
    let signed = der(SEQUENCE, &[&version, &serial, &algorithm, &name, &validity, &name, &key]);
    let signature = pair.sign(&signed);
    der(SEQUENCE, &[&signed, &algorithm, &der(BIT_STRING, &[&[0], signature.as_ref()])])
}
