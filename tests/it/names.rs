//! Resolvers for tests: names that lead to loopback, and names that lie.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use sitebell::fetch::{LookingUp, Lookup};

/// Every name leads to 127.0.0.1.
pub struct Loopback;

impl Lookup for Loopback {
    fn lookup(&self, _: String) -> LookingUp {
        Box::pin(async { Ok(vec![Ipv4Addr::LOCALHOST.into()]) })
    }
}

/// A resolver with prepared answers: for each name a row of them, of which the last stays.
#[derive(Default)]
pub struct Names {
    answers: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub fn new<const N: usize>(answers: [(&'static str, &[&str]); N]) -> Arc<Self> {
        let parse = |row: &str| row.split(' ').map(|ip| ip.parse().unwrap()).collect();
        let answers = answers
            .into_iter()
            .map(|(name, rows)| (name, rows.iter().map(|row| parse(row)).collect()));
        Arc::new(Self {
            answers: answers.collect(),
            asked: Mutex::default(),
        })
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Lookup for Names {
    fn lookup(&self, name: String) -> LookingUp {
        let mut asked = self.asked.lock().unwrap();
        let count = asked.iter().filter(|known| **known == name).count();
        let answer = self
            .answers
            .get(name.as_str())
            .map(|rows| rows[count.min(rows.len() - 1)].clone());
        asked.push(name);
        Box::pin(async move { answer.ok_or_else(|| std::io::Error::other("no such name")) })
    }
}
