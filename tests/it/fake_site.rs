//! A website on loopback that does as it is told, and remembers who came.
//!
//! ```ignore
//! let site = FakeSite::start();
//! site.serve("/a.xml", Reply::xml("<urlset/>").etag("\"1\""));
//! fetch(site.url("/a.xml"));
//! assert_eq!(site.requests()[0].header("user-agent"), Some("Sitebell/…"));
//! ```
//!
//! A hand-written HTTP/1.1 server on threads of its own, so that it also answers while a test waits for a child process.
//! Replies may be set at any time. A reply with an `ETag` answers 304 by itself when the request names this tag. Paths
//! that nobody set are 404. To wait for something, hold a reply behind a [`Gate`]; do not sleep.
#![allow(dead_code)] // Each test uses the part that it needs.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use url::Url;

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    /// Path and query.
    pub path: String,
    /// In the order in which they were sent, names as they were spelt.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub at: Instant,
    /// Counted from one: requests with the same number shared a connection.
    pub connection: usize,
}

impl Seen {
    /// The first field of this name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.header_bytes(name)
            .and_then(|value| std::str::from_utf8(value).ok())
    }

    pub fn header_bytes(&self, name: &str) -> Option<&[u8]> {
        let mut fields = self.headers.iter();
        fields
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }
}

/// What a path answers.
#[derive(Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    how: Delivery,
    gate: Option<Gate>,
}

/// How the bytes of a reply are sent.
#[derive(Clone)]
enum Delivery {
    Whole,
    Chunked,
    WithoutLength,
    Drip { size: usize, every: Duration },
    CutAfter(usize),
    StallAfter(usize),
    BadChunk,
    Endless,
    Silence,
    HangUp,
    Raw,
}

impl Reply {
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let reply = Self {
            status,
            headers: vec![],
            body: body.into(),
            how: Delivery::Whole,
            gate: None,
        };
        if content_type.is_empty() {
            reply
        } else {
            reply.header("Content-Type", content_type)
        }
    }

    pub fn xml(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/xml", body)
    }

    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/plain; charset=utf-8", body)
    }

    /// Only a status, without a body.
    pub fn status(status: u16) -> Self {
        Self::new(status, "", "")
    }

    pub fn redirect(status: u16, to: impl AsRef<str>) -> Self {
        Self::status(status).header("Location", to.as_ref())
    }

    /// Accepts the request and never answers.
    pub fn silence() -> Self {
        Self::status(200).delivered(Delivery::Silence)
    }

    /// Closes the connection instead of answering.
    pub fn hang_up() -> Self {
        Self::status(200).delivered(Delivery::HangUp)
    }

    /// Exactly these bytes, head and all, and then closes.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "", bytes).delivered(Delivery::Raw)
    }

    /// Adds a field.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn etag(self, tag: impl AsRef<[u8]>) -> Self {
        self.header("ETag", tag)
    }

    pub fn last_modified(self, date: &str) -> Self {
        self.header("Last-Modified", date)
    }

    pub fn retry_after(self, value: impl ToString) -> Self {
        self.header("Retry-After", value.to_string())
    }

    /// Compresses the body and says so.
    pub fn gzip(mut self) -> Self {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&self.body).unwrap();
        self.body = encoder.finish().unwrap();
        self.header("Content-Encoding", "gzip")
    }

    pub fn chunked(self) -> Self {
        self.delivered(Delivery::Chunked)
    }

    /// As HTTP/1.0 did: the end of the connection is the end of the body.
    pub fn without_length(self) -> Self {
        self.delivered(Delivery::WithoutLength)
    }

    /// A few bytes at a time.
    pub fn drip(self, size: usize, every: Duration) -> Self {
        self.delivered(Delivery::Drip { size, every })
    }

    /// Promises the whole body, sends so many bytes of it and closes.
    pub fn cut_after(self, bytes: usize) -> Self {
        self.delivered(Delivery::CutAfter(bytes))
    }

    /// Promises the whole body, sends so many bytes of it and falls silent.
    pub fn stall_after(self, bytes: usize) -> Self {
        self.delivered(Delivery::StallAfter(bytes))
    }

    /// The body, then garbage where the next chunk should be.
    pub fn bad_chunk(self) -> Self {
        self.delivered(Delivery::BadChunk)
    }

    /// The body, again and again.
    pub fn endless(self) -> Self {
        self.delivered(Delivery::Endless)
    }

    /// Answers only once the gate is open.
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    fn delivered(mut self, how: Delivery) -> Self {
        self.how = how;
        self
    }
}

/// Holds replies back until a test opens it.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut is_open = self.0.0.lock().unwrap();
        while !*is_open {
            is_open = self.0.1.wait(is_open).unwrap();
        }
    }
}

type Handler = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;

