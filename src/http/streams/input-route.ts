import { WaitpointError } from '../../api/errors.ts'
import { ANYTHING, FLAG, json, object } from '../operation.ts'
import { Refusal } from '../refusal.ts'
import { readJsonObject } from '../requests/json-body.ts'
import { type Route, route } from '../route.ts'
import type { RouteContext } from '../route-context.ts'

/** The longest message, and the object around it. */
const MOST_BYTES = 1_024 * 1_024 + 64

/** The published client would send again after 409, as after a lock that was held. */
const FOR_GOOD = { 'x-should-retry': 'false' } as const

/** Sends a message into a run: see docs/messages.md. */
export const SEND_INPUT: Route<RouteContext> = route(
  'POST /realtime/v1/streams/:runId/input/:stream',
  {
    id: 'sendInput',
    tag: 'Streams',
    summary: 'Send a message into a run',
    description:
      'To the input stream of this name. 409 for a run that is over, 429 for one that has left too many messages unread, 413 for more than 1 MB.',
    allowed: ['write:inputStreams:<runId>'],
    anyOrigin: true,
    parameters: [
      { name: 'runId', in: 'path', description: 'The id of the run.' },
      { name: 'stream', in: 'path', description: 'The id of the input stream.' },
    ],
    body: { required: true, content: json(object({ data: ANYTHING })) },
    answers: { 200: { description: 'Accepted.', content: json(object({ ok: FLAG })) } },
    refused: [400, 404, 409, 413],
  },
  ({ inside, turns }) =>
    async (c, { by }) => {
      const { runId, stream } = c.req.param()
      const { data } = await readJsonObject(c.req.raw, MOST_BYTES, turns)
      try {
        await inside.runs.sendInput(runId, {
          stream,
          data,
          options: by === undefined ? {} : { by: { ...by, via: 'http' } },
        })
      } catch (error) {
        throw refusedInput(error)
      }
      return c.json({ ok: true })
    },
)

function refusedInput(error: unknown): unknown {
  if (error instanceof RangeError) return new Refusal(413, error.message, { cause: error })
  if (!(error instanceof WaitpointError)) return error
  const { code, message } = error
  const details = { code }
  if (code === 'ERR_RUN_ENDED') return new Refusal(409, message, { cause: error, details, headers: FOR_GOOD })
  if (code === 'ERR_INBOX_FULL') return new Refusal(429, message, { cause: error, details })
  return error
}
