//! One message at a time between two tasks, or between this process and another one of the same executable.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as unix;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use tokio::runtime::Runtime;
use tokio::task::spawn;

use crate::channels::OrderedSum;
use crate::measure::{wrong, Measured, Stopwatch};

const SIZE: usize = 19;
const OF_CLIENT: &[u8; 11] = b"from client";
const OF_SERVER: &[u8; 11] = b"from server";

/// What this executable is called with to be the server of another process.
pub const SERVER_COMMAND: &str = "serve-echo";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
    Unix,
    UnixDatagram,
    Pipe,
    SharedMemory,
}

pub const TRANSPORTS: [(&str, Transport); 7] = [
    ("tcp", Transport::Tcp),
    ("udp", Transport::Udp),
    ("unix", Transport::Unix),
    ("unix_datagram", Transport::UnixDatagram),
    ("pipe", Transport::Pipe),
    ("shm_spin", Transport::SharedMemory),
    ("shm_sem", Transport::SharedMemory),
];

fn message(words: &[u8; 11], number: u64) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    bytes[..11].copy_from_slice(words);
    bytes[11..].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// The number in a message of this side.
fn number_in(bytes: &[u8], words: &[u8; 11]) -> io::Result<u64> {
    if bytes.len() != SIZE || &bytes[..11] != words {
        return Err(wrong(format!("a message of {} bytes is not one of the other side", bytes.len())));
    }
    Ok(u64::from_le_bytes(bytes[11..].try_into().expect("eight bytes are left")))
}

/// Sends and receives whole messages.
pub enum End {
    Tcp(TcpStream),
    Unix(UnixStream),
    Udp(UdpSocket),
    /// Answers the sender of the last message.
    UdpServer(UdpSocket, std::net::SocketAddr),
    UnixDatagram(UnixDatagram),
    Pipe(pipe::Receiver, pipe::Sender),
}

impl End {
    async fn receive(&mut self, into: &mut [u8; 64]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_exact(&mut into[..SIZE]).await,
            Self::Unix(stream) => stream.read_exact(&mut into[..SIZE]).await,
            Self::Pipe(from, _) => from.read_exact(&mut into[..SIZE]).await,
            Self::Udp(socket) => socket.recv(into).await,
            Self::UnixDatagram(socket) => socket.recv(into).await,
            Self::UdpServer(socket, sender) => {
                let (size, from) = socket.recv_from(into).await?;
                *sender = from;
                Ok(size)
            }
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes).await,
            Self::Unix(stream) => stream.write_all(bytes).await,
            Self::Pipe(_, to) => to.write_all(bytes).await,
            Self::Udp(socket) => socket.send(bytes).await.map(drop),
            Self::UnixDatagram(socket) => socket.send(bytes).await.map(drop),
            Self::UdpServer(socket, sender) => socket.send_to(bytes, *sender).await.map(drop),
        }
    }
}

/// Until the other side has ended.
async fn serve(mut end: End) -> io::Result<()> {
    let mut buffer = [0; 64];
    loop {
        let size = match end.receive(&mut buffer).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            received => received?,
        };
        let number = number_in(&buffer[..size], OF_CLIENT)?;
        end.send(&message(OF_SERVER, number)).await?;
    }
}

fn unix_name(who: &str) -> io::Result<unix::SocketAddr> {
    unix::SocketAddr::from_abstract_name(format!("coflux-lab-{who}"))
}

/// A server that listens: where, and what it accepts by.
enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener),
    Udp(UdpSocket),
    UnixDatagram(UnixDatagram),
}

