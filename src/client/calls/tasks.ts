import type {
  BatchHandle,
  BatchItem,
  DebounceOptions,
  SubtaskPromise,
  SubtaskResult,
  TriggerOptions,
} from '../../api/run.ts'
import {
  type OptionNames,
  requireList,
  requireName,
  requireObject,
  requireOptions,
  requireSignal,
} from '../../primitives/require.ts'
import { TRIGGER_TASK_ADDRESS } from '../../hosted/addresses.ts'
import type { CallOptions, ClientTasks, RemoteRunHandle } from '../namespaces.ts'
import { jsonText } from '../wire/json-text.ts'
import { notInRun, refusedInRun } from '../connection/known-error.ts'
import type { RunsCalls } from './runs.ts'
import type { ApiRequest, Transport } from '../connection/transport.ts'
import { checkCallOptions } from './wait.ts'
import { wireDeadline, wireDuration, wireSeconds } from '../wire/durations.ts'
import { refuseTransaction } from './refused-transaction.ts'

const ITEM_NAMES: OptionNames<BatchItem<never>> = { payload: true, options: true }

/**
 * Triggers over HTTP, by task id. Payloads and outputs have the types of the task that the caller names; otherwise they
 * are `unknown`.
 */
export class TasksCalls implements ClientTasks {
  readonly #transport: Transport
  readonly #runs: RunsCalls

  constructor(transport: Transport, runs: RunsCalls) {
    this.#transport = transport
    this.#runs = runs
  }

  async trigger(
    id: string,
    payload?: unknown,
    options: TriggerOptions & CallOptions = {},
  ): Promise<RemoteRunHandle<never>> {
    const request = triggerRequest(id, payload, options)
    return this.#runs.handle<never>(await this.#transport.call(request, options.signal), id)
  }

  /** Triggers one run after the other, because the hosted service does not return the run ids of a batch request. */
  async batchTrigger(
    id: string,
    items: readonly BatchItem<never>[],
    options: CallOptions = {},
  ): Promise<BatchHandle<never>> {
    checkCallOptions(options, 'tasks.batchTrigger')
    requireList(items, `the items of a batch of task "${id}"`)
    const requests = items.map((item) => {
      requireOptions(item, `an item of a batch of task "${id}"`, ITEM_NAMES)
      return triggerRequest(id, item.payload, item.options)
    })
    const runs: RemoteRunHandle<never>[] = []
    for (const request of requests) {
      runs.push(this.#runs.handle<never>(await this.#transport.call(request, options.signal), id))
    }
    return { runs }
  }

  triggerAndWait(): SubtaskPromise<never> {
    return refusedInRun('triggerAndWait')
  }

  async batchTriggerAndWait(): Promise<{ readonly runs: readonly SubtaskResult<never>[] }> {
    throw notInRun('batchTriggerAndWait')
  }
}

function triggerRequest(
  id: string,
  payload: unknown,
  options: TriggerOptions & CallOptions = {},
): ApiRequest {
  requireName(id, 'task id')
  requireObject(options, 'the options of trigger')
  requireSignal(options.signal, 'signal')
  refuseTransaction(options.transaction, `trigger task "${id}"`)
  const { metadata } = options
  if (metadata !== undefined) requireObject(metadata, 'metadata')
  jsonText(metadata, 'metadata')
  const text = jsonText(payload, `the payload of task "${id}"`)
  const body = JSON.stringify({ payload: text, options: wireOptions(options) })
  return { address: TRIGGER_TASK_ADDRESS, body, ids: [id] }
}

/** The server checks what else there is. */
function wireDebounce(debounce: DebounceOptions | undefined): object | undefined {
  return (
    debounce && {
      ...debounce,
      delay: wireDuration(debounce.delay, 'debounce.delay'),
      maxDelay: wireDuration(debounce.maxDelay, 'debounce.maxDelay'),
    }
  )
}

function wireOptions(options: TriggerOptions): object {
  const {
    tags,
    metadata,
    idempotencyKey,
    freeKeyOnFailure,
    maxAttempts,
    queue,
    concurrencyKey,
    priority,
    ttl,
  } = options
  return {
    payloadType: 'application/json',
    tags,
    metadata,
    idempotencyKey,
    idempotencyKeyTTL: wireDuration(options.idempotencyKeyTTL, 'idempotencyKeyTTL'),
    freeKeyOnFailure,
    delay: wireDeadline(options.delay, 'delay'),
    debounce: wireDebounce(options.debounce),
    ttl: typeof ttl === 'string' ? wireDuration(ttl, 'ttl') : wireSeconds(ttl, 'ttl'),
    maxAttempts,
    maxDuration: wireSeconds(options.maxDuration, 'maxDuration'),
    queue: queue === undefined ? undefined : { name: queue.name },
    concurrencyKey,
    priority,
  }
}
