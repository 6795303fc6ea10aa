//! Asks a service over HTTP/1.1, byte by byte, so that a test sees exactly what a client sees.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// A request, and then its answer.
#[derive(Debug, Clone)]
pub struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answered {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Ask {
    pub fn new(method: &str, path: &str) -> Ask {
        Ask {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub fn get(path: &str) -> Ask {
        Ask::new("GET", path)
    }

    pub fn post(path: &str, body: &Value) -> Ask {
        Ask::new("POST", path).json(body)
    }

    pub fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn token(self, token: &str) -> Ask {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub fn json(self, body: &Value) -> Ask {
        self.header("Content-Type", "application/json")
            .body(body.to_string())
    }

    pub fn body(mut self, body: impl Into<String>) -> Ask {
        self.body = body.into();
        self
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Sends it and waits for the whole answer.
    pub fn to(&self, address: SocketAddr) -> Answered {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.method,
            self.path,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let request = format!("{head}\r\n{}", self.body);
        // A service that has heard enough may answer before everything was said, and hang up.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answered::read(&bytes)
    }
}

impl Answered {
    fn read(bytes: &[u8]) -> Answered {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(bytes)));
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        Answered {
            status: status.parse().unwrap(),
            headers: lines.map(header).collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON, of an answer with this status.
    pub fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The sentence of a refusal with this status, which is written as RFC 9457 has it.
    pub fn refusal(&self, status: u16) -> String {
        let body = self.json(status);
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(body["status"], status);
        assert_eq!(body["type"], "about:blank");
        assert!(body["title"].is_string());
        body["detail"].as_str().unwrap().to_owned()
    }
}