/// `who` is the client: its process, which makes names that no other process has.
async fn listen(transport: Transport, who: &str) -> io::Result<(Listening, String)> {
    let local = (Ipv4Addr::LOCALHOST, 0);
    Ok(match transport {
        Transport::Tcp => {
            let listener = TcpListener::bind(local).await?;
            let port = listener.local_addr()?.port();
            (Listening::Tcp(listener), port.to_string())
        }
        Transport::Udp => {
            let socket = UdpSocket::bind(local).await?;
            let port = socket.local_addr()?.port();
            (Listening::Udp(socket), port.to_string())
        }
        Transport::Unix => {
            let listener = unix::UnixListener::bind_addr(&unix_name(&format!("{who}-server"))?)?;
            listener.set_nonblocking(true)?;
            (Listening::Unix(UnixListener::from_std(listener)?), String::new())
        }
        Transport::UnixDatagram | Transport::Pipe | Transport::SharedMemory => {
            let socket = unix::UnixDatagram::bind_addr(&unix_name(&format!("{who}-server"))?)?;
            socket.connect_addr(&unix_name(&format!("{who}-client"))?)?;
            socket.set_nonblocking(true)?;
            (Listening::UnixDatagram(UnixDatagram::from_std(socket)?), String::new())
        }
    })
}

async fn accept(listening: Listening) -> io::Result<End> {
    Ok(match listening {
        Listening::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            End::Tcp(stream)
        }
        Listening::Unix(listener) => End::Unix(listener.accept().await?.0),
        Listening::Udp(socket) => End::UdpServer(socket, (Ipv4Addr::LOCALHOST, 0).into()),
        Listening::UnixDatagram(socket) => End::UnixDatagram(socket),
    })
}

/// The client's socket for datagrams exists before its server, which connects to it.
fn client_socket(transport: Transport, who: &str) -> io::Result<Option<unix::UnixDatagram>> {
    if transport != Transport::UnixDatagram {
        return Ok(None);
    }
    let socket = unix::UnixDatagram::bind_addr(&unix_name(&format!("{who}-client"))?)?;
    socket.set_nonblocking(true)?;
    Ok(Some(socket))
}

async fn connect(transport: Transport, who: &str, port: &str, own: Option<unix::UnixDatagram>) -> io::Result<End> {
    let server = || Ok::<_, io::Error>((Ipv4Addr::LOCALHOST, port.parse::<u16>().map_err(|_| wrong("no port"))?));
    let name = unix_name(&format!("{who}-server"))?;
    Ok(match (transport, own) {
        (Transport::Tcp, _) => {
            let stream = TcpStream::connect(server()?).await?;
            stream.set_nodelay(true)?;
            End::Tcp(stream)
        }
        (Transport::Udp, _) => {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            socket.connect(server()?).await?;
            End::Udp(socket)
        }
        (_, Some(socket)) => {
            socket.connect_addr(&name)?;
            End::UnixDatagram(UnixDatagram::from_std(socket)?)
        }
        _ => {
            let stream = unix::UnixStream::connect_addr(&name)?;
            stream.set_nonblocking(true)?;
            End::Unix(UnixStream::from_std(stream)?)
        }
    })
}

/// The other process: it tells its port, and ends with its input.
pub fn serve_alone(rt: &Runtime, transport: Transport, who: &str) -> io::Result<()> {
    rt.block_on(async {
        if transport == Transport::Pipe {
            let descriptor = |path| File::options().read(true).write(true).open(path).map(OwnedFd::from);
            let from = pipe::Receiver::from_owned_fd(descriptor("/proc/self/fd/0")?)?;
            let to = pipe::Sender::from_owned_fd(descriptor("/proc/self/fd/1")?)?;
            return spawn(serve(End::Pipe(from, to))).await?;
        }
        std::thread::spawn(|| {
            let _ = io::stdin().read_to_end(&mut Vec::new());
            std::process::exit(0);
        });
        let (listening, port) = listen(transport, who).await?;
        println!("{port}");
        spawn(async { serve(accept(listening).await?).await }).await?
    })
}

/// The client's end, and the server's process where it has one.
pub struct Session {
    end: Option<End>,
    server: Option<Child>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn affinity() -> libc::cpu_set_t {
    // SAFETY: a cpu_set_t is plain data for which all zeroes is valid, and sched_getaffinity only writes to it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
        set
    }
}

