//! The JSON API. The shapes are in [`shapes`]; the description that programs read is made from the same code.

mod input;
pub mod shapes;
mod sites;
mod subscriptions;

use actix_web::{HttpResponse, web};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{get_or_head, only};

pub use self::input::{path_config, query_config};

/// All routes of the API, below `/api/v1`.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .app_data(input::payload_config())
        .app_data(path_config())
        .app_data(query_config())
        .service(only(
            web::resource("/openapi.json").route(get_or_head(openapi)),
            "GET, HEAD",
        ))
        .service(only(
            web::resource("/sites")
                .route(get_or_head(sites::list))
                .route(web::post().to(sites::add)),
            "GET, HEAD, POST",
        ))
        .service(only(
            web::resource("/sites/{site}")
                .route(get_or_head(sites::show))
                .route(web::patch().to(sites::change))
                .route(web::delete().to(sites::remove)),
            "GET, HEAD, PATCH, DELETE",
        ))
        .service(only(
            web::resource("/sites/{site}/check").route(web::post().to(sites::check_now)),
            "POST",
        ))
        .service(only(
            web::resource("/sites/{site}/checks").route(get_or_head(sites::checks)),
            "GET, HEAD",
        ))
        .service(only(
            web::resource("/sites/{site}/checks/{check}").route(get_or_head(sites::check)),
            "GET, HEAD",
        ))
        .service(only(
            web::resource("/sites/{site}/changes").route(get_or_head(sites::changes)),
            "GET, HEAD",
        ))
        .service(only(
            web::resource("/subscriptions")
                .route(get_or_head(subscriptions::list))
                .route(web::post().to(subscriptions::add)),
            "GET, HEAD, POST",
        ))
        .service(only(
            web::resource("/feed-key").route(web::post().to(subscriptions::renew_feed_key)),
            "POST",
        ))
        .service(only(
            web::resource("/subscriptions/{subscription}")
                .route(get_or_head(subscriptions::show))
                .route(web::delete().to(subscriptions::remove)),
            "GET, HEAD, DELETE",
        ));
}

/// The description of the API, as OpenAPI 3.1.
#[derive(OpenApi)]
#[openapi(
    info(title = "Sitebell", description = "Follow sites, and learn which of their pages change."),
    servers((url = "/api/v1")),
    paths(
        sites::list, sites::add, sites::show, sites::change, sites::remove, sites::check_now, sites::checks,
        sites::check, sites::changes, subscriptions::list, subscriptions::add, subscriptions::show,
        subscriptions::remove, subscriptions::renew_feed_key
    ),
    components(schemas(shapes::ProblemDetails)),
    modifiers(&Bearer)
)]
pub struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token that `sitebell account token` prints."))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

async fn openapi() -> HttpResponse {
    HttpResponse::Ok().json(Description::openapi())
}
