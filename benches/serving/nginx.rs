//! nginx with the documents that we serve, plain and compressed, in files.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::common::Failure;
use super::common::serving::Http;
use super::load::{GZIP, THEIR_CORE};
use super::ours::Data;

const SETTINGS: &str = "
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_requests 1000000000;
    gzip_static on;
    types { application/atom+xml atom; }
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server { listen {address}; root {folder}/files; }
}
";

/// It ends with this.
pub struct Nginx {
    child: Child,
    pub address: SocketAddr,
    _folder: TempDir,
}

impl Nginx {
    /// Takes every document from us, and serves it.
    pub fn start(data: &Data, ours: SocketAddr) -> Result<Nginx, Failure> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        // Its worker is somebody else, who has to find the files.
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), everybody)?;
        let mut http = Http::to(ours)?;
        for path in &data.paths {
            let file = folder.path().join("files").join(&path[1..]);
            fs::create_dir_all(file.parent().ok_or("no folder")?)?;
            fs::write(&file, http.get(path, "Accept-Encoding: identity")?.body)?;
            let coded = http.get(path, GZIP)?;
            if coded.header("content-encoding") != Some("gzip") {
                return Err("we do not compress".into());
            }
            fs::write(file.with_extension("atom.gz"), coded.body)?;
        }
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let settings = folder.path().join("settings");
        let text = SETTINGS
            .replace("{folder}", folder.path().to_str().ok_or("an odd folder")?)
            .replace("{address}", &address.to_string());
        fs::write(&settings, text)?;
        let child = Command::new("taskset")
            .args(["-c", THEIR_CORE, "nginx", "-c"])
            .arg(&settings)
            .arg("-e")
            .arg(folder.path().join("errors"))
            .spawn()?;
        let nginx = Nginx {
            child,
            address,
            _folder: folder,
        };
        let begun = Instant::now();
        while Http::to(address).is_err() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("nginx does not start".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut theirs = Http::to(address)?;
        let coded = theirs.get(&data.paths[0], GZIP)?;
        match coded.body == http.get(&data.paths[0], GZIP)?.body {
            true => Ok(nginx),
            false => Err("nginx serves something else".into()),
        }
    }

    /// The process that answers.
    pub fn worker(&self) -> Result<u32, Failure> {
        let master = self.child.id();
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
        let worker = children.split_whitespace().next().ok_or("no worker")?;
        Ok(worker.parse()?)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // So that its worker ends with it.
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &id]).status();
        let _ = self.child.wait();
    }
}
