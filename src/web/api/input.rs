//! What programs send: read within bounds, and refused with a sentence.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::web::{self, Bytes, PathConfig, PayloadConfig, QueryConfig};
use actix_web::{FromRequest, HttpRequest};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::web::error::WebError;

/// More than any body that is asked for.
const MAX_BODY_BYTES: usize = 16 * 1024;
/// A body this small comes in a moment, or somebody is holding a connection open.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A body of JSON.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = WebError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, WebError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let media_type = request.headers().get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        let is_json = media_type.is_some_and(is_json);
        let request = request.clone();
        let mut payload = payload.take();
        Box::pin(async move {
            if !is_json {
                let sentence = "the body must be JSON, and say so: Content-Type: application/json";
                return Err(WebError::Body(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    sentence.to_owned(),
                ));
            }
            let bytes = Bytes::from_request(&request, &mut payload);
            let bytes = match timeout(BODY_TIMEOUT, bytes).await {
                Ok(Ok(bytes)) => bytes,
                Ok(Err(error)) => return Err(unreadable(&error)),
                Err(_) => {
                    let sentence = "the body came too slowly; send it at once".to_owned();
                    return Err(WebError::Body(StatusCode::REQUEST_TIMEOUT, sentence));
                }
            };
            serde_json::from_slice(&bytes).map(Json).map_err(|error| {
                WebError::Malformed(format!("the body is not what is asked for: {error}"))
            })
        })
    }
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn unreadable(error: &actix_web::Error) -> WebError {
    match error.as_response_error().status_code() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let sentence = format!("the body is larger than {MAX_BODY_BYTES} bytes");
            WebError::Body(StatusCode::PAYLOAD_TOO_LARGE, sentence)
        }
        _ => WebError::Malformed("the body could not be read; send it again".to_owned()),
    }
}

/// The bound on bodies.
pub fn payload_config() -> PayloadConfig {
    PayloadConfig::new(MAX_BODY_BYTES)
}

/// Numbers in paths that are none lead nowhere.
pub fn path_config() -> PathConfig {
    web::PathConfig::default()
        .error_handler(|_, request| WebError::NoSuchAddress(request.path().to_owned()).into())
}

/// Queries that cannot be understood.
pub fn query_config() -> QueryConfig {
    web::QueryConfig::default().error_handler(|error, _| {
        WebError::Malformed(format!("the query is not what is asked for: {error}")).into()
    })
}
