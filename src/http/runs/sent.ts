import { doesTakeNotes, notesOf, TAKES_NOTES, type TakesNotes } from '../../api/noted-value.ts'
import type { RunHandle } from '../../api/run.ts'
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
}

export type TriggerSent = (caller: Caller, run: SentRun) => Promise<RunHandle<unknown>>

/** Triggers a run as the client sent it, with its payload if that was sent ahead. */
export function triggerSent(
  { engine, gate, kernel, limits }: RouteContext,
  packets: PacketStore,
): TriggerSent {
  return async (caller, { taskId, body, isPublished }) => {
    const packetAt = (path: string): ReturnType<PacketStore['get']> => packets.get(caller.credential, path)
    const taskOptions = kernel.tasks.get(taskId)?.options
    const takesNotes = doesTakeNotes(taskOptions)
    const { payload, options, packetPath } = readTriggerBody(body, { limits, takesNotes, packetAt })
    if (takesNotes) checkNotes(taskOptions, payload)
    const all = isPublished ? { freeKeyOnFailure: true, ...options } : options
    const run = await gate.spending(caller, () =>
      // The engine checks the payload against the task.
      refusingWrongInput(() => engine.tasks.trigger(taskId, payload as never, all)),
    )
    if (packetPath !== undefined) packets.drop(packetPath)
    return run
  }
}

/** @throws Refusal 400 for notes that the task could not read. */
function checkNotes(task: TakesNotes, payload: unknown): void {
  if (notesOf(payload) === undefined) return
  try {
    task[TAKES_NOTES](payload)
  } catch (cause) {
    throw new Refusal(400, `Cannot read the notes of the payload: ${messageOf(cause)}`, { cause })
  }
}
