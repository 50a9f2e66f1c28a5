//! Servers of many connections, and reads of a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{spawn, spawn_blocking};

use crate::channels::OrderedSum;
use crate::measure::{rss_bytes, wrong, Measured, Stopwatch};

const BUFFER_BYTES: usize = 4_096;

pub type Figures = BTreeMap<String, f64>;

async fn serve_echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; BUFFER_BYTES];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            size => stream.write_all(&buffer[..size]).await?,
        }
    }
}

async fn serve_one_byte(mut stream: TcpStream) -> io::Result<()> {
    let byte = stream.read_u8().await?;
    stream.write_u8(byte.wrapping_add(1)).await
}

/// A server of this process under the load of `lab_load`.
pub struct UnderLoad {
    client: Child,
    /// Both for a pass, which hands them to a thread that may wait.
    pipes: Option<(ChildStdin, BufReader<ChildStdout>)>,
    pub figures: Figures,
    /// Those that stay open behind a pass.
    connections: u64,
    /// What this process had in memory before they came.
    bytes_before: u64,
}

impl Drop for UnderLoad {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

fn load_program() -> io::Result<std::path::PathBuf> {
    match std::env::var_os("LAB_LOAD") {
        Some(told) => Ok(told.into()),
        // From cargo/io/release to bin.
        None => Ok(std::env::current_exe()?.with_file_name("../../../bin/lab_load")),
    }
}

impl UnderLoad {
    /// `options` are those of `lab_load`, but for the port.
    pub fn new(rt: &Runtime, churn: bool, connections: u64, options: Vec<String>) -> io::Result<Self> {
        let bytes_before = rss_bytes();
        let listener = rt.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let port = listener.local_addr()?.port().to_string();
        rt.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("accept");
                if churn {
                    spawn(serve_one_byte(stream));
                } else {
                    spawn(serve_echo(stream));
                }
            }
        });
        let mut client = Command::new(load_program()?)
            .args([if churn { "churn" } else { "echo" }, "--port", &port])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = client.stdin.take().expect("stdin is piped");
        let reports = BufReader::new(client.stdout.take().expect("stdout is piped"));
        let mut load =
            Self { client, pipes: Some((orders, reports)), figures: Figures::new(), connections, bytes_before };
        if load.line(rt, "")? != "ready\n" {
            return Err(wrong("the load did not connect"));
        }
        Ok(load)
    }

    /// What the client says to an order. The scheduler runs meanwhile, also that of one thread.
    fn line(&mut self, rt: &Runtime, order: &'static str) -> io::Result<String> {
        let (mut orders, mut reports) = self.pipes.take().expect("a pass has failed before");
        let (pipes, line) = rt.block_on(rt.spawn_blocking(move || {
            orders.write_all(order.as_bytes())?;
            let mut line = String::new();
            reports.read_line(&mut line)?;
            Ok::<_, io::Error>(((orders, reports), line))
        }))??;
        self.pipes = Some(pipes);
        Ok(line)
    }

    pub fn pass(&mut self, rt: &Runtime) -> io::Result<Measured> {
        let watch = Stopwatch::start();
        let line = self.line(rt, "go\n")?;
        let measured = watch.stop();
        let said: Value = serde_json::from_str(&line).map_err(|_| wrong("the load failed, and has said why"))?;
        let answer = said["answer"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
        if let Some(figures) = said["figures"].as_object() {
            self.figures = figures.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect();
        }
        self.tell_connections();
        Ok(measured.answer(answer))
    }

    /// The memory that this process has more of, for each connection that waits for its next request, where they are so
    /// many that pages tell them.
    fn tell_connections(&mut self) {
        const TOLD_FROM: u64 = 1_000;
        if self.connections >= TOLD_FROM {
            let more = rss_bytes().saturating_sub(self.bytes_before) as f64;
            self.figures.insert("connection_bytes".into(), more / self.connections as f64);
        }
    }
}

/// The numbers of io_socket; `requests` are those of each connection.
#[derive(Clone, Copy)]
pub struct SocketWork {
    pub connections: u64,
    pub requests: u64,
    pub request_bytes: usize,
    pub response_bytes: usize,
}

fn check(message: &[u8], letter: u8, number: u64) -> io::Result<()> {
    if message.last() != Some(&letter) || message[..8] != number.to_le_bytes() {
        return Err(wrong(format!("another message came in place of number {number}")));
    }
    Ok(())
}

/// Reads until `size` bytes are there, into a buffer that could hold more. Returns false at the end of the stream.
async fn read_whole(stream: &mut TcpStream, buffer: &mut [u8; BUFFER_BYTES], size: usize) -> io::Result<bool> {
    let mut have = 0;
    while have < size {
        match stream.read(&mut buffer[have..]).await? {
            0 if have == 0 => return Ok(false),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => have += more,
        }
    }
    if have > size {
        return Err(wrong(format!("{have} bytes came in place of {size}")));
    }
    Ok(true)
}