#[derive(Default)]
struct State {
    once: Mutex<HashMap<String, VecDeque<Reply>>>,
    always: Mutex<HashMap<String, Arc<Handler>>>,
    folder: Mutex<Option<PathBuf>>,
    seen: Mutex<Vec<Seen>>,
    /// How many these are, for whoever waits for them.
    count: watch::Sender<usize>,
    connections: AtomicUsize,
    is_closing: AtomicBool,
}

/// A running site; it ends when dropped.
pub struct FakeSite {
    address: SocketAddr,
    state: Arc<State>,
}

impl FakeSite {
    /// A site on 127.0.0.1 and a free port.
    pub fn start() -> Self {
        Self::start_on("127.0.0.1")
    }

    /// A site on another loopback address (all of 127.0.0.0/8 is there on Linux): another host, for most purposes.
    pub fn start_on(address: &str) -> Self {
        Self::try_start_on(address, 0).unwrap()
    }

    /// A site on a given port, which may be taken.
    pub fn try_start_on(address: &str, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((address, port))?;
        let site = Self {
            address: listener.local_addr()?,
            state: Arc::default(),
        };
        let state = site.state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if state.is_closing.load(Ordering::SeqCst) {
                    break;
                }
                let connection = state.connections.fetch_add(1, Ordering::SeqCst) + 1;
                let state = state.clone();
                // A client that goes away in the middle is an everyday thing.
                thread::spawn(move || state.converse(&stream, connection).ok());
            }
        });
        Ok(site)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self, path: &str) -> Url {
        self.url_as(&self.address.ip().to_string(), path)
    }

    /// The same site under a host name, for tests that bring their own resolver.
    pub fn url_as(&self, host: &str, path: &str) -> Url {
        Url::parse(&format!("http://{host}:{}{path}", self.port())).unwrap()
    }

    /// From now on this path answers so. With a query in it only this query does, without one all do.
    pub fn serve(&self, path: &str, reply: Reply) {
        self.serve_with(path, move |_| reply.clone());
    }

    /// Paths that nobody set are files of this folder from now on.
    pub fn serve_folder(&self, folder: &Path) {
        *self.state.folder.lock().unwrap() = Some(folder.to_owned());
    }

    /// The answer depends on the request.
    pub fn serve_with(&self, path: &str, handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) {
        self.state
            .always
            .lock()
            .unwrap()
            .insert(path.to_owned(), Arc::new(Box::new(handler)));
    }

    /// One answer that comes before what the path answers otherwise; several form a queue.
    pub fn serve_once(&self, path: &str, reply: Reply) {
        self.state
            .once
            .lock()
            .unwrap()
            .entry(path.to_owned())
            .or_default()
            .push_back(reply);
    }

    /// Back to 404.
    pub fn remove(&self, path: &str) {
        self.state.always.lock().unwrap().remove(path);
        self.state.once.lock().unwrap().remove(path);
    }

    /// All requests so far, in order.
    pub fn requests(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    /// The requests for one path, with whatever query.
    pub fn requests_to(&self, path: &str) -> Vec<Seen> {
        let mut seen = self.requests();
        seen.retain(|seen| seen.path.split('?').next() == Some(path));
        seen
    }

    /// The paths that were asked for, in order.
    pub fn paths(&self) -> Vec<String> {
        self.requests().into_iter().map(|seen| seen.path).collect()
    }

    pub fn forget_requests(&self) {
        let mut seen = self.state.seen.lock().unwrap();
        seen.clear();
        self.state.count.send_replace(0);
    }

    /// Waits until so many requests have come in.
    pub async fn wait_for_requests(&self, count: usize) {
        let mut seen = self.state.count.subscribe();
        seen.wait_for(|seen| *seen >= count).await.unwrap();
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Fails if anyone ever connected. Connects itself to know: connections are accepted in order, so once its own is
    /// counted, all before it are.
    pub fn assert_untouched(&self) {
        let before = self.connections();
        let _own = TcpStream::connect(self.address).unwrap();
        while self.connections() == before {
            thread::yield_now();
        }
        assert_eq!(
            self.connections(),
            1,
            "someone connected to {}",
            self.address
        );
    }
}

impl Drop for FakeSite {
    fn drop(&mut self) {
        self.state.is_closing.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts, so that it sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn converse(&self, stream: &TcpStream, connection: usize) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        while let Some(seen) = read_request(&mut reader, connection)? {
            self.note(seen.clone());
            let reply = self.reply(&seen);
            if let Some(gate) = &reply.gate {
                gate.pass();
            }
            if !send(stream, &seen, reply)? {
                break;
            }
        }
        Ok(())
    }

    fn note(&self, request: Seen) {
        let mut seen = self.seen.lock().unwrap();
        seen.push(request);
        self.count.send_replace(seen.len());
    }

    fn reply(&self, seen: &Seen) -> Reply {
        let without_query = seen.path.split('?').next().unwrap_or_default();
        for path in [seen.path.as_str(), without_query] {
            let once = self
                .once
                .lock()
                .unwrap()
                .get_mut(path)
                .and_then(VecDeque::pop_front);
            if let Some(reply) = once {
                return reply;
            }
            let handler = self.always.lock().unwrap().get(path).cloned();
            if let Some(handler) = handler {
                return handler(seen);
            }
        }
        let folder = self.folder.lock().unwrap().clone();
        if let Some(reply) = folder.and_then(|folder| file(&folder, without_query)) {
            return reply;
        }
        Reply::new(404, "text/plain", "there is no such page")
    }
}

/// A file as static hosts serve it.
fn file(folder: &Path, path: &str) -> Option<Reply> {
    let decoded: Vec<u8> = percent_encoding::percent_decode_str(path).collect();
    let below = Path::new(OsStr::from_bytes(&decoded))
        .strip_prefix("/")
        .ok()?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !below.components().all(is_plain) {
        return None;
    }
    let place = match path.ends_with('/') {
        true => folder.join(below).join("index.html"),
        false => folder.join(below),
    };
    let body = fs::read(&place).ok()?;
    let content_type = match place.extension().and_then(OsStr::to_str) {
        Some("html" | "htm") => "text/html",
        Some("xml") => "application/xml",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    };
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let tag = format!("\"{:x}\"", hasher.finish());
    Some(Reply::new(200, content_type, body).etag(tag))
}

fn read_request(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<Seen>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let first = String::from_utf8_lossy(&line).trim_end().to_owned();
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let mut seen = Seen {
        method,
        path,
        headers: vec![],
        body: vec![],
        at: Instant::now(),
        connection,
    };
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        let field = line.trim_ascii();
        if field.is_empty() {
            break;
        }
        let colon = field
            .iter()
            .position(|byte| *byte == b':')
            .unwrap_or(field.len() - 1);
        let name = String::from_utf8_lossy(&field[..colon]).into_owned();
        seen.headers
            .push((name, field[colon + 1..].trim_ascii().to_vec()));
    }
    let length = seen
        .header("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    seen.body.resize(length, 0);
    reader.read_exact(&mut seen.body)?;
    Ok(Some(seen))
}

/// Sends the reply, and says whether the connection can be used again.
fn send(mut stream: &TcpStream, seen: &Seen, mut reply: Reply) -> io::Result<bool> {
    let tag = reply
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("etag"))
        .map(|(_, tag)| tag.as_slice());
    if reply.status == 200 && tag.is_some() && tag == seen.header_bytes("if-none-match") {
        reply.status = 304;
        reply.body.clear();
        reply.how = Delivery::Whole;
    }
    if matches!(reply.status, 204 | 304) || seen.method == "HEAD" {
        stream.write_all(&head(&reply, None))?;
        return Ok(true);
    }
    let length = format!("Content-Length: {}", reply.body.len());
    let body = &reply.body;
    match reply.how {
        Delivery::Whole => {
            stream.write_all(&[head(&reply, Some(&length)), body.clone()].concat())?;
            return Ok(true);
        }
        Delivery::Chunked => {
            stream.write_all(&head(&reply, Some("Transfer-Encoding: chunked")))?;
            for part in body.chunks(1_000) {
                write_chunk(stream, part)?;
            }
            stream.write_all(b"0\r\n\r\n")?;
            return Ok(true);
        }
        Delivery::WithoutLength => {
            stream.write_all(&[head(&reply, Some("Connection: close")), body.clone()].concat())?;
        }
        Delivery::Drip { size, every } => {
            stream.write_all(&head(&reply, Some(&length)))?;
            for part in body.chunks(size.max(1)) {
                stream.write_all(part)?;
                thread::sleep(every);
            }
        }
        Delivery::CutAfter(count) => {
            stream.write_all(&[&head(&reply, Some(&length)), &body[..count]].concat())?;
        }
        Delivery::StallAfter(count) => {
            stream.write_all(&[&head(&reply, Some(&length)), &body[..count]].concat())?;
            wait_for_goodbye(stream);
        }
        Delivery::BadChunk => {
            stream.write_all(&head(&reply, Some("Transfer-Encoding: chunked")))?;
            write_chunk(stream, body)?;
            stream.write_all(b"this is no chunk\r\n")?;
        }
        Delivery::Endless => {
            stream.write_all(&head(&reply, Some("Transfer-Encoding: chunked")))?;
            loop {
                write_chunk(stream, body)?;
            }
        }
        Delivery::Silence => wait_for_goodbye(stream),
        Delivery::HangUp => {}
        Delivery::Raw => stream.write_all(body)?,
    }
    stream.shutdown(std::net::Shutdown::Both)?;
    Ok(false)
}

fn head(reply: &Reply, framing: Option<&str>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} As told\r\n", reply.status).into_bytes();
    for (name, value) in &reply.headers {
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    if let Some(framing) = framing {
        head.extend_from_slice(format!("{framing}\r\n").as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn write_chunk(mut stream: &TcpStream, part: &[u8]) -> io::Result<()> {
    stream.write_all(&[format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat())
}

fn wait_for_goodbye(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}
