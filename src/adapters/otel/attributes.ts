import type { Attributes } from '@opentelemetry/api'
import type { RunRecord } from '../../contract/records.ts'

/** The attributes of a span about a run: those for messaging, and our own. */
export function runAttributes(run: RunRecord, engine: string): Attributes {
  return {
    'messaging.system': 'waitpoint',
    'messaging.destination.name': run.taskId,
    'messaging.message.id': run.id,
    'messaging.client.id': engine,
    'waitpoint.task.id': run.taskId,
    'waitpoint.run.id': run.id,
    'waitpoint.run.root.id': run.rootId,
    'waitpoint.queue.name': run.queue,
    ...(run.parentId === undefined ? {} : { 'waitpoint.run.parent.id': run.parentId }),
  }
}

/** The class of an error, for the attribute `error.type`. */
export function errorType(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER'
}
