//! Chromium without a window, driven through chromedriver.
//!
//! ```ignore
//! let browser = Browser::start(Script::On).await;
//! browser.open(world.here("/").as_str()).await;
//! browser.fill("#address", "fox.example").await;
//! browser.press("Ring me").await;
//! browser.see("The Fox Den").await;
//! browser.look("site").await;
//! browser.close().await;
//! ```
//!
//! Nothing here sleeps: whatever is looked for is waited for. [`Browser::look`] is the one place where a page is judged:
//! its pictures go to `target/screens`, and it fails where axe finds fault, where something is wider than the window,
//! where the page moves while it loads, or where it weighs too much.
#![allow(dead_code)] // Each story uses the part that it needs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::elements::Element;
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Whatever is looked for has so long to appear, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks.
const BLINK: Duration = Duration::from_millis(20);
/// A phone and a desktop.
const WIDTHS: [u32; 2] = [390, 1280];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// A page weighs less, before compression.
const MAX_PAGE_BYTES: u64 = 50_000;

/// Whether pages may run scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    On,
    Off,
}

/// A browser with a profile of its own; it ends when dropped.
pub struct Browser {
    client: Client,
    script: Script,
    _driver: Driver,
    profile: TempDir,
}

struct Driver {
    child: Child,
    /// By which the processes of the browser are known.
    profile: PathBuf,
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A test that failed has not closed its browser, which would go on for ever.
        let profile = self.profile.to_string_lossy();
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&words).contains(&*profile) {
                let _ = Command::new("kill")
                    .arg("-9")
                    .arg(process.file_name())
                    .status();
            }
        }
    }
}