impl SocketWork {
    async fn serve(self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut buffer = [0; BUFFER_BYTES];
        let mut response = vec![b'r'; self.response_bytes];
        let mut number = 0u64;
        while read_whole(&mut stream, &mut buffer, self.request_bytes).await? {
            number += 1;
            check(&buffer[..self.request_bytes], b'q', number)?;
            response[..8].copy_from_slice(&number.to_le_bytes());
            stream.write_all(&response).await?;
        }
        Ok(())
    }

    async fn serve_all(self, listener: TcpListener) -> io::Result<()> {
        let mut accepted = Vec::new();
        for _ in 0..self.connections {
            accepted.push(listener.accept().await?.0);
        }
        let tasks: Vec<_> = accepted.into_iter().map(|stream| spawn(self.serve(stream))).collect();
        for task in tasks {
            task.await??;
        }
        Ok(())
    }

    async fn ask(self, server: SocketAddr) -> io::Result<u64> {
        let mut stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let mut buffer = [0; BUFFER_BYTES];
        let mut request = vec![b'q'; self.request_bytes];
        let mut sum = OrderedSum::default();
        for number in 1..=self.requests {
            request[..8].copy_from_slice(&number.to_le_bytes());
            stream.write_all(&request).await?;
            if !read_whole(&mut stream, &mut buffer, self.response_bytes).await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            check(&buffer[..self.response_bytes], b'r', number)?;
            sum.add(number);
        }
        Ok(sum.sum)
    }

    async fn ask_all(self, server: SocketAddr) -> io::Result<u64> {
        let tasks: Vec<_> = (0..self.connections).map(|_| spawn(self.ask(server))).collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await??;
        }
        Ok(sum)
    }

    /// Both sides on the workers of one scheduler.
    pub fn on_one(self, rt: &Runtime) -> io::Result<Measured> {
        let listener = rt.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let server = listener.local_addr()?;
        rt.block_on(rt.spawn(async move {
            let watch = Stopwatch::start();
            let served = spawn(self.serve_all(listener));
            let sum = self.ask_all(server).await?;
            served.await??;
            Ok(watch.stop().answer(sum))
        }))?
    }

    /// The clients on a scheduler of one thread, as the servers are.
    pub fn on_two(self, rt: &Runtime) -> io::Result<Measured> {
        let listener = rt.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let server = listener.local_addr()?;
        let watch = Stopwatch::start();
        let clients = thread::spawn(move || {
            let own = Builder::new_current_thread().enable_io().build()?;
            own.block_on(own.spawn(self.ask_all(server)))?
        });
        rt.block_on(rt.spawn(self.serve_all(listener)))??;
        let sum = clients.join().expect("a client panicked")?;
        Ok(watch.stop().answer(sum))
    }
}

/// A file in which each word is its own number, and which blocks of it are read.
#[derive(Clone)]
pub struct FileWork {
    file: Arc<File>,
    bytes: u64,
    blocks: u64,
    reads: u64,
    random: bool,
}

impl FileWork {
    /// The file has no name any more when this returns.
    pub fn new(bytes: u64, mebibytes: u64, reads: u64, random: bool) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("coflux-lab-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        for mebibyte in 0..mebibytes {
            let first = mebibyte << 17;
            let words: Vec<u8> = (first..first + (1 << 17)).flat_map(u64::to_le_bytes).collect();
            file.write_all(&words)?;
        }
        Ok(Self { file: Arc::new(file), bytes, blocks: (mebibytes << 20) / bytes, reads, random })
    }

    fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        let (blocks, bytes, random, mut state) = (self.blocks, self.bytes, self.random, 1u64);
        (0..self.reads).map(move |read| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (read, (if random { state >> 33 } else { read }) % blocks * bytes)
        })
    }

    pub async fn by_file(self) -> io::Result<Measured> {
        let mut file = tokio::fs::File::from_std(self.file.try_clone()?);
        let mut block = vec![0; self.bytes as usize];
        let watch = Stopwatch::start();
        let mut sum = 0u64;
        for (read, place) in self.places() {
            file.seek(SeekFrom::Start(place)).await?;
            file.read_exact(&mut block).await?;
            sum = sum.wrapping_add((read + 1).wrapping_mul(ends_of(&block)));
        }
        Ok(watch.stop().answer(sum))
    }

    pub async fn by_blocking(self) -> io::Result<Measured> {
        let mut block = vec![0; self.bytes as usize];
        let watch = Stopwatch::start();
        let mut sum = 0u64;
        for (read, place) in self.places() {
            let file = Arc::clone(&self.file);
            block = spawn_blocking(move || file.read_exact_at(&mut block, place).map(|()| block)).await??;
            sum = sum.wrapping_add((read + 1).wrapping_mul(ends_of(&block)));
        }
        Ok(watch.stop().answer(sum))
    }
}

fn ends_of(block: &[u8]) -> u64 {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("a word has eight bytes"));
    word(&block[..8]).wrapping_add(word(&block[block.len() - 8..]))
}
