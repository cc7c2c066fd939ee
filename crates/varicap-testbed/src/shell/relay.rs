//! From the far end of the emulated link to the network outside, without any privilege there.
//!
//! ```text
//! command ══ link ══► TUN ──► namespace with every address ──► relay ──► sockets of the network outside
//! ```
//!
//! The far end is a namespace that accepts packets for any address as its own. When a connection (or a first datagram)
//! arrives there, a socket is opened outside first: only if that succeeds does the far end listen. Then bytes are
//! copied between the two. TCP over the link therefore ends at the relay, in this kernel.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::{Step, TestbedError};
use crate::netns::Namespace;
use crate::packet::ipv4::{Headers, TCP};
use crate::sys;

/// The protocol number of UDP.
const UDP: u8 = 17;
/// The time in which a local service must accept a connection; otherwise it counts as busy.
const LOCAL_PATIENCE: Duration = Duration::from_millis(50);
/// The pause after which datagrams between two ports count as a new conversation.
const UDP_PAUSE: Duration = Duration::from_secs(30);
/// The maximum number of connections opened outside that the far end has not accepted; further SYNs are lost.
const MOST_WAITING: usize = 1024;
/// Largest datagram [B].
const LARGEST_DATAGRAM: usize = 65_536;

/// The amount copied at a time [B].
const CHUNK: usize = 256 << 10;
/// The interval at which the relay's connections are looked at.
const SAMPLE: Duration = Duration::from_millis(10);

/// Both ends of a connection, as the far end sees it: the command's, then the one that it wants to reach.
type Ends = (SocketAddrV4, SocketAddrV4);

/// Where packets leave the emulation: opens connections outside before the far end sees them. It lives on the
/// emulator's thread, in the network outside.
pub struct Gate {
    /// The address that stands for the loopback address outside.
    outside: Ipv4Addr,
    shared: Arc<Shared>,
    requests: Sender<Request>,
}

/// State shared by the gate and the far end.
#[derive(Default)]
struct Shared {
    /// Opened outside for connections that the far end has not accepted yet.
    waiting: Mutex<HashMap<Ends, TcpStream>>,
    /// Conversations by UDP.
    conversations: Mutex<HashMap<Ends, ()>>,
    /// The connections whose bytes are being copied: from which socket to which.
    copied: Mutex<Vec<(Arc<TcpStream>, Arc<TcpStream>)>>,
    /// How often there was something to copy.
    busy: AtomicU64,
    /// How often of these the next network had already sent everything while bytes waited to be copied.
    slow: AtomicU64,
}

/// How well the relay keeps up.
#[derive(Clone)]
pub struct Relayed(Arc<Shared>);

impl Relayed {
    /// The fault of the relay, if it was slower than the networks on both of its sides.
    pub fn fault(&self) -> Option<String> {
        /// The share of samples in which it may be slow, and the number of them that says nothing yet.
        const MOST_SLOW: f64 = 0.05;
        const TOO_FEW: u64 = 10;
        let (busy, slow) = (self.0.busy.load(Ordering::Relaxed), self.0.slow.load(Ordering::Relaxed));
        let is_slow = slow >= TOO_FEW && slow as f64 > MOST_SLOW * busy as f64;
        is_slow.then(|| {
            format!(
                "the relay was the bottleneck, not the link: {slow} of {busy} times bytes waited for it while the \
                 next network had nothing to send"
            )
        })
    }
}

/// A request from the gate to the far end, to be fulfilled before the gate lets a packet through.
enum Request {
    Listen(u16, Sender<()>),
    Close(u16, Sender<()>),
    Converse(Ends, UdpSocket, Sender<()>),
}