/// Moves this thread to the CPUs that the process which starts it may not run on, where there are any.
fn move_beside(theirs: &libc::cpu_set_t) {
    let set = |cpus: &libc::cpu_set_t| unsafe {
        // SAFETY: the call only reads the set.
        libc::sched_setaffinity(0, std::mem::size_of_val(cpus), cpus) == 0
    };
    // SAFETY: as above; CPU_SET and CPU_CLR write within the set.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        (0..libc::CPU_SETSIZE as usize).for_each(|cpu| libc::CPU_SET(cpu, &mut all));
        if set(&all) {
            // What the machine has not and the container may not, the kernel has taken away.
            let mut left = affinity();
            (0..libc::CPU_SETSIZE as usize)
                .filter(|&cpu| libc::CPU_ISSET(cpu, theirs))
                .for_each(|cpu| libc::CPU_CLR(cpu, &mut left));
            if !set(&left) {
                set(theirs);
            }
        }
    }
}

impl Session {
    pub fn new(rt: &Runtime, transport: Transport, flavor: &str, processes: u64) -> io::Result<Self> {
        let who = std::process::id().to_string();
        if processes == 2 {
            return Self::with_a_process(rt, transport, flavor, &who);
        }
        let end = rt.block_on(async {
            if transport == Transport::Pipe {
                let ((to_server, from_client), (to_client, from_server)) = (pipe::pipe()?, pipe::pipe()?);
                spawn(serve(End::Pipe(from_client, to_client)));
                return Ok(End::Pipe(from_server, to_server));
            }
            let own = client_socket(transport, &who)?;
            let (listening, port) = listen(transport, &who).await?;
            spawn(async { serve(accept(listening).await?).await });
            connect(transport, &who, &port, own).await
        });
        end.map(|end| Self { end: Some(end), server: None })
    }

    fn with_a_process(rt: &Runtime, transport: Transport, flavor: &str, who: &str) -> io::Result<Self> {
        let own = client_socket(transport, who)?;
        let (name, _) = TRANSPORTS.iter().find(|(_, each)| *each == transport).expect("it was chosen among them");
        let mut command = Command::new(std::env::current_exe()?);
        command.args([SERVER_COMMAND, flavor, name, who]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let theirs = affinity();
        // SAFETY: it calls the system for CPUs and nothing else.
        let mut server = unsafe {
            command.pre_exec(move || {
                move_beside(&theirs);
                Ok(())
            })
        }
        .spawn()?;
        let output = server.stdout.take().expect("stdout is piped");
        let mut session = Self { end: None, server: Some(server) };
        session.end = Some(if transport == Transport::Pipe {
            let input = session.server.as_mut().and_then(|server| server.stdin.take()).expect("stdin is piped");
            let _guard = rt.enter();
            End::Pipe(
                pipe::Receiver::from_owned_fd(OwnedFd::from(output))?,
                pipe::Sender::from_owned_fd(OwnedFd::from(input))?,
            )
        } else {
            let mut port = String::new();
            if BufReader::new(output).read_line(&mut port)? == 0 {
                return Err(wrong("the server did not begin"));
            }
            rt.block_on(connect(transport, who, port.trim(), own))?
        });
        Ok(session)
    }

    /// One pass over the connection that all of them share.
    pub fn pass(&mut self, rt: &Runtime, rounds: u64) -> io::Result<Measured> {
        let mut end = self.end.take().expect("a pass has failed before");
        let (end, measured) = rt.block_on(rt.spawn(async move {
            let watch = Stopwatch::start();
            let mut sum = OrderedSum::default();
            let mut buffer = [0; 64];
            for number in 1..=rounds {
                end.send(&message(OF_CLIENT, number)).await?;
                let size = end.receive(&mut buffer).await?;
                let came = number_in(&buffer[..size], OF_SERVER)?;
                if came != number {
                    return Err(wrong(format!("the answer to request {came} came for {number}")));
                }
                sum.add(came);
            }
            Ok((end, watch.stop().answer(sum.sum)))
        }))??;
        self.end = Some(end);
        Ok(measured)
    }
}
