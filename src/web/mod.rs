//! The service over HTTP: feeds for readers, pages for people, and an API for programs.
//!
//! [`routes`] is the one list of what is answered where; [`paths`] makes every address that is printed. Handlers ask the
//! store and the scheduler and know nothing of either's inside. Who asks is told by an argument of the handler
//! ([`auth`] for programs, [`session`] for people), so a handler without one is public, and a test walks all routes as
//! nobody, as somebody else and as an admin. Forms are let in by [`forms`], before any handler; what all pages have in
//! common is in [`frame`].

mod accounts;
mod admin;
pub mod api;
mod assets;
pub mod auth;
mod badge;
mod calendar;
mod changes;
pub mod error;
pub mod feeds;
pub mod files;
mod follow;
pub mod forms;
pub mod frame;
mod front;
mod handbook;
mod home;
pub mod limits;
pub mod lists;
pub mod live;
mod operator;
mod parts;
pub mod paths;
mod ping;
pub mod report;
pub mod session;
mod settings;
mod sites;
mod words;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_http::{Request, Response};
use actix_service::apply_fn_factory;
use actix_web::body::BoxBody;
use actix_web::dev::{self, Server, ServerHandle, ServiceResponse};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use url::Url;

use crate::account::Registration;
use crate::fetch::Fetcher;
use crate::schedule::{Clock, Scheduler};
use crate::store::Store;

use self::error::WebError;
use self::feeds::Feeds;
use self::frame::{Notices, PageError};
use self::limits::Limits;
use self::lists::Imports;
use self::live::Readings;
use self::paths::Paths;
use self::report::Reports;

/// Threads that answer, if there are as many cores; two on one core would only be in each other's way. What they do is
/// short: the store works on threads of its own.
const MAX_WORKERS: usize = 4;
/// People and programs at the same time, for each thread.
const MAX_CONNECTIONS: usize = 1_000;
/// The longest time for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time for answers that are under way when the service stops.
const STOP_TIMEOUT_SECS: u64 = 3;
/// Nothing that is served may run anything but our own files, be put in a frame, or tell others where people came from.
const CONTENT_SECURITY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; \
     img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What handlers work with.
pub struct Service {
    /// What is known.
    pub store: Store,
    /// Who reads sites.
    pub scheduler: Scheduler,
    /// Who knows which addresses may be read.
    pub fetcher: Arc<Fetcher>,
    /// Feeds that are ready.
    pub feeds: Arc<Feeds>,
    /// Our own addresses.
    pub paths: Paths,
    /// Who comes in.
    pub people: People,
    /// Whether those without an account may add sites.
    pub visitors_add: bool,
    /// What is being read.
    pub readings: Arc<Readings>,
    /// What authors should know.
    pub reports: Arc<Reports>,
    /// Lists that are being imported.
    pub imports: Imports,
    /// The folder in which our own pages are published.
    pub own: PathBuf,
    /// The time.
    pub clock: Clock,
}

