import type { NotedValue } from '../../api/noted-value.ts'
import type { TriggerOptions } from '../../api/run.ts'
import { TRIGGER_OPTION_NAMES } from '../../api/trigger-options.ts'
import { show } from '../../primitives/require.ts'
import { type JsonObject, requireJsonObject } from '../requests/json-body.ts'
import { checkLabels } from '../requests/labels.ts'
import type { Limits } from '../limits.ts'
import type { Turns } from '../../core/inside.ts'
import type { StoredPacket } from './packet-store.ts'
import { Refusal } from '../refusal.ts'
import { parseLargeJson } from '../requests/body.ts'
import { checkServiceOptions, type ReadOptions } from '../requests/service-options.ts'
import { KEPT_ELSEWHERE, NOTED_JSON } from '../../hosted/packets.ts'

/** A request to trigger a run, read and checked. */
export interface AskedRun {
  readonly payload: unknown
  readonly options: TriggerOptions
  /** The path of the payload, if it was sent ahead. */
  readonly packetPath: string | undefined
}

export interface TriggerBodyContext {
  readonly limits: Pick<Limits, 'tags' | 'keyLength'>
  /** Reads a payload with notes on dates and the like. */
  readonly readNoted: (payload: NotedValue) => unknown
  /** Returns the packet at a path, if there is one. */
  readonly packetAt: (path: string) => StoredPacket | undefined
  /** Others have theirs while a payload that was sent as text is read. */
  readonly turns: Turns
}

/** Transactions and waits exist only inside the process. */
const { transaction: _transaction, name: _name, ...NAMES } = TRIGGER_OPTION_NAMES
const TRIGGERED: ReadOptions = {
  names: Object.keys(NAMES),
  what: 'trigger a run',
  instead: `use ${Object.keys(NAMES).join(', ')}`,
}

/**
 * Reads `{ payload?, options? }`. Without `options.payloadType` the payload is any JSON value. With it, the payload is
 * text of that type, as the published client sends it. Options of the service that have no effect here are ignored.
 *
 * @throws Refusal 400 or 422 for a body that cannot be read. The engine checks the options later.
 */
export async function readTriggerBody(body: JsonObject, context: TriggerBodyContext): Promise<AskedRun> {
  const { limits, packetAt } = context
  const given = body['options'] === undefined ? {} : requireJsonObject(body['options'], '"options"')
  checkServiceOptions(given, TRIGGERED)
  checkQueue(given)
  const options = Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(NAMES, name)))
  checkLabels(options, limits, 'Runs')
  checkDebounceKey(options, limits)
  const { payload } = body
  const { payloadType } = given
  if (payloadType !== KEPT_ELSEWHERE)
    return { payload: await readPayload(payload, payloadType, context), options, packetPath: undefined }
  const path = typeof payload === 'string' ? payload : ''
  const packet = packetAt(path)
  if (packet === undefined)
    throw new Refusal(
      400,
      `Cannot find the payload ${show(payload)}: it was dropped, or was sent to another handler; send it again`,
    )
  return { payload: await readPayload(packet.text, packet.type, context), options, packetPath: path }
}

/** Older clients also send the concurrency limit of the queue. */
function checkQueue({ queue }: JsonObject): void {
  if (typeof queue !== 'object' || queue === null) return
  const unknown = Object.keys(queue).find((name) => name !== 'name')
  if (unknown !== undefined)
    throw new Refusal(
      400,
      `Cannot trigger a run with the option "queue.${unknown}": only "queue.name" is supported`,
    )
}

/** The engine checks the rest of `debounce`. */
function checkDebounceKey({ debounce }: JsonObject, { keyLength }: Pick<Limits, 'keyLength'>): void {
  if (typeof debounce !== 'object' || debounce === null || !('key' in debounce)) return
  const { key } = debounce
  if (typeof key !== 'string' || key.length <= keyLength) return
  throw new Refusal(
    400,
    `Cannot use a debounce.key of ${key.length} characters: at most ${keyLength} are allowed`,
  )
}

/** The value of a payload that was sent as text of a type. */
async function readPayload(
  payload: unknown,
  type: unknown,
  { readNoted, turns }: Pick<TriggerBodyContext, 'readNoted' | 'turns'>,
): Promise<unknown> {
  if (type === undefined || typeof payload !== 'string') return payload
  switch (type) {
    case 'application/json':
      return parseLargeJson(payload, turns)
    case NOTED_JSON:
      return readNoted(await notedPayload(payload, turns))
    case 'text/plain':
      return payload
    default:
      throw new Refusal(400, `Cannot read a payload of type ${show(type)}: use "application/json"`)
  }
}

async function notedPayload(text: string, turns: Turns): Promise<NotedValue> {
  const { json, meta } = requireJsonObject(
    await parseLargeJson(text, turns),
    `a payload of type "${NOTED_JSON}"`,
  )
  if (meta !== undefined) requireJsonObject(meta, `the "meta" of a payload of type "${NOTED_JSON}"`)
  return { json, meta }
}