impl Gate {
    /// The far end is `namespace`, where `outside` stands for the loopback address of the network that this thread is
    /// in.
    pub fn new(namespace: &Arc<Namespace>, outside: Ipv4Addr) -> Result<Gate, TestbedError> {
        let (requests, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let (inside, known) = (namespace.clone(), shared.clone());
        let serve = move || {
            if inside.enter().is_ok() {
                FarEnd { shared: known, listeners: HashMap::new() }.serve(&receiver);
            }
        };
        thread::Builder::new().name("relay".to_owned()).spawn(serve).step("start a thread")?;
        let observed = shared.clone();
        let watch = move || {
            loop {
                thread::sleep(SAMPLE);
                observed.sample();
            }
        };
        thread::Builder::new().name("watch".to_owned()).spawn(watch).step("start a thread")?;
        Ok(Gate { outside, shared, requests })
    }

    /// How well the relay keeps up, also while it is at work.
    pub fn relayed(&self) -> Relayed {
        Relayed(self.shared.clone())
    }

    /// Prepares the far end for a packet that is about to reach it.
    pub fn on_packet(&self, headers: &Headers) {
        let from = SocketAddrV4::new(headers.source.into(), headers.source_port);
        let to = SocketAddrV4::new(headers.destination.into(), headers.destination_port);
        match headers.protocol {
            TCP if headers.is_syn && headers.acknowledged.is_none() => self.on_connection((from, to)),
            UDP => self.on_datagram((from, to)),
            _ => {}
        }
    }

    fn on_connection(&self, ends: Ends) {
        let mut waiting = lock(&self.shared.waiting);
        if waiting.contains_key(&ends) {
            return;
        }
        if waiting.len() >= MOST_WAITING {
            waiting.clear();
        }
        match self.connect(ends.1) {
            Ok(stream) => {
                waiting.insert(ends, stream);
                drop(waiting);
                self.ask(|done| Request::Listen(ends.1.port(), done));
            }
            // Nothing listens outside, so nothing may listen at the far end: its kernel then refuses the connection.
            Err(_) => {
                drop(waiting);
                self.ask(|done| Request::Close(ends.1.port(), done));
            }
        }
    }

    fn connect(&self, to: SocketAddrV4) -> io::Result<TcpStream> {
        if *to.ip() != self.outside {
            // Whether it succeeds shows when bytes are copied.
            let socket = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
            sys::connect(&socket, to.ip().octets(), to.port())?;
            return Ok(socket.into());
        }
        let [v4, v6] = loopback(to.port());
        TcpStream::connect_timeout(&v4, LOCAL_PATIENCE)
            .or_else(|error| TcpStream::connect_timeout(&v6, LOCAL_PATIENCE).map_err(|_| error))
    }

    fn on_datagram(&self, ends: Ends) {
        if lock(&self.shared.conversations).contains_key(&ends) {
            return;
        }
        let to =
            if *ends.1.ip() == self.outside { loopback(ends.1.port())[0] } else { SocketAddr::V4(ends.1) };
        let open = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect(to)?;
            Ok(socket)
        };
        let Ok(socket) = open() else { return };
        lock(&self.shared.conversations).insert(ends, ());
        self.ask(|done| Request::Converse(ends, socket, done));
    }

    /// Sends a request to the far end and waits until it is fulfilled.
    fn ask(&self, request: impl FnOnce(Sender<()>) -> Request) {
        let (done, answer) = channel();
        if self.requests.send(request(done)).is_ok() {
            let _ = answer.recv();
        }
    }
}

/// The far end, on a thread in its namespace.
struct FarEnd {
    shared: Arc<Shared>,
    listeners: HashMap<u16, TcpListener>,
}