impl Browser {
    pub async fn start(script: Script) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = start_driver(profile.path());
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities(profile.path(), script))
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("Chromium does not start; run tests/run, which installs it");
        Browser {
            client,
            script,
            _driver: driver,
            profile,
        }
    }

    /// Ends the browser. What its console complained about (a script that failed, something that the policy for
    /// content forbids) fails the test.
    pub async fn close(self) {
        let log = self.command("POST", "se/log", json!({"type": "browser"}));
        let entries = log.await.as_array().cloned().unwrap_or_default();
        // That a page is not there may well be what the test is about.
        let is_bad = |entry: &&Value| entry["level"] == "SEVERE" && entry["source"] != "network";
        let bad: Vec<&Value> = entries.iter().filter(is_bad).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        self.client.close().await.unwrap();
    }

    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Shows a session at the host of the page that is open.
    pub async fn be_signed_in(&self, cookie: &str, value: &str) {
        let cookie = json!({"cookie": {"name": cookie, "value": value, "path": "/"}});
        self.command("POST", "cookie", cookie).await;
    }

    pub async fn reload(&self) {
        self.client.refresh().await.unwrap();
    }

    pub async fn url(&self) -> String {
        self.client.current_url().await.unwrap().to_string()
    }

    /// The element that a CSS selector finds, once there is one.
    pub async fn find(&self, selector: &str) -> Element {
        let found = self.client.wait().at_most(PATIENCE).every(BLINK);
        match found.for_element(Locator::Css(selector)).await {
            Ok(element) => element,
            Err(_) => panic!("there is no {selector} in\n{}", self.text().await),
        }
    }

    pub async fn count(&self, selector: &str) -> usize {
        let found = self.client.find_all(Locator::Css(selector)).await;
        found.unwrap().len()
    }

    /// Types into a field, in place of what is there.
    pub async fn fill(&self, selector: &str, text: &str) {
        let field = self.find(selector).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Chooses a file.
    pub async fn choose(&self, selector: &str, file: &Path) {
        let field = self.find(selector).await;
        field.send_keys(file.to_str().unwrap()).await.unwrap();
    }

    /// What a link saves, as text.
    pub async fn download(&self, url: &str, name: &str) -> String {
        let folder = self.profile.path().join("saved");
        let place = json!({"behavior": "allow", "downloadPath": folder});
        self.tell("Browser.setDownloadBehavior", place).await;
        let path = folder.join(name);
        // Going to a file that is saved is no arrival, and may be reported as a failure.
        let _ = self.client.goto(url).await;
        self.wait_until(&format!("the file {name}"), async |_| path.exists())
            .await;
        std::fs::read_to_string(path).unwrap()
    }

    /// Clicks what a CSS selector finds, and waits until the browser has gone where that leads.
    pub async fn click(&self, selector: &str) {
        self.find(selector).await.click().await.unwrap();
    }

    /// Clicks the button that says this.
    pub async fn press(&self, label: &str) {
        let path = format!("//button[normalize-space()='{label}']");
        self.click_at(&path, label).await;
    }

    /// Clicks the link that says this.
    pub async fn follow(&self, label: &str) {
        let path = format!("//a[normalize-space()='{label}']");
        self.click_at(&path, label).await;
    }

    async fn click_at(&self, path: &str, label: &str) {
        let found = self.client.wait().at_most(PATIENCE).every(BLINK);
        match found.for_element(Locator::XPath(path)).await {
            Ok(element) => element.click().await.unwrap(),
            Err(_) => panic!("nothing says “{label}” in\n{}", self.text().await),
        }
    }

    /// Presses a key, wherever the focus is.
    pub async fn key(&self, name: &str) {
        let (code, text) = match name {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            name => panic!("there is no key called {name}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let key = json!({"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code, "text": text});
            self.tell("Input.dispatchKeyEvent", key).await;
        }
    }

    /// Everything that can be read on the page.
    pub async fn text(&self) -> String {
        let body = self.client.find(Locator::Css("body")).await;
        match body {
            // A page that is just being left has no text.
            Ok(body) => body.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Waits until the page says this.
    pub async fn see(&self, text: &str) {
        self.wait_until(&format!("“{text}”"), async |browser| {
            browser.text().await.contains(text)
        })
        .await;
    }

    /// Waits until the page says this no more.
    pub async fn see_no_more(&self, text: &str) {
        self.wait_until(&format!("no “{text}”"), async |browser| {
            let now = browser.text().await;
            !now.is_empty() && !now.contains(text)
        })
        .await;
    }

    /// Waits until the browser is at an address that ends so.
    pub async fn arrive(&self, end: &str) {
        self.wait_until(
            &format!("an address that ends with {end}"),
            async |browser| browser.url().await.ends_with(end),
        )
        .await;
    }

    async fn wait_until(&self, what: &str, is_so: impl AsyncFn(&Browser) -> bool) {
        let begun = Instant::now();
        while !is_so(self).await {
            if begun.elapsed() > PATIENCE {
                let (url, text) = (self.url().await, self.text().await);
                panic!("waited in vain for {what} at {url}:\n{text}");
            }
            tokio::time::sleep(BLINK).await;
        }
    }

    /// What a script says that the test brings along.
    pub async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// Looks at the page as a person with a phone would, and one with a desktop, by day and by night.
    pub async fn look(&self, name: &str) {
        assert_eq!(self.script, Script::On, "judging a page takes a script");
        self.weigh(name).await;
        for scheme in SCHEMES {
            let media = [
                ("prefers-color-scheme", scheme),
                ("prefers-reduced-motion", "reduce"),
            ];
            let media = media.map(|(name, value)| json!({"name": name, "value": value}));
            self.tell("Emulation.setEmulatedMedia", json!({"features": media}))
                .await;
            for width in WIDTHS {
                self.be_wide(width).await;
                let place = format!("{name} at {width} px, {scheme}");
                self.take_picture(&format!("{name}-{width}-{scheme}.png"))
                    .await;
                let overflow = "return document.documentElement.scrollWidth - window.innerWidth";
                let overflow = self.run(overflow).await.as_i64().unwrap();
                assert!(overflow <= 0, "{place}: {overflow} px too wide");
                self.ask_axe(&place).await;
            }
        }
    }

    /// What the page weighs, and whether it kept still while it came.
    async fn weigh(&self, name: &str) {
        let script = "const done = arguments[0], moved = [];
            new PerformanceObserver(list => {
                for (const shift of list.getEntries().filter(shift => !shift.hadRecentInput))
                    moved.push(...shift.sources.map(source => `${shift.startTime} ${source.node?.outerHTML?.slice(0, 100)}`));
            }).observe({type: 'layout-shift', buffered: true});
            requestAnimationFrame(() => requestAnimationFrame(() => done(moved)));";
        let moved = self.client.execute_async(script, vec![]).await.unwrap();
        assert_eq!(moved, json!([]), "{name} moves while it loads");
        let script = "return performance.getEntriesByType('navigation')[0].decodedBodySize";
        let bytes = self.run(script).await.as_u64().unwrap();
        assert!(bytes < MAX_PAGE_BYTES, "{name} weighs {bytes} bytes");
    }

    /// A window of this width in which the whole page can be seen.
    async fn be_wide(&self, width: u32) {
        for tall in [false, true] {
            let height = match tall {
                true => {
                    self.run("return document.documentElement.scrollHeight")
                        .await
                }
                false => json!(800),
            };
            let metrics =
                json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
            self.tell("Emulation.setDeviceMetricsOverride", metrics)
                .await;
        }
        // What has just come into sight is not drawn yet, and would be missing in a picture.
        let drawn = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))";
        self.client.execute_async(drawn, vec![]).await.unwrap();
    }

    async fn take_picture(&self, name: &str) {
        let picture = self.client.screenshot().await.unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/screens");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), picture).unwrap();
    }

    async fn ask_axe(&self, place: &str) {
        let script = format!(
            "const done = arguments[0]; {}; axe.run(document, {{resultTypes: ['violations']}}).then(
                found => done(found.violations.map(one => `${{one.id}}: ${{one.help}}: ${{one.nodes.map(node => node.html).join(' | ')}}`)),
                error => done([String(error)]));",
            axe()
        );
        let found = self.client.execute_async(&script, vec![]).await.unwrap();
        assert_eq!(found, json!([]), "{place}: {found:#}");
    }

    /// A command of the DevTools protocol.
    async fn tell(&self, command: &str, params: Value) -> Value {
        let body = json!({"cmd": command, "params": params});
        self.command("POST", "goog/cdp/execute", body).await
    }

    async fn command(&self, method: &'static str, path: &'static str, body: Value) -> Value {
        let command = Extra { method, path, body };
        self.client.issue_cmd(command).await.unwrap()
    }
}

