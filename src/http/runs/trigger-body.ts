import type { TriggerOptions } from '../../api/run.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { show } from '../../primitives/require.ts'
import { type JsonObject, requireJsonObject } from '../requests/json-body.ts'
import { checkLabels } from '../requests/labels.ts'
import type { Limits } from '../limits.ts'
import type { StoredPacket } from './packet-store.ts'
import { Refusal } from '../refusal.ts'
import { parseJson } from '../requests/body.ts'
import { checkServiceOptions, type ReadOptions } from '../requests/service-options.ts'

/** What a request to trigger a run comes to. */
export interface AskedRun {
  readonly payload: unknown
  readonly options: TriggerOptions
  /** Where the payload was, if it was sent ahead. */
  readonly packetPath: string | undefined
}

export interface TriggerBodyContext {
  readonly limits: Pick<Limits, 'tags' | 'keyLength'>
  /** What was sent ahead under a path, if anything. */
  readonly packetAt: (path: string) => StoredPacket | undefined
}

/** Nobody outside of the process has its transactions. */
const NAMES: OptionNames<Omit<TriggerOptions, 'transaction'>> = {
  delay: true,
  ttl: true,
  tags: true,
  metadata: true,
  maxAttempts: true,
  maxDuration: true,
  queue: true,
  concurrencyKey: true,
  idempotencyKey: true,
  idempotencyKeyTTL: true,
}
const TRIGGERED: ReadOptions = {
  names: Object.keys(NAMES),
  what: 'trigger a run',
  instead: `use ${Object.keys(NAMES).join(', ')}`,
}
const STORED = 'application/store'

/**
 * Reads `{ payload?, options? }`. Without `options.payloadType` the payload is any JSON value; with it, it is the text of
 * one, as the published client sends it. Options that only the service has are ignored where they change nothing.
 *
 * @throws Refusal 400 or 422 for what cannot be read. What the engine has to say of the options comes later.
 */
export function readTriggerBody(body: JsonObject, { limits, packetAt }: TriggerBodyContext): AskedRun {
  const given = body['options'] === undefined ? {} : requireJsonObject(body['options'], '"options"')
  checkServiceOptions(given, TRIGGERED)
  checkQueue(given)
  const options = Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(NAMES, name)))
  checkLabels(options, limits, 'Runs')
  const { payload } = body
  const { payloadType } = given
  if (payloadType !== STORED)
    return { payload: readPayload(payload, payloadType), options, packetPath: undefined }
  const path = typeof payload === 'string' ? payload : ''
  const packet = packetAt(path)
  if (packet === undefined)
    throw new Refusal(400, `Cannot find the payload ${show(payload)}: it was sent too long ago, or elsewhere`)
  return { payload: readPayload(packet.text, packet.type), options, packetPath: path }
}

/** Clients of old send the limit of the queue along. */
function checkQueue({ queue }: JsonObject): void {
  if (typeof queue !== 'object' || queue === null) return
  const unknown = Object.keys(queue).find((name) => name !== 'name')
  if (unknown !== undefined)
    throw new Refusal(
      400,
      `Cannot trigger a run with the option "queue.${unknown}": a queue is given by its name`,
    )
}

/** The value of a payload that was made into text, as its type says. */
function readPayload(payload: unknown, type: unknown): unknown {
  if (type === undefined || typeof payload !== 'string') return payload
  switch (type) {
    case 'application/json':
      return parseJson(payload)
    case 'application/super+json':
      return requireJsonObject(parseJson(payload), 'a payload of type "application/super+json"')['json']
    case 'text/plain':
      return payload
    default:
      throw new Refusal(400, `Cannot read a payload of type ${show(type)}: use "application/json"`)
  }
}
