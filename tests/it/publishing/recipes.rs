//! The recipes of docs/recipes, run as they are written there.
//!
//! Each builds a small site with a real generator, publishes it, deploys it to a host on loopback, and lets the service
//! follow it; then edits, builds, publishes and deploys again, and the service must announce exactly what was edited.
//!
//! They need the generators, so they run only when asked for: tests/recipes, which is part of tests/run, installs them and
//! says where they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::Utc;
use sitebell::site::SiteId;
use tempfile::TempDir;

use super::without_datetimes;
use crate::fake_site::FakeSite;
use crate::world::World;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A generator with a small site for it.
struct Recipe {
    /// The page in docs/recipes.
    page: &'static str,
    /// Where the finished pages are.
    output: &'static str,
    /// The files of the site. A file that all pages are made with holds `{build}`, which is another word each time.
    files: &'static [(&'static str, &'static str)],
    /// What is edited, and a page that is added.
    edits: &'static [(&'static str, &'static str)],
    /// A page that is removed.
    removed: &'static str,
    /// What must be announced, in the order of the addresses.
    announced: &'static [&'static str],
}

/// A site on its way from an author's project to a host.
struct Project {
    recipe: Recipe,
    folder: TempDir,
    live: TempDir,
    host: FakeSite,
}

impl Project {
    fn new(recipe: Recipe) -> Project {
        let (folder, live) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let host = FakeSite::start();
        host.serve_folder(live.path());
        if let Some(tools) = tools() {
            let modules = tools.join("node_modules");
            std::os::unix::fs::symlink(modules, folder.path().join("node_modules")).unwrap();
        }
        let project = Project {
            recipe,
            folder,
            live,
            host,
        };
        project.write(project.recipe.files, "first");
        project
    }

    fn write(&self, files: &[(&str, &str)], build: &str) {
        for (path, text) in files {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace("{build}", build)).unwrap();
        }
    }

    /// Runs the first commands of the recipe, and puts what came of it on the host.
    fn build_and_deploy(&self) {
        let url = self.host.url("/").to_string();
        let commands = commands(self.recipe.page).replace("https://fox.example/", &url);
        let bells = Path::new(env!("CARGO_BIN_EXE_sitebell")).parent().unwrap();
        let mut path = vec![bells.to_owned()];
        path.extend(tools().map(|tools| tools.join("venv/bin")));
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let output = Command::new("sh")
            .args(["-e", "-c", &commands])
            .current_dir(self.folder.path())
            .env("PATH", std::env::join_paths(path).unwrap())
            .envs([
                ("LANG", "C.UTF-8"),
                ("LC_ALL", "C.UTF-8"),
                ("ASTRO_TELEMETRY_DISABLED", "1"),
            ])
            .envs([
                ("SITEBELL_ALLOW_NET", "127.0.0.0/8"),
                ("SITEBELL_HOST_GAP", "0s"),
            ])
            .output()
            .unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{commands}\n{}\n{}",
            said(&output.stdout),
            said(&output.stderr)
        );
        fs::remove_dir_all(self.live.path()).unwrap();
        copy(
            &self.folder.path().join(self.recipe.output),
            self.live.path(),
        );
    }

    async fn run(self) {
        let mut world = World::new().await;
        self.build_and_deploy();
        world.pass(Utc::now() - world.now());
        let site = world.follow(&self.host.url("/")).await;
        assert_eq!(problems(&world, site), Vec::<String>::new());
        let before = world.announced(site).len();
        assert!(before > 1, "there are pages");
        // The same words in another build are no news.
        self.write(self.recipe.files, "second");
        self.build_and_deploy();
        assert_eq!(next(&world, site, before).await, Vec::<String>::new());
        self.write(self.recipe.edits, "third");
        fs::remove_file(self.folder.path().join(self.recipe.removed)).unwrap();
        self.build_and_deploy();
        assert_eq!(next(&world, site, before).await, self.recipe.announced);
        assert_eq!(problems(&world, site), Vec::<String>::new());
        world.stop(std::time::Duration::from_secs(10)).await;
    }
}

/// What the next check announces.
async fn next(world: &World, site: SiteId, before: usize) -> Vec<String> {
    world.pass(Utc::now() - world.now());
    world.scheduler().check_now(site).await.unwrap();
    world.scheduler().idle().await;
    let mut announced = without_datetimes(&world.announced(site)[before..]);
    announced.sort_by_key(|change| change.split(' ').next_back().map(str::to_owned));
    announced
}

