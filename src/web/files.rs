//! Files from a folder, as they are: the sample site of the demo at a port of its own, and the documents about our pages.

use std::net::TcpListener;
use std::path::{Component, Path, PathBuf};

use actix_web::dev::{Server, ServerHandle};
use actix_web::http::header;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

use super::{get_or_head, only};

/// What files are, by how their names end. Documents of ResourceSync have no ending or are XML.
const TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("json", "application/json"),
];
const OTHERWISE: &str = "application/xml";

/// Answers at a listener that is open already, until it is stopped.
pub fn serve(folder: PathBuf, listener: TcpListener) -> std::io::Result<(Server, ServerHandle)> {
    let app = move || {
        let folder = web::Data::new(folder.clone());
        let every = web::resource("/{path:.*}").route(get_or_head(file));
        App::new()
            .app_data(folder)
            .service(only(every, "GET, HEAD"))
    };
    let server = HttpServer::new(app)
        .workers(1)
        .disable_signals()
        .shutdown_timeout(0)
        .listen(listener)?
        .run();
    let handle = server.handle();
    Ok((server, handle))
}

async fn file(folder: web::Data<PathBuf>, request: HttpRequest) -> HttpResponse {
    let found = answer(&folder, request.path());
    found.unwrap_or_else(|| HttpResponse::NotFound().body("There is nothing here."))
}

/// The file that an address means, if there is one in the folder.
pub(super) fn answer(folder: &Path, address: &str) -> Option<HttpResponse> {
    let path = place(folder, address)?;
    let text = std::fs::read(&path).ok()?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    let known = TYPES.iter().find(|(known, _)| Some(*known) == ending);
    let media_type = known.map_or(OTHERWISE, |(_, media_type)| *media_type);
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, media_type))
        .insert_header((header::CACHE_CONTROL, "no-cache"));
    Some(response.body(text))
}

/// The file that an address means; none where it leads out of the folder.
fn place(folder: &Path, address: &str) -> Option<PathBuf> {
    let below = Path::new(address.strip_prefix('/')?);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !below.components().all(is_plain) {
        return None;
    }
    let path = folder.join(below);
    Some(match address.ends_with('/') {
        true => path.join("index.html"),
        false => path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_never_leads_out_of_the_folder() {
        let folder = Path::new("/demo");
        let at = |address: &str| place(folder, address).map(|path| path.display().to_string());
        assert_eq!(at("/").as_deref(), Some("/demo/index.html"));
        assert_eq!(at("/moths/").as_deref(), Some("/demo/moths/index.html"));
        assert_eq!(
            at("/.well-known/resourcesync").as_deref(),
            Some("/demo/.well-known/resourcesync")
        );
        for bad in ["", "x", "//etc/passwd", "/../x", "/moths/../../x", "/.."] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }
}
