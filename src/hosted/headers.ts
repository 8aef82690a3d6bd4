/** The version of the API that a client speaks. */
export const API_VERSION_HEADER = 'x-trigger-api-version'
/** The published client says its version in it. */
export const CLIENT_VERSION = 'trigger-version'
/** A name for a request, to repeat it safely. */
export const REQUEST_NAME = 'x-trigger-request-idempotency-key'
/** An access token for what was created. */
export const ACCESS_TOKEN = 'x-trigger-jwt'
export const ACCESS_TOKEN_CLAIMS = 'x-trigger-jwt-claims'
/** Which writer of a stream it is, and the chunk that it sends first. */
export const WRITER = 'x-client-id'
export const RESUME_FROM = 'x-resume-from-chunk'
/** `latest` reads a stream from its end on. */
export const STREAM_START = 'x-trigger-stream-start'
/** Ends an answer that goes on after so long without a chunk. */
export const IDLE_SECONDS = 'timeout-seconds'
/** How often an answer that goes on says that it is alive. */
export const PING_SECONDS = 'x-ping-seconds'
/** When a credential that has asked too often may ask again, in epoch milliseconds. */
export const RATE_RESET = 'x-ratelimit-reset'
/** Newer readers of shapes send it. */
export const SHAPE_VERSION = 'x-trigger-electric-version'
export const SHAPE_OFFSET = 'electric-offset'
export const SHAPE_HANDLE = 'electric-handle'
export const SHAPE_CURSOR = 'electric-cursor'
export const SHAPE_SCHEMA = 'electric-schema'
export const SHAPE_IS_CURRENT = 'electric-up-to-date'
/** What older ones call the offset and the handle. */
export const OLDER_SHAPE_OFFSET = 'electric-chunk-last-offset'
export const OLDER_SHAPE_HANDLE = 'electric-shape-id'
