//! `sitebell serve`, the program as it is, and how it is asked.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Failure;

/// A service that answers. It ends with this.
pub struct Serving {
    child: Child,
    pub address: SocketAddr,
}

impl Serving {
    /// Starts it on a folder with data.
    pub fn start(data: &Path, settings: &[&str]) -> Result<Serving, Failure> {
        Serving::start_with(&[], data, settings)
    }

    /// Starts it through another program, such as one that keeps it to a core.
    pub fn start_with(
        through: &[&str],
        data: &Path,
        settings: &[&str],
    ) -> Result<Serving, Failure> {
        let mut words = through.iter().copied();
        let program = env!("CARGO_BIN_EXE_sitebell");
        let mut command = Command::new(words.next().unwrap_or(program));
        command.args(words);
        if !through.is_empty() {
            command.arg(program);
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "error"])
            .args(settings)
            .arg("--data")
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.split("http://").nth(1);
        let address = address.and_then(|rest| rest.split(['/', ' ']).next());
        let address = address.ok_or("it does not say where it answers")?.parse()?;
        Ok(Serving { child, address })
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // At once: nothing is lost by it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time of all threads of a process so far.
pub fn cpu(process: u32) -> Result<Duration, Failure> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // One that has just ended has nothing more to tell.
        let Ok(times) = fs::read_to_string(thread?.path().join("schedstat")) else {
            continue;
        };
        let spent = times.split_whitespace().next().ok_or("no time")?;
        nanos += spent.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanos))
}

/// A connection that is kept.
pub struct Http {
    stream: BufReader<TcpStream>,
}

/// An answer.
pub struct Answer {
    head: Vec<String>,
    pub body: Vec<u8>,
}

impl Http {
    pub fn to(address: SocketAddr) -> Result<Http, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Http {
            stream: BufReader::new(stream),
        })
    }

    /// Asks with some fields, each a whole line.
    pub fn get(&mut self, path: &str, fields: &str) -> Result<Answer, Failure> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        if !head.first().is_some_and(|line| line.contains(" 200 ")) {
            return Err(format!("{path}: {}", head.first().map_or("nothing", |line| line)).into());
        }
        let mut answer = Answer {
            head,
            body: Vec::new(),
        };
        let length = answer.header("content-length").ok_or("no length")?;
        answer.body = vec![0; length.parse()?];
        self.stream.read_exact(&mut answer.body)?;
        Ok(answer)
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.iter().filter_map(|line| line.split_once(':'));
        let field = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.trim())
    }
}
