//! The server behind which a site stands: HTTP on loopback, in the same thread as everything else.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::shelf::Reply;
use super::stand::{Actor, Staged};

/// Whatever stands behind the server at present.
pub type Stage<S> = Arc<Mutex<Option<Actor<S>>>>;

/// Answers for ever. A request at which the asker should crash is never answered, and told to `crash`.
pub async fn serve<S: Staged>(listener: TcpListener, stage: Stage<S>, crash: Arc<Notify>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        tokio::spawn(converse(stream, stage.clone(), crash.clone()));
    }
}

async fn converse<S: Staged>(mut stream: TcpStream, stage: Stage<S>, crash: Arc<Notify>) {
    let mut head = Vec::new();
    loop {
        while !head.ends_with(b"\r\n\r\n") {
            // Nobody sends bodies, nor a request before the last one was answered.
            match stream.read_buf(&mut head).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        let reply = answer(&String::from_utf8_lossy(&head), &stage);
        head.clear();
        let Some(reply) = reply else {
            crash.notify_one();
            // Only the end of the connection is waited for.
            let _ = stream.read_buf(&mut head).await;
            return;
        };
        let is_cut = reply.promised.is_some();
        let sent = stream.write_all(&written(&reply)).await;
        if is_cut || sent.is_err() {
            return;
        }
    }
}

fn answer<S: Staged>(head: &str, stage: &Stage<S>) -> Option<Reply> {
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?;
    let (mut tag, mut since) = (None, None);
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        match name.to_ascii_lowercase().as_str() {
            "if-none-match" => tag = Some(value),
            "if-modified-since" => since = Some(value),
            _ => {}
        }
    }
    stage.lock().unwrap().as_mut()?.answer(path, tag, since)
}

fn written(reply: &Reply) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {} As told\r\n", reply.status);
    for (name, value) in &reply.fields {
        text += &format!("{name}: {value}\r\n");
    }
    if reply.status != 304 {
        let length = reply.promised.unwrap_or(reply.body.len());
        text += &format!("Content-Length: {length}\r\n");
    }
    text += "\r\n";
    text += &reply.body;
    text.into_bytes()
}
