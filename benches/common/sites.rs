//! Two thousand small sites, each at an address of its own, served by a process that does as little as it can.
//!
//! It takes orders from its standard input, so that what it serves does not depend on what is asked in between: the
//! generation of the documents (a new one makes all of them new, with new changes in every list), and how long every
//! answer waits.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Failure;

/// The argument that makes this program the server.
pub const CHILD: &str = "--serve-sites";

/// The documents of a site, in the order in which they lead to each other.
pub const DOCUMENTS: [&str; 3] = [
    "/.well-known/resourcesync",
    "/capabilitylist.xml",
    "/changelist.xml",
];

/// Changes in each Change List.
pub const CHANGES: usize = 20;

/// Where a site is. Sets of sites differ in all addresses, so that a site can be new again.
pub fn host(set: usize, site: usize, port: u16) -> String {
    format!("127.{}.{}.{}:{port}", set + 1, site / 250, site % 250 + 1)
}

/// The server, as those who use it see it. It ends with them.
pub struct Server {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub port: u16,
}

impl Server {
    pub fn start() -> Result<Server, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([CHILD, "yes"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().ok_or("no way to give orders")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no way to hear answers")?);
        let mut server = Server {
            child,
            orders,
            answers,
            port: 0,
        };
        server.port = u16::try_from(server.answer()?)?;
        Ok(server)
    }

    /// Makes every document new.
    pub fn renew(&mut self) -> Result<(), Failure> {
        self.order("renew")
    }

    /// Lets every answer wait.
    pub fn wait(&mut self, wait: Duration) -> Result<(), Failure> {
        self.order(&format!("wait {}", wait.as_micros()))
    }

    /// Waits until every connection is closed at this end, too: that is work that a connection causes, whoever is gone.
    pub fn quiet(&mut self) -> Result<(), Failure> {
        self.order("quiet")
    }

    /// How many requests came since this was asked last.
    pub fn requests(&mut self) -> Result<u64, Failure> {
        writeln!(self.orders, "requests")?;
        self.answer()
    }

    fn order(&mut self, order: &str) -> Result<(), Failure> {
        writeln!(self.orders, "{order}")?;
        self.answer().map(drop)
    }

    fn answer(&mut self) -> Result<u64, Failure> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

static GENERATION: AtomicU64 = AtomicU64::new(1);
static WAIT_MICROS: AtomicU64 = AtomicU64::new(0);
static REQUESTS: AtomicU64 = AtomicU64::new(0);
static OPEN: AtomicU64 = AtomicU64::new(0);

/// The child.
pub fn serve() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await?;
        println!("{}", listener.local_addr()?.port());
        std::thread::spawn(take_orders);
        loop {
            let (stream, _) = listener.accept().await?;
            OPEN.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                // Whoever hangs up has had enough.
                let _ = converse(stream).await;
                OPEN.fetch_sub(1, Ordering::Relaxed);
            });
        }
    })
}

fn take_orders() {
    for order in std::io::stdin().lines().map_while(Result::ok) {
        let answer = match order.split_once(' ') {
            Some((_, micros)) => {
                WAIT_MICROS.store(micros.parse().unwrap_or(0), Ordering::Relaxed);
                0
            }
            None if order == "renew" => GENERATION.fetch_add(1, Ordering::Relaxed),
            None if order == "quiet" => {
                while OPEN.load(Ordering::Relaxed) > 0 {
                    std::thread::sleep(Duration::from_micros(100));
                }
                0
            }
            None => REQUESTS.swap(0, Ordering::Relaxed),
        };
        println!("{answer}");
    }
    std::process::exit(0);
}

/// One connection: requests without bodies, one after the other.
async fn converse(mut stream: TcpStream) -> Result<(), std::io::Error> {
    stream.set_nodelay(true)?;
    let mut request = Vec::with_capacity(1024);
    let mut answer = Vec::with_capacity(8192);
    loop {
        request.clear();
        while !request.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut request).await? == 0 {
                return Ok(());
            }
        }
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        let micros = WAIT_MICROS.load(Ordering::Relaxed);
        if micros > 0 {
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
        answer.clear();
        write_answer(&String::from_utf8_lossy(&request), &mut answer);
        stream.write_all(&answer).await?;
    }
}

fn write_answer(request: &str, answer: &mut Vec<u8>) {
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (mut host, mut known) = ("", "");
    for line in request.lines() {
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("host") => host = value,
            Some((name, value)) if name.eq_ignore_ascii_case("if-none-match") => known = value,
            _ => {}
        }
    }
    let generation = GENERATION.load(Ordering::Relaxed);
    let tag = format!("\"{generation}{path}\"");
    let (status, kind, body) = match path {
        _ if known == tag => ("304 Not Modified", "", String::new()),
        "/" => ("200 OK", "text/html", page(host)),
        _ => match DOCUMENTS.iter().position(|document| *document == path) {
            Some(place) => (
                "200 OK",
                "application/xml",
                document(place, host, generation),
            ),
            None => ("404 Not Found", "text/plain", String::new()),
        },
    };
    // A vector takes all that is written to it.
    let _ = write!(answer, "HTTP/1.1 {status}\r\nETag: {tag}\r\n");
    if known != tag {
        let length = body.len();
        let _ = write!(
            answer,
            "Content-Type: {kind}\r\nContent-Length: {length}\r\n"
        );
    }
    let _ = write!(answer, "\r\n{body}");
}

fn page(host: &str) -> String {
    format!("<!doctype html><title>The shrine at {host}</title><p>Hello.")
}

fn document(place: usize, host: &str, generation: u64) -> String {
    let [description, capabilities, changes] = DOCUMENTS;
    let mut text = String::with_capacity(6000);
    text += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\n";
    match place {
        0 => {
            text += &format!(
                "<rs:ln rel=\"describes\" href=\"http://{host}/\"/>\n\
                 <rs:ln rel=\"describedby\" href=\"http://{host}/\"/>\n<rs:md capability=\"description\"/>\n\
                 <url><loc>http://{host}{capabilities}</loc><rs:md capability=\"capabilitylist\"/>\
                 <rs:ln rel=\"describes\" href=\"http://{host}/\"/>\
                 <rs:ln rel=\"describedby\" href=\"http://{host}/\"/></url>\n"
            );
        }
        1 => {
            text += &format!(
                "<rs:ln rel=\"describes\" href=\"http://{host}/\"/>\n<rs:ln rel=\"up\" href=\"http://{host}{description}\"/>\n\
                 <rs:ln rel=\"describedby\" href=\"http://{host}/\"/>\n<rs:md capability=\"capabilitylist\"/>\n\
                 <url><loc>http://{host}{changes}</loc><rs:md capability=\"changelist\"/></url>\n"
            );
        }
        _ => {
            text += &format!(
                "<rs:ln rel=\"up\" href=\"http://{host}{capabilities}\"/>\n\
                 <rs:md capability=\"changelist\" from=\"2026-01-01T00:00:00Z\"/>\n"
            );
            for number in 0..CHANGES as u64 {
                // A new generation shares nothing with the last, and none lies in the future of the benchmark's clock.
                let minute = generation * CHANGES as u64 + number;
                let (hour, minute) = (minute / 60, minute % 60);
                text += &format!(
                    "<url><loc>http://{host}/pages/page-{generation:04}-{number:04}.html</loc>\
                     <rs:md change=\"updated\" datetime=\"2026-01-01T{hour:02}:{minute:02}:00Z\"/></url>\n"
                );
            }
        }
    }
    text += "</urlset>\n";
    // So that a new generation of every document is new to the last byte, whatever it says.
    text + &format!("<!-- {generation} -->\n")
}