impl FarEnd {
    /// Fulfils the gate's requests until the gate is dropped.
    fn serve(&mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            let done = match request {
                Request::Listen(port, done) => {
                    let _ = self.listen(port);
                    done
                }
                Request::Close(port, done) => {
                    if let Some(listener) = self.listeners.remove(&port) {
                        let _ = sys::end_all(&listener);
                    }
                    done
                }
                Request::Converse(ends, socket, done) => {
                    if self.converse(ends, socket).is_err() {
                        lock(&self.shared.conversations).remove(&ends);
                    }
                    done
                }
            };
            let _ = done.send(());
        }
    }

    fn listen(&mut self, port: u16) -> io::Result<()> {
        if self.listeners.contains_key(&port) {
            return Ok(());
        }
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
        self.listeners.insert(port, listener.try_clone()?);
        let shared = self.shared.clone();
        spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                shared.join(near);
            }
        })
    }

    /// Copies datagrams both ways until both are silent.
    fn converse(&self, ends: Ends, outside: UdpSocket) -> io::Result<()> {
        let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        sys::bind(&socket, ends.1.ip().octets(), ends.1.port())?;
        sys::connect(&socket, ends.0.ip().octets(), ends.0.port())?;
        let near = UdpSocket::from(socket);
        for socket in [&near, &outside] {
            socket.set_nonblocking(false)?;
            socket.set_read_timeout(Some(UDP_PAUSE))?;
        }
        let (back_from, back_to) = (outside.try_clone()?, near.try_clone()?);
        let shared = self.shared.clone();
        spawn(move || copy_datagrams(&back_from, &back_to))?;
        spawn(move || {
            copy_datagrams(&near, &outside);
            // The next datagram begins another conversation.
            lock(&shared.conversations).remove(&ends);
        })
    }
}

impl Shared {
    /// Looks at every connection: are there bytes to be copied, and does the network that they go to wait for them?
    fn sample(&self) {
        for (from, to) in &*lock(&self.copied) {
            let (waiting, unsent) = (sys::unread(&**from).unwrap_or(0), sys::unsent(&**to).unwrap_or(0));
            if waiting + unsent > 0 {
                self.busy.fetch_add(1, Ordering::Relaxed);
                self.slow.fetch_add(u64::from(waiting > 0 && unsent == 0), Ordering::Relaxed);
            }
        }
    }

    /// Copies bytes until `from` ends, as [`copy_stream`] does, and is observed meanwhile.
    fn copy(&self, from: &Arc<TcpStream>, to: &Arc<TcpStream>) {
        lock(&self.copied).push((from.clone(), to.clone()));
        copy_stream(from, to);
        lock(&self.copied).retain(|(known, _)| !Arc::ptr_eq(known, from));
    }

    /// Joins a connection that the far end has accepted to the one that was opened outside for it.
    fn join(self: &Arc<Self>, near: TcpStream) {
        let ends = || -> io::Result<Option<Ends>> {
            let (SocketAddr::V4(from), SocketAddr::V4(to)) = (near.peer_addr()?, near.local_addr()?) else {
                return Ok(None);
            };
            Ok(Some((from, to)))
        };
        let outside = ends().ok().flatten().and_then(|ends| lock(&self.waiting).remove(&ends));
        let Some(outside) = outside else {
            let _ = sys::reset(&near);
            return;
        };
        let begin = || -> io::Result<()> {
            for stream in [&near, &outside] {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
            }
            Ok(())
        };
        if begin().is_err() {
            return;
        }
        let (near, outside) = (Arc::new(near), Arc::new(outside));
        for (from, to) in [(outside.clone(), near.clone()), (near, outside)] {
            let shared = self.clone();
            let _ = spawn(move || shared.copy(&from, &to));
        }
    }
}

/// Copies bytes until `from` ends, then ends `to` as well; a failure of either resets both.
fn copy_stream(from: &TcpStream, to: &TcpStream) {
    if copy_bytes(from, to).is_ok() {
        let _ = sys::end_sending(to);
        return;
    }
    for stream in [from, to] {
        let _ = sys::reset(stream);
        let _ = sys::end_all(stream);
    }
}

/// Copies bytes until `from` ends. Not `io::copy`: splicing keeps the buffers of `from` occupied, so that a service on the
/// loopback interface sees a closed window most of the time.
fn copy_bytes(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(&buffer[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn copy_datagrams(from: &UdpSocket, to: &UdpSocket) {
    let mut buffer = vec![0; LARGEST_DATAGRAM];
    loop {
        match from.recv(&mut buffer) {
            Ok(length) => drop(to.send(&buffer[..length])),
            // Nothing listens there yet; the datagram is lost.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

/// The services of the network outside that listen on `port`.
fn loopback(port: u16) -> [SocketAddr; 2] {
    [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(1 << 18).spawn(work).map(drop)
}

/// Locks a mutex even if another thread panicked with it: only single insertions and removals are made under it, so the
/// value is consistent all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