fn problems(world: &World, site: SiteId) -> Vec<String> {
    let checks = world.get(&format!("/api/v1/sites/{site}/checks"));
    let problems = checks["checks"][0]["problems"].as_array().unwrap();
    problems.iter().map(ToString::to_string).collect()
}

/// Where tests/recipes has put what is no package of the system.
fn tools() -> Option<PathBuf> {
    std::env::var_os("SITEBELL_GENERATORS").map(PathBuf::from)
}

/// The first commands of a recipe.
fn commands(page: &str) -> String {
    let path = Path::new(ROOT).join("docs/recipes").join(page);
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("```sh\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn by_hand() {
    let recipe = Recipe {
        page: "by-hand.md",
        output: "site",
        files: &[
            (
                "site/index.html",
                "<title>Den</title><body><nav>{build}</nav><p>Welcome",
            ),
            (
                "site/fox.html",
                "<title>Foxes</title><body><p>Foxes<footer>{build}</footer>",
            ),
            ("site/owl.html", "<title>Owls</title><body><p>Owls"),
        ],
        edits: &[
            (
                "site/fox.html",
                "<title>Foxes</title><body><p>More foxes<footer>{build}</footer>",
            ),
            ("site/cat.html", "<title>Cats</title><body><p>Cats"),
        ],
        removed: "site/owl.html",
        announced: &[
            "created /cat.html",
            "updated /fox.html",
            "deleted /owl.html",
        ],
    };
    Project::new(recipe).run().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the generators: tests/recipes"]
async fn hugo() {
    let recipe = Recipe {
        page: "hugo.md",
        output: "public",
        files: &[
            (
                "config.toml",
                "baseURL = '/'\ntitle = 'Den'\ndisableKinds = ['taxonomy', 'term']\n",
            ),
            (
                "layouts/_default/baseof.html",
                "<!doctype html><html><head><title>{{ .Title }}</title></head><body><nav>{{ range .Site.Pages }}{{ .Title }} {{ end }}</nav>\
                 <main>{{ .Content }}</main><footer>built {{ now }} {build}</footer></body></html>",
            ),
            (
                "layouts/_default/single.html",
                "{{ define \"x\" }}{{ end }}",
            ),
            ("layouts/_default/list.html", "{{ define \"x\" }}{{ end }}"),
            ("content/_index.md", "---\ntitle: Den\n---\nWelcome\n"),
            ("content/fox.md", "---\ntitle: Foxes\n---\nFoxes\n"),
            ("content/owl.md", "---\ntitle: Owls\n---\nOwls\n"),
        ],
        edits: &[
            ("content/fox.md", "---\ntitle: Foxes\n---\nMore foxes\n"),
            ("content/cat.md", "---\ntitle: Cats\n---\nCats\n"),
        ],
        removed: "content/owl.md",
        announced: &["created /cat/", "updated /fox/", "deleted /owl/"],
    };
    Project::new(recipe).run().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the generators: tests/recipes"]
async fn jekyll() {
    let recipe = Recipe {
        page: "jekyll.md",
        output: "_site",
        files: &[
            ("_config.yml", "title: Den\nexclude: [node_modules]\n"),
            (
                "_layouts/default.html",
                "<!doctype html><html><head><title>{{ page.title }}</title></head><body><main>{{ content }}</main>\
                 <footer>built {{ site.time }} {build}</footer></body></html>",
            ),
            (
                "index.md",
                "---\nlayout: default\ntitle: Den\n---\nWelcome\n",
            ),
            ("fox.md", "---\nlayout: default\ntitle: Foxes\n---\nFoxes\n"),
            ("owl.md", "---\nlayout: default\ntitle: Owls\n---\nOwls\n"),
        ],
        edits: &[
            (
                "fox.md",
                "---\nlayout: default\ntitle: Foxes\n---\nMore foxes\n",
            ),
            ("cat.md", "---\nlayout: default\ntitle: Cats\n---\nCats\n"),
        ],
        removed: "owl.md",
        announced: &[
            "created /cat.html",
            "updated /fox.html",
            "deleted /owl.html",
        ],
    };
    Project::new(recipe).run().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the generators: tests/recipes"]
async fn pelican() {
    let recipe = Recipe {
        page: "pelican.md",
        output: "output",
        files: &[
            (
                "pelicanconf.py",
                "SITENAME = 'Den'\nAUTHOR = 'Kit'\nTHEME = 'simple'\nFEED_ALL_ATOM = None\nCATEGORY_FEED_ATOM = None\n\
                 DELETE_OUTPUT_DIRECTORY = True\nFOOTER = '{build}'\n",
            ),
            ("content/pages/fox.md", "Title: Foxes\n\nFoxes\n"),
            ("content/pages/owl.md", "Title: Owls\n\nOwls\n"),
        ],
        edits: &[
            ("content/pages/fox.md", "Title: Foxes\n\nMore foxes\n"),
            ("content/pages/cat.md", "Title: Cats\n\nCats\n"),
        ],
        removed: "content/pages/owl.md",
        announced: &[
            "created /pages/cats.html",
            "updated /pages/foxes.html",
            "deleted /pages/owls.html",
        ],
    };
    Project::new(recipe).run().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the generators: tests/recipes"]
async fn eleventy() {
    let recipe = Recipe {
        page: "eleventy.md",
        output: "_site",
        files: &[
            (
                "_includes/base.njk",
                "<!doctype html><html><head><title>{{ title }}</title></head><body><main>{{ content | safe }}</main>\
                 <footer>{build}</footer></body></html>",
            ),
            (
                "index.md",
                "---\nlayout: base.njk\ntitle: Den\n---\nWelcome\n",
            ),
            (
                "fox.md",
                "---\nlayout: base.njk\ntitle: Foxes\n---\nFoxes\n",
            ),
            ("owl.md", "---\nlayout: base.njk\ntitle: Owls\n---\nOwls\n"),
        ],
        edits: &[
            (
                "fox.md",
                "---\nlayout: base.njk\ntitle: Foxes\n---\nMore foxes\n",
            ),
            ("cat.md", "---\nlayout: base.njk\ntitle: Cats\n---\nCats\n"),
        ],
        removed: "owl.md",
        announced: &["created /cat/", "updated /fox/", "deleted /owl/"],
    };
    Project::new(recipe).run().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the generators: tests/recipes"]
async fn astro() {
    let recipe = Recipe {
        page: "astro.md",
        output: "dist",
        files: &[
            ("package.json", "{\"type\": \"module\"}"),
            (
                "src/layouts/Base.astro",
                "---\nconst { title } = Astro.props;\n---\n<html><head><title>{title}</title></head><body><main><slot /></main>\
                 <footer>{build}</footer></body></html>\n<style>p { color: red }</style>\n",
            ),
            (
                "src/pages/index.md",
                "---\nlayout: ../layouts/Base.astro\n---\nWelcome\n",
            ),
            (
                "src/pages/fox.md",
                "---\nlayout: ../layouts/Base.astro\n---\nFoxes\n",
            ),
            (
                "src/pages/owl.md",
                "---\nlayout: ../layouts/Base.astro\n---\nOwls\n",
            ),
        ],
        edits: &[
            (
                "src/pages/fox.md",
                "---\nlayout: ../layouts/Base.astro\n---\nMore foxes\n",
            ),
            (
                "src/pages/cat.md",
                "---\nlayout: ../layouts/Base.astro\n---\nCats\n",
            ),
        ],
        removed: "src/pages/owl.md",
        announced: &["created /cat/", "updated /fox/", "deleted /owl/"],
    };
    Project::new(recipe).run().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the generators: tests/recipes"]
async fn mkdocs() {
    let recipe = Recipe {
        page: "mkdocs.md",
        output: "site",
        files: &[
            ("mkdocs.yml", "site_name: Den\ncopyright: '{build}'\n"),
            ("docs/index.md", "# Den\n\nWelcome\n"),
            ("docs/fox.md", "# Foxes\n\nFoxes\n"),
            ("docs/owl.md", "# Owls\n\nOwls\n"),
        ],
        edits: &[
            ("docs/fox.md", "# Foxes\n\nMore foxes\n"),
            ("docs/cat.md", "# Cats\n\nCats\n"),
        ],
        removed: "docs/owl.md",
        announced: &["created /cat/", "updated /fox/", "deleted /owl/"],
    };
    Project::new(recipe).run().await;
}
