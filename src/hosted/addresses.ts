/** A method, and a path as the router reads it: `:id` is a part of it, `:key{.+}` one that may have slashes. */
export type Address = `${'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'} /${string}`

/* The addresses that the client asks too. Those of all other routes stand in their routes. */

export const CREATE_TOKEN_ADDRESS = 'POST /api/v1/waitpoints/tokens'
export const LIST_TOKENS_ADDRESS = 'GET /api/v1/waitpoints/tokens'
export const RETRIEVE_TOKEN_ADDRESS = 'GET /api/v1/waitpoints/tokens/:id'
export const FOLLOW_TOKEN_ADDRESS = 'GET /api/v1/waitpoints/tokens/:id/stream'
export const COMPLETE_TOKEN_ADDRESS = 'POST /api/v1/waitpoints/tokens/:id/complete'
export const WITHDRAW_TOKEN_ADDRESS = 'POST /api/v1/waitpoints/tokens/:id/withdraw'
export const EXTEND_TOKEN_ADDRESS = 'POST /api/v1/waitpoints/tokens/:id/extend'
export const REASSIGN_TOKEN_ADDRESS = 'POST /api/v1/waitpoints/tokens/:id/reassign'
export const TRIGGER_TASK_ADDRESS = 'POST /api/v1/tasks/:id/trigger'
export const RETRIEVE_RUN_ADDRESS = 'GET /api/v3/runs/:id'
export const LIST_RUNS_ADDRESS = 'GET /api/v1/runs'
export const EXPLAIN_RUN_ADDRESS = 'GET /api/v1/runs/:id/explanation'
export const CANCEL_RUN_ADDRESS = 'POST /api/v2/runs/:id/cancel'
export const REPLAY_RUN_ADDRESS = 'POST /api/v1/runs/:id/replay'
export const RESCHEDULE_RUN_ADDRESS = 'POST /api/v1/runs/:id/reschedule'
export const CONTINUE_RUN_ADDRESS = 'POST /api/v1/runs/:id/continue'
export const FOLLOW_RUN_ADDRESS = 'GET /api/v1/runs/:id/stream'
export const FOLLOW_RUN_BY_POLLING_ADDRESS = 'GET /realtime/v1/runs/:id'
export const READ_STREAM_ADDRESS = 'GET /realtime/v1/streams/:runId/:key{.+}'
export const WRITE_STREAM_ADDRESS = 'POST /realtime/v1/streams/:runId/self/:key{.+}'
export const CREATE_PUBLIC_TOKEN_ADDRESS = 'POST /api/v1/auth/public-tokens'
/** Of the hosted service alone, which keeps large values elsewhere. */
export const DOWNLOAD_PACKET_ADDRESS = 'GET /api/v1/packets/:name'
export const LIST_QUEUES_ADDRESS = 'GET /api/v1/queues'
export const RETRIEVE_QUEUE_ADDRESS = 'GET /api/v1/queues/:queue'
export const PAUSE_QUEUE_ADDRESS = 'POST /api/v1/queues/:queue/pause'
export const SET_QUEUE_LIMIT_ADDRESS = 'POST /api/v1/queues/:queue/concurrency/override'
export const RESET_QUEUE_LIMIT_ADDRESS = 'POST /api/v1/queues/:queue/concurrency/reset'