/// A command that chromedriver has beyond the standard.
#[derive(Debug)]
struct Extra {
    method: &'static str,
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extra {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let method = self.method.parse().unwrap();
        (method, Some(self.body.to_string()))
    }
}

fn capabilities(profile: &Path, script: Script) -> Capabilities {
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1280,800",
    ];
    let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
    arguments.push(format!(
        "--user-data-dir={}",
        profile.join("profile").display()
    ));
    let scripts = match script {
        Script::On => 1,
        Script::Off => 2,
    };
    let options = json!({
        "args": arguments,
        "prefs": {"profile.managed_default_content_settings.javascript": scripts},
    });
    let wanted = json!({
        "browserName": "chrome",
        "goog:chromeOptions": options,
        "goog:loggingPrefs": {"browser": "ALL"},
    });
    wanted.as_object().unwrap().clone()
}

/// Starts chromedriver at a port of its own choice, and says at which.
fn start_driver(folder: &Path) -> (Driver, u16) {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        // Whatever it leaves behind is in there.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("there is no chromedriver; run tests/run, which installs what the tests need");
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        let line = line.ok()?;
        let (_, port) = line.rsplit_once("started successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    // Its output has to go somewhere as long as it runs.
    std::thread::spawn(move || lines.for_each(drop));
    let driver = Driver {
        child: driver,
        profile: folder.to_owned(),
    };
    (driver, port.expect("chromedriver says where it is"))
}

/// The source of axe-core.
fn axe() -> String {
    let path: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "target/axe/node_modules/axe-core/axe.min.js",
    ]
    .iter()
    .collect();
    std::fs::read_to_string(path)
        .expect("axe-core is not there; run tests/run, which installs what the tests need")
}