/// What is known of people beyond what is stored.
pub struct People {
    /// Who may make an account.
    pub registration: Registration,
    /// The hash of what makes the first account, where there was none at the start.
    pub first: Option<[u8; 32]>,
    /// What is too much.
    pub limits: Limits,
    /// What is to be told on the next page.
    pub notices: Notices,
    /// The settings of the instance and their values, for admins to look at.
    pub settings: Vec<(&'static str, String)>,
}

/// The service as handlers get it.
pub type Data = web::Data<Service>;

/// Answers at a listener that is open already, until it is stopped.
pub fn serve(service: Service, listener: TcpListener) -> std::io::Result<(Server, ServerHandle)> {
    let https = service.paths.is_https();
    let service = web::Data::new(service);
    feeds::keep_ready(&service);
    let safety = safety(https);
    let app = move || {
        let app = App::new()
            .wrap(from_fn(session::around))
            .wrap(safe_headers(&safety))
            .app_data(service.clone())
            .configure(routes);
        let (service, safety) = (service.clone(), safety.clone());
        // A feed that is ready is nearly all that anybody asks for: it is answered before anything else is looked at.
        apply_fn_factory(app, move |request, app: &_| {
            front(&service, &safety, request, app)
        })
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(MAX_WORKERS);
    let server = HttpServer::new(app)
        .workers(workers)
        .max_connections(MAX_CONNECTIONS)
        .client_request_timeout(HEAD_TIMEOUT)
        .tcp_nodelay(true)
        .shutdown_timeout(STOP_TIMEOUT_SECS)
        .disable_signals()
        .listen(listener)?
        .run();
    let handle = server.handle();
    Ok((server, handle))
}

/// Everything that is answered.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .configure(operator::routes)
        .service(web::scope("/api/v1").configure(api::routes))
        .configure(feeds::routes)
        .configure(front::routes)
        .configure(badge::routes)
        .configure(sites::routes)
        .configure(report::routes)
        .configure(ping::routes)
        .configure(home::routes)
        .configure(follow::routes)
        .configure(lists::routes)
        .configure(accounts::routes)
        .configure(settings::routes)
        .configure(admin::routes)
        .configure(handbook::routes)
        .configure(assets::routes)
        .default_service(web::to(nothing_here));
}

/// `GET`, and `HEAD` with it, as HTTP wants.
pub(crate) fn get_or_head<H, Args>(handler: H) -> actix_web::Route
where
    H: actix_web::Handler<Args>,
    Args: actix_web::FromRequest + 'static,
    H::Output: actix_web::Responder + 'static,
{
    use actix_web::guard;
    web::route()
        .guard(guard::Any(guard::Get()).or(guard::Head()))
        .to(handler)
}

/// A resource that says which methods it knows when asked with another one.
pub(crate) fn only(resource: actix_web::Resource, methods: &'static str) -> actix_web::Resource {
    resource.default_service(web::to(move |request: HttpRequest| async move {
        let method = request.method().to_string();
        Err::<HttpResponse, WebError>(WebError::Method { method, methods })
    }))
}

async fn nothing_here(request: HttpRequest) -> Result<HttpResponse, actix_web::Error> {
    let error = WebError::NoSuchAddress(request.path().to_owned());
    match request.path().starts_with("/api/") {
        true => Err(error.into()),
        false => Err(PageError::from(error).into()),
    }
}

/// Hands out a feed that is ready, or asks the application.
fn front<S>(
    service: &Service,
    safety: &Safety,
    request: Request,
    app: &S,
) -> impl Future<Output = Result<Response<BoxBody>, actix_web::Error>> + use<S>
where
    S: dev::Service<Request, Response = ServiceResponse<BoxBody>, Error = actix_web::Error>,
{
    let ready = ready_feed(service, safety, &request);
    let ready = ready.ok_or_else(|| app.call(request));
    async move {
        match ready {
            Ok(response) => Ok(response),
            Err(answering) => answering.await.map(Response::from),
        }
    }
}

fn ready_feed(service: &Service, safety: &Safety, request: &Request) -> Option<Response<BoxBody>> {
    let address = request.uri().path_and_query()?.as_str();
    let (method, headers) = (request.method(), &request.head().headers);
    let mut response = (service.feeds).ready(method, address, headers, (service.clock)())?;
    for (name, value) in safety.iter() {
        let headers = response.headers_mut();
        headers.insert(name.clone(), value.clone());
    }
    Some(response.into())
}

/// Headers that every answer has.
type Safety = Arc<[(HeaderName, HeaderValue)]>;

fn safety(https: bool) -> Safety {
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    let transport = https.then_some((header::STRICT_TRANSPORT_SECURITY, "max-age=31536000"));
    [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (opener, "same-origin"),
    ]
    .into_iter()
    .chain(transport)
    .map(|(name, value)| (name, HeaderValue::from_static(value)))
    .collect()
}

fn safe_headers(safety: &Safety) -> DefaultHeaders {
    let headers = safety.iter().cloned();
    headers.fold(DefaultHeaders::new(), DefaultHeaders::add)
}

/// The address of a service that says nothing else: that of its listener.
pub fn local_url(address: SocketAddr) -> Url {
    let text = format!("http://{address}/");
    text.parse()
        .expect("an address and a port are always part of a URL")
}
