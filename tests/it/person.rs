//! Somebody in front of a browser without scripts: keeps cookies, follows redirects, and fills in the forms that are there.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use url::form_urlencoded;

use crate::ask::{Answered, Ask};

/// A browser of its own.
#[derive(Debug, Clone)]
pub struct Person {
    address: SocketAddr,
    /// Where a proxy says that they are.
    pub from: Option<&'static str>,
    pub cookies: BTreeMap<String, String>,
}

/// A page, and where it was found.
pub struct Page {
    pub path: String,
    pub answer: Answered,
}

impl Person {
    pub fn at(address: SocketAddr) -> Person {
        Person {
            address,
            from: None,
            cookies: BTreeMap::new(),
        }
    }

    /// Asks as this browser does, and keeps the cookies that come back.
    pub fn ask(&mut self, mut ask: Ask) -> Answered {
        let pairs = self.cookies.iter();
        let cookies: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            ask = ask.header("Cookie", &cookies.join("; "));
        }
        if let Some(from) = self.from {
            ask = ask.header("X-Forwarded-For", from);
        }
        let answer = ask.to(self.address);
        for (_, value) in answer
            .headers
            .iter()
            .filter(|(name, _)| name == "set-cookie")
        {
            let (pair, attributes) = value.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match attributes.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }

    /// Opens a page, and goes wherever it leads.
    pub fn open(&mut self, path: &str) -> Page {
        let ask = Ask::get(path).header("Accept", "text/html");
        let answer = self.ask(ask.header("User-Agent", "Firefox/140.0 (Linux)"));
        self.land(path, answer)
    }

    /// Sends the fields of a form with nothing added, and shows what comes back, without going on.
    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answered {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let ask = Ask::new("POST", path)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Accept", "text/html")
            .header("User-Agent", "Firefox/140.0 (Linux)")
            .header("Sec-Fetch-Site", "same-origin");
        self.ask(ask.body(body))
    }

    /// Fills in the form of a page that goes to `action`, keeps what is hidden in it, and goes wherever that leads.
    pub fn send(&mut self, page: &Page, action: &str, fields: &[(&str, &str)]) -> Page {
        let answer = self.send_only(page, action, fields);
        self.land(action, answer)
    }

    /// The same, without going on.
    pub fn send_only(&mut self, page: &Page, action: &str, fields: &[(&str, &str)]) -> Answered {
        let hidden = page.hidden(action);
        let hidden = hidden
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let all: Vec<(&str, &str)> = hidden.chain(fields.iter().copied()).collect();
        self.post(action, &all)
    }

    fn land(&mut self, path: &str, answer: Answered) -> Page {
        match answer.header("location") {
            Some(location) if answer.status == 303 => {
                let location = location.to_owned();
                assert!(location.starts_with('/'), "{location} stays at our host");
                self.open(&location)
            }
            _ => Page {
                path: path.to_owned(),
                answer,
            },
        }
    }
}

impl Page {
    pub fn text(&self) -> &str {
        self.answer.text()
    }

    pub fn status(&self) -> u16 {
        self.answer.status
    }

    pub fn has(&self, part: &str) -> bool {
        self.text().contains(part)
    }

    /// What the page shows only now.
    pub fn secret(&self) -> String {
        between(self.text(), "<code class=\"secret\">", "</code>").to_owned()
    }

    /// The value of a field that is filled in already.
    pub fn value(&self, name: &str) -> String {
        let field = between(self.text(), &format!("name=\"{name}\""), ">");
        unescape(between(field, "value=\"", "\""))
    }

    /// The sentence that is tied to a field.
    pub fn error(&self, name: &str) -> String {
        let text = self.text();
        let input = between(text, &format!("<input id=\"{name}\""), ">");
        assert!(input.contains("aria-invalid=\"true\""), "{input}");
        assert!(
            input.contains(&format!("aria-describedby=\"{name}-error")),
            "{input}"
        );
        unescape(between(text, &format!("id=\"{name}-error\">"), "<"))
    }

    /// What is hidden in the form that goes to an address.
    fn hidden(&self, action: &str) -> Vec<(String, String)> {
        let start = format!("action=\"{action}\"");
        assert!(
            self.has(&start),
            "no form goes to {action}: {}",
            self.text()
        );
        let form = between(self.text(), &start, "</form>");
        let inputs = form.split("<input type=\"hidden\"").skip(1);
        inputs
            .map(|input| {
                let name = between(input, "name=\"", "\"");
                (name.to_owned(), unescape(between(input, "value=\"", "\"")))
            })
            .collect()
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text
        .split_once(start)
        .unwrap_or_else(|| panic!("no {start} in {text}"))
        .1;
    rest.split_once(end).unwrap().0
}

fn unescape(text: &str) -> String {
    [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#38;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
