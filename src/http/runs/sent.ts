import { TAKES_NOTES } from '../../api/noted-value.ts'
import type { RunHandle } from '../../api/run.ts'
import type { Caller } from '../access/caller.ts'
import type { JsonObject } from '../requests/json-body.ts'
import type { PacketStore } from './packet-store.ts'
import type { RouteContext } from '../route-context.ts'
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
    const takesNotes = TAKES_NOTES in (kernel.tasks.get(taskId)?.options ?? {})
    const { payload, options, packetPath } = readTriggerBody(body, { limits, takesNotes, packetAt })
    const all = isPublished ? { freeKeyOnFailure: true, ...options } : options
    const run = await gate.spending(caller, () =>
      // The engine checks the payload against the task.
      refusingWrongInput(() => engine.tasks.trigger(taskId, payload as never, all)),
    )
    if (packetPath !== undefined) packets.drop(packetPath)
    return run
  }
}
