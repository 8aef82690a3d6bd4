import { WaitpointError } from '../../api/errors.ts'
import type { SendInputOptions } from '../../api/input.ts'
import { SEND_INPUT_ADDRESS } from '../../hosted/addresses.ts'
import { REQUEST_NAME } from '../../hosted/headers.ts'
import type { Limits } from '../limits.ts'
import { ANYTHING, FLAG, json, object, TEXT } from '../operation.ts'
import { Refusal } from '../refusal.ts'
import { readJsonObject } from '../requests/json-body.ts'
import { checkLabels } from '../requests/labels.ts'
import { type Route, route } from '../route.ts'
import type { RouteContext } from '../route-context.ts'

/** The longest message, and the object around it. */
const MOST_BYTES = 1_024 * 1_024 + 64

/** The published client would send again after 409, as after a lock that was held. */
const FOR_GOOD = { 'x-should-retry': 'false' } as const

/** Sends a message into a run: see docs/messages.md. */
export const SEND_INPUT: Route<RouteContext> = route(
  SEND_INPUT_ADDRESS,
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
      {
        name: REQUEST_NAME,
        in: 'header',
        description:
          'The `idempotencyKey` of a message that has none. With one it is accepted once, for as long as the run lives.',
      },
    ],
    body: { required: true, content: json(object({ data: ANYTHING }, { idempotencyKey: TEXT })) },
    answers: { 200: { description: 'Accepted.', content: json(object({ ok: FLAG })) } },
    refused: [400, 404, 409, 413],
  },
  ({ inside, limits, turns }) =>
    async (c, { by }) => {
      const { runId, stream } = c.req.param()
      const body = await readJsonObject(c.req.raw, MOST_BYTES + limits.keyLength, turns)
      const name = c.req.header(REQUEST_NAME)
      const { data, idempotencyKey = name === '' ? undefined : name } = body
      try {
        await inside.runs.sendInput(runId, {
          stream,
          data,
          options: { ...keyOf(idempotencyKey, limits), ...(by && { by: { ...by, via: 'http' } }) },
        })
      } catch (error) {
        throw refusedInput(error)
      }
      return c.json({ ok: true })
    },
)

/** @throws Refusal 400 for what is no key. */
function keyOf(idempotencyKey: unknown, limits: Limits): SendInputOptions {
  if (idempotencyKey === undefined) return {}
  if (typeof idempotencyKey !== 'string' || idempotencyKey === '')
    throw new Refusal(400, 'Validation error: "idempotencyKey" must be a string')
  checkLabels({ idempotencyKey }, limits, 'Messages')
  return { idempotencyKey }
}

function refusedInput(error: unknown): unknown {
  if (error instanceof RangeError) return new Refusal(413, error.message, { cause: error })
  if (!(error instanceof WaitpointError)) return error
  const { code, message } = error
  const details = { code }
  if (code === 'ERR_RUN_ENDED') return new Refusal(409, message, { cause: error, details, headers: FOR_GOOD })
  if (code === 'ERR_INBOX_FULL') return new Refusal(429, message, { cause: error, details })
  return error
}
