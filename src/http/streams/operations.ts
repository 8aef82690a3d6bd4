import {
  EVENTS,
  FLAG,
  json,
  object,
  type Operation,
  type OperationGroup,
  type Parameter,
  TEXT,
} from '../operation.ts'

const RUN: Parameter = { name: 'runId', in: 'path', description: 'The id of the run.' }
const KEY: Parameter = { name: 'key', in: 'path', description: 'The key of the stream; it may have slashes.' }
const READ_RUN = ['read:runs:<runId>', 'read:tasks:<task>', 'read:tags:<tag>']
const WRITE_STREAMS = ['write:streams:<runId>']
const READING: readonly Parameter[] = [
  {
    name: 'startIndex',
    in: 'query',
    description:
      'The number of the first chunk. A reader that goes on after `last-event-id` is told if the attempt was lost there; one that begins there is not.',
    schema: { type: 'integer', minimum: 0, default: 0 },
  },
  {
    name: 'last-event-id',
    in: 'header',
    description: 'The number of the last chunk that was read; reading goes on after it.',
  },
  {
    name: 'x-trigger-stream-start',
    in: 'header',
    description: '`latest` starts after the chunks that there are.',
  },
  {
    name: 'timeout-seconds',
    in: 'header',
    description: 'Ends the answer after so long without a chunk.',
    schema: { type: 'integer', minimum: 1, maximum: 600 },
  },
]
const EVENTS_OF_ONE = {
  description:
    'One event for each chunk: its number as `id`, its JSON text as `data`. The answer ends after the last chunk; an event `error` says why a stream ended early.',
  content: EVENTS,
}
const CLIENT: Parameter = {
  name: 'x-client-id',
  in: 'header',
  description: 'A name for the writer; the chunks of each are counted from 0, over all attempts of the run.',
}
const WRITTEN = { description: 'Stored.', content: json(object({ ok: FLAG })) }
const WRITING =
  'Only the process that executes the run can write: 409 in another one, 400 for a run that has ended, 422 for one stream too many.'

const operations: readonly Operation[] = [
  {
    id: 'followRun',
    method: 'get',
    path: '/api/v1/runs/{id}/stream',
    tag: 'Following',
    summary: 'Follow a run and its streams as server-sent events',
    description:
      'Events `run` with `{ "type", "run" }` and `chunk` with `{ "type", "chunk", "attempt", "sequence" }`, to the end of the run. A `run` event with the attempt of a chunk, or a later one, comes before it. The id of an event has the number of the next chunk for each key: `draft=12&log=3`. The last one ends with `;end`; 204 for a reader that has seen it.',
    allowed: ['read:runs:<id>', 'read:tasks:<task>', 'read:tags:<tag>'],
    mayHaveTokenInUrl: true,
    anyOrigin: true,
    parameters: [
      { name: 'id', in: 'path', description: 'The id of the run.' },
      { name: 'last-event-id', in: 'header', description: 'The id of the last event that was read.' },
      { name: 'lastEventId', in: 'query', description: 'Instead of the header.' },
      {
        name: 'ids',
        in: 'query',
        description:
          '`none`: events have no id, and an event `end` is the last one. For readers that make the id from `type` and `sequence`.',
        schema: { const: 'none' },
      },
      {
        name: 'streams',
        in: 'query',
        description: '`none`: the run alone, without events `chunk`.',
        schema: { const: 'none' },
      },
    ],
    answers: {
      200: { description: 'The events.', content: EVENTS },
      204: { description: 'All was read.' },
    },
    refused: [400, 404],
  },
  {
    id: 'readStream',
    method: 'get',
    path: '/realtime/v1/streams/{runId}/{key}',
    tag: 'Streams',
    summary: 'Read one stream of a run as server-sent events',
    allowed: READ_RUN,
    anyOrigin: true,
    parameters: [RUN, KEY, ...READING],
    answers: { 200: EVENTS_OF_ONE },
    refused: [400, 404],
  },
  {
    id: 'readSelfStream',
    method: 'get',
    path: '/realtime/v1/streams/{runId}/self/{key}',
    tag: 'Streams',
    summary: 'Read the stream with the key `self/{key}`',
    allowed: READ_RUN,
    parameters: [RUN, KEY, ...READING],
    answers: { 200: EVENTS_OF_ONE },
    refused: [400, 404],
  },
  {
    id: 'lastChunk',
    method: 'head',
    path: '/realtime/v1/streams/{runId}/self/{key}',
    tag: 'Streams',
    summary: 'Ask how far a writer has got',
    description: WRITING,
    allowed: WRITE_STREAMS,
    parameters: [RUN, KEY, CLIENT],
    answers: {
      200: {
        description: 'In the header.',
        headers: { 'x-last-chunk-index': 'The number of the last stored chunk of this writer; -1 for none.' },
      },
    },
    refused: [400, 404, 409, 422],
  },
  {
    id: 'announceStream',
    method: 'put',
    path: '/realtime/v1/streams/{runId}/self/{key}',
    tag: 'Streams',
    summary: 'List a stream on the run before its first chunk',
    description: WRITING,
    allowed: WRITE_STREAMS,
    parameters: [RUN, KEY],
    answers: { 202: { description: 'Listed.', content: json(object({ version: { const: 'v1' } })) } },
    refused: [400, 404, 409, 422],
  },
  {
    id: 'writeStream',
    method: 'post',
    path: '/realtime/v1/streams/{runId}/self/{key}',
    tag: 'Streams',
    summary: 'Write chunks to a stream, a line of JSON for each',
    description: WRITING,
    allowed: WRITE_STREAMS,
    parameters: [
      RUN,
      KEY,
      CLIENT,
      {
        name: 'x-resume-from-chunk',
        in: 'header',
        description:
          'The number of the first chunk in the body. Chunks that were written before add nothing.',
        schema: { type: 'integer', minimum: 0 },
      },
    ],
    body: { required: true, content: { 'application/x-ndjson': TEXT } },
    answers: { 200: WRITTEN },
    refused: [404, 409, 422],
  },
  {
    id: 'readSelfAppendStream',
    method: 'get',
    path: '/realtime/v1/streams/{runId}/self/{key}/append',
    tag: 'Streams',
    summary: 'Read the stream with the key `self/{key}/append`',
    allowed: READ_RUN,
    parameters: [RUN, KEY, ...READING],
    answers: { 200: EVENTS_OF_ONE },
    refused: [400, 404],
  },
  {
    id: 'appendChunk',
    method: 'post',
    path: '/realtime/v1/streams/{runId}/self/{key}/append',
    tag: 'Streams',
    summary: 'Append one chunk of text to a stream',
    description: WRITING,
    allowed: WRITE_STREAMS,
    parameters: [
      RUN,
      KEY,
      {
        name: 'x-part-id',
        in: 'header',
        description: 'A name for this chunk; sent again under it, it adds nothing.',
      },
    ],
    body: { required: true, content: { 'text/plain': TEXT, 'application/json': TEXT } },
    answers: { 200: WRITTEN },
    refused: [404, 409, 422],
  },
]

/** Streams over HTTP, as they are documented. */
export const STREAM_OPERATIONS: OperationGroup = { operations, schemas: {} }
