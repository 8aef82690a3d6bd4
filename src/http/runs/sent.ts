import { doesTakeNotes, type NotedValue, notesOf, TAKES_NOTES, withNotes } from '../../api/noted-value.ts'
import type { RunHandle } from '../../api/run.ts'
import { withMarks } from '../../api/trigger-marks.ts'
import { STORED_VALUES, type Values } from '../../api/values.ts'
import type { Caller } from '../access/caller.ts'
import type { JsonObject } from '../requests/json-body.ts'
import type { PacketStore } from './packet-store.ts'
import type { RouteContext } from '../route-context.ts'
import { Refusal } from '../refusal.ts'
import { messageOf } from '../../primitives/message.ts'
import { readTriggerBody } from './trigger-body.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'

/** A run to trigger, as the client sent it. */
export interface SentRun {
  readonly taskId: string
  readonly body: JsonObject
  /** The published client sent it, to which an idempotency key is free again once its run has failed. */
  readonly isPublished: boolean
  /** The id of its batch. */
  readonly batchId?: string
}

/** What the routes that trigger runs share. */
export interface TriggerParts extends RouteContext {
  readonly packets: PacketStore
  readonly trigger: TriggerSent
}

export type TriggerSent = (caller: Caller, run: SentRun) => Promise<RunHandle<unknown>>

/** Triggers a run as the client sent it, with its payload if that was sent ahead. */
export function triggerSent(
  { engine, stored, gate, inside, limits, turns }: RouteContext,
  packets: PacketStore,
): TriggerSent {
  return async (caller, { taskId, body, isPublished, batchId }) => {
    const packetAt = (path: string): ReturnType<PacketStore['get']> => packets.get(caller.credential, path)
    const taskOptions = inside.tasks.get(taskId)?.options
    const takesNotes = doesTakeNotes(taskOptions)
    const readNoted = takesNotes ? withNotes : (noted: NotedValue) => readByCodec(inside.values, noted)
    const { payload, options, packetPath } = await readTriggerBody(body, {
      limits,
      readNoted,
      packetAt,
      turns,
    })
    if (takesNotes) readingNotes(() => notesOf(payload) && taskOptions[TAKES_NOTES](payload))
    await turns.next(typeof body['payload'] === 'string' ? body['payload'].length : 0)
    const keyed = isPublished ? { freeKeyOnFailure: true, ...options } : options
    const all = batchId === undefined ? keyed : withMarks(keyed, { batch: { id: batchId } })
    const run = await gate.spending(caller, () =>
      // The engine checks the payload against the task. One that notes its values itself is given them as they are.
      refusingWrongInput(() => (takesNotes ? stored : engine).tasks.trigger(taskId, payload as never, all)),
    )
    if (packetPath !== undefined) packets.drop(packetPath)
    return run
  }
}

/** A payload with notes as the codec of the engine reads it; its JSON, if there is no codec. */
function readByCodec(values: Values, noted: NotedValue): unknown {
  if (values === STORED_VALUES) return noted.json
  return readingNotes(() => values.decode(withNotes(noted)))
}

/** @throws Refusal 400 for notes that cannot be read. */
function readingNotes(read: () => unknown): unknown {
  try {
    return read()
  } catch (cause) {
    throw new Refusal(400, `Cannot read the notes of the payload: ${messageOf(cause)}`, { cause })
  }
}
